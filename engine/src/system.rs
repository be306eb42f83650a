// SPDX-License-Identifier: Apache-2.0
//! Provides the schema `nearscan`, with tables about the engine.
//!
//! A table is a [`SystemTable`]: a name, a schema, and a function that makes its rows. Rows are
//! made when a query scans the table, from the session that runs the query, and are never stored.
//! The schema is read-only.

use std::{
    fmt::Debug,
    sync::{Arc, LazyLock},
};

use async_trait::async_trait;
use datafusion::{
    arrow::{
        array::{RecordBatch, StringArray},
        datatypes::{DataType, Field, Schema, SchemaRef},
    },
    catalog::{SchemaProvider, Session, TableProvider},
    common::Result,
    datasource::{TableType, memory::MemorySourceConfig},
    logical_expr::Expr,
    physical_plan::ExecutionPlan,
};

use crate::settings::{NearscanOptions, SETTINGS};

/// Name of the schema.
pub(crate) const SCHEMA_NAME: &str = "nearscan";

/// A table whose rows are made when it is scanned.
pub(crate) trait SystemTable: Debug + Send + Sync + 'static {
    /// Name of the table within the schema.
    fn name(&self) -> &'static str;

    /// Columns of the table.
    fn schema(&self) -> SchemaRef;

    /// Makes all rows, with the columns of [`SystemTable::schema`].
    fn rows(&self, session: &dyn Session) -> Result<RecordBatch>;
}

/// The schema that holds the system tables.
#[derive(Debug)]
pub(crate) struct SystemSchema {
    tables: Vec<Arc<dyn SystemTable>>,
}

impl SystemSchema {
    /// Makes a schema of these tables.
    pub(crate) fn new(tables: Vec<Arc<dyn SystemTable>>) -> Self {
        Self { tables }
    }

    fn find(&self, name: &str) -> Option<&Arc<dyn SystemTable>> {
        self.tables.iter().find(|table| table.name() == name)
    }
}

#[async_trait]
impl SchemaProvider for SystemSchema {
    fn table_names(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.name().to_owned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        Ok(self.find(name).map(|table| Arc::new(SystemProvider(Arc::clone(table))) as _))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

/// Adapts a system table to a table provider.
#[derive(Debug)]
struct SystemProvider(Arc<dyn SystemTable>);

#[async_trait]
impl TableProvider for SystemProvider {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = self.0.rows(state)?;
        let plan =
            MemorySourceConfig::try_new_exec(&[vec![rows]], self.schema(), projection.cloned())?;
        Ok(plan)
    }
}

/// `nearscan.settings`: every setting and its value in this session.
#[derive(Debug)]
pub(crate) struct SettingsTable;

static SETTINGS_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let column = |name: &str| Field::new(name, DataType::Utf8, false);
    let columns = ["name", "value", "default", "values", "description"];
    Arc::new(Schema::new(columns.map(column).to_vec()))
});

impl SystemTable for SettingsTable {
    fn name(&self) -> &'static str {
        "settings"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&SETTINGS_SCHEMA)
    }

    fn rows(&self, session: &dyn Session) -> Result<RecordBatch> {
        let defaults = NearscanOptions::default();
        let options = session.config_options().extensions.get().unwrap_or(&defaults);
        let text = |cell: fn(&crate::settings::Setting) -> &'static str| {
            Arc::new(StringArray::from_iter_values(SETTINGS.iter().map(cell)))
        };
        let values = SETTINGS.iter().map(|setting| setting.value(options));
        let columns: Vec<datafusion::arrow::array::ArrayRef> = vec![
            text(|setting| setting.key),
            Arc::new(StringArray::from_iter_values(values)),
            text(|setting| setting.default),
            text(|setting| setting.values),
            text(|setting| setting.description),
        ];
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}
