// SPDX-License-Identifier: Apache-2.0
//! The lists of optimizer rules. The physical ones are DataFusion's own with a slot behind
//! `PushdownSort`.
//!
//! A rule that replaces scans belongs there: all rules that shape the plan have run, and the later
//! ones still see what it made. `EnsureCooperative` wraps its leaves, the second filter pushdown
//! hands them dynamic filters, and the sanity check judges them. A rule appended at the end would
//! have none of that. The rules that move filters and sorts are wrapped where they would be wrong:
//! see [`gate`], [`limits`] and [`sorts`]. In front of the latter stands [`nulls`]; at the end
//! two for what happens while a plan runs, [`repeats`] and [`depth`].
//!
//! Of the rules for logical plans five are wrapped: see [`columnless`] and [`constants`],
//! [`null_equality`], [`writes`], and what stands before the one that simplifies: [`arrays`],
//! [`bits`], [`casts`], [`compared`], [`decimals`], [`lists`], [`patterns`] and [`sums`]; behind it
//! stands [`zeros`]. Before them come [`writes`], [`set_operations`], [`unnest`] and
//! [`subqueries`]. When they have run, what DataFusion would conclude too much from is hidden: see
//! [`casts`], [`compared`] and [`intervals`].

mod arrays;
mod as_is;
mod bits;
mod casts;
mod columnless;
mod compared;
mod constants;
mod decimals;
mod depth;
mod extremes;
mod gate;
mod intervals;
mod limits;
mod lists;
mod names;
mod null_equality;
mod nulls;
mod patterns;
mod plans;
mod repeats;
mod set_operations;
mod sorts;
mod subqueries;
mod sums;
mod unnest;
mod writes;
mod zeros;

use std::sync::Arc;

use datafusion::{
    common::{Result, config::ConfigOptions, internal_err, tree_node::Transformed},
    logical_expr::{Expr, LogicalPlan, simplify::SimplifyContext},
    optimizer::{
        Analyzer, AnalyzerRule, ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule,
        simplify_expressions::ExprSimplifier,
    },
    physical_optimizer::{PhysicalOptimizerRule, optimizer::PhysicalOptimizer},
    physical_plan::ExecutionPlan,
    scalar::ScalarValue,
};

/// A rule as DataFusion holds it.
pub(crate) type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// A rule that runs once as DataFusion holds it.
pub(crate) type AnalyzerRuleRef = Arc<dyn AnalyzerRule + Send + Sync>;

/// A rule for logical plans as DataFusion holds it.
pub(crate) type LogicalRule = Arc<dyn OptimizerRule + Send + Sync>;

/// The rule that finds out which types are compared, and casts.
const FINDS_CASTS: &str = "type_coercion";

/// The rule that simplifies expressions, and makes one sum of several.
const SIMPLIFIES: &str = "simplify_expressions";

/// The rule that moves filters, and makes one comparison of several.
const MOVES_CONDITIONS: &str = "push_down_filter";

/// The rule that puts joins in another order.
const FLATTENS_JOINS: &str = "eliminate_cross_join";

/// The rule that makes keys of a join's conditions.
const MAKES_KEYS: &str = "extract_equijoin_predicate";

/// The rule that computes once what stands in several expressions.
const SHARES: &str = "common_sub_expression_eliminate";

/// Beginning of the names of rules that move filters.
const MOVES_FILTERS: &str = "FilterPushdown";

/// The rule that moves sorts.
const MOVES_SORTS: &str = "EnsureRequirements";

/// The rule in front of the slot.
const SLOT_AFTER: &str = "PushdownSort";

/// The rules that run once, DataFusion's and ours.
///
/// # Panics
/// If DataFusion no longer has the rule that finds casts; a test holds that it has.
pub(crate) fn analyzer_rules() -> Vec<AnalyzerRuleRef> {
    let mut rules = Analyzer::new().rules;
    let casts = rules.iter().position(|rule| rule.name() == FINDS_CASTS);
    let casts = casts.expect("DataFusion's rule list has type_coercion");
    rules.insert(casts, Arc::new(subqueries::Outside { casts: true }));
    rules.extend(own_analyzer_rules());
    rules
}

/// Those that come behind DataFusion's own, which find out what names and types mean.
///
/// They run again on what they made, when a statement is prepared and when it is run, so none finds
/// anything to do in that. `Conditions` makes filters, for all others look there. `Aggregated` and
/// `Optional` make other subqueries of some, before `Outside` says anew what each knows of the
/// query outside, and `Keys` and `NotIn` compare what it says. `Named` gives names to what is left,
/// and `Correlated` judges it.
fn own_analyzer_rules() -> [AnalyzerRuleRef; 11] {
    [
        Arc::new(writes::Writes),
        Arc::new(set_operations::SetOperations),
        Arc::new(unnest::Unnested),
        Arc::new(subqueries::Conditions),
        Arc::new(subqueries::Aggregated),
        Arc::new(subqueries::Optional),
        Arc::new(subqueries::Outside { casts: false }),
        Arc::new(subqueries::Keys),
        Arc::new(subqueries::NotIn),
        Arc::new(subqueries::Named),
        Arc::new(subqueries::Correlated),
    ]
}

/// A plan that DataFusion is going to optimize without rules that run once, and will run these on
/// when what is optimized is run. Casts wait until then, because parameters have no type yet.
pub(crate) fn before_preparing(plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
    own_analyzer_rules().iter().try_fold(plan, |plan, rule| rule.analyze(plan, options))
}

/// DataFusion's rules for logical plans.
pub(crate) fn logical_rules() -> Vec<LogicalRule> {
    let mut rules = Optimizer::new().rules;
    for rule in &mut rules {
        match rule.name() {
            SIMPLIFIES => *rule = Wrapped::around(rule, simplify),
            MOVES_CONDITIONS => *rule = Wrapped::around(rule, move_filters),
            MAKES_KEYS => *rule = Wrapped::around(rule, make_keys),
            FLATTENS_JOINS => *rule = Wrapped::around(rule, flatten_joins),
            SHARES => *rule = Wrapped::around(rule, share),
            _ => {}
        }
    }
    rules
}

/// What the rule that simplifies makes of a plan.
fn simplify(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    bits::of_differences(plan)?
        .transform_data(casts::hide_losses)?
        .transform_data(|plan| compared::hide(plan, |constant| worked_out(constant, config)))?
        .transform_data(|plan| decimals::hide(plan, |constant| worked_out(constant, config)))?
        .transform_data(arrays::hide)?
        .transform_data(lists::keep_apart)?
        .transform_data(patterns::hide)?
        .transform_data(|plan| sums::rewrite(rule, plan, config))?
        .transform_data(zeros::unite)
}

/// What the rule that moves filters, and makes one comparison of several, makes of a plan.
fn move_filters(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    match columnless::is_one(&plan) {
        true => Ok(Transformed::no(plan)),
        false => rule.rewrite(constants::to_the_right(plan)?, config),
    }
}

/// What the rule that puts joins in another order makes of a plan.
fn flatten_joins(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    rule.rewrite(null_equality::keep_apart(plan)?, config)
}

/// What the rule that makes keys of a join's conditions makes of a plan.
fn make_keys(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    match null_equality::is_fixed(&plan) {
        true => Ok(Transformed::no(plan)),
        false => rule.rewrite(plan, config),
    }
}

/// What the rule that computes once what stands in several expressions makes of a plan.
fn share(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    match writes::is_update(&plan)? {
        true => Ok(Transformed::no(plan)),
        false => rule.rewrite(plan, config),
    }
}

/// The value of an expression without columns.
fn worked_out(constant: &Expr, config: &dyn OptimizerConfig) -> Option<ScalarValue> {
    let context = SimplifyContext::builder()
        .with_config_options(config.options())
        .with_query_execution_start_time(config.query_execution_start_time())
        .build();
    let value = ExprSimplifier::new(context).simplify(constant.clone()).ok()?;
    value.as_literal().cloned()
}

/// A rule for logical plans with something before or behind it.
#[derive(Debug)]
struct Wrapped {
    rule: LogicalRule,
    rewrite: Rewrite,
}

/// What a rule makes of a plan.
type Rewrite =
    fn(&LogicalRule, LogicalPlan, &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>>;

impl Wrapped {
    fn around(rule: &LogicalRule, rewrite: Rewrite) -> LogicalRule {
        Arc::new(Self { rule: Arc::clone(rule), rewrite })
    }
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
        (self.rewrite)(&self.rule, plan, config)
    }
}

/// The one child of an operator.
fn only_child(mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
    match (children.pop(), children.is_empty()) {
        (Some(child), true) => Ok(child),
        _ => internal_err!("an operator with one child has another number"),
    }
}

/// An optimized plan as DataFusion may plan it.
///
/// # Errors
/// When an expression has no type.
pub(crate) fn before_planning(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        as_is::remove(node)?
            .transform_data(casts::hide)?
            .transform_data(|node| compared::hide(node, |constant| constant.as_literal().cloned()))?
            .transform_data(intervals::hide)
    })?;
    Ok(plan.data)
}

/// Returns DataFusion's rules with `ours` in the slot, in the order given.
///
/// # Panics
/// If DataFusion no longer has the rules that mark the places; a test holds that it has.
pub(crate) fn physical_rules(ours: impl IntoIterator<Item = Rule>) -> Vec<Rule> {
    let mut rules = PhysicalOptimizer::new().rules;
    for rule in &mut rules {
        if rule.name().starts_with(MOVES_FILTERS) {
            *rule = Arc::new(gate::Gated(Arc::clone(rule)));
        } else if rule.name() == MOVES_SORTS {
            *rule = Arc::new(limits::Fenced(Arc::clone(rule)));
        } else if rule.name() == SLOT_AFTER {
            *rule = Arc::new(limits::Unturned(Arc::clone(rule)));
        }
    }
    let at = |rules: &[Rule], name| rules.iter().position(|rule| rule.name() == name);
    let slot = at(&rules, SLOT_AFTER).expect("DataFusion's rule list has PushdownSort") + 1;
    rules.splice(slot..slot, ours);
    let sorts = at(&rules, MOVES_SORTS).expect("DataFusion's rule list has EnsureRequirements");
    rules.insert(sorts, Arc::new(nulls::Nulls));
    rules.extend([Arc::new(repeats::Repeats) as Rule, Arc::new(depth::Depth)]);
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::physical_plan::ExecutionPlan;

    #[derive(Debug)]
    struct Marker;

    impl PhysicalOptimizerRule for Marker {
        fn optimize(
            &self,
            plan: Arc<dyn ExecutionPlan>,
            _config: &ConfigOptions,
        ) -> Result<Arc<dyn ExecutionPlan>> {
            Ok(plan)
        }

        fn name(&self) -> &'static str {
            "Marker"
        }

        fn schema_check(&self) -> bool {
            true
        }
    }

    fn names(rules: &[Rule]) -> Vec<&str> {
        rules.iter().map(|rule| rule.name()).collect()
    }

    #[test]
    fn those_that_run_once_stand_behind_those_of_datafusion() {
        let names = |rules: Vec<AnalyzerRuleRef>| {
            rules.iter().map(|rule| rule.name().to_owned()).collect::<Vec<String>>()
        };
        let mut expected = names(Analyzer::new().rules);
        let casts = expected.iter().position(|name| name == FINDS_CASTS).unwrap();
        expected.insert(casts, "outside_before_casts".to_owned());
        let ours = [
            "writes",
            "set_operations",
            "unnested",
            "conditions",
            "aggregated",
            "optional",
            "outside",
        ];
        let last = ["keys", "not_in", "named", "correlated"];
        expected.extend(ours.into_iter().chain(last).map(str::to_owned));
        assert_eq!(names(analyzer_rules()), expected);
    }

    #[test]
    fn logical_ones_are_those_of_datafusion() {
        let names = |rules: &[LogicalRule]| {
            rules.iter().map(|rule| rule.name().to_owned()).collect::<Vec<String>>()
        };
        let known = names(&Optimizer::new().rules);
        assert_eq!(names(&logical_rules()), known);
        for wrapped in [SIMPLIFIES, MOVES_CONDITIONS, MAKES_KEYS, FLATTENS_JOINS, SHARES] {
            assert_eq!(known.iter().filter(|name| *name == wrapped).count(), 1, "{wrapped}");
        }
    }

    #[test]
    fn are_those_of_datafusion_and_ours() {
        let rules = physical_rules([]);
        let mut expected = PhysicalOptimizer::new().rules;
        let sorts = expected.iter().position(|rule| rule.name() == MOVES_SORTS).unwrap();
        expected.insert(sorts, Arc::new(nulls::Nulls));
        expected.extend([Arc::new(repeats::Repeats) as Rule, Arc::new(depth::Depth)]);
        assert_eq!(names(&rules), names(&expected));
    }

    #[test]
    fn ours_stands_between_sort_pushdown_and_cooperation() {
        let rules = physical_rules([Arc::new(Marker) as Rule]);
        let names = names(&rules);
        let at = names.iter().position(|name| *name == "Marker").unwrap();
        assert_eq!(names[at - 1..=at + 1], ["PushdownSort", "Marker", "EnsureCooperative"]);
        let tail = ["FilterPushdown(Post)", "SanityCheckPlan", "Repeats", "Depth"];
        assert_eq!(names[at + 2..], tail);
    }
}
