// SPDX-License-Identifier: Apache-2.0
//! Keeps filters away from columns that share a name.
//!
//! DataFusion moves filters down through a plan by the names of their columns. Two columns of one
//! schema may have one name (`l.k` and `r.k` behind a join), and then a filter of one ends up as a
//! filter of the other: wrong rows. So it does below a semi join, where a filter of a key goes to
//! the other side too, by its name, whatever the name of the key there is.
//!
//! While filters move, a [`Gate`] stands above every operator with such columns, and lets only
//! those filters through that have none of them. The others stay where they are, which is right and
//! at worst slower.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

use datafusion::{
    common::{
        JoinType, Result,
        config::ConfigOptions,
        internal_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{PhysicalExpr, PhysicalExprRef, expressions::Column},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
        execution_plan::ReplaceChildrenOptions,
        filter_pushdown::{
            ChildFilterDescription, ChildPushdownResult, FilterDescription, FilterPushdownPhase,
            FilterPushdownPropagation,
        },
        joins::HashJoinExec,
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
        let gated = plan.transform_up(|node| match Gate::above(&node) {
            Some(gate) => Ok(Transformed::yes(Arc::new(gate) as Arc<dyn ExecutionPlan>)),
            None => Ok(Transformed::no(node)),
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
    fn above(below: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let schema = below.schema();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for field in schema.fields() {
            *counts.entry(field.name()).or_default() += 1;
        }
        let fields = schema.fields().iter().enumerate();
        let is_clear = |name: &str| counts.get(name) == Some(&1) && !is_misnamed_key(below, name);
        let allowed: HashSet<usize> =
            fields.filter(|(_, field)| is_clear(field.name())).map(|(index, _)| index).collect();
        let below = Arc::clone(below);
        (allowed.len() < schema.fields().len()).then_some(Self { below, allowed })
    }
}

/// Whether a column is a key of a semi join whose other side has another column of that name.
fn is_misnamed_key(plan: &Arc<dyn ExecutionPlan>, name: &str) -> bool {
    let Some(join) = plan.downcast_ref::<HashJoinExec>() else { return false };
    let on = |(left, right): &(PhysicalExprRef, PhysicalExprRef)| match join.join_type() {
        JoinType::LeftSemi => Some((Arc::clone(left), Arc::clone(right))),
        JoinType::RightSemi => Some((Arc::clone(right), Arc::clone(left))),
        _ => None,
    };
    let other = match join.join_type() {
        JoinType::LeftSemi => join.right(),
        _ => join.left(),
    };
    let is_named =
        |key: &PhysicalExprRef| key.downcast_ref::<Column>().is_some_and(|it| it.name() == name);
    let keys: Vec<_> = join.on().iter().filter_map(on).filter(|(own, _)| is_named(own)).collect();
    !keys.is_empty()
        && !keys.iter().any(|(_, others)| is_named(others))
        && other.schema().index_of(name).is_ok()
}

fn above(mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
    match (children.pop(), children.is_empty()) {
        // An operator below keeps its columns, but not always all of them.
        (Some(child), true) => Ok(match Gate::above(&child) {
            Some(gate) => Arc::new(gate),
            None => child,
        }),
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
        self.below.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.below]
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
