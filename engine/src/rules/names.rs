// SPDX-License-Identifier: Apache-2.0
//! Keeps filters away from columns that share a name.
//!
//! DataFusion moves filters down through a plan by the names of their columns. Two columns of one
//! schema may have one name (`l.k` and `r.k` behind a join), and then a filter of one ends up as a
//! filter of the other: wrong rows. While filters move, a [`Gate`] stands above every operator with
//! such a schema, and lets only those filters through whose columns have names of their own.
//! The others stay where they are, which is right and at worst slower.

use std::{collections::HashMap, fmt, sync::Arc};

use datafusion::{
    arrow::datatypes::{FieldRef, Schema},
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
        execution_plan::ReplaceChildrenOptions,
        filter_pushdown::{
            ChildFilterDescription, ChildPushdownResult, FilterDescription, FilterPushdownPhase,
            FilterPushdownPropagation,
        },
    },
};

use super::Rule;

/// A rule that moves filters, with gates in its way.
#[derive(Debug)]
pub(super) struct Gated(pub(super) Rule);

impl PhysicalOptimizerRule for Gated {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let gated = plan.transform_up(|node| match has_shared_names(&node.schema()) {
            true => Ok(Transformed::yes(Arc::new(Gate(node)) as Arc<dyn ExecutionPlan>)),
            false => Ok(Transformed::no(node)),
        })?;
        let is_gated = gated.transformed;
        let plan = self.0.optimize(gated.data, config)?;
        if !is_gated {
            return Ok(plan);
        }
        let open = plan.transform_down(|node| match node.downcast_ref::<Gate>() {
            // No gate stands on another one.
            Some(Gate(below)) => Ok(Transformed::yes(Arc::clone(below))),
            None => Ok(Transformed::no(node)),
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

fn has_shared_names(schema: &Schema) -> bool {
    counts(schema).values().any(|count| *count > 1)
}

fn counts(schema: &Schema) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for field in schema.fields() {
        *counts.entry(field.name().as_str()).or_default() += 1;
    }
    counts
}

/// Stands above an operator while filters move; is never run.
#[derive(Debug)]
struct Gate(Arc<dyn ExecutionPlan>);

fn above(mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
    match (children.pop(), children.is_empty()) {
        (Some(child), true) => Ok(Arc::new(Gate(child))),
        _ => internal_err!("a gate stands above one operator"),
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
        self.0.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.0]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        above(children)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        above(children)
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
        let schema = self.0.schema();
        let counts = counts(&schema);
        let has_own_name = |(_, field): &(usize, &FieldRef)| {
            counts.get(field.name().as_str()).is_some_and(|count| *count == 1)
        };
        let fields = schema.fields().iter().enumerate();
        let allowed = fields.filter(has_own_name).map(|(index, _)| index).collect();
        let below = ChildFilterDescription::from_child_with_allowed_indices(
            &parent_filters,
            allowed,
            &self.0,
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
