// SPDX-License-Identifier: Apache-2.0
//! Implements the table provider of Parquet files.
//!
//! Every way to make a Parquet table (`Engine::register`, `CREATE EXTERNAL TABLE`, `FROM 'file'`)
//! goes through [`TableFactory`], which wraps DataFusion's listing table in a [`ParquetTable`]. The
//! listing table gets statistics, orderings and the scan from [`SoundFormat`]. If a drive is
//! attached, the wrapper attaches [`facts`] about the files for the optimizer, and it adds the name
//! of the file to errors of Parquet. Everything else is delegated to the listing table. Tables of
//! other formats are not wrapped.
//!
//! In DataFusion 55, only the serialisation of *logical* plans downcasts a provider to
//! `ListingTable`; physical plans are built from the scan alone.

use std::{borrow::Cow, panic::AssertUnwindSafe, sync::Arc};

use async_trait::async_trait;
use datafusion::{
    arrow::datatypes::SchemaRef,
    catalog::{ScanArgs, ScanResult, Session, TableProvider, TableProviderFactory},
    common::{Constraints, DFSchemaRef, DataFusionError, Result, Statistics},
    datasource::{
        listing::{ListingTable, ListingTableConfig, ListingTableUrl},
        physical_plan::parquet::metadata::DFParquetMetadata,
        provider::DefaultTableFactory,
    },
    logical_expr::{
        CreateExternalTable, Expr, LogicalPlan, TableProviderFilterPushDown, TableType,
        dml::{InsertOp, MergeIntoClause},
    },
    object_store::{self, ObjectMeta, ObjectStore, ObjectStoreExt},
    parquet::{
        arrow::arrow_reader::ArrowReaderMetadata,
        errors::ParquetError,
        file::metadata::{PageIndexPolicy, ParquetMetaData},
    },
    physical_plan::ExecutionPlan,
};
use futures::{FutureExt, TryStreamExt};
use nearscan_optimizer::NearscanOptions;

use super::{facts, format::SoundFormat, validate};
use crate::{
    corruption::{Corruption, bare},
    error::StoreError,
    object_stores::{check_url, routed, with_urls_of_servers},
    panics::from_panic,
};

/// Extension of the files that a table reads in a folder.
const PARQUET_EXTENSION: &str = ".parquet";

/// A table of Parquet files.
#[derive(Debug)]
pub(crate) struct ParquetTable {
    inner: Arc<dyn TableProvider>,
}

/// Makes tables from files and folders, for all formats that DataFusion reads.
#[derive(Debug, Default)]
pub(crate) struct TableFactory {
    inner: DefaultTableFactory,
}

#[async_trait]
impl TableProviderFactory for TableFactory {
    async fn create(
        &self,
        state: &dyn Session,
        command: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        command.locations.iter().try_for_each(|location| check_url(location))?;
        let locations = routed(&command.locations);
        let locations = locations.map_err(|error| DataFusionError::External(error.into()))?;
        let command = &CreateExternalTable { locations, ..command.clone() };
        let made = unwound(self.inner.create(state, command)).await;
        match made.map_err(with_urls_of_servers) {
            Ok(table) => Ok(wrap(table)),
            Err(error) => {
                let urls = command.locations.iter().map(ListingTableUrl::parse);
                Err(name_file(error, state, urls.filter_map(Result::ok)).await)
            }
        }
    }
}

/// Runs code that computes with unvalidated counts of footers, and converts a panic into an error.
async fn unwound<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let ended = AssertUnwindSafe(future).catch_unwind().await;
    ended.unwrap_or_else(|panic| Err(from_panic(&*panic)))
}

/// Adds the name of the file, which DataFusion leaves out, to an error of Parquet.
async fn name_file(
    error: DataFusionError,
    state: &dyn Session,
    urls: impl Iterator<Item = ListingTableUrl>,
) -> DataFusionError {
    // The store reports a range in a footer that ends after the end of the file.
    let is_outside =
        |error: &object_store::Error| matches!(error, object_store::Error::Generic { .. });
    if Corruption::of(&error).is_some() || StoreError::of(&error).is_some() {
        return error;
    }
    match error.find_root() {
        // An internal error may be a panic of a library.
        DataFusionError::ParquetError(_) | DataFusionError::Internal(_) => {}
        DataFusionError::ObjectStore(source) if is_outside(source) => {}
        _ => return error,
    }
    for url in urls {
        if let Ok(Some(corruption)) = unreadable_file(state, &url).await {
            return ParquetError::from(corruption).into();
        }
    }
    // The file may have been replaced since.
    error
}

/// Returns the first file at `location` whose footer or page indexes cannot be read.
async fn unreadable_file(state: &dyn Session, url: &ListingTableUrl) -> Result<Option<Corruption>> {
    let store = state.runtime_env().object_store(url)?;
    // A file that is named directly may have any extension.
    let extension = if url.is_collection() { PARQUET_EXTENSION } else { "" };
    let mut files = url.list_all_files(state, store.as_ref(), extension).await?;
    while let Some(file) = files.try_next().await? {
        let read = |policy| {
            let metadata = DFParquetMetadata::new(store.as_ref(), &file);
            async move { metadata.with_page_index_policy(Some(policy)).fetch_metadata().await }
        };
        let path = format!("/{}", file.location);
        let metadata = read(PageIndexPolicy::Skip).await;
        if let Ok(metadata) = &metadata
            && let Err(corruption) = validate::check_footer(metadata, &path, file.size)
        {
            return Ok(Some(corruption));
        }
        let (part, error) = match metadata {
            Err(error) => ("footer", error),
            Ok(metadata) => match read(PageIndexPolicy::Optional).await {
                Err(error) => ("page index", error),
                Ok(_) => match unwound(async { arrow_schema(metadata) }).await {
                    Err(error) => ("schema", error),
                    Ok(()) => continue,
                },
            },
        };
        let text = match error.find_root() {
            DataFusionError::ParquetError(error) => error.to_string(),
            other => other.to_string(),
        };
        let what = format!("the {part} cannot be read: {}", bare(&text));
        let offset = footer_offset(store.as_ref(), &file).await.filter(|_| part == "footer");
        return Ok(Some(Corruption { file: path, chunk: None, offset, what }));
    }
    Ok(None)
}

/// Reads the Arrow schema in a footer, which may panic.
fn arrow_schema(metadata: Arc<ParquetMetaData>) -> Result<()> {
    ArrowReaderMetadata::try_new(metadata, Default::default())?;
    Ok(())
}

/// Returns the offset of the footer, if the end of the file is valid.
async fn footer_offset(store: &dyn ObjectStore, file: &ObjectMeta) -> Option<u64> {
    let end = file.size.checked_sub(8)?;
    let bytes = store.get_range(&file.location, end..file.size).await.ok()?;
    let length = u32::from_le_bytes(*bytes.first_chunk()?);
    end.checked_sub(u64::from(length)).filter(|_| bytes.ends_with(b"PAR1"))
}

/// Wraps a listing table of Parquet files; any other table stays as it is.
fn wrap(table: Arc<dyn TableProvider>) -> Arc<dyn TableProvider> {
    let is_parquet = table
        .downcast_ref::<ListingTable>()
        .is_some_and(|listing| listing.options().format.is::<SoundFormat>());
    if is_parquet { Arc::new(ParquetTable { inner: table }) } else { table }
}

impl ParquetTable {
    fn urls(&self) -> impl Iterator<Item = ListingTableUrl> {
        let listing = self.inner.downcast_ref::<ListingTable>();
        listing.into_iter().flat_map(|listing| listing.table_paths().clone())
    }

    /// Returns the table for a session in which a correction of Parquet is off. It has no cache of
    /// statistics, since the cached ones are corrected.
    fn uncorrected(&self, state: &dyn Session) -> Result<Option<ListingTable>> {
        let corrections = NearscanOptions::corrections_of(state.config_options());
        let listing = self.inner.downcast_ref::<ListingTable>();
        let format = listing.and_then(|listing| listing.options().format.downcast_ref());
        let (Some(listing), Some::<&SoundFormat>(format)) = (listing, format) else {
            return Ok(None);
        };
        if format.applies(corrections) {
            return Ok(None);
        }
        let mut options = listing.options().clone();
        options.format = Arc::new(format.with_corrections(corrections));
        let schema = listing.schema();
        let columns = schema.fields().len() - options.table_partition_cols.len();
        let schema = schema.project(&(0..columns).collect::<Vec<_>>())?;
        let config = ListingTableConfig::new_with_multi_paths(listing.table_paths().clone())
            .with_listing_options(options)
            .with_schema(Arc::new(schema));
        ListingTable::try_new(config).map(Some)
    }
}

#[async_trait]
impl TableProvider for ParquetTable {
    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.inner.constraints()
    }

    fn table_type(&self) -> TableType {
        self.inner.table_type()
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.inner.get_table_definition()
    }

    fn get_logical_plan(&self) -> Option<Cow<'_, LogicalPlan>> {
        self.inner.get_logical_plan()
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.inner.get_column_default(column)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let args = ScanArgs::default()
            .with_projection(projection.map(Vec::as_slice))
            .with_filters(Some(filters))
            .with_limit(limit);
        Ok(self.scan_with_args(state, args).await?.into_inner())
    }

    /// Every scan of a Parquet file goes through this method, however its table was made.
    async fn scan_with_args<'a>(
        &self,
        state: &dyn Session,
        args: ScanArgs<'a>,
    ) -> Result<ScanResult> {
        let uncorrected = self.uncorrected(state)?;
        let table: &dyn TableProvider = match &uncorrected {
            Some(table) => table,
            None => self.inner.as_ref(),
        };
        match unwound(table.scan_with_args(state, args)).await.map_err(with_urls_of_servers) {
            Ok(scanned) => {
                let plan = Box::pin(facts::attach(scanned.into_inner(), state)).await?;
                Ok(ScanResult::new(plan))
            }
            Err(error) => Err(name_file(error, state, self.urls()).await),
        }
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        self.inner.supports_filters_pushdown(filters)
    }

    fn statistics(&self) -> Option<Statistics> {
        self.inner.statistics()
    }

    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        operation: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.insert_into(state, input, operation).await
    }

    async fn delete_from(
        &self,
        state: &dyn Session,
        filters: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.delete_from(state, filters).await
    }

    async fn update(
        &self,
        state: &dyn Session,
        assignments: Vec<(String, Expr)>,
        filters: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.update(state, assignments, filters).await
    }

    async fn truncate(&self, state: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.truncate(state).await
    }

    async fn merge_into(
        &self,
        state: &dyn Session,
        source: Arc<dyn ExecutionPlan>,
        merge_schema: DFSchemaRef,
        on: Expr,
        clauses: Vec<MergeIntoClause>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.merge_into(state, source, merge_schema, on, clauses).await
    }
}
