// SPDX-License-Identifier: Apache-2.0
//! Watches a query while it runs, and cancels one that takes too long.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use futures::TryStreamExt;
use nearscan::{Engine, Error};

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::builder().threads(2).build().await?;

    // The profile of a stream has the counters so far.
    let query = engine.sql("SELECT value FROM range(0, 200000) WHERE value % 2 = 0").await?;
    let mut stream = query.stream().await?;
    let mut last = 0;
    while stream.try_next().await?.is_some() {
        let profile = stream.profile();
        if profile.rows >= last + 50_000 {
            last = profile.rows;
            println!("query {}: {last} rows after {:?}", stream.id(), profile.elapsed);
        }
    }
    assert_eq!(stream.profile().rows, 100_000);

    // A handle cancels from anywhere.
    let endless = engine.sql("SELECT sum(value) FROM range(0, 1000000000000)").await?;
    let handle = endless.cancel_handle();
    let run = tokio::spawn(async move { endless.collect().await });
    handle.cancel();
    let error = run.await?.err();
    assert!(matches!(error, Some(Error::Cancelled)), "{error:?}");
    println!("cancelled");
    Ok(())
}
