// SPDX-License-Identifier: Apache-2.0
//! Rules out row groups by the statistics of footers and by Bloom filters, and pages by the page
//! index.
//!
//! A predicate keeps a row group, or a page, unless its bounds and counts prove that no row of it
//! matches. The bounds of row groups are those of [`FileFacts`](crate::FileFacts), which are sound
//! for the predicate of the scan; so are those of pages, which come from the scan's own reader.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use arrow::{
    array::{ArrayRef, BooleanArray, UInt64Array},
    datatypes::{DataType, Field, Schema, SchemaRef},
};
use datafusion::{
    common::{Column, ScalarValue, pruning::PruningStatistics},
    datasource::physical_plan::{
        FileSource,
        parquet::{
            BloomFilterStatistics, PagePruningAccessPlanFilter, ParquetAccessPlan,
            ParquetFileMetrics, RowGroupAccess,
        },
    },
    physical_expr::{
        PhysicalExpr, conjunction_opt, expressions,
        utils::{collect_columns, reassign_expr_columns},
    },
    physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder},
};
use parquet::{
    arrow::arrow_reader::{RowSelection, statistics::StatisticsConverter},
    file::metadata::{ParquetMetaData, RowGroupMetaData},
    schema::types::SchemaDescriptor,
};

use crate::{
    scan::{Scan, split},
    stored::has_bounds_of,
};

/// A predicate over the statistics of row groups.
#[derive(Debug)]
pub(crate) struct Pruning {
    conjuncts: Vec<Arc<dyn PhysicalExpr>>,
    /// The columns that the files of the table are expected to have.
    table: SchemaRef,
    /// For files that have them in this order; made when it is first needed.
    usual: OnceLock<Option<PruningPredicate>>,
    /// The same over pages.
    usual_pages: OnceLock<Option<PagePruningAccessPlanFilter>>,
    /// Whether the settings of the scan let it read page indexes.
    reads_page_index: bool,
    /// Whether they let it read Bloom filters.
    reads_bloom_filters: bool,
}

impl Pruning {
    /// The predicate of a scan with `conjuncts` over the table; nothing when there is none, or it
    /// must not be used.
    pub(crate) fn of(scan: &Scan<'_>, conjuncts: &[Arc<dyn PhysicalExpr>]) -> Option<Self> {
        if !is_enabled(scan) {
            return None;
        }
        let mut conjuncts = conjuncts.to_vec();
        // The scan's predicate also has what a filter above the fragment tests: rows of a row group
        // that it rules out would cross the link to be dropped.
        for hint in scan.source.filter().iter().flat_map(split) {
            if !conjuncts.contains(&hint) {
                conjuncts.push(hint);
            }
        }
        let table = Arc::clone(scan.config.file_schema());
        let options = &scan.source.table_parquet_options().global;
        (!conjuncts.is_empty()).then(|| Self {
            reads_page_index: options.enable_page_index,
            reads_bloom_filters: options.bloom_filter_on_read,
            ..Self::over(conjuncts, table)
        })
    }

    /// The predicate of conditions over the columns of `table`, on row groups alone.
    pub(crate) const fn over(conjuncts: Vec<Arc<dyn PhysicalExpr>>, table: SchemaRef) -> Self {
        Self {
            conjuncts,
            table,
            usual: OnceLock::new(),
            usual_pages: OnceLock::new(),
            reads_page_index: false,
            reads_bloom_filters: false,
        }
    }

    /// The columns of the files.
    pub(crate) fn table(&self) -> &Schema {
        &self.table
    }

    /// The columns that it is about, of which pages may be ruled out; none if page indexes must not
    /// be read.
    pub(crate) fn columns_of_pages(&self) -> HashSet<expressions::Column> {
        match self.reads_page_index {
            true => self.conjuncts.iter().flat_map(collect_columns).collect(),
            false => HashSet::new(),
        }
    }

    /// The rows of a row group that the page index leaves; nothing if these are all. The footer has
    /// the page index.
    pub(crate) fn rows_left(
        &self,
        footer: &ParquetMetaData,
        group: usize,
        metrics: &ParquetFileMetrics,
    ) -> Option<RowSelection> {
        let descriptor = footer.file_metadata().schema_descr();
        let mut access = ParquetAccessPlan::new_none(footer.num_row_groups());
        access.scan(group);
        let left = |pages: &PagePruningAccessPlanFilter, schema: &Schema| {
            pages.prune_plan_with_page_index(access, schema, descriptor, footer, metrics)
        };
        let left = if self.is_usual(descriptor) {
            let usual = || pages_of(self.conjuncts.clone(), &self.table);
            left(self.usual_pages.get_or_init(usual).as_ref()?, &self.table)
        } else {
            let (conjuncts, schema) = self.conjuncts_over_file(descriptor)?;
            left(&pages_of(conjuncts, &schema)?, &schema)
        };
        match left.into_inner().into_iter().nth(group)? {
            RowGroupAccess::Scan => None,
            RowGroupAccess::Selection(rows) => Some(rows),
            RowGroupAccess::Skip => Some(RowSelection::default()),
        }
    }

    /// The columns of a file that are compared with literals, of which a Bloom filter may know that
    /// they are not in a row group; none if these must not be read.
    pub(crate) fn columns_of_literals(&self, footer: &ParquetMetaData) -> Vec<String> {
        let columns = |predicate: &PruningPredicate, _: &Schema| predicate.literal_columns();
        match self.reads_bloom_filters {
            true => self.with_predicate(footer, columns).unwrap_or_default(),
            false => Vec::new(),
        }
    }

    /// Whether the Bloom filters of a row group prove that no row of it matches.
    pub(crate) fn is_ruled_out_by(
        &self,
        filters: &BloomFilterStatistics,
        footer: &ParquetMetaData,
    ) -> bool {
        let kept = self.with_predicate(footer, |predicate, _| predicate.prune(filters).ok());
        kept.flatten().is_some_and(|kept| kept == [false])
    }

    /// Whether each of some row groups of a file may have rows that the predicate keeps.
    pub(crate) fn keeps(&self, footer: &ParquetMetaData, groups: &[usize]) -> Vec<bool> {
        let descriptor = footer.file_metadata().schema_descr();
        let groups: Vec<_> = groups.iter().map(|index| footer.row_group(*index)).collect();
        let kept = self.with_predicate(footer, |predicate, schema| {
            predicate.prune(&GroupStatistics { descriptor, groups: &groups, schema }).ok()
        });
        // Statistics that cannot be used rule nothing out.
        kept.flatten().unwrap_or_else(|| vec![true; groups.len()])
    }

    /// Calls `function` with the predicate over the columns of a file, and these columns.
    fn with_predicate<T>(
        &self,
        footer: &ParquetMetaData,
        function: impl FnOnce(&PruningPredicate, &Schema) -> T,
    ) -> Option<T> {
        let descriptor = footer.file_metadata().schema_descr();
        if self.is_usual(descriptor) {
            let usual = || predicate_over(self.conjuncts.clone(), &self.table);
            let predicate = self.usual.get_or_init(usual).as_ref()?;
            return Some(function(predicate, &self.table));
        }
        let (conjuncts, schema) = self.conjuncts_over_file(descriptor)?;
        Some(function(&predicate_over(conjuncts, &schema)?, &schema))
    }

    /// The conditions over the columns in the order of a file, and these columns: statistics are
    /// found by a column's place.
    fn conjuncts_over_file(
        &self,
        descriptor: &SchemaDescriptor,
    ) -> Option<(Vec<Arc<dyn PhysicalExpr>>, SchemaRef)> {
        let schema = Arc::new(in_file_order(&self.table, descriptor));
        let conjuncts = self
            .conjuncts
            .iter()
            .map(|conjunct| reassign_expr_columns(Arc::clone(conjunct), &schema).ok());
        Some((conjuncts.collect::<Option<_>>()?, schema))
    }

    /// Whether a file has the table's columns in the table's order.
    fn is_usual(&self, descriptor: &SchemaDescriptor) -> bool {
        let stored = descriptor.root_schema().get_fields().iter().map(|field| field.name());
        stored.eq(self.table.fields().iter().map(|field| field.name()))
    }
}

/// Whether the settings of a scan let statistics rule row groups out.
pub(crate) fn is_enabled(scan: &Scan<'_>) -> bool {
    scan.source.table_parquet_options().global.pruning
}

fn predicate_over(
    conjuncts: Vec<Arc<dyn PhysicalExpr>>,
    schema: &SchemaRef,
) -> Option<PruningPredicate> {
    let predicate = conjunction_opt(conjuncts)?;
    let builder = PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema));
    builder.build(predicate).map(Arc::unwrap_or_clone)
}

fn pages_of(
    conjuncts: Vec<Arc<dyn PhysicalExpr>>,
    schema: &SchemaRef,
) -> Option<PagePruningAccessPlanFilter> {
    let predicate = conjunction_opt(conjuncts)?;
    Some(PagePruningAccessPlanFilter::new(&predicate, Arc::clone(schema)))
}

/// The columns of a file in its order, those of the table with the table's types, and behind them
/// those that only the table has.
fn in_file_order(table: &Schema, descriptor: &SchemaDescriptor) -> Schema {
    let stored = descriptor.root_schema().get_fields();
    let field = |name: &str| match table.field_with_name(name) {
        Ok(field) => field.clone(),
        Err(_) => Field::new(name, DataType::Null, true),
    };
    let is_missing = |field: &&Arc<Field>| stored.iter().all(|it| it.name() != field.name());
    let missing = table.fields().iter().filter(is_missing).map(|field| field.as_ref().clone());
    Schema::new(stored.iter().map(|it| field(it.name())).chain(missing).collect::<Vec<_>>())
}

/// The statistics of some row groups of one file.
struct GroupStatistics<'a> {
    descriptor: &'a SchemaDescriptor,
    groups: &'a [&'a RowGroupMetaData],
    /// The columns of the file as the table has them.
    schema: &'a Schema,
}

impl GroupStatistics<'_> {
    fn converter(&self, column: &Column) -> Option<StatisticsConverter<'_>> {
        let converter =
            StatisticsConverter::try_new(&column.name, self.schema, self.descriptor).ok()?;
        // Old files of parquet-rs leave a count of zero out.
        Some(converter.with_missing_null_counts_as_zero(true))
    }

    /// Of a column whose bounds are values of the type that the table has.
    fn converter_of_bounds(&self, column: &Column) -> Option<StatisticsConverter<'_>> {
        let data_type = self.schema.field_with_name(&column.name).ok()?.data_type();
        let converter = self.converter(column)?;
        let leaf = converter.parquet_column_index()?;
        has_bounds_of(&self.descriptor.column(leaf), data_type).then_some(converter)
    }
}

impl PruningStatistics for GroupStatistics<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.converter_of_bounds(column)?.row_group_mins(self.groups.iter().copied()).ok()
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.converter_of_bounds(column)?.row_group_maxes(self.groups.iter().copied()).ok()
    }

    fn num_containers(&self) -> usize {
        self.groups.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let counts = self.converter(column)?.row_group_null_counts(self.groups.iter().copied());
        counts.ok().map(|counts| Arc::new(counts) as ArrayRef)
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let rows = |group: &&RowGroupMetaData| u64::try_from(group.num_rows()).ok();
        Some(Arc::new(self.groups.iter().map(rows).collect::<UInt64Array>()))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
