// SPDX-License-Identifier: Apache-2.0
//! Refreshes the types and nullability of outer references.
//!
//! A reference to a column of the outer query keeps the type and nullability that the column had
//! when names were resolved. Type coercion determines the types of UNION and CASE later, and ROLLUP
//! and other corrections make columns nullable; conditions of the subquery were then cast and
//! simplified with the former type. So references are refreshed twice: before type coercion, with
//! the types that the outer query will have, and after it.

use std::sync::Arc;

use datafusion::{
    common::{
        DFSchema, ExprSchema, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        Expr, Join, LogicalPlan, Projection, Subquery, SubqueryAlias, utils::merge_schema,
    },
    optimizer::{AnalyzerRule, analyzer::type_coercion::TypeCoercion},
};

use super::{is_correlated, lateral, subquery, with_subquery};
use crate::walk::{Visited, has_expression, visit};

/// Whether the outer query has its final types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coercion {
    /// Type coercion has not run yet.
    Pending,
    /// Type coercion has run.
    Done,
}

/// Refreshes the outer references of all subqueries.
pub(crate) fn refresh(
    plan: LogicalPlan,
    coercion: Coercion,
    config: &ConfigOptions,
) -> Result<LogicalPlan> {
    match has_stale(&plan, coercion) {
        true => Refresh { coercion, config }.below(plan),
        false => Ok(plan),
    }
}

struct Refresh<'a> {
    coercion: Coercion,
    config: &'a ConfigOptions,
}

impl Refresh<'_> {
    /// Refreshes the outer references below a plan, those of outer subqueries first.
    fn below(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let plan = plan.transform_down(|node| self.of_operator(node))?.data;
        plan.recompute_schema()
    }

    fn of_operator(&self, node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        if let LogicalPlan::Join(join) = &node
            && let Some(lateral) = lateral(&join.right)
            && is_correlated(lateral)
        {
            let outside = self.schema(&[&join.left])?;
            let right = self.of_lateral(&join.right, &outside)?;
            let join = Join { right: Arc::new(right), ..join.clone() };
            return Ok(Transformed::yes(LogicalPlan::Join(join)));
        }
        if !has_expression(&node, |part| subquery(part).is_some_and(is_correlated))? {
            return Ok(Transformed::no(node));
        }
        let outside = self.schema(&node.inputs())?;
        node.map_expressions(|expr| {
            expr.transform_up(|part| {
                let Some(inside) = subquery(&part).filter(|inside| is_correlated(inside)) else {
                    return Ok(Transformed::no(part));
                };
                let inside = self.of_subquery(inside, &outside)?;
                Ok(Transformed::yes(with_subquery(part, inside)))
            })
        })
    }

    /// Returns the columns of these operators after type coercion.
    fn schema(&self, inputs: &[&LogicalPlan]) -> Result<DFSchema> {
        if self.coercion == Coercion::Done || inputs.iter().all(|input| has_final_types(input)) {
            return Ok(merge_schema(inputs));
        }
        let coerce =
            |input: &&LogicalPlan| TypeCoercion::new().analyze((*input).clone(), self.config);
        let cast = inputs.iter().map(coerce);
        let cast = cast.collect::<Result<Vec<_>>>()?;
        Ok(merge_schema(&cast.iter().collect::<Vec<_>>()))
    }

    fn of_lateral(&self, side: &LogicalPlan, outside: &DFSchema) -> Result<LogicalPlan> {
        Ok(match side {
            LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => {
                let input = self.of_lateral(input, outside)?;
                LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(input), alias.clone())?)
            }
            LogicalPlan::Subquery(inside) => {
                LogicalPlan::Subquery(self.of_subquery(inside, outside)?)
            }
            other => other.clone(),
        })
    }

    fn of_subquery(&self, inside: &Subquery, outside: &DFSchema) -> Result<Subquery> {
        let plan = inside.subquery.as_ref().clone().transform_up(|node| match node {
            LogicalPlan::Subquery(_) => Ok(Transformed::no(node)),
            node => node
                .map_expressions(|expr| with_outer_types(expr, outside))?
                .map_data(LogicalPlan::recompute_schema),
        })?;
        let columns = inside.outer_ref_columns.iter().cloned();
        let columns = columns.map(|expr| Ok(with_outer_types(expr, outside)?.data));
        Ok(Subquery {
            subquery: Arc::new(self.below(plan.data)?),
            outer_ref_columns: columns.collect::<Result<_>>()?,
            spans: inside.spans.clone(),
        })
    }
}

/// Gives the outer references of an expression the types of these columns.
fn with_outer_types(expr: Expr, outside: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|part| match part {
        Expr::OuterReferenceColumn(field, column) => {
            let Ok(known) = outside.field_from_column(&column) else {
                return Ok(Transformed::no(Expr::OuterReferenceColumn(field, column)));
            };
            Ok(Transformed::yes(Expr::OuterReferenceColumn(Arc::clone(known), column)))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// Whether type coercion changes no column of a plan, because all are columns of tables.
fn has_final_types(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(_) => true,
        LogicalPlan::Projection(Projection { expr, input, .. }) => {
            expr.iter().all(|expr| matches!(expr, Expr::Column(_))) && has_final_types(input)
        }
        LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Join(_) => plan.inputs().into_iter().all(has_final_types),
        _ => false,
    }
}

/// Whether an outer reference may have another type than the column of the outer query.
fn has_stale(plan: &LogicalPlan, coercion: Coercion) -> bool {
    visit(plan, &mut |visited| match visited {
        Visited::Operator(LogicalPlan::Join(Join { left, right, .. })) => {
            lateral(right).is_some_and(|inside| is_stale(inside, &[left], coercion))
        }
        Visited::Part(node, part) => {
            subquery(part).is_some_and(|inside| is_stale(inside, &node.inputs(), coercion))
        }
        Visited::Operator(_) => false,
    })
}

fn is_stale(inside: &Subquery, inputs: &[&LogicalPlan], coercion: Coercion) -> bool {
    if !is_correlated(inside) {
        return false;
    }
    if coercion == Coercion::Pending && !inputs.iter().all(|input| has_final_types(input)) {
        return true;
    }
    let has_other_type = |reference: &Expr| {
        let Expr::OuterReferenceColumn(field, column) = reference else { return false };
        let known = inputs.iter().find_map(|input| input.schema().field_from_column(column).ok());
        known.is_some_and(|known| known != field)
    };
    inside.outer_ref_columns.iter().any(has_other_type)
}
