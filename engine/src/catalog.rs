// SPDX-License-Identifier: Apache-2.0
//! Provides catalogs that resolve the name of a file as a table: `SELECT * FROM 'a.parquet'`.
//!
//! The three types wrap DataFusion's list of catalogs, a catalog and a schema, and forward every
//! call. Only [`FileSchema::table`] adds something: it opens a file when there is no table and the
//! name looks like a file's. Tables take precedence over files, and a file opened this way does not
//! become an entry of the schema.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use datafusion::{
    catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider},
    common::{Result, TableReference},
    datasource::TableType,
    execution::SessionState,
};

use crate::{access::Access, files};

/// Returns the state of the session that plans, or nothing once the session is gone.
type FindState = dyn Fn() -> Option<SessionState> + Send + Sync;

/// A link from the catalogs to the session that owns them; set once the session exists.
#[derive(Clone)]
pub(crate) struct SessionLink {
    find: Arc<OnceLock<Box<FindState>>>,
    /// Decides which files its statements may open.
    access: Arc<Access>,
}

impl SessionLink {
    pub(crate) fn new(access: Arc<Access>) -> Self {
        Self { find: Arc::default(), access }
    }

    /// Sets the link; later calls change nothing.
    ///
    /// `find` must not keep the session alive, or neither would ever be dropped.
    pub(crate) fn set(&self, find: impl Fn() -> Option<SessionState> + Send + Sync + 'static) {
        self.find.get_or_init(|| Box::new(find));
    }

    fn state(&self) -> Option<SessionState> {
        self.find.get().and_then(|find| find())
    }
}

impl fmt::Debug for SessionLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionLink")
    }
}

/// A list of catalogs whose schemas also find files.
#[derive(Debug)]
pub(crate) struct FileCatalogList {
    inner: Arc<dyn CatalogProviderList>,
    link: SessionLink,
}

#[derive(Debug)]
struct FileCatalog {
    inner: Arc<dyn CatalogProvider>,
    link: SessionLink,
}

#[derive(Debug)]
struct FileSchema {
    inner: Arc<dyn SchemaProvider>,
    link: SessionLink,
}

impl FileCatalogList {
    /// Wraps `inner`; files are opened with the session behind `link`.
    pub(crate) fn new(inner: Arc<dyn CatalogProviderList>, link: SessionLink) -> Self {
        Self { inner, link }
    }
}

impl CatalogProviderList for FileCatalogList {
    fn register_catalog(
        &self,
        name: String,
        catalog: Arc<dyn CatalogProvider>,
    ) -> Option<Arc<dyn CatalogProvider>> {
        self.inner.register_catalog(name, catalog)
    }

    fn catalog_names(&self) -> Vec<String> {
        self.inner.catalog_names()
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        let inner = self.inner.catalog(name)?;
        Some(Arc::new(FileCatalog { inner, link: self.link.clone() }))
    }
}

impl CatalogProvider for FileCatalog {
    fn schema_names(&self) -> Vec<String> {
        self.inner.schema_names()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let inner = self.inner.schema(name)?;
        Some(Arc::new(FileSchema { inner, link: self.link.clone() }))
    }

    fn register_schema(
        &self,
        name: &str,
        schema: Arc<dyn SchemaProvider>,
    ) -> Result<Option<Arc<dyn SchemaProvider>>> {
        self.inner.register_schema(name, schema)
    }

    fn deregister_schema(
        &self,
        name: &str,
        cascade: bool,
    ) -> Result<Option<Arc<dyn SchemaProvider>>> {
        self.inner.deregister_schema(name, cascade)
    }
}

#[async_trait]
impl SchemaProvider for FileSchema {
    fn owner_name(&self) -> Option<&str> {
        self.inner.owner_name()
    }

    fn table_names(&self) -> Vec<String> {
        self.inner.table_names()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(table) = self.inner.table(name).await? {
            return Ok(Some(table));
        }
        if !files::looks_like_file(name) {
            return Ok(None);
        }
        let Some(state) = self.link.state() else {
            return Ok(None);
        };
        self.link.access.check_location(name)?;
        files::open(&state, TableReference::bare(name), name).await.map(Some)
    }

    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        self.inner.table_type(name).await
    }

    fn register_table(
        &self,
        name: String,
        table: Arc<dyn TableProvider>,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        self.inner.register_table(name, table)
    }

    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        self.inner.deregister_table(name)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.inner.table_exist(name)
    }
}
