// SPDX-License-Identifier: Apache-2.0
//! Installs the corrections in a session: it adds them to DataFusion's lists of rules.
//!
//! | list | change |
//! |---|---|
//! | analyzer rules | [`RefreshBeforeCoercion`] in front of `type_coercion`, [`AnalyzeCorrections`] at the end |
//! | optimizer rules | five are wrapped ([`wrapped`]); order and names stay DataFusion's |
//! | physical optimizer rules | rules that push down filters or sorts are wrapped; four are added |
//! | query planner | wrapped by [`CorrectingPlanner`] |
//! | aggregate functions | `min` and `max` |
//!
//! Every rule checks at every statement which corrections are on.

use std::sync::Arc;

use datafusion::{
    common::{Result, config::ConfigOptions, internal_err, tree_node::Transformed},
    execution::SessionStateBuilder,
    logical_expr::{DmlStatement, Expr, Join, LogicalPlan, Subquery, WriteOp},
    optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule},
};

use crate::{
    depth::plan::GrowStackOfDeepPlans,
    expressions, float_extremes,
    logical::{
        filter_pushdown, null_equality, predicate_intervals::EstimateHiddenPredicates,
        set_operations, unnest_keys, write_conditions,
    },
    physical::{
        filter_pushdown::GateFilterPushdown,
        limits::{KeepScanOrderBelowLimits, ProtectLimits},
        nested_loop_restart::RestartNestedLoopInputs,
        null_extension::ForgetNullExtendedProperties,
    },
    planner::CorrectingPlanner,
    registry::Correction,
    rule::{LogicalRule, PhysicalRule, ReadCorrections, enabled_by},
    set::CorrectionSet,
    subqueries::{
        column_names, correlated_keys, empty_scalars, is_correlated, join_conditions, lateral,
        not_in,
        outer_references::{self, Coercion},
        subquery, ungrouped_aggregates, unsound_decorrelation,
    },
    walk::{Visited, visit},
};

/// Names of DataFusion's rules.
const TYPE_COERCION: &str = "type_coercion";
const SIMPLIFY_EXPRESSIONS: &str = "simplify_expressions";
const PUSH_DOWN_FILTER: &str = "push_down_filter";
const ELIMINATE_CROSS_JOIN: &str = "eliminate_cross_join";
const EXTRACT_EQUIJOIN_PREDICATE: &str = "extract_equijoin_predicate";
const COMMON_SUB_EXPRESSION_ELIMINATE: &str = "common_sub_expression_eliminate";
/// Prefix of the names of its physical rules that push down filters.
const FILTER_PUSHDOWN: &str = "FilterPushdown";
const ENSURE_REQUIREMENTS: &str = "EnsureRequirements";
const PUSHDOWN_SORT: &str = "PushdownSort";

/// Installs the corrections in a session that is being built.
///
/// Lists of rules that the builder already has are kept, and must include DataFusion's rules;
/// single rules that were added stay at the end; an existing query planner is wrapped. `enabled` is
/// called at every statement.
///
/// # Errors
/// If a rule of DataFusion that is corrected is missing from its list, as in another version.
pub fn install(
    mut builder: SessionStateBuilder,
    enabled: ReadCorrections,
) -> Result<SessionStateBuilder> {
    let analyzer = builder.analyzer().take().unwrap_or_default().rules;
    let optimizer = builder.optimizer().take().unwrap_or_default().rules;
    let physical = builder.physical_optimizers().take().unwrap_or_default().rules;
    let planner = CorrectingPlanner::around(builder.query_planner().take(), enabled);
    builder.aggregate_functions().get_or_insert_default().extend(float_extremes::functions());
    Ok(builder
        .with_analyzer_rules(analyzer_rules(analyzer, enabled)?)
        .with_optimizer_rules(optimizer_rules(optimizer, enabled)?)
        .with_physical_optimizer_rules(physical_rules(physical, enabled)?)
        .with_query_planner(Arc::new(planner)))
}

type AnalyzerRuleRef = Arc<dyn AnalyzerRule + Send + Sync>;

fn analyzer_rules(
    mut rules: Vec<AnalyzerRuleRef>,
    enabled: ReadCorrections,
) -> Result<Vec<AnalyzerRuleRef>> {
    let coercion = position(rules.iter().map(|rule| rule.name()), TYPE_COERCION)?;
    rules.insert(coercion, Arc::new(RefreshBeforeCoercion(enabled)));
    rules.push(Arc::new(AnalyzeCorrections(enabled)));
    Ok(rules)
}

fn optimizer_rules(
    mut rules: Vec<LogicalRule>,
    enabled: ReadCorrections,
) -> Result<Vec<LogicalRule>> {
    for (name, rewrite) in wrapped() {
        let at = position(rules.iter().map(|rule| rule.name()), name)?;
        let rule = Arc::clone(&rules[at]);
        rules[at] = Arc::new(Wrapped { rule, rewrite, enabled });
    }
    Ok(rules)
}

fn physical_rules(
    mut rules: Vec<PhysicalRule>,
    enabled: ReadCorrections,
) -> Result<Vec<PhysicalRule>> {
    for rule in &mut rules {
        let wrapped: PhysicalRule = match rule.name() {
            name if name.starts_with(FILTER_PUSHDOWN) => {
                Arc::new(GateFilterPushdown { rule: Arc::clone(rule), enabled })
            }
            ENSURE_REQUIREMENTS => Arc::new(ProtectLimits { rule: Arc::clone(rule), enabled }),
            PUSHDOWN_SORT => Arc::new(KeepScanOrderBelowLimits { rule: Arc::clone(rule), enabled }),
            _ => continue,
        };
        *rule = wrapped;
    }
    position(rules.iter().map(|rule| rule.name()), PUSHDOWN_SORT)?;
    let sorts = position(rules.iter().map(|rule| rule.name()), ENSURE_REQUIREMENTS)?;
    rules.insert(sorts, Arc::new(ForgetNullExtendedProperties(enabled)));
    // Build and probe sides are chosen by estimates, so this rule comes first.
    rules.insert(0, Arc::new(EstimateHiddenPredicates(enabled)));
    rules.push(Arc::new(RestartNestedLoopInputs(enabled)));
    rules.push(Arc::new(GrowStackOfDeepPlans(enabled)));
    Ok(rules)
}

fn position<'a>(mut names: impl Iterator<Item = &'a str>, name: &str) -> Result<usize> {
    match names.position(|other| other == name) {
        Some(position) => Ok(position),
        None => internal_err!("DataFusion has no rule {name}"),
    }
}

/// Refreshes outer references before type coercion.
#[derive(Debug)]
struct RefreshBeforeCoercion(ReadCorrections);

impl AnalyzerRule for RefreshBeforeCoercion {
    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        match enabled_by(self.0, options).contains(Correction::RefreshOuterReferences) {
            true => outer_references::refresh(plan, Coercion::Pending, options),
            false => Ok(plan),
        }
    }

    fn name(&self) -> &'static str {
        "refresh_outer_references"
    }
}

/// Corrects the semantics of set operations, `unnest` and subqueries, once types and names are
/// resolved.
///
/// The corrections are idempotent, because a prepared plan is analyzed again when it is run.
#[derive(Debug)]
struct AnalyzeCorrections(ReadCorrections);

impl AnalyzerRule for AnalyzeCorrections {
    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        use Correction as C;
        let enabled = enabled_by(self.0, options);
        let plan = match enabled.contains(C::OrderFloatExtremes) {
            true => plan,
            false => float_extremes::revert(plan)?,
        };
        if enabled.is_empty() {
            return Ok(plan);
        }
        let has = Features::of(&plan);
        let refresh: &Rewriting<'_> =
            &|plan| outer_references::refresh(plan, Coercion::Done, options);
        let steps: [(Correction, bool, &Rewriting<'_>); 11] = [
            (C::ProtectWriteConditions, has.write, &write_conditions::protect),
            (C::PreserveSetOperationMultiplicity, has.semi_join, &set_operations::preserve),
            (C::HideKeysFromUnnest, has.unnest, &unnest_keys::hide),
            // This step is first, because the others inspect filters, which it makes.
            (C::LiftJoinSubqueries, has.correlation, &join_conditions::lift),
            // These two rewrite subqueries, so they are before the refresh of references.
            (C::RewriteUngroupedAggregates, has.subquery, &ungrouped_aggregates::rewrite_all),
            (C::MarkEmptyScalarSubqueryNullable, has.subquery, &empty_scalars::mark_nullable),
            (C::RefreshOuterReferences, has.correlation, refresh),
            (C::NameSubqueryKeys, has.correlation, &correlated_keys::name),
            (C::RewriteNotIn, has.compared, &not_in::rewrite_all),
            (C::NameSubqueryKeys, has.compared, &column_names::name),
            // The last step rejects the remaining unsound subqueries.
            (C::RejectUnsoundDecorrelation, has.subquery, &unsound_decorrelation::reject),
        ];
        let needed = steps.into_iter().filter(|(one, has, _)| *has && enabled.contains(*one));
        needed.map(|(_, _, rewrite)| rewrite).try_fold(plan, |plan, rewrite| rewrite(plan))
    }

    fn name(&self) -> &'static str {
        "corrections"
    }
}

/// A step of the analysis.
type Rewriting<'a> = dyn Fn(LogicalPlan) -> Result<LogicalPlan> + 'a;

/// The features of a plan that may need a correction in the analysis.
#[derive(Debug, Default)]
struct Features {
    write: bool,
    semi_join: bool,
    unnest: bool,
    /// Subqueries in expressions, or LATERAL.
    subquery: bool,
    /// Those of IN, ANY and ALL.
    compared: bool,
    /// Correlated subqueries.
    correlation: bool,
}

impl Features {
    /// Those of a plan and of its subqueries, by one walk.
    fn of(plan: &LogicalPlan) -> Self {
        let mut has = Self::default();
        visit(plan, &mut |visited| {
            match visited {
                Visited::Operator(node) => has.add_operator(node),
                Visited::Part(_, part) => has.add_part(part),
            }
            false
        });
        has
    }

    fn add_operator(&mut self, node: &LogicalPlan) {
        match node {
            LogicalPlan::Dml(DmlStatement { op: WriteOp::Delete | WriteOp::Update, .. }) => {
                self.write = true;
            }
            LogicalPlan::Join(join) => self.add_join(join),
            LogicalPlan::Unnest(_) => self.unnest = true,
            LogicalPlan::Subquery(inside) => self.add_subquery(inside),
            _ => {}
        }
    }

    fn add_part(&mut self, part: &Expr) {
        if let Some(inside) = subquery(part) {
            self.add_subquery(inside);
        }
        self.compared |= matches!(part, Expr::InSubquery(_) | Expr::SetComparison(_));
        self.correlation |= matches!(part, Expr::OuterReferenceColumn(..));
    }

    fn add_subquery(&mut self, inside: &Subquery) {
        self.subquery = true;
        self.correlation |= is_correlated(inside);
    }

    fn add_join(&mut self, join: &Join) {
        use datafusion::common::JoinType::{LeftAnti, LeftSemi};
        self.semi_join |= matches!(join.join_type, LeftSemi | LeftAnti);
        self.subquery |= lateral(&join.left).is_some() || lateral(&join.right).is_some();
    }
}

/// The rewrite of a wrapped rule.
type Rewrite = fn(
    &LogicalRule,
    LogicalPlan,
    &dyn OptimizerConfig,
    CorrectionSet,
) -> Result<Transformed<LogicalPlan>>;

/// Returns the names and rewrites of the wrapped rules for logical plans.
fn wrapped() -> [(&'static str, Rewrite); 5] {
    [
        (SIMPLIFY_EXPRESSIONS, expressions::simplify),
        (PUSH_DOWN_FILTER, filter_pushdown::push_down),
        (ELIMINATE_CROSS_JOIN, null_equality::eliminate_cross_join),
        (EXTRACT_EQUIJOIN_PREDICATE, null_equality::extract_equijoin_predicate),
        (COMMON_SUB_EXPRESSION_ELIMINATE, write_conditions::eliminate_common_expressions),
    ]
}

/// A rule for logical plans of DataFusion, corrected.
#[derive(Debug)]
struct Wrapped {
    rule: LogicalRule,
    rewrite: Rewrite,
    enabled: ReadCorrections,
}

impl OptimizerRule for Wrapped {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let enabled = enabled_by(self.enabled, &config.options());
        match enabled.is_empty() {
            true => self.rule.rewrite(plan, config),
            false => (self.rewrite)(&self.rule, plan, config, enabled),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::{
        optimizer::{Analyzer, Optimizer},
        physical_optimizer::{PhysicalOptimizerRule, optimizer::PhysicalOptimizer},
    };

    use super::*;

    const ALL: ReadCorrections = |_| CorrectionSet::ALL;

    #[test]
    fn analyzer_rules_are_those_of_datafusion_with_two_more() {
        let names = |rules: &[AnalyzerRuleRef]| {
            rules.iter().map(|rule| rule.name().to_owned()).collect::<Vec<String>>()
        };
        let mut expected = names(&Analyzer::new().rules);
        let coercion = expected.iter().position(|name| name == TYPE_COERCION).unwrap();
        expected.insert(coercion, "refresh_outer_references".to_owned());
        expected.push("corrections".to_owned());
        assert_eq!(names(&analyzer_rules(Analyzer::new().rules, ALL).unwrap()), expected);
    }

    #[test]
    fn optimizer_rules_keep_names_and_order() {
        let names = |rules: &[LogicalRule]| {
            rules.iter().map(|rule| rule.name().to_owned()).collect::<Vec<String>>()
        };
        let rules = optimizer_rules(Optimizer::new().rules, ALL).unwrap();
        assert_eq!(names(&rules), names(&Optimizer::new().rules));
    }

    #[test]
    fn physical_rules_are_those_of_datafusion_with_four_more() {
        let names = |rules: &[PhysicalRule]| {
            rules.iter().map(|rule| rule.name().to_owned()).collect::<Vec<String>>()
        };
        let mut expected = names(&PhysicalOptimizer::new().rules);
        let sorts = expected.iter().position(|name| name == ENSURE_REQUIREMENTS).unwrap();
        expected.insert(sorts, "ForgetNullExtendedProperties".to_owned());
        expected.insert(0, "EstimateHiddenPredicates".to_owned());
        expected.extend(["RestartNestedLoopInputs", "GrowStackOfDeepPlans"].map(str::to_owned));
        assert_eq!(names(&physical_rules(PhysicalOptimizer::new().rules, ALL).unwrap()), expected);
    }

    #[test]
    fn missing_rule_is_an_error() {
        assert!(physical_rules(Vec::new(), ALL).is_err());
    }

    #[test]
    fn install_keeps_an_added_rule_after_those_of_datafusion() {
        let added = EstimateHiddenPredicates(ALL);
        let name = added.name().to_owned();
        let builder = SessionStateBuilder::new().with_default_features();
        let builder = builder.with_physical_optimizer_rule(Arc::new(added));
        let state = install(builder, ALL).unwrap().build();
        let names: Vec<&str> = state.physical_optimizers().iter().map(|rule| rule.name()).collect();
        assert!(names.contains(&PUSHDOWN_SORT), "{names:?}");
        assert_eq!(names.last(), Some(&name.as_str()));
    }
}
