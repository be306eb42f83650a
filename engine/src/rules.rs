// SPDX-License-Identifier: Apache-2.0
//! The lists of optimizer rules. The physical ones are DataFusion's own with a slot behind
//! `PushdownSort`.
//!
//! A rule that replaces scans belongs there: all rules that shape the plan have run, and the later
//! ones still see what it made. `EnsureCooperative` wraps its leaves, the second filter pushdown
//! hands them dynamic filters, and the sanity check judges them. A rule appended at the end would
//! have none of that. The rules that move filters and sorts are wrapped where they would be wrong:
//! see [`gate`], [`limits`] and [`sorts`]. In front of the latter stands a rule of ours about what
//! filters say of orders: see [`intervals`]. Another one is at the end, for what happens while a
//! plan runs: see [`repeats`].
//!
//! Of the rules for logical plans two are wrapped: see [`constants`] and [`sums`].

mod constants;
mod extremes;
mod gate;
mod intervals;
mod limits;
mod names;
mod not_in;
mod repeats;
mod sorts;
mod sums;

use std::sync::Arc;

use datafusion::{
    optimizer::{Optimizer, OptimizerRule},
    physical_optimizer::{PhysicalOptimizerRule, optimizer::PhysicalOptimizer},
};

pub(crate) use not_in::NotIn;

/// A rule as DataFusion holds it.
pub(crate) type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// A rule for logical plans as DataFusion holds it.
pub(crate) type LogicalRule = Arc<dyn OptimizerRule + Send + Sync>;

/// The rule that makes one sum of several.
const SHARES_SUMS: &str = "simplify_expressions";

/// The rule that makes one comparison of several.
const JOINS_COMPARISONS: &str = "push_down_filter";

/// Beginning of the names of rules that move filters.
const MOVES_FILTERS: &str = "FilterPushdown";

/// The rule that moves sorts.
const MOVES_SORTS: &str = "EnsureRequirements";

/// The rule in front of the slot.
const SLOT_AFTER: &str = "PushdownSort";

/// DataFusion's rules for logical plans.
pub(crate) fn logical_rules() -> Vec<LogicalRule> {
    let mut rules = Optimizer::new().rules;
    for rule in &mut rules {
        match rule.name() {
            SHARES_SUMS => *rule = Arc::new(sums::Sums(Arc::clone(rule))),
            JOINS_COMPARISONS => *rule = Arc::new(constants::Constants(Arc::clone(rule))),
            _ => {}
        }
    }
    rules
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
        }
    }
    let at = |rules: &[Rule], name| rules.iter().position(|rule| rule.name() == name);
    let slot = at(&rules, SLOT_AFTER).expect("DataFusion's rule list has PushdownSort") + 1;
    rules.splice(slot..slot, ours);
    let sorts = at(&rules, MOVES_SORTS).expect("DataFusion's rule list has EnsureRequirements");
    rules.insert(sorts, Arc::new(intervals::Intervals));
    rules.push(Arc::new(repeats::Repeats));
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::{
        common::{Result, config::ConfigOptions},
        physical_plan::ExecutionPlan,
    };

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
    fn logical_ones_are_those_of_datafusion() {
        let names = |rules: &[LogicalRule]| {
            rules.iter().map(|rule| rule.name().to_owned()).collect::<Vec<String>>()
        };
        let known = names(&Optimizer::new().rules);
        assert_eq!(names(&logical_rules()), known);
        for wrapped in [SHARES_SUMS, JOINS_COMPARISONS] {
            assert_eq!(known.iter().filter(|name| *name == wrapped).count(), 1, "{wrapped}");
        }
    }

    #[test]
    fn are_those_of_datafusion_and_two_without_ours() {
        let rules = physical_rules([]);
        let mut expected = PhysicalOptimizer::new().rules;
        let sorts = expected.iter().position(|rule| rule.name() == MOVES_SORTS).unwrap();
        expected.insert(sorts, Arc::new(intervals::Intervals));
        expected.push(Arc::new(repeats::Repeats));
        assert_eq!(names(&rules), names(&expected));
    }

    #[test]
    fn ours_stands_between_sort_pushdown_and_cooperation() {
        let rules = physical_rules([Arc::new(Marker) as Rule]);
        let names = names(&rules);
        let at = names.iter().position(|name| *name == "Marker").unwrap();
        assert_eq!(names[at - 1..=at + 1], ["PushdownSort", "Marker", "EnsureCooperative"]);
        let tail = ["FilterPushdown(Post)", "SanityCheckPlan", "Repeats"];
        assert_eq!(names[at + 2..], tail);
    }
}
