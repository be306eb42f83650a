// SPDX-License-Identifier: Apache-2.0
//! Keeps filters from going where DataFusion would be wrong to take them.
//!
//! While filters move, a [`Gate`] stands above every operator that filters may not enter by all of
//! its columns, and lets only those through that have none of the others. What may not pass stays
//! where it is, which is right and at worst slower. [`names`] and [`extremes`] say what that is.

use std::{collections::HashSet, fmt, sync::Arc};

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        internal_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::PhysicalExpr,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
        filter_pushdown::{
            ChildFilterDescription, ChildPushdownResult, FilterDescription, FilterPushdownPhase,
            FilterPushdownPropagation,
        },
        replace_children_if_necessary,
    },
};

use super::{Rule, extremes, names, only_child};

/// A rule that moves filters, with gates in its way.
#[derive(Debug)]
pub(super) struct Gated(pub(super) Rule);

impl PhysicalOptimizerRule for Gated {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let gated = plan.transform_up(|mut node| {
            let is_closed = extremes::loses_rows(&node);
            if is_closed {
                let children = node.children().into_iter().map(Gate::closed).collect();
                node = replace_children_if_necessary(node, children)?;
            }
            Ok(match Gate::by_name(&node) {
                Some(gate) => Transformed::yes(Arc::new(gate) as Arc<dyn ExecutionPlan>),
                None => Transformed::new_transformed(node, is_closed),
            })
        })?;
        let is_gated = gated.transformed;
        let plan = self.0.optimize(gated.data, config)?;
        if !is_gated {
            return Ok(plan);
        }
        let open = plan.transform_down(|mut node| {
            let is_gate = node.is::<Gate>();
            // What stood between two gates may have been taken out.
            while let Some(gate) = node.downcast_ref::<Gate>() {
                node = Arc::clone(&gate.below);
            }
            Ok(if is_gate { Transformed::yes(node) } else { Transformed::no(node) })
        })?;
        Ok(open.data)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Stands above an operator while filters move; is never run.
#[derive(Debug)]
struct Gate {
    below: Arc<dyn ExecutionPlan>,
    /// Columns whose filters may pass.
    allowed: HashSet<usize>,
}

impl Gate {
    /// A gate above an operator some of whose columns cannot be told by name.
    fn by_name(below: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let allowed = names::clear_columns(below)?;
        Some(Self { below: Arc::clone(below), allowed })
    }

    /// A gate that no filter of a column passes.
    fn closed(below: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { below: Arc::clone(below), allowed: HashSet::new() })
    }

    /// The gate above another operator in the place of the one below.
    fn above(&self, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let child = only_child(children)?;
        // A closed gate stays closed. Else: an operator below keeps its columns, but not always all
        // of them.
        Ok(match self.allowed.is_empty() {
            true => Self::closed(&child),
            false => match Self::by_name(&child) {
                Some(gate) => Arc::new(gate),
                None => child,
            },
        })
    }
}

impl DisplayAs for Gate {
    fn fmt_as(&self, _form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ExecutionPlan for Gate {
    fn name(&self) -> &'static str {
        "Gate"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.below.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.below]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.above(children)
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(
        &self,
        _partition: usize,
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        internal_err!("a gate was left in a plan")
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        let below = ChildFilterDescription::from_child_with_allowed_indices(
            &parent_filters,
            self.allowed.clone(),
            &self.below,
        )?;
        Ok(FilterDescription::new().with_child(below))
    }

    fn handle_child_pushdown_result(
        &self,
        _phase: FilterPushdownPhase,
        child_pushdown_result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(child_pushdown_result))
    }
}
