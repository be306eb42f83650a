// SPDX-License-Identifier: Apache-2.0
//! Keeps tables in memory for statements, and their Parquet copies for queries.
//!
//! A statement makes a table as the engine makes it. [`Tables::adopt`] then puts a `CopiedTable`
//! in its place: INSERT, UPDATE and DELETE go to the table in memory, and a scan goes to the copy,
//! where there is one and it is as new as the table. [`Tables::refresh`] writes the copies that are
//! not. A view keeps the table it was made on, and so reads the copies too.
//!
//! A file of another format is copied in the same way. Parquet files stay as they are. A table of a
//! type that Parquet does not give back stays in memory, with the reason.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use nearscan::{
    Engine,
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    datafusion::{
        catalog::{MemTable, ScanArgs, ScanResult, SchemaProvider, Session, TableProvider},
        common::{Constraints, DFSchema, DataFusionError, Result, Statistics, TableReference},
        datasource::listing::ListingTable,
        logical_expr::{
            CreateExternalTable, Expr, LogicalPlan, TableProviderFilterPushDown, TableType,
            dml::InsertOp,
        },
        physical_plan::ExecutionPlan,
    },
    parquet::arrow::ArrowWriter,
};

use super::{
    layout::{self, Draw},
    reason,
};

/// The format of a copy, as `STORED AS` names it.
const FORMAT: &str = "PARQUET";

/// The tables that the statements of one file made.
#[derive(Debug)]
pub struct Tables {
    folder: PathBuf,
    draw: Draw,
    adopted: BTreeMap<(String, String), Arc<CopiedTable>>,
    /// Files that were begun; a file may hold no copy after all.
    files: u64,
    written: u64,
    kept: BTreeMap<String, u64>,
}

/// A table whose scans read a Parquet copy.
#[derive(Debug)]
struct CopiedTable {
    original: Arc<dyn TableProvider>,
    copy: Mutex<Copied>,
}

/// The state of the copy of a table.
#[derive(Debug, Clone)]
enum Copied {
    /// There is none, or the table has changed.
    Stale,
    /// It is what the table is.
    Fresh(Arc<dyn TableProvider>),
    /// There cannot be one.
    Impossible,
}

impl Tables {
    /// Starts without tables; copies are written to `folder`, which exists, as `seed` draws them.
    #[must_use]
    pub fn new(folder: PathBuf, seed: u64) -> Self {
        let adopted = BTreeMap::new();
        let (files, written, kept) = (0, 0, BTreeMap::new());
        Self { folder, draw: Draw::new(seed), adopted, files, written, kept }
    }

    /// Number of copies that were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Tables that stay in memory, counted by reason.
    #[must_use]
    pub fn kept(&self) -> &BTreeMap<String, u64> {
        &self.kept
    }

    /// Puts a table with a copy in place of each new table of the session.
    pub async fn adopt(&mut self, engine: &Engine) {
        let mut present = BTreeMap::new();
        for name in engine.tables() {
            let Some(schema) = schema(engine, &name.schema) else { continue };
            let Ok(Some(table)) = schema.table(&name.name).await else { continue };
            let key = (name.schema, name.name);
            if let Some(adopted) = self.adopted.remove(&key)
                && table.downcast_ref::<CopiedTable>().is_some()
            {
                present.insert(key, adopted);
                continue;
            }
            let is_plain = table.downcast_ref::<MemTable>().is_some()
                || table.downcast_ref::<ListingTable>().is_some();
            if !is_plain {
                continue;
            }
            let copied = Arc::new(CopiedTable { original: table, copy: Mutex::new(Copied::Stale) });
            let replacement: Arc<dyn TableProvider> = Arc::clone(&copied) as Arc<dyn TableProvider>;
            // A schema that does not let go of the table keeps it: its queries stay in memory.
            if schema.deregister_table(&key.1).is_ok()
                && schema.register_table(key.1.clone(), replacement).is_ok()
            {
                present.insert(key, copied);
            }
        }
        self.adopted = present;
    }

    /// Writes the copies of all tables that have changed. A table of which there can be none stays
    /// in memory.
    pub async fn refresh(&mut self, engine: &Engine) {
        let stale: Vec<Arc<CopiedTable>> =
            self.adopted.values().filter(|table| table.is_stale()).map(Arc::clone).collect();
        for table in stale {
            let copy = match Box::pin(self.copy(engine, Arc::clone(&table.original))).await {
                Ok(copy) => {
                    self.written += 1;
                    Copied::Fresh(copy)
                }
                Err(reason) => {
                    *self.kept.entry(reason).or_default() += 1;
                    Copied::Impossible
                }
            };
            table.set(copy);
        }
    }

    /// Writes a copy and opens it; otherwise the reason in few words.
    async fn copy(
        &mut self,
        engine: &Engine,
        original: Arc<dyn TableProvider>,
    ) -> Result<Arc<dyn TableProvider>, String> {
        let schema = original.schema();
        let path = self.folder.join(format!("copy-{}.parquet", self.files));
        self.files += 1;
        let in_short = |error: DataFusionError| reason::short(&error.strip_backtrace());
        let frame = engine.uncorrected_context().read_table(original).map_err(in_short)?;
        let batches = Box::pin(frame.collect()).await.map_err(in_short)?;
        self.write(&path, &schema, &batches).map_err(in_short)?;
        let name = TableReference::bare("copy");
        let declared = DFSchema::try_from(schema.as_ref().clone()).map_err(in_short)?;
        let location = path.to_string_lossy().into_owned();
        let command =
            CreateExternalTable::builder(name, location, FORMAT, Arc::new(declared)).build();
        let state = engine.uncorrected_context().state();
        let factory = state.table_factories().get(FORMAT).map(Arc::clone);
        let Some(factory) = factory else { return Err("no table factory".to_owned()) };
        let copy = factory.create(&state, &command).await.map_err(in_short)?;
        let types = |schema: &SchemaRef| {
            schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>()
        };
        match types(&copy.schema()) == types(&schema) {
            true => Ok(copy),
            false => Err("types that the file does not keep".to_owned()),
        }
    }

    fn write(&mut self, path: &Path, schema: &SchemaRef, batches: &[RecordBatch]) -> Result<()> {
        let properties = layout::draw(schema, batches, &mut self.draw);
        let file = File::create(path).map_err(DataFusionError::IoError)?;
        let mut writer = ArrowWriter::try_new(file, Arc::clone(schema), Some(properties))?;
        for batch in batches {
            writer.write(batch)?;
        }
        writer.close()?;
        Ok(())
    }
}

fn schema(engine: &Engine, name: &str) -> Option<Arc<dyn SchemaProvider>> {
    let session = engine.uncorrected_context();
    let config = session.copied_config();
    let catalog = &config.options().catalog.default_catalog;
    session.catalog(catalog)?.schema(name)
}

impl CopiedTable {
    fn is_stale(&self) -> bool {
        matches!(self.state(), Copied::Stale)
    }

    fn state(&self) -> Copied {
        self.copy.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, copy: Copied) {
        *self.copy.lock().unwrap_or_else(PoisonError::into_inner) = copy;
    }

    /// The table that is scanned now.
    fn scanned(&self) -> Arc<dyn TableProvider> {
        match self.state() {
            Copied::Fresh(copy) => copy,
            Copied::Stale | Copied::Impossible => Arc::clone(&self.original),
        }
    }
}

#[async_trait]
impl TableProvider for CopiedTable {
    fn schema(&self) -> SchemaRef {
        self.original.schema()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.original.constraints()
    }

    fn table_type(&self) -> TableType {
        self.original.table_type()
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.original.get_table_definition()
    }

    fn get_logical_plan(&self) -> Option<Cow<'_, LogicalPlan>> {
        self.original.get_logical_plan()
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.original.get_column_default(column)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.scanned().scan(state, projection, filters, limit).await
    }

    async fn scan_with_args<'a>(
        &self,
        state: &dyn Session,
        args: ScanArgs<'a>,
    ) -> Result<ScanResult> {
        self.scanned().scan_with_args(state, args).await
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        self.scanned().supports_filters_pushdown(filters)
    }

    fn statistics(&self) -> Option<Statistics> {
        self.scanned().statistics()
    }

    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        operation: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.set(Copied::Stale);
        self.original.insert_into(state, input, operation).await
    }

    async fn delete_from(
        &self,
        state: &dyn Session,
        filters: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.set(Copied::Stale);
        self.original.delete_from(state, filters).await
    }

    async fn update(
        &self,
        state: &dyn Session,
        assignments: Vec<(String, Expr)>,
        filters: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.set(Copied::Stale);
        self.original.update(state, assignments, filters).await
    }

    async fn truncate(&self, state: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        self.set(Copied::Stale);
        self.original.truncate(state).await
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        for number in 0..self.files {
            // The folder is removed with its process; a remaining file is harmless.
            let _removed = fs::remove_file(self.folder.join(format!("copy-{number}.parquet")));
        }
    }
}

#[cfg(test)]
mod tests;
