// SPDX-License-Identifier: Apache-2.0
//! Rules out row groups before they are read, by the scan's predicate and by dynamic filters.
//!
//! Both are asked when a row group is about to be opened: until then a join or a top-k above may
//! have narrowed its filter.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::{
    common::tree_node::{Transformed, TreeNode},
    physical_expr::{PhysicalExpr, expressions::Column},
    physical_expr_common::physical_expr::{snapshot_generation, snapshot_physical_expr},
};

use super::{
    filter::columns_of,
    work::{Fused, FusedUnit},
};
use crate::pruning::Pruning;

/// The row groups that a stream need not read.
#[derive(Debug)]
pub(super) struct SkippedRowGroups {
    predicate: Option<Arc<Pruning>>,
    dynamic: Vec<DynamicBounds>,
}

impl SkippedRowGroups {
    /// Those of a scan with dynamic filters over its outputs.
    pub(super) fn new(fused: &Fused, dynamic_filters: &[Arc<dyn PhysicalExpr>]) -> Self {
        let bounds = |filter| DynamicBounds::new(fused, filter);
        let dynamic = match fused.prunes {
            true => dynamic_filters.iter().filter_map(bounds).collect(),
            false => Vec::new(),
        };
        Self { predicate: fused.pruning.clone(), dynamic }
    }

    /// Whether no row of a row group can be one of the result.
    pub(super) fn contains(&mut self, unit: &FusedUnit) -> bool {
        let Ok(index) = usize::try_from(unit.planned.row_group) else { return false };
        let rules_out = |pruning: &Pruning| pruning.keeps(&unit.footer, &[index]) == [false];
        self.predicate.as_deref().is_some_and(rules_out)
            || self.dynamic.iter_mut().any(|bounds| bounds.current().is_some_and(rules_out))
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
            place(output).is_some_and(|index| !is_float(files.field(index).data_type()))
        };
        if !columns_of(filter).into_iter().all(has_bounds) {
            return None;
        }
        let moved = Arc::clone(filter).transform_up(|node| {
            let column = node.downcast_ref::<Column>().and_then(|column| place(column.index()));
            let Some(index) = column else { return Ok(Transformed::no(node)) };
            let name = files.field(index).name();
            Ok(Transformed::yes(Arc::new(Column::new(name, index)) as _))
        });
        let filter = moved.ok()?.data;
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

const fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64)
}
