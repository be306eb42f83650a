// SPDX-License-Identifier: Apache-2.0
//! Keeps filters from being pushed where they would remove other rows.
//!
//! ***By name.** DataFusion pushes filters down a plan by the names of their columns. Two columns
//! of one schema may have one name (`l.k` and `r.k` after a join), and then a filter of one becomes
//! a filter of the other. The same happens below a semi-join, where a filter of a key is pushed to
//! the other side too, by its name, even if the key there has another name.
//!
//! ***Of extremes.** For `min(a), max(b)` without groups, only rows below the least `a` or above
//! the greatest `b` so far matter, and the aggregate pushes this as a dynamic filter to the scan.
//! It omits terms without a bound: of an aggregate of an expression (`min(a + b)`), and of one that
//! has seen only NULL, also in another partition. The filter of a single aggregate is sound:
//! without a bound there is no filter.
//!
//! ***Past limits.** A filter above a join, a filter or a scan that stops after some rows is pushed
//! below it, so that other rows are the first ones. DataFusion stops at limits of their own and at
//! sorts.
//!
//! While filters are pushed down, a [`Gate`] is above every such operator:
//!
//! ```text
//! FilterExec: k@1 > 3                    FilterExec: k@1 > 3
//!   HashJoinExec: [k, k]         =>        Gate(no column)
//!     ..                                     HashJoinExec: [k, k]
//! ```
//!
//! A filter that may not pass stays above the gate, which is right and at worst slower.

use std::{collections::HashSet, sync::Arc};

use datafusion::{
    arrow::datatypes::{FieldRef, Fields},
    common::{
        JoinType, Result,
        config::ConfigOptions,
        internal_err,
        tree_node::{Transformed, TreeNode},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{PhysicalExpr, PhysicalExprRef, expressions::Column},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan,
        aggregates::AggregateExec,
        filter_pushdown::{ChildFilterDescription, FilterDescription},
        joins::HashJoinExec,
        replace_children_if_necessary,
        sorts::sort::SortExec,
    },
};

use crate::{
    pass_through::{PassThrough, PassThroughExec},
    registry::Correction,
    rule::{PhysicalRule, ReadCorrections, enabled_by},
};

/// Runs a rule that pushes filters down, with gates in the plan.
#[derive(Debug)]
pub(crate) struct GateFilterPushdown {
    pub(crate) rule: PhysicalRule,
    pub(crate) enabled: ReadCorrections,
}

impl PhysicalOptimizerRule for GateFilterPushdown {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !enabled_by(self.enabled, config).contains(Correction::GateFilterPushdown) {
            return self.rule.optimize(plan, config);
        }
        let gated = plan.transform_up(gated)?;
        let is_gated = gated.transformed;
        let plan = self.rule.optimize(gated.data, config)?;
        if !is_gated {
            return Ok(plan);
        }
        let open = plan.transform_down(|mut node| {
            let is_gate = node.is::<PassThroughExec<Gate>>();
            // The rule may have removed an operator between two gates.
            while let Some(gate) = node.downcast_ref::<PassThroughExec<Gate>>() {
                node = Arc::clone(gate.input());
            }
            Ok(if is_gate { Transformed::yes(node) } else { Transformed::no(node) })
        })?;
        Ok(open.data)
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

/// Puts gates around an operator, if it needs any.
fn gated(mut node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let is_closed = sends_unsound_filter(&node);
    if is_closed {
        let children = node.children().into_iter().map(Gate::closed).collect();
        node = replace_children_if_necessary(node, children)?;
    }
    let gate = match stops_after_some_rows(&node) {
        true => Some(Gate::closed(&node)),
        false => Gate::by_name(&node),
    };
    Ok(match gate {
        Some(gate) => Transformed::yes(gate),
        None => Transformed::new_transformed(node, is_closed),
    })
}

/// An operator that limits the pushdown of filters; it is never run.
#[derive(Debug)]
struct Gate {
    /// Columns whose filters may pass.
    allowed: HashSet<usize>,
}

impl Gate {
    /// Makes a gate above an operator some of whose columns have the same name.
    fn by_name(below: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
        let gate = Self { allowed: unambiguous_columns(below)? };
        Some(Arc::new(PassThroughExec::new(gate, Arc::clone(below))))
    }

    /// Makes a gate that no filter with columns passes.
    fn closed(below: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let gate = Self { allowed: HashSet::new() };
        Arc::new(PassThroughExec::new(gate, Arc::clone(below)))
    }
}

impl PassThrough for Gate {
    const NAME: &'static str = "Gate";
    const KEEPS_ORDER: bool = false;

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        // A closed gate stays closed. Otherwise an operator below keeps its columns, but not always
        // all of them.
        Ok(match self.allowed.is_empty() {
            true => Self::closed(&input),
            false => Self::by_name(&input).unwrap_or(input),
        })
    }

    fn filters(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        filters: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<FilterDescription> {
        let below = ChildFilterDescription::from_child_with_allowed_indices(
            &filters,
            self.allowed.clone(),
            input,
        )?;
        Ok(FilterDescription::new().with_child(below))
    }

    fn execute(
        &self,
        _input: &Arc<dyn ExecutionPlan>,
        _partition: usize,
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        internal_err!("a gate of the planner was left in an executed plan")
    }
}

/// Whether the dynamic filter of an operator may remove rows that it needs.
fn sends_unsound_filter(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let aggregate = plan.downcast_ref::<AggregateExec>();
    aggregate.is_some_and(|it| it.aggr_expr().len() > 1)
        && !plan.dynamic_expressions_produced().is_empty()
}

/// Whether an operator returns its first rows only, and DataFusion may push filters below it: it
/// does not below sorts.
fn stops_after_some_rows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.fetch().is_some() && !plan.is::<SortExec>()
}

/// Returns the columns of an operator with unique names, if not all are unique.
fn unambiguous_columns(plan: &Arc<dyn ExecutionPlan>) -> Option<HashSet<usize>> {
    let schema = plan.schema();
    let fields = schema.fields();
    let semi_join = plan.downcast_ref::<HashJoinExec>().filter(|join| is_semi_join(join));
    if semi_join.is_none() && has_unique_names(fields) {
        return None;
    }
    let is_shared = |name: &str| fields.iter().filter(|field| field.name() == name).count() > 1;
    let is_clear =
        |name: &str| !is_shared(name) && !semi_join.is_some_and(|join| is_misnamed_key(join, name));
    let clear = fields.iter().enumerate().filter(|(_, field)| is_clear(field.name()));
    let clear: HashSet<usize> = clear.map(|(index, _)| index).collect();
    (clear.len() < fields.len()).then_some(clear)
}

/// Whether no two columns have one name. Most operators are asked and have few columns, so that
/// comparing all pairs is faster than a sort; the lengths of names differ more often than not.
fn has_unique_names(fields: &Fields) -> bool {
    const PAIRS_MAX: usize = 32;
    if fields.len() <= PAIRS_MAX {
        let is_new = |(index, field): (usize, &FieldRef)| {
            fields[..index].iter().all(|other| other.name() != field.name())
        };
        return fields.iter().enumerate().all(is_new);
    }
    let mut names = HashSet::with_capacity(fields.len());
    fields.iter().all(|field| names.insert(field.name().as_str()))
}

fn is_semi_join(join: &HashJoinExec) -> bool {
    matches!(join.join_type(), JoinType::LeftSemi | JoinType::RightSemi)
}

/// Whether a column is a key of a semi-join whose other side has another column of that name.
fn is_misnamed_key(join: &HashJoinExec, name: &str) -> bool {
    let (is_left, other) = match join.join_type() {
        JoinType::LeftSemi => (true, join.right()),
        JoinType::RightSemi => (false, join.left()),
        _ => return false,
    };
    let is_named =
        |key: &PhysicalExprRef| key.downcast_ref::<Column>().is_some_and(|it| it.name() == name);
    let sides = |(left, right): &(PhysicalExprRef, PhysicalExprRef)| match is_left {
        true => (Arc::clone(left), Arc::clone(right)),
        false => (Arc::clone(right), Arc::clone(left)),
    };
    let keys: Vec<_> = join.on().iter().map(sides).filter(|(own, _)| is_named(own)).collect();
    !keys.is_empty()
        && !keys.iter().any(|(_, others)| is_named(others))
        && other.schema().index_of(name).is_ok()
}
