// SPDX-License-Identifier: Apache-2.0
//! Prunes row groups by their statistics: those that the scan's predicate rules out, and those that
//! dynamic filters or the keys of joins rule out.
//!
//! It does so when a row group is about to be opened, because until then a join or a top-k above
//! may have narrowed its filter.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::{
    physical_expr::{PhysicalExpr, expressions::Column},
    physical_expr_common::physical_expr::{snapshot_generation, snapshot_physical_expr},
};

use parquet::file::metadata::ParquetMetaData;

use super::{
    filter::{columns_of, with_columns},
    keys::PartitionKeys,
    work::{Fused, FusedUnit},
};
use crate::pruning::Pruning;

/// Prunes the row groups of one stream.
#[derive(Debug)]
pub(super) struct RowGroupPruner {
    predicate: Option<Arc<Pruning>>,
    /// What the predicate says of each row group of the last file, which is asked about once.
    kept: Option<(Arc<ParquetMetaData>, Vec<bool>)>,
    dynamic: Vec<DynamicBounds>,
    fused: Arc<Fused>,
    keys: Vec<PartitionKeys>,
}

impl RowGroupPruner {
    /// The pruner of a scan with dynamic filters over its outputs, and keys of joins.
    pub(super) fn new(
        fused: &Arc<Fused>,
        dynamic_filters: &[Arc<dyn PhysicalExpr>],
        keys: &[PartitionKeys],
    ) -> Self {
        let (dynamic_filters, keys) = match fused.prunes {
            true => (dynamic_filters, keys),
            false => ([].as_slice(), [].as_slice()),
        };
        Self {
            predicate: fused.pruning.clone(),
            kept: None,
            dynamic: dynamic_filters
                .iter()
                .filter_map(|filter| DynamicBounds::new(fused, filter))
                .collect(),
            fused: Arc::clone(fused),
            keys: keys.to_vec(),
        }
    }

    /// Whether its answer about a row group may change while the query runs.
    pub(super) const fn is_dynamic(&self) -> bool {
        !self.dynamic.is_empty() || !self.keys.is_empty()
    }

    /// Whether no row of a row group can be one of the result.
    pub(super) fn rules_out(&mut self, unit: &FusedUnit) -> bool {
        let Ok(index) = usize::try_from(unit.planned.row_group) else { return false };
        let is_ruled_out = |pruning: &Pruning| pruning.keeps(&unit.footer, &[index]) == [false];
        !self.keeps(&unit.footer, index)
            || self.dynamic.iter_mut().any(|bounds| bounds.current().is_some_and(is_ruled_out))
            || self.keys.iter().any(|keys| self.is_without(keys, unit))
    }

    /// Whether no row of a row group has one of the keys. Rows with NULL are kept.
    fn is_without(&self, keys: &PartitionKeys, unit: &FusedUnit) -> bool {
        // Keys of several columns have no range.
        let [column] = *keys.columns.as_slice() else { return false };
        let range = unit.metadata().and_then(|group| {
            let nulls = self.fused.nulls_of(column, group);
            self.fused.range_of(column, [group]).filter(|_| nulls == Some(0))
        });
        range.is_some_and(|range| !keys.keys.may_have(&range))
    }

    /// Whether the predicate keeps a row group of a file.
    fn keeps(&mut self, footer: &Arc<ParquetMetaData>, index: usize) -> bool {
        let Some(predicate) = &self.predicate else { return true };
        let is_known = self.kept.as_ref().is_some_and(|(of, _)| Arc::ptr_eq(of, footer));
        if !is_known {
            let all: Vec<usize> = (0..footer.num_row_groups()).collect();
            self.kept = Some((Arc::clone(footer), predicate.keeps(footer, &all)));
        }
        self.kept.as_ref().and_then(|(_, kept)| kept.get(index)) != Some(&false)
    }
}

/// A dynamic filter as a predicate over statistics.
#[derive(Debug)]
struct DynamicBounds {
    /// Over the columns of the files.
    filter: Arc<dyn PhysicalExpr>,
    files: SchemaRef,
    /// The generation of the filter that `pruning` is of.
    generation: Option<u64>,
    pruning: Option<Pruning>,
}

impl DynamicBounds {
    fn new(fused: &Fused, filter: &Arc<dyn PhysicalExpr>) -> Option<Self> {
        let files = &fused.files;
        let place = |output: usize| {
            let column = fused.column_of_output(output)?;
            files.index_of(&fused.scan.fragment.columns.get(column)?.name).ok()
        };
        // Bounds of floats leave NaN out, which is above all numbers.
        let has_bounds = |output: usize| {
            place(output).is_some_and(|index| !files.field(index).data_type().is_floating())
        };
        if !columns_of(filter).into_iter().all(has_bounds) {
            return None;
        }
        let filter = with_columns(filter, |column| {
            let index = place(column.index())?;
            Some(Column::new(files.field(index).name(), index))
        });
        Some(Self { filter, files: Arc::clone(files), generation: None, pruning: None })
    }

    /// The predicate of the filter as it is now.
    fn current(&mut self) -> Option<&Pruning> {
        let generation = snapshot_generation(&self.filter);
        if self.generation != Some(generation) {
            self.generation = Some(generation);
            let current = snapshot_physical_expr(Arc::clone(&self.filter)).ok();
            let files = || Arc::clone(&self.files);
            self.pruning = current.map(|current| Pruning::over(vec![current], files()));
        }
        self.pruning.as_ref()
    }
}
