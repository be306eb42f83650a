// SPDX-License-Identifier: Apache-2.0
//! Reads files from a custom object store: here one in memory, in place of S3 or another.

use std::sync::Arc;

use nearscan::{
    Engine,
    datafusion::object_store::{ObjectStoreExt, memory::InMemory, path::Path},
};

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = InMemory::new();
    store.put(&Path::from("sales/2026.csv"), "city,amount\nRome,3\nOslo,4\n".into()).await?;

    let engine = Engine::builder().build().await?;
    engine.register_object_store("memory://shop", Arc::new(store))?;
    engine.register("sales", "memory://shop/sales/2026.csv").await?;
    let result = engine.sql("SELECT sum(amount) FROM sales").await?.collect().await?;
    assert_eq!(result.profile.rows, 1);

    let result = engine.sql("SELECT city FROM 'memory://shop/sales/2026.csv'").await?;
    assert_eq!(result.collect().await?.profile.rows, 2);
    Ok(())
}
