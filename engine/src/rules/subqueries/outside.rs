// SPDX-License-Identifier: Apache-2.0
//! What subqueries know of the columns of the query outside.
//!
//! Where a subquery refers to a column of the query outside, it says of what type that is and
//! whether it may be NULL, as it was when names were resolved. The types of UNION and CASE are
//! found out later, ROLLUP and our own rules make columns NULL; conditions of the subquery were
//! then cast and simplified as if the column were what it had been. [`Outside`] says it anew: in
//! front of what casts, for a query outside that has been cast, and behind it.

use std::sync::Arc;

use datafusion::{
    common::{
        DFSchema, ExprSchema, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, Join, LogicalPlan, Subquery, SubqueryAlias, utils::merge_schema},
    optimizer::{AnalyzerRule, analyzer::type_coercion::TypeCoercion},
};

use super::{is_correlated, lateral, subquery, with_subquery};
use crate::rules::plans::{has_expression, has_operator};

/// Says it anew.
#[derive(Debug)]
pub(in crate::rules) struct Outside {
    /// Whether the casts of the query outside are still to be found.
    pub(in crate::rules) casts: bool,
}

impl AnalyzerRule for Outside {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        match has_correlated(&plan)? {
            true => self.below(plan, config),
            false => Ok(plan),
        }
    }

    fn name(&self) -> &'static str {
        if self.casts { "outside_before_casts" } else { "outside" }
    }
}

impl Outside {
    /// A plan whose subqueries know what is outside of them, the outer ones first.
    fn below(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan.transform_down(|node| self.of_operator(node, config))?.data;
        plan.recompute_schema()
    }

    fn of_operator(
        &self,
        node: LogicalPlan,
        config: &ConfigOptions,
    ) -> Result<Transformed<LogicalPlan>> {
        if let LogicalPlan::Join(join) = &node
            && let Some(lateral) = lateral(&join.right)
            && is_correlated(lateral)
        {
            let outside = self.schema(&[&join.left], config)?;
            let right = self.of_lateral(&join.right, &outside, config)?;
            let join = Join { right: Arc::new(right), ..join.clone() };
            return Ok(Transformed::yes(LogicalPlan::Join(join)));
        }
        if !has_expression(&node, |part| subquery(part).is_some_and(is_correlated))? {
            return Ok(Transformed::no(node));
        }
        let outside = self.schema(&node.inputs(), config)?;
        node.map_expressions(|expr| {
            expr.transform_up(|part| {
                let Some(inside) = subquery(&part).filter(|inside| is_correlated(inside)) else {
                    return Ok(Transformed::no(part));
                };
                let inside = self.of_subquery(inside, &outside, config)?;
                Ok(Transformed::yes(with_subquery(part, inside)))
            })
        })
    }

    /// The columns of these operators, as they will be.
    fn schema(&self, inputs: &[&LogicalPlan], config: &ConfigOptions) -> Result<DFSchema> {
        if !self.casts {
            return Ok(merge_schema(inputs));
        }
        let cast = inputs.iter().map(|input| TypeCoercion::new().analyze((*input).clone(), config));
        let cast = cast.collect::<Result<Vec<_>>>()?;
        Ok(merge_schema(&cast.iter().collect::<Vec<_>>()))
    }

    fn of_lateral(
        &self,
        side: &LogicalPlan,
        outside: &DFSchema,
        config: &ConfigOptions,
    ) -> Result<LogicalPlan> {
        Ok(match side {
            LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => {
                let input = self.of_lateral(input, outside, config)?;
                LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(input), alias.clone())?)
            }
            LogicalPlan::Subquery(inside) => {
                LogicalPlan::Subquery(self.of_subquery(inside, outside, config)?)
            }
            other => other.clone(),
        })
    }

    fn of_subquery(
        &self,
        inside: &Subquery,
        outside: &DFSchema,
        config: &ConfigOptions,
    ) -> Result<Subquery> {
        let plan = inside.subquery.as_ref().clone().transform_up(|node| match node {
            LogicalPlan::Subquery(_) => Ok(Transformed::no(node)),
            node => node
                .map_expressions(|expr| as_outside(expr, outside))?
                .map_data(LogicalPlan::recompute_schema),
        })?;
        let columns = inside.outer_ref_columns.iter().cloned();
        let columns = columns.map(|expr| Ok(as_outside(expr, outside)?.data));
        Ok(Subquery {
            subquery: Arc::new(self.below(plan.data, config)?),
            outer_ref_columns: columns.collect::<Result<_>>()?,
            spans: inside.spans.clone(),
        })
    }
}

/// An expression whose columns outside are these.
fn as_outside(expr: Expr, outside: &DFSchema) -> Result<Transformed<Expr>> {
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

fn has_correlated(plan: &LogicalPlan) -> Result<bool> {
    has_operator(plan, |node| matches!(node, LogicalPlan::Subquery(it) if is_correlated(it)))
}
