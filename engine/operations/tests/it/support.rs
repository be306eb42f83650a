// SPDX-License-Identifier: Apache-2.0
//! Makes the store, the engine and the operations of a test.

use std::sync::Arc;

use bytes::Bytes;
use nearscan::{Engine, serving::open_drive};
use nearscan_applications::{Batches, Encoding, Query, Refusal, Rights, Selection, Tables};
use nearscan_operations::Operations;
use nearscan_store::{CollectionPath, Condition, ObjectPath, Quota, Store, StoreDrive};
use tempfile::TempDir;
use tokio::runtime::Handle;

/// A store with a collection `c`, and the operations on it.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) engine: Engine,
    pub(crate) operations: Operations,
    _folder: TempDir,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store")).unwrap();
        store.create_collection(&collection(), Quota::default()).unwrap();
        let drive = open_drive("cpu:", Some(1)).unwrap();
        let drive = Arc::new(StoreDrive::new(drive, store.clone()));
        let engine = Engine::builder().attach("drive", drive).unwrap().threads(2);
        let engine = engine.build().await.unwrap();
        let operations = Operations::new(engine.clone(), &store, &Handle::current());
        Self { store, engine, operations, _folder: folder }
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        self.store.put(&object(name), text.as_bytes(), Condition::Always).unwrap();
    }

    /// The lines of JSON of a scan.
    pub(crate) async fn lines(&self, query: Query) -> Result<Vec<String>, Refusal> {
        let batches = self.operations.scan(query, &Rights::default()).await?;
        let bytes = all_of(batches).await?;
        let text = String::from_utf8(bytes).unwrap();
        Ok(text.lines().map(str::to_owned).collect())
    }
}

pub(crate) fn collection() -> CollectionPath {
    CollectionPath::in_default("c").unwrap()
}

pub(crate) fn object(name: &str) -> ObjectPath {
    collection().object(name).unwrap()
}

/// A scan of objects whose names start with a text.
pub(crate) fn query(prefix: &str) -> Query {
    Query {
        collection: collection(),
        objects: Selection::Prefix(prefix.to_owned()),
        format: None,
        columns: Vec::new(),
        filter: None,
        aggregates: Vec::new(),
        group_by: Vec::new(),
        limit: None,
        encoding: Encoding::JsonLines,
    }
}

pub(crate) async fn all_of(mut batches: Box<dyn Batches>) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    while let Some(piece) = batches.next().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

pub(crate) fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

pub(crate) fn piece(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}
