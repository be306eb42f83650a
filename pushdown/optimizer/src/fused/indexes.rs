// SPDX-License-Identifier: Apache-2.0
//! Narrows row groups by the page index and the Bloom filters of their file.
//!
//! Page indexes come with the footer, from the reader of the replaced plan, which validates and
//! caches them. Bloom filters are read like column chunks.
//!
//! # Invariants
//! - What is missing, or cannot be read, rules nothing out.
//! - Rows are dropped by a page index only after the headers of its pages were found to agree with
//!   it: whoever reads the chunks compares them with [`Candidates::first_rows`].
//! - A Bloom filter is asked only about values that the file stores as the table shows them.

use std::{ops::Range, path::Path, sync::Arc};

use arrow::datatypes::DataType;
use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    datasource::physical_plan::parquet::{BloomFilterStatistics, ParquetFileMetrics},
    physical_expr::expressions::Column,
    physical_plan::{ExecutionPlan, metrics::ExecutionPlanMetricsSet},
};
use nearscan_drive::file_version;
use parquet::{
    arrow::{
        arrow_reader::{ArrowReaderOptions, RowSelection},
        async_reader::AsyncFileReader,
    },
    basic::{LogicalType, Type},
    bloom_filter::Sbbf,
    file::metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData},
};

use super::{
    reader::{OpenUnit, RowGroupReader},
    work::{Fused, FusedUnit},
};
use crate::{
    exec::fallback::find_file,
    scan::Scan,
    units::{PlannedUnit, chunk_metadata},
};

/// The rows of a row group that its page index leaves.
#[derive(Debug)]
pub(super) struct Candidates {
    /// In ascending order.
    pub(super) rows: Vec<Range<u64>>,
    /// The first row of each page, of the columns of the fragment that rule rows out.
    pub(super) first_rows: Vec<(usize, Vec<u64>)>,
}

/// Narrows the row groups of one stream.
#[derive(Debug)]
pub(super) struct IndexPruner {
    fused: Arc<Fused>,
    /// The replaced plan.
    plan: Arc<dyn ExecutionPlan>,
    /// The footer of the last file, and the one with its page index.
    last: Option<(Arc<ParquetMetaData>, Option<Arc<ParquetMetaData>>)>,
    /// Metrics of DataFusion's page pruning; the operator has its own.
    metrics: ParquetFileMetrics,
}

impl IndexPruner {
    /// The pruner of a scan in place of `plan`.
    pub(super) fn new(fused: &Arc<Fused>, plan: &Arc<dyn ExecutionPlan>) -> Self {
        Self {
            fused: Arc::clone(fused),
            plan: Arc::clone(plan),
            last: None,
            metrics: ParquetFileMetrics::new(0, "", &ExecutionPlanMetricsSet::new()),
        }
    }

    /// The rows of a row group that its page index leaves; nothing if these are all.
    pub(super) async fn candidates(&mut self, unit: &FusedUnit) -> Option<Candidates> {
        let predicate = Arc::clone(self.fused.pruning.as_ref()?);
        let group = unit.metadata()?;
        let has_index = |column: &Column| {
            let chunk = chunk_metadata(group, column.name());
            chunk.is_some_and(|chunk| chunk.column_index_offset().is_some())
        };
        let columns = predicate.columns_of_pages();
        let columns: Vec<Column> = columns.into_iter().filter(has_index).collect();
        if columns.is_empty() {
            return None;
        }
        let footer = self.with_page_index(unit).await?;
        let index = usize::try_from(unit.planned.row_group).ok()?;
        let rows = ranges(&predicate.rows_left(&footer, index, &self.metrics)?);
        let offsets = footer.offset_index()?.get(index)?;
        let first_rows = columns.iter().map(|column| {
            let place = self.fused.scan.fragment.columns.iter();
            let place = place.map(|it| &it.name).position(|name| name == column.name())?;
            let mut leaves = group.columns().iter();
            let leaf = leaves.position(|it| it.column_path().parts() == [column.name()])?;
            let pages = offsets.get(leaf)?.page_locations().iter();
            let first = pages.map(|page| u64::try_from(page.first_row_index).ok());
            Some((place, first.collect::<Option<_>>()?))
        });
        Some(Candidates { rows, first_rows: first_rows.collect::<Option<_>>()? })
    }

    /// The footer of a row group's file with the page index.
    async fn with_page_index(&mut self, unit: &FusedUnit) -> Option<Arc<ParquetMetaData>> {
        if let Some((footer, indexed)) = &self.last
            && Arc::ptr_eq(footer, &unit.footer)
        {
            return indexed.clone();
        }
        let indexed = match has_page_index(&unit.footer) {
            true => Some(Arc::clone(&unit.footer)),
            false => read_page_index(&self.plan, &unit.planned).await,
        };
        self.last = Some((Arc::clone(&unit.footer), indexed.clone()));
        indexed
    }

    /// Whether the Bloom filters of a row group prove that no row of it is one of the result.
    pub(super) async fn is_ruled_out(
        &self,
        unit: &FusedUnit,
        open: &OpenUnit,
        reader: &RowGroupReader,
    ) -> bool {
        let (Some(predicate), Some(group)) = (&self.fused.pruning, unit.metadata()) else {
            return false;
        };
        // Few files have any, and a predicate takes a while to build.
        if group.columns().iter().all(|chunk| chunk.bloom_filter_offset().is_none()) {
            return false;
        }
        let mut filters = BloomFilterStatistics::new();
        let mut has_filter = false;
        for name in predicate.columns_of_literals(&unit.footer) {
            let Ok(field) = predicate.table().field_with_name(&name) else { continue };
            let Some(chunk) = chunk_metadata(group, &name) else { continue };
            let Some(range) = bloom_filter_range(chunk) else { continue };
            if !is_stored_as(chunk, field.data_type()) {
                continue;
            }
            let Ok(bytes) = reader.read_range(open, &range).await else { continue };
            if let Ok(filter) = Sbbf::from_bytes(&bytes)
                && filter.num_blocks() > 0
            {
                let length = chunk.column_descr().type_length();
                filters.insert(name, filter, chunk.column_type(), length);
                has_filter = true;
            }
        }
        has_filter && predicate.is_ruled_out_by(&filters, &unit.footer)
    }
}

fn has_page_index(footer: &ParquetMetaData) -> bool {
    footer.column_index().is_some() && footer.offset_index().is_some()
}

/// Reads the page index of a file by the reader of the replaced plan.
async fn read_page_index(
    plan: &Arc<dyn ExecutionPlan>,
    unit: &PlannedUnit,
) -> Option<Arc<ParquetMetaData>> {
    let mut reader = reader_of(plan, unit)?;
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let footer = reader.get_metadata(Some(&options)).await.ok()?;
    (has_page_index(&footer) && is_unchanged(unit)).then_some(footer)
}

/// The reader of a row group's file.
fn reader_of(
    plan: &Arc<dyn ExecutionPlan>,
    unit: &PlannedUnit,
) -> Option<Box<dyn AsyncFileReader + Send>> {
    let mut reader = None;
    let found = plan.apply(|node| {
        let Some(scan) = Scan::of(node) else { return Ok(TreeNodeRecursion::Continue) };
        if let (Some(file), Some(factory)) =
            (find_file(&scan, unit), scan.source.parquet_file_reader_factory())
        {
            let metrics = ExecutionPlanMetricsSet::new();
            reader = Some(factory.create_reader(0, file.clone(), None, &metrics)?);
        }
        Ok(TreeNodeRecursion::Stop)
    });
    found.ok().and(reader)
}

/// Whether the file of a row group is still the one that was planned.
fn is_unchanged(unit: &PlannedUnit) -> bool {
    let metadata = Path::new(&unit.file.path).metadata();
    metadata.is_ok_and(|metadata| file_version(&metadata) == unit.file.version)
}

/// The rows that are selected.
fn ranges(rows: &RowSelection) -> Vec<Range<u64>> {
    let mut first = 0;
    let mut ranges = Vec::new();
    for selector in rows.iter() {
        let end = first + selector.row_count as u64;
        if !selector.skip {
            ranges.push(first..end);
        }
        first = end;
    }
    ranges
}

/// Where the Bloom filter of a chunk is, if it is no longer than the chunk, which can be read as
/// well.
fn bloom_filter_range(chunk: &ColumnChunkMetaData) -> Option<Range<u64>> {
    let offset = u64::try_from(chunk.bloom_filter_offset()?).ok()?;
    let length = u64::try_from(chunk.bloom_filter_length()?).ok()?;
    let (_, chunk_length) = chunk.byte_range();
    (length <= chunk_length).then(|| offset..offset.saturating_add(length))
}

/// Whether a chunk stores values of a table's type with the same bytes that DataFusion hashes for
/// them. Floats are none of these: zeros are equal, and differ in their bytes.
fn is_stored_as(chunk: &ColumnChunkMetaData, shown: &DataType) -> bool {
    let column = chunk.column_descr();
    let logical = column.logical_type_ref();
    let is_integer = matches!(logical, None | Some(LogicalType::Integer { .. }));
    let is_decimal = matches!(logical, Some(LogicalType::Decimal { .. }));
    match (shown, chunk.column_type()) {
        (DataType::Int32 | DataType::UInt32, Type::INT32)
        | (DataType::Int64 | DataType::UInt64, Type::INT64) => is_integer,
        (
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView,
            Type::BYTE_ARRAY,
        ) => !is_decimal,
        (
            DataType::Decimal128(precision, scale),
            Type::INT32 | Type::INT64 | Type::FIXED_LEN_BYTE_ARRAY,
        ) => {
            is_decimal
                && column.type_precision() == i32::from(*precision)
                && column.type_scale() == i32::from(*scale)
        }
        _ => false,
    }
}
