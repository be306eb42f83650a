// SPDX-License-Identifier: Apache-2.0
//! Embeds the engine: a table of a file, a query, its rows, and its profile.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use nearscan::{Engine, arrow::util::pretty::pretty_format_batches};

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("numbers.parquet").display().to_string();

    let engine = Engine::builder().threads(2).build().await?;
    let copy =
        format!("COPY (SELECT value AS n, value % 7 AS day FROM range(0, 1000)) TO '{path}'");
    engine.sql(&copy).await?.collect().await?;

    engine.register("numbers", &path).await?;
    let query = engine.sql("SELECT day, sum(n) AS total FROM numbers GROUP BY day ORDER BY day");
    let result = query.await?.collect().await?;
    println!("{}", pretty_format_batches(&result.batches)?);
    println!("{} rows, planned in {:?}", result.profile.rows, result.profile.planning);
    assert_eq!(result.profile.rows, 7);
    Ok(())
}
