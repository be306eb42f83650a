// SPDX-License-Identifier: Apache-2.0
//! Rules out row groups by the statistics of footers.
//!
//! A predicate keeps a row group unless its bounds and counts prove that no row of it matches. The
//! bounds are those of [`FileFacts`](crate::FileFacts), which are sound for the predicate of the
//! scan.

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
    datasource::physical_plan::FileSource,
    physical_expr::{PhysicalExpr, conjunction_opt, utils::reassign_expr_columns},
    physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder},
};
use parquet::{
    arrow::arrow_reader::statistics::StatisticsConverter,
    file::metadata::{ParquetMetaData, RowGroupMetaData},
    schema::types::SchemaDescriptor,
};

use crate::scan::{Scan, split};

/// A predicate over the statistics of row groups.
#[derive(Debug)]
pub(crate) struct Pruning {
    conjuncts: Vec<Arc<dyn PhysicalExpr>>,
    /// The columns that the files of the table are expected to have.
    table: SchemaRef,
    /// For files that have them in this order; made when it is first needed.
    usual: OnceLock<Option<PruningPredicate>>,
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
        (!conjuncts.is_empty()).then(|| Self::over(conjuncts, table))
    }

    /// The predicate of conditions over the columns of `table`.
    pub(crate) const fn over(conjuncts: Vec<Arc<dyn PhysicalExpr>>, table: SchemaRef) -> Self {
        Self { conjuncts, table, usual: OnceLock::new() }
    }

    /// Whether each of some row groups of a file may have rows that the predicate keeps.
    pub(crate) fn keeps(&self, footer: &ParquetMetaData, groups: &[usize]) -> Vec<bool> {
        let descriptor = footer.file_metadata().schema_descr();
        let groups: Vec<_> = groups.iter().map(|index| footer.row_group(*index)).collect();
        let keeps = |predicate: &PruningPredicate, schema: &Schema| {
            predicate.prune(&GroupStatistics { descriptor, groups: &groups, schema }).ok()
        };
        let kept = if self.is_usual(descriptor) {
            let usual = || predicate_over(self.conjuncts.clone(), &self.table);
            self.usual
                .get_or_init(usual)
                .as_ref()
                .and_then(|predicate| keeps(predicate, &self.table))
        } else {
            self.over_file(descriptor).and_then(|(predicate, schema)| keeps(&predicate, &schema))
        };
        // Statistics that cannot be used rule nothing out.
        kept.unwrap_or_else(|| vec![true; groups.len()])
    }

    /// The predicate over the columns in the order of a file, and these columns: statistics are
    /// found by a column's place.
    fn over_file(&self, descriptor: &SchemaDescriptor) -> Option<(PruningPredicate, SchemaRef)> {
        let schema = Arc::new(in_file_order(&self.table, descriptor));
        let conjuncts = self
            .conjuncts
            .iter()
            .map(|conjunct| reassign_expr_columns(Arc::clone(conjunct), &schema).ok());
        let predicate = predicate_over(conjuncts.collect::<Option<Vec<_>>>()?, &schema)?;
        Some((predicate, schema))
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
}

impl PruningStatistics for GroupStatistics<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.converter(column)?.row_group_mins(self.groups.iter().copied()).ok()
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.converter(column)?.row_group_maxes(self.groups.iter().copied()).ok()
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
