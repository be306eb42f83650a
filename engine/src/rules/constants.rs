// SPDX-License-Identifier: Apache-2.0
//! Comparisons with constants.
//!
//! Of several comparisons of one column with constants DataFusion keeps the narrowest. It takes
//! `1 > a` for no narrower than `a <= 1`, and `1 = a` for another condition than `a = 1`, so that
//! no row has both. Most constants stand on the right by then, but not those that had to be worked
//! out, as in `CAST('1' AS INT) > a`. [`Constants`] puts them there.

use datafusion::{
    common::{Result, tree_node::Transformed},
    logical_expr::{
        BinaryExpr, Expr, Filter, LogicalPlan,
        utils::{conjunction, split_conjunction_owned},
    },
    optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule},
};

use super::LogicalRule;

/// The rule that compares comparisons, kept from what it gets wrong.
#[derive(Debug)]
pub(super) struct Constants(pub(super) LogicalRule);

impl OptimizerRule for Constants {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan else {
            return self.0.rewrite(plan, config);
        };
        let terms = split_conjunction_owned(predicate.clone()).into_iter().map(turned);
        let predicate = conjunction(terms).unwrap_or(predicate);
        self.0.rewrite(LogicalPlan::Filter(Filter::try_new(predicate, input)?), config)
    }
}

/// A comparison with its constant on the right.
fn turned(term: Expr) -> Expr {
    match term {
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if left.as_literal().is_some() && right.as_literal().is_none() =>
        {
            match op.swap() {
                Some(op) => Expr::BinaryExpr(BinaryExpr { left: right, op, right: left }),
                None => Expr::BinaryExpr(BinaryExpr { left, op, right }),
            }
        }
        other => other,
    }
}
