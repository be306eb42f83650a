// SPDX-License-Identifier: Apache-2.0
//! Protects expressions that DataFusion's simplifier would rewrite unsoundly.
//!
//! All corrections of expressions share one walk over the expressions of an operator, before
//! `simplify_expressions`. The first, read-only pass checks by the function of each module whether
//! a part of an expression is *suspect*; few plans have such parts, and all others skip the rest.
//! The second pass puts a [barrier](crate::barrier) around what must not be simplified, or rewrites
//! an expression. After the rule the barriers are removed, so that no other rule, and no table
//! provider, sees them.
//!
//! ```text
//! Filter: CAST(d AS DECIMAL(9,1)) = 1.2
//!   protect   Filter: barrier(CAST(d AS DECIMAL(9,1))) = 1.2
//!   simplify  Filter: barrier(CAST(d AS DECIMAL(9,1))) = 1.2      (else: d = 1.20)
//!   restore   Filter: CAST(d AS DECIMAL(9,1)) = 1.2
//! ```
//!
//! Physical planning misreads some of the same expressions; [`hide_from_planning`] puts barriers
//! around these, which stay.

mod array_has;
mod bitwise_negation;
mod casts;
mod constant_sums;
mod constants;
mod decimal_identities;
mod in_lists;
mod regex_patterns;
mod signed_zeros;

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, LogicalPlan, expr_rewriter::NamePreserver, simplify::SimplifyContext},
    optimizer::{OptimizerConfig, simplify_expressions::ExprSimplifier},
    scalar::ScalarValue,
};

use crate::{
    barrier,
    registry::Correction,
    rule::LogicalRule,
    set::CorrectionSet,
    walk::{has_expression, input_schema, map_whole_expressions},
};

pub(crate) use casts::keeps_values;

/// The context of an expression in its operator.
struct Context<'a> {
    /// The input columns of the expression.
    schema: &'a DFSchema,
    /// Evaluates an expression without columns.
    evaluate: &'a dyn Fn(&Expr) -> Option<ScalarValue>,
}

/// Whether a part of an expression may need a correction.
type IsSuspect = fn(&Expr) -> bool;

/// The check of each correction.
const SUSPECTS: &[(Correction, IsSuspect)] = &[
    (Correction::RewriteBitwiseNegation, bitwise_negation::is_suspect),
    (Correction::ProtectLossyCasts, casts::is_suspect),
    (Correction::ProtectUnrepresentableConstants, constants::is_suspect),
    (Correction::ProtectDecimalIdentities, decimal_identities::is_suspect),
    (Correction::ProtectArrayHas, array_has::is_suspect),
    (Correction::SeparateInLists, in_lists::is_suspect),
    (Correction::ProtectRegexPatterns, regex_patterns::is_suspect),
    (Correction::ProtectConstantSums, constant_sums::is_suspect),
    (Correction::UnifySignedZeros, signed_zeros::is_suspect),
];

/// Protects one part of an expression; its children are protected already.
type Protect = fn(Expr, &Context<'_>) -> Result<Transformed<Expr>>;

/// The protections of single parts, in order.
const PROTECTIONS: &[(Correction, Protect)] = &[
    (Correction::RewriteBitwiseNegation, bitwise_negation::rewrite),
    (Correction::ProtectLossyCasts, casts::protect),
    (Correction::ProtectUnrepresentableConstants, constants::protect),
    (Correction::ProtectDecimalIdentities, decimal_identities::protect),
    (Correction::ProtectArrayHas, array_has::protect),
    (Correction::ProtectRegexPatterns, regex_patterns::protect),
];

/// Runs `simplify_expressions` on an operator with the suspect expressions protected.
pub(crate) fn simplify(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
    enabled: CorrectionSet,
) -> Result<Transformed<LogicalPlan>> {
    let found = suspects(&plan, enabled)?;
    if found.is_empty() {
        return rule.rewrite(plan, config);
    }
    let mut protected = protect(plan, found, &|constant| evaluate(constant, config))?;
    if found.contains(Correction::SeparateInLists) {
        protected = protected.transform_data(in_lists::separate)?;
    }
    let (plan, has_barriers) = (protected.data, protected.transformed);
    let simplified = match found.contains(Correction::ProtectConstantSums) {
        true => constant_sums::simplify(rule, plan, config)?,
        false => rule.rewrite(plan, config)?,
    };
    let restored = match has_barriers {
        true => simplified.transform_data(barrier::remove_transient)?,
        false => simplified,
    };
    match found.contains(Correction::UnifySignedZeros) {
        true => restored.transform_data(signed_zeros::unify),
        false => Ok(restored),
    }
}

/// Returns the corrections for which a part of an operator's expressions is suspect.
fn suspects(plan: &LogicalPlan, enabled: CorrectionSet) -> Result<CorrectionSet> {
    let mut found = CorrectionSet::NONE;
    has_expression(plan, |part| {
        if !matches!(part, Expr::Column(_) | Expr::Alias(_)) {
            for (correction, is_suspect) in SUSPECTS {
                if enabled.contains(*correction) && is_suspect(part) {
                    found = found.with(*correction);
                }
            }
        }
        false
    })?;
    Ok(found)
}

/// Protects the suspect expressions of an operator; they keep their names.
fn protect(
    plan: LogicalPlan,
    found: CorrectionSet,
    evaluate: &dyn Fn(&Expr) -> Option<ScalarValue>,
) -> Result<Transformed<LogicalPlan>> {
    let protections = PROTECTIONS.iter().filter(|(correction, _)| found.contains(*correction));
    let protections: Vec<Protect> = protections.map(|(_, protect)| *protect).collect();
    if protections.is_empty() {
        return Ok(Transformed::no(plan));
    }
    let (schema, names) = (input_schema(&plan)?, NamePreserver::new(&plan));
    let context = Context { schema: &schema, evaluate };
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let protected = expr.transform_up(|part| {
            let part = Transformed::no(part);
            protections
                .iter()
                .try_fold(part, |part, protect| part.transform_data(|part| protect(part, &context)))
        })?;
        Ok(match protected.transformed {
            true => protected.update_data(|expr| name.restore(expr)),
            false => protected,
        })
    })
}

/// Evaluates an expression without columns.
fn evaluate(constant: &Expr, config: &dyn OptimizerConfig) -> Option<ScalarValue> {
    if let Some(value) = constant.as_literal() {
        return Some(value.clone());
    }
    let context = SimplifyContext::builder()
        .with_config_options(config.options())
        .with_query_execution_start_time(config.query_execution_start_time())
        .build();
    let value = ExprSimplifier::new(context).simplify(constant.clone()).ok()?;
    value.as_literal().cloned()
}

/// Whether physical planning may misread a part of an optimized operator's expressions.
pub(crate) fn is_suspect_in_planning(plan: &LogicalPlan, part: &Expr) -> bool {
    casts::is_suspect_in_planning(plan, part) || constants::is_suspect(part)
}

/// Puts barriers around the expressions of an optimized operator that physical planning misreads.
pub(crate) fn hide_from_planning(
    plan: LogicalPlan,
    enabled: CorrectionSet,
) -> Result<Transformed<LogicalPlan>> {
    let plan = match enabled.contains(Correction::ProtectLossyCasts) {
        true => casts::hide_from_planning(plan)?,
        false => Transformed::no(plan),
    };
    match enabled.contains(Correction::ProtectUnrepresentableConstants) {
        true => plan.transform_data(|plan| {
            map_whole_expressions(plan, constants::is_suspect, |expr, schema| {
                let evaluate = |constant: &Expr| constant.as_literal().cloned();
                let context = Context { schema, evaluate: &evaluate };
                expr.transform_up(|part| constants::protect(part, &context))
            })
        }),
        false => Ok(plan),
    }
}
