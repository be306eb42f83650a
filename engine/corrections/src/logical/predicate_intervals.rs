// SPDX-License-Identifier: Apache-2.0
//! Hides expressions in filters from DataFusion's interval analysis, which is unsound for them.
//!
//! `FilterExec` computes by interval arithmetic which values of each column a condition leaves. A
//! column with one value is a constant for the operators above, so sorts and group keys omit it.
//! That is right for comparisons of columns with constants. It is wrong if several values of a
//! column map to one value of an expression (`id / 2 = 10`, `CAST(ts AS DATE) = d`), if sums wrap,
//! and if booleans are compared; and for `-x` of the least number, or a difference of dates, the
//! query is refused.
//!
//! So everything except columns and constants is hidden by a TRY_CAST to its own type, which
//! interval arithmetic does not support. Pruning of row groups works through the cast, and
//! `nearscan_optimizer` lowers the expression below it. The selectivity of the filter is still
//! estimated by intervals, from the condition without the casts ([`EstimateHiddenPredicates`]);
//! only the estimate is used.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::Field,
    common::{
        DFSchema, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult, TreeNode},
    },
    execution::context::ExecutionProps,
    logical_expr::{
        BinaryExpr, Cast, Expr, ExprSchemable, Filter, LogicalPlan, Operator, TryCast,
        physical_planning_context::PhysicalPlanningContext,
        utils::{conjunction, split_conjunction, split_conjunction_owned},
    },
    physical_expr::{
        AnalysisContext, PhysicalExpr, analyze, create_physical_expr, expressions::TryCastExpr,
        intervals::utils::check_support,
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan,
        filter::FilterExec,
        statistics::{StatisticsArgs, StatisticsContext},
    },
};

use crate::{
    expressions::keeps_values,
    registry::Correction,
    rule::{ReadCorrections, enabled_by},
};

/// Name of the field that hidden expressions are cast to. DataFusion removes a cast to the type of
/// its argument, but not one to a named field.
const HIDDEN: &str = "hidden from intervals";

/// Whether the condition of an operator has expressions to hide, and DataFusion analyses its
/// intervals.
pub(crate) fn is_suspect(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan else { return false };
    let is_hidden = |side: &Expr| !is_plain(side, input.schema()).unwrap_or(false);
    split_conjunction(predicate).into_iter().any(|term| match term {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            is_hidden(left) || is_hidden(right)
        }
        other => is_hidden(other),
    })
}

/// Hides all expressions except columns and constants in the condition of a filter.
pub(crate) fn hide(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !is_suspect(&plan) {
        return Ok(Transformed::no(plan));
    }
    match plan {
        LogicalPlan::Filter(filter) if has_intervals(&filter) => {
            let Filter { predicate, input, .. } = filter;
            let terms = split_conjunction_owned(predicate.clone()).into_iter();
            let terms = terms.map(|term| hidden_in(term, input.schema()));
            let terms = terms.collect::<Result<Vec<Expr>>>()?;
            let predicate = conjunction(terms).unwrap_or(predicate);
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, input)?)))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Whether DataFusion analyses the intervals of a filter's condition.
fn has_intervals(Filter { predicate, input, .. }: &Filter) -> bool {
    let schema = input.schema();
    let (now, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    // A condition that needs more than a schema to be planned, such as a subquery, has no
    // intervals.
    create_physical_expr(predicate, schema, &now, &context)
        .is_ok_and(|predicate| check_support(&predicate, schema.inner()))
}

/// Hides expressions in one term of the conjunction.
fn hidden_in(term: Expr, schema: &DFSchema) -> Result<Expr> {
    match term {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            let [left, right] = [left, right].map(|side| hidden(*side, schema));
            let both = BinaryExpr::new(Box::new(left?), op, Box::new(right?));
            Ok(Expr::BinaryExpr(both))
        }
        other => hidden(other, schema),
    }
}

const fn is_comparison(operator: Operator) -> bool {
    matches!(operator, Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq)
}

fn hidden(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    if is_plain(&expr, schema)? {
        return Ok(expr);
    }
    let same = Field::new(HIDDEN, expr.get_type(schema)?, true);
    Ok(Expr::TryCast(TryCast::new_from_field(Box::new(expr), Arc::new(same))))
}

/// Whether an expression is a constant or a column, also below a cast that keeps its values.
fn is_plain(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    Ok(match expr {
        Expr::Column(_) | Expr::Literal(..) => true,
        Expr::Cast(Cast { expr, field }) => {
            is_plain(expr, schema)? && keeps_values(&expr.get_type(schema)?, field.data_type())
        }
        _ => false,
    })
}

/// Gives filters with hidden expressions the selectivity of their conditions without the casts.
///
/// ```text
/// FilterExec: TRY_CAST(id % 2 AS Int64) = 0   default selectivity 20 %
///   =>  the same, with the selectivity by intervals of `id % 2 = 0`
/// ```
#[derive(Debug)]
pub(crate) struct EstimateHiddenPredicates(pub(crate) ReadCorrections);

impl PhysicalOptimizerRule for EstimateHiddenPredicates {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !enabled_by(self.0, config).contains(Correction::HidePredicateIntervals) {
            return Ok(plan);
        }
        plan.transform_up(|node| {
            let estimated = node.downcast_ref::<FilterExec>().and_then(estimated);
            Ok(match estimated {
                Some(filter) => Transformed::yes(Arc::new(filter) as _),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "EstimateHiddenPredicates"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns the filter with its estimate, if its condition has hidden expressions.
fn estimated(filter: &FilterExec) -> Option<FilterExec> {
    let shown = Arc::clone(filter.predicate()).transform_up(|part| {
        Ok(match part.downcast_ref::<TryCastExpr>() {
            Some(cast) if cast.target_field().name() == HIDDEN => {
                Transformed::yes(Arc::clone(cast.expr()))
            }
            _ => Transformed::no(part),
        })
    });
    let shown = shown.ok().filter(|shown| shown.transformed)?.data;
    let percent = selectivity(filter, &shown)?;
    filter.clone().with_default_selectivity(percent).ok()
}

/// Returns the selectivity of a filter with this condition, in percent, at least one.
fn selectivity(filter: &FilterExec, condition: &Arc<dyn PhysicalExpr>) -> Option<u8> {
    let input = filter.input();
    let schema = input.schema();
    let known = StatisticsContext::new().compute(input.as_ref(), &StatisticsArgs::new()).ok()?;
    let columns = AnalysisContext::try_from_statistics(&schema, &known.column_statistics).ok()?;
    let share = analyze(condition, columns, &schema).ok()?.selectivity?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 1 to 100"
    )]
    let percent = (share * 100.0).ceil().clamp(1.0, 100.0) as u8;
    Some(percent)
}
