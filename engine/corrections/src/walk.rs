// SPDX-License-Identifier: Apache-2.0
//! Walks logical plans and their expressions.

use std::{collections::VecDeque, sync::Arc};

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        BinaryExpr, Cast, Expr, LogicalPlan, Operator, Subquery, Union, expr::Alias,
        expr_rewriter::NamePreserver, utils::merge_schema,
    },
};

use crate::subqueries::{subquery, with_subquery};

/// Rewrites the operators of a plan and of its subqueries that `may_change`, bottom-up. Schemas
/// above a change are recomputed; what has no change below it is neither copied nor visited again.
pub(crate) fn rewrite(
    plan: LogicalPlan,
    may_change: impl Fn(&LogicalPlan) -> Result<bool>,
    mut change: impl FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
) -> Result<LogicalPlan> {
    let mut rewrite =
        Rewrite { may_change: &may_change, change: &mut change, schemas: Schemas::Recomputed };
    Ok(rewrite.plan(&plan)?.unwrap_or(plan))
}

/// Whether the schemas above a change are recomputed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schemas {
    /// They are.
    Recomputed,
    /// No change affects the columns of an operator.
    Kept,
}

/// A change of some operators of a plan.
pub(crate) struct Rewrite<'a> {
    /// Whether an operator may change.
    pub(crate) may_change: &'a dyn Fn(&LogicalPlan) -> Result<bool>,
    /// Changes an operator.
    pub(crate) change: &'a mut dyn FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
    pub(crate) schemas: Schemas,
}

impl Rewrite<'_> {
    /// Returns the rewritten plan; none if nothing in it changes.
    pub(crate) fn plan(&mut self, plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
        with_stack(|| {
            let mut inputs = Replacements::default();
            plan.apply_children(|input| {
                inputs.push(self.plan(input)?);
                Ok(TreeNodeRecursion::Continue)
            })?;
            let mut subqueries = Replacements::default();
            for_each_subquery(plan, &mut |inside| {
                subqueries.push(self.subquery(inside)?);
                Ok(())
            })?;
            let may_change = (self.may_change)(plan)?;
            let mut is_changed = inputs.has_any || subqueries.has_any;
            if !is_changed && !may_change {
                return Ok(None);
            }
            let mut node = plan.clone();
            if inputs.has_any {
                node = node.map_children(|input| Ok(inputs.replace(input)))?.data;
            }
            if subqueries.has_any {
                node = subqueries.replace_subqueries(node)?;
            }
            if may_change {
                let changed = (self.change)(node)?;
                is_changed |= changed.transformed;
                node = changed.data;
            }
            match (is_changed, self.schemas) {
                (false, _) => Ok(None),
                (true, Schemas::Kept) => Ok(Some(node)),
                (true, Schemas::Recomputed) => with_recomputed_schema(node).map(Some),
            }
        })
    }

    /// Rewrites the plan of a subquery, and then the subquery itself as an operator.
    fn subquery(&mut self, subquery: &Subquery) -> Result<Option<Subquery>> {
        let below = self.plan(&subquery.subquery)?;
        let is_changed = below.is_some();
        let below = below.map_or_else(|| Arc::clone(&subquery.subquery), Arc::new);
        let whole = LogicalPlan::Subquery(Subquery { subquery: below, ..subquery.clone() });
        let whole = match (self.may_change)(&whole)? {
            true => (self.change)(whole)?,
            false => Transformed::no(whole),
        };
        match whole.data {
            LogicalPlan::Subquery(inside) if whole.transformed || is_changed => Ok(Some(inside)),
            _ => Ok(None),
        }
    }
}

/// The replacements of the inputs of an operator, or of its subqueries, in their order.
#[derive(Debug)]
struct Replacements<T> {
    queue: VecDeque<Option<T>>,
    has_any: bool,
}

impl<T> Default for Replacements<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), has_any: false }
    }
}

impl<T> Replacements<T> {
    fn push(&mut self, replacement: Option<T>) {
        self.has_any |= replacement.is_some();
        self.queue.push_back(replacement);
    }

    fn replace(&mut self, original: T) -> Transformed<T> {
        match self.queue.pop_front().flatten() {
            Some(replacement) => Transformed::yes(replacement),
            None => Transformed::no(original),
        }
    }
}

impl Replacements<Subquery> {
    fn replace_subqueries(&mut self, node: LogicalPlan) -> Result<LogicalPlan> {
        let replaced = node.map_expressions(|expr| {
            expr.transform_down(|part| {
                Ok(match subquery(&part).cloned() {
                    Some(inside) => {
                        self.replace(inside).update_data(|inside| with_subquery(part, inside))
                    }
                    None => Transformed::no(part),
                })
            })
        })?;
        Ok(replaced.data)
    }
}

/// Visits the subqueries in the expressions of an operator.
fn for_each_subquery(
    plan: &LogicalPlan,
    visit: &mut dyn FnMut(&Subquery) -> Result<()>,
) -> Result<()> {
    let mut visited = Ok(());
    has_expression(plan, |part| {
        if let Some(inside) = subquery(part) {
            visited = visit(inside);
        }
        visited.is_err()
    })?;
    visited
}

/// An operator of a plan, or a part of its expressions.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Visited<'a> {
    Operator(&'a LogicalPlan),
    Part(&'a LogicalPlan, &'a Expr),
}

/// Visits the operators of a plan and of its subqueries, each with all parts of its expressions,
/// in a single walk. Returns whether the visitor ended it, by returning true.
pub(crate) fn visit(plan: &LogicalPlan, visitor: &mut dyn FnMut(Visited<'_>) -> bool) -> bool {
    with_stack(|| {
        let mut is_ended = visitor(Visited::Operator(plan));
        let mut visit_part = |part: &Expr| {
            visitor(Visited::Part(plan, part))
                || subquery(part).is_some_and(|inside| visit(&inside.subquery, visitor))
        };
        is_ended = is_ended || has_expression(plan, &mut visit_part).unwrap_or(true);
        is_ended || plan.inputs().into_iter().any(|input| visit(input, visitor))
    })
}

/// Runs a step of a recursion over operators, on more stack where there is little left.
fn with_stack<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(128 << 10, 2 << 20, step)
}

pub(crate) fn with_recomputed_schema(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        // DataFusion recomputes the schema of a union only if its number of columns changes.
        LogicalPlan::Union(union) => Union::try_new(union.inputs).map(LogicalPlan::Union),
        other => other.recompute_schema(),
    }
}

/// Returns the input columns of an operator's expressions.
pub(crate) fn input_schema(plan: &LogicalPlan) -> Result<DFSchema> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())
        }
        other => Ok(merge_schema(&other.inputs())),
    }
}

/// Changes the expressions of an operator in all their parts, and keeps their names.
///
/// `may_change` selects parts in a first pass, because most plans have nothing to change, and
/// computing names and columns takes longer than the rest. `change` is given the input columns.
pub(crate) fn map_expressions(
    plan: LogicalPlan,
    may_change: impl Fn(&Expr) -> bool,
    change: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    map_whole_expressions(plan, may_change, |expr, schema| {
        expr.transform_up(|expr| change(expr, schema))
    })
}

/// Changes the expressions of an operator, each as a whole, and keeps their names.
pub(crate) fn map_whole_expressions(
    plan: LogicalPlan,
    may_change: impl Fn(&Expr) -> bool,
    change: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    if !has_expression(&plan, may_change)? {
        return Ok(Transformed::no(plan));
    }
    let (schema, names) = (input_schema(&plan)?, NamePreserver::new(&plan));
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let changed = change(expr, &schema)?;
        Ok(match changed.transformed {
            true => changed.update_data(|expr| name.restore(expr)),
            false => changed,
        })
    })
}

/// Whether a part of an operator's expressions satisfies `is_one`.
pub(crate) fn has_expression(
    plan: &LogicalPlan,
    mut is_one: impl FnMut(&Expr) -> bool,
) -> Result<bool> {
    let mut has_one = false;
    plan.apply_expressions(|expr| {
        has_one = has_part(expr, &mut is_one);
        Ok(if has_one { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(has_one)
}

/// Whether some part of an expression is one of these. Parts that most expressions consist of are
/// visited without the general walk, which takes several times as long: planning inspects every
/// expression a dozen times.
fn has_part<F: FnMut(&Expr) -> bool>(expr: &Expr, is_one: &mut F) -> bool {
    if is_one(expr) {
        return true;
    }
    match expr {
        Expr::Column(_) | Expr::Literal(..) | Expr::OuterReferenceColumn(..) => false,
        Expr::BinaryExpr(BinaryExpr { left, right, .. }) => {
            has_part(left, is_one) || has_part(right, is_one)
        }
        Expr::Alias(Alias { expr, .. }) | Expr::Cast(Cast { expr, .. }) => has_part(expr, is_one),
        other => {
            let mut has_one = false;
            let walked = other.apply_children(|part| {
                has_one = has_part(part, is_one);
                Ok(if has_one { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            });
            debug_assert!(walked.is_ok(), "nothing on the way fails");
            has_one
        }
    }
}

/// Whether an operator of a plan, or of its subqueries, satisfies the predicate.
pub(crate) fn has_operator(
    plan: &LogicalPlan,
    is_one: impl Fn(&LogicalPlan) -> bool,
) -> Result<bool> {
    let mut has_one = false;
    plan.apply_with_subqueries(|node| {
        has_one = is_one(node);
        Ok(if has_one { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(has_one)
}

/// Whether an operator compares two values of one type.
pub(crate) const fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}
