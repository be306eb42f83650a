// SPDX-License-Identifier: Apache-2.0
//! Binds values to the parameters of a statement, and runs one plan several times.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use nearscan::{Engine, datafusion::common::ScalarValue};

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::builder().build().await?;
    engine.sql("CREATE TABLE people AS VALUES ('Ada', 36), ('Grace', 85)").await?;

    // A value is never part of the text, so it cannot change the statement.
    let query = engine.sql("SELECT column2 FROM people WHERE column1 = $name").await?;
    for name in ["Ada", "Grace", "x' OR 'x' = 'x"] {
        let bound = query.clone().bind(vec![("name", ScalarValue::from(name))])?;
        println!("{name}: {} rows", bound.collect().await?.profile.rows);
    }

    // One plan, several runs.
    let query = engine.sql("SELECT count(*) FROM people WHERE column2 > ?").await?;
    let planned = query.bind(vec![ScalarValue::from(40)])?.plan().await?;
    for _ in 0..3 {
        assert_eq!(planned.collect().await?.profile.rows, 1);
    }
    Ok(())
}
