// SPDX-License-Identifier: Apache-2.0
//! Layers the catalogs of a session over those that all sessions share, and the tables that only
//! one statement sees over those of its session.
//!
//! A name is looked up in the session's own catalog, schema or tables first, then in the shared
//! ones. Registered entries go to the session, and dropped ones are hidden from it. The shared
//! catalogs are never changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use datafusion::{
    catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider},
    common::{Result, exec_err, internal_datafusion_err},
    datasource::TableType,
    execution::{SessionState, SessionStateBuilder},
};

use crate::system::SCHEMA_NAME;

/// The session's entries by name; `None` hides a shared entry.
#[derive(Debug)]
struct Entries<T: ?Sized>(Mutex<BTreeMap<String, Option<Arc<T>>>>);

impl<T: ?Sized> Entries<T> {
    fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Option<Arc<T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the entry of a name; `shared` makes it from a shared one at the first call.
    fn find(&self, name: &str, shared: impl FnOnce() -> Option<Arc<T>>) -> Option<Arc<T>> {
        let mut entries = self.lock();
        match entries.get(name) {
            Some(entry) => entry.clone(),
            None => {
                let made = shared()?;
                entries.insert(name.to_owned(), Some(Arc::clone(&made)));
                Some(made)
            }
        }
    }

    /// Returns the session's names and the shared ones that are not hidden, sorted.
    fn names(&self, shared: Vec<String>) -> Vec<String> {
        let entries = self.lock();
        let mut names: BTreeSet<String> = shared.into_iter().collect();
        for (name, entry) in entries.iter() {
            match entry {
                Some(_) => names.insert(name.clone()),
                None => names.remove(name),
            };
        }
        names.into_iter().collect()
    }

    fn set(&self, name: String, entry: Option<Arc<T>>) -> Option<Arc<T>> {
        self.lock().insert(name, entry).flatten()
    }
}

/// A list of catalogs over a shared one.
#[derive(Debug)]
pub(crate) struct OverlayCatalogList {
    own: Entries<dyn CatalogProvider>,
    shared: Arc<dyn CatalogProviderList>,
}

impl OverlayCatalogList {
    pub(crate) fn over(shared: Arc<dyn CatalogProviderList>) -> Self {
        Self { own: Entries::new(), shared }
    }
}

/// A state with more tables in its default schema, in place of those of the same names; the
/// catalogs of the session itself do not change.
pub(crate) fn with_tables(
    state: SessionState,
    tables: Vec<(String, Arc<dyn TableProvider>)>,
) -> Result<SessionState> {
    if tables.is_empty() {
        return Ok(state);
    }
    let catalogs = OverlayCatalogList::over(Arc::clone(state.catalog_list()));
    let names = &state.config_options().catalog;
    let catalog = catalogs.catalog(&names.default_catalog);
    let schema = catalog.and_then(|catalog| catalog.schema(&names.default_schema));
    let schema = schema.ok_or_else(|| internal_datafusion_err!("there is no default schema"))?;
    for (name, table) in tables {
        schema.deregister_table(&name)?;
        schema.register_table(name, table)?;
    }
    Ok(SessionStateBuilder::new_from_existing(state).with_catalog_list(Arc::new(catalogs)).build())
}

impl CatalogProviderList for OverlayCatalogList {
    fn register_catalog(
        &self,
        name: String,
        catalog: Arc<dyn CatalogProvider>,
    ) -> Option<Arc<dyn CatalogProvider>> {
        self.own.set(name, Some(catalog))
    }

    fn catalog_names(&self) -> Vec<String> {
        self.own.names(self.shared.catalog_names())
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        self.own.find(name, || {
            let shared = self.shared.catalog(name)?;
            Some(Arc::new(OverlayCatalog { own: Entries::new(), shared }))
        })
    }
}

#[derive(Debug)]
struct OverlayCatalog {
    own: Entries<dyn SchemaProvider>,
    shared: Arc<dyn CatalogProvider>,
}

impl CatalogProvider for OverlayCatalog {
    fn schema_names(&self) -> Vec<String> {
        self.own.names(self.shared.schema_names())
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        self.own.find(name, || {
            let shared = self.shared.schema(name)?;
            // System tables show the session that queries them, and cannot be changed.
            Some(match name {
                SCHEMA_NAME => shared,
                _ => Arc::new(OverlaySchema { own: Entries::new(), shared }),
            })
        })
    }

    fn register_schema(
        &self,
        name: &str,
        schema: Arc<dyn SchemaProvider>,
    ) -> Result<Option<Arc<dyn SchemaProvider>>> {
        Ok(self.own.set(name.to_owned(), Some(schema)))
    }

    fn deregister_schema(
        &self,
        name: &str,
        cascade: bool,
    ) -> Result<Option<Arc<dyn SchemaProvider>>> {
        let Some(schema) = self.schema(name) else { return Ok(None) };
        if !cascade && !schema.table_names().is_empty() {
            return exec_err!("schema '{name}' has tables; drop them first, or use CASCADE");
        }
        self.own.set(name.to_owned(), None);
        Ok(Some(schema))
    }
}

#[derive(Debug)]
struct OverlaySchema {
    own: Entries<dyn TableProvider>,
    shared: Arc<dyn SchemaProvider>,
}

#[async_trait]
impl SchemaProvider for OverlaySchema {
    fn table_names(&self) -> Vec<String> {
        self.own.names(self.shared.table_names())
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let own = self.own.lock().get(name).cloned();
        match own {
            Some(entry) => Ok(entry),
            None => self.shared.table(name).await,
        }
    }

    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        let own = self.own.lock().get(name).cloned();
        match own {
            Some(entry) => Ok(entry.map(|table| table.table_type())),
            None => self.shared.table_type(name).await,
        }
    }

    fn register_table(
        &self,
        name: String,
        table: Arc<dyn TableProvider>,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        if self.table_exist(&name) {
            return exec_err!("The table {name} already exists");
        }
        Ok(self.own.set(name, Some(table)))
    }

    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !self.table_exist(name) {
            return Ok(None);
        }
        let own = self.own.set(name.to_owned(), None);
        // The method of a shared schema is asynchronous, but tables in memory are ready at once.
        Ok(own.or_else(|| futures::FutureExt::now_or_never(self.shared.table(name))?.ok()?))
    }

    fn table_exist(&self, name: &str) -> bool {
        let own = self.own.lock().get(name).map(Option::is_some);
        own.unwrap_or_else(|| self.shared.table_exist(name))
    }
}
