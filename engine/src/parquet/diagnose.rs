// SPDX-License-Identifier: Apache-2.0
//! Finds the column chunk and page that a scan could not decode.
//!
//! The `parquet` crate reports what is wrong with a page, but not where, and it panics on some
//! corrupt pages. So when a query fails with an error that may come from a file, this module reads
//! the chunks of its scans again, one column of one row group at a time, page by page, until one
//! fails. This reads the same data twice, but only for queries that fail.
//!
//! # What this module does not do
//!
//! Errors of [`reader`](super::reader) already have a place. Wrong rows that can be decoded are not
//! detected.

use std::{
    collections::HashSet,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bytes::Bytes;
use datafusion::{
    arrow::{datatypes::SchemaRef, error::ArrowError},
    common::{
        DataFusionError,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    datasource::{
        file_format::parquet::apply_file_schema_type_coercions,
        listing::PartitionedFile,
        physical_plan::{FileScanConfig, FileSource, ParquetFileReaderFactory, ParquetSource},
    },
    parquet::{
        arrow::{
            ProjectionMask,
            arrow_reader::{
                ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
                RowSelection, RowSelector,
            },
        },
        errors::{ParquetError, Result as ParquetResult},
        file::metadata::ParquetMetaData,
    },
    physical_expr::utils::collect_columns,
    physical_plan::{ExecutionPlan, metrics::ExecutionPlanMetricsSet},
};
use nearscan_cpu::PageHeader;
use nearscan_optimizer::{FusedScanExec, PushdownExec};

use super::{in_memory::InMemory, scan::parquet_scan_of};
use crate::{
    corruption::{Corruption, bare},
    error::Error,
    panics::{caught, from_panic},
};

/// Returns the error that a query ends with, with the place if the error comes from the data of a
/// file.
pub(crate) async fn explain(error: DataFusionError, plan: Arc<dyn ExecutionPlan>) -> Error {
    let error = Error::from(error);
    // A panic of a library is an internal error.
    let (Error::Data(source) | Error::Internal(source)) = &error else { return error };
    if Corruption::of(source).is_some() || is_of_another_format(source) {
        return error;
    }
    let said: Arc<str> = source.to_string().into();
    for scan in scans_of(&plan) {
        let Some(factory) = scan.factory() else { continue };
        for file in scan.files() {
            if let Ok(Ok(Some(corruption))) = caught(scan.find(factory, file, &said)).await {
                return Error::from(DataFusionError::from(ParquetError::from(corruption)));
            }
        }
    }
    error
}

/// Whether the error comes from a file of another format than Parquet.
fn is_of_another_format(error: &DataFusionError) -> bool {
    let DataFusionError::ArrowError(error, _) = error.find_root() else { return false };
    matches!(
        error.as_ref(),
        ArrowError::CsvError(_)
            | ArrowError::JsonError(_)
            | ArrowError::IpcError(_)
            | ArrowError::AvroError(_)
    )
}

/// The scans of a plan, those that run on a drive among them.
fn scans_of(plan: &Arc<dyn ExecutionPlan>) -> Vec<Scan> {
    let mut scans = Vec::new();
    let walked = plan.apply(|node| {
        if let Some(pushed) = node.downcast_ref::<PushdownExec>() {
            scans.extend(scans_of(pushed.replaced()));
        }
        if let Some(fused) = node.downcast_ref::<FusedScanExec>() {
            scans.extend(scans_of(fused.replaced()));
        }
        scans.extend(parquet_scan_of(node).cloned().map(Scan));
        Ok(TreeNodeRecursion::Continue)
    });
    debug_assert!(walked.is_ok(), "no step of the walk fails");
    scans
}

/// A scan of Parquet files.
struct Scan(FileScanConfig);

impl Scan {
    fn source(&self) -> Option<&ParquetSource> {
        self.0.file_source.downcast_ref()
    }

    fn factory(&self) -> Option<&Arc<dyn ParquetFileReaderFactory>> {
        self.source()?.parquet_file_reader_factory()
    }

    fn files(&self) -> impl Iterator<Item = &PartitionedFile> {
        self.0.file_groups.iter().flat_map(|group| group.files())
    }

    /// Names of the columns that are read.
    fn columns(&self) -> HashSet<String> {
        let schema = self.0.file_schema();
        let source = self.source();
        let filter = source.and_then(FileSource::filter);
        let mut columns = filter.map(|filter| collect_columns(&filter)).unwrap_or_default();
        match source.and_then(FileSource::projection) {
            Some(projection) => {
                columns.extend(projection.iter().flat_map(|it| collect_columns(&it.expr)));
                columns.iter().map(|column| column.name().to_owned()).collect()
            }
            None => schema.fields().iter().map(|field| field.name().clone()).collect(),
        }
    }

    /// Returns the first corruption of a file; `said` is the message of the error that the query
    /// failed with.
    async fn find(
        &self,
        factory: &Arc<dyn ParquetFileReaderFactory>,
        file: &PartitionedFile,
        said: &Arc<str>,
    ) -> Result<Option<Corruption>, DataFusionError> {
        let path = format!("/{}", file.object_meta.location);
        let metrics = ExecutionPlanMetricsSet::new();
        let mut reader = factory.create_reader(0, file.clone(), None, &metrics)?;
        let metadata = match reader.get_metadata(None).await {
            Ok(metadata) => metadata,
            Err(error) => return Ok(Some(corruption_of(&error, &path, None, None))),
        };
        let columns = self.columns();
        for (row_group, group) in metadata.row_groups().iter().enumerate() {
            for (leaf, chunk) in group.columns().iter().enumerate() {
                if !columns.contains(&chunk.column_path().parts()[0]) {
                    continue;
                }
                let (start, length) = chunk.byte_range();
                let place = (row_group, chunk.column_path().string());
                let range = start..start + length;
                let read = reader.get_byte_ranges(vec![range]).await;
                let bytes = match read.map(|mut read| read.pop()) {
                    Ok(bytes) => bytes.unwrap_or_default(),
                    Err(error) => {
                        return Ok(Some(corruption_of(&error, &path, Some(place), Some(start))));
                    }
                };
                let (metadata, schema) = (Arc::clone(&metadata), Arc::clone(self.0.file_schema()));
                let chunk = Chunk { metadata, schema, row_group, leaf, start, bytes };
                let said = Arc::clone(said);
                let found = tokio::task::spawn_blocking(move || chunk.find(&said)).await;
                let found = found.map_err(|error| DataFusionError::Internal(error.to_string()))?;
                if let Err((offset, error)) = found {
                    return Ok(Some(corruption_of(&error, &path, Some(place), Some(offset))));
                }
            }
        }
        Ok(None)
    }
}

/// Returns the corruption that an error carries, or makes one from the error and this place.
fn corruption_of(
    error: &ParquetError,
    file: &str,
    chunk: Option<(usize, String)>,
    offset: Option<u64>,
) -> Corruption {
    if let ParquetError::External(source) = error
        && let Some(corruption) = source.downcast_ref::<Corruption>()
    {
        return corruption.clone();
    }
    let what = match error {
        ParquetError::General(text) | ParquetError::EOF(text) => text.clone(),
        other => bare(&other.to_string()).to_owned(),
    };
    Corruption { file: file.to_owned(), chunk, offset, what }
}

/// A column chunk in memory.
struct Chunk {
    metadata: Arc<ParquetMetaData>,
    /// The schema of the scan's files.
    schema: SchemaRef,
    row_group: usize,
    leaf: usize,
    /// Its offset in the file.
    start: u64,
    bytes: Bytes,
}

impl Chunk {
    /// Decodes the chunk. If that fails, returns the offset of the first corrupt page, or of the
    /// chunk.
    fn find(&self, said: &str) -> Result<(), (u64, ParquetError)> {
        let Err(error) = self.decode(None) else { return Ok(()) };
        let text = error.to_string();
        let is_said = !bare(&text).is_empty() && said.contains(bare(&text));
        if is_unsupported(&error) && !is_said {
            return Ok(());
        }
        let mut first = None;
        let mut is_any_good = false;
        for (offset, rows) in self.pages() {
            match self.decode(Some(rows)) {
                Ok(()) => is_any_good = true,
                Err(error) => {
                    first.get_or_insert((offset, error));
                }
            }
        }
        match first {
            Some(first) if is_any_good => Err(first),
            // If the first page is a dictionary, all other pages refer to it.
            _ => Err((self.start, error)),
        }
    }

    /// Returns the offsets and rows of the data pages; none if the column is repeated.
    fn pages(&self) -> Vec<(u64, Range<usize>)> {
        let column = self.metadata.row_group(self.row_group).column(self.leaf);
        let mut pages = Vec::new();
        let (mut rest, mut row) = (&self.bytes[..], 0);
        if column.column_descr().max_rep_level() > 0 {
            return pages;
        }
        while let Ok((header, header_bytes)) = PageHeader::read(rest) {
            let offset = self.start + (self.bytes.len() - rest.len()) as u64;
            let rows = row..row + header.values() as usize;
            if !rows.is_empty() {
                pages.push((offset, rows.clone()));
            }
            row = rows.end;
            match rest.get(header_bytes + header.compressed_bytes..) {
                Some(behind) => rest = behind,
                None => break,
            }
        }
        pages
    }

    /// Returns the metadata with the types that the scan reads, because the decoders of two types
    /// may differ in what they accept.
    fn known(&self) -> ParquetResult<ArrowReaderMetadata> {
        let metadata = || Arc::clone(&self.metadata);
        let plain = ArrowReaderMetadata::try_new(metadata(), ArrowReaderOptions::new())?;
        let Some(types) = apply_file_schema_type_coercions(&self.schema, plain.schema()) else {
            return Ok(plain);
        };
        let options = ArrowReaderOptions::new().with_schema(Arc::new(types));
        Ok(ArrowReaderMetadata::try_new(metadata(), options).unwrap_or(plain))
    }

    /// Decodes all rows, or a range of them.
    fn decode(&self, rows: Option<Range<usize>>) -> ParquetResult<()> {
        let all = self.metadata.row_group(self.row_group).num_rows();
        let count = rows.as_ref().map_or(usize::try_from(all)?, Range::len);
        let decoded = catch_unwind(AssertUnwindSafe(|| {
            let known = self.known()?;
            let leaves = [self.leaf];
            let column =
                ProjectionMask::leaves(known.metadata().file_metadata().schema_descr(), leaves);
            let file = InMemory { start: self.start, bytes: self.bytes.clone() };
            let mut reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, known)
                .with_row_groups(vec![self.row_group])
                .with_projection(column);
            if let Some(rows) = rows {
                let selectors =
                    vec![RowSelector::skip(rows.start), RowSelector::select(rows.len())];
                reader = reader.with_row_selection(RowSelection::from(selectors));
            }
            let mut missing = count;
            for batch in reader.build()? {
                missing = missing.saturating_sub(batch?.num_rows());
            }
            match missing {
                0 => Ok(()),
                _ => Err(ParquetError::General(format!("{missing} of {count} rows are missing"))),
            }
        }));
        decoded.unwrap_or_else(|panic| Err(ParquetError::General(from_panic(&*panic).to_string())))
    }
}

/// Whether the crate may be unable to read such a chunk alone, for example the keys of a map
/// without the values. The chunk is then corrupt only if the query failed for the same reason.
fn is_unsupported(error: &ParquetError) -> bool {
    matches!(error, ParquetError::NYI(_)) || error.to_string().contains("not supported")
}
