// SPDX-License-Identifier: Apache-2.0
//! Finds the columns on whose estimates the plan of a statement depends. Different values are
//! wanted of those that joins compare, that rows below a join are grouped by, and that are compared
//! for equality; quantiles of those that are compared with a number for their order.
//!
//! Columns are known by their names only, without their tables: a name that two tables have is
//! counted in both, which costs a little and changes nothing. New names of columns are followed
//! back. Table providers get the names through a variable of the task, because DataFusion does not
//! tell them what a plan is for.

use std::{collections::BTreeSet, sync::Arc};

use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    logical_expr::{Expr, LogicalPlan, Operator},
    parquet::file::metadata::ParquetMetaData,
};
use tokio::task_local;

/// With fewer joins there is no order to choose, and nothing else asks for the counts.
const JOINS_MIN: usize = 2;

task_local! {
    static WANTED: Arc<Wanted>;
}

/// The names of the columns that the plan of a statement depends on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Those whose different values are counted.
    counted: BTreeSet<String>,
    /// Those whose quantiles are found.
    bounded: BTreeSet<String>,
}

/// The columns of a file that are wanted, with their places among its leaf columns.
#[derive(Debug, Default)]
pub(super) struct WantedColumns {
    pub(super) counted: Vec<(String, usize)>,
    pub(super) bounded: Vec<(String, usize)>,
}

impl Wanted {
    /// Returns these columns, to be counted and to have quantiles.
    #[cfg(test)]
    pub(super) fn of_names(counted: &[&str], bounded: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().copied().map(str::to_owned).collect();
        Self { counted: owned(counted), bounded: owned(bounded) }
    }

    /// Returns the columns of a statement; none if it has no joins to be ordered.
    pub(crate) fn of(plan: &LogicalPlan) -> Self {
        let mut found = Found::default();
        let walked = plan.apply_with_subqueries(|node| {
            found.visit(node);
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(walked.is_ok(), "no step of the walk fails");
        match found.joins < JOINS_MIN {
            true => Self::default(),
            false => found.followed(),
        }
    }

    /// Runs a future whose task, and what it awaits, sees these names.
    pub(crate) async fn scope<T>(self, future: impl Future<Output = T>) -> T {
        WANTED.scope(Arc::new(self), future).await
    }

    /// Returns the names of this task, if there are any.
    pub(in crate::parquet) fn of_task() -> Option<Arc<Self>> {
        WANTED.try_with(Arc::clone).ok().filter(|wanted| **wanted != Self::default())
    }

    /// Returns the columns of a file that are wanted. Nested columns are left out.
    pub(super) fn columns_of(&self, footer: &ParquetMetaData) -> WantedColumns {
        let mut wanted = WantedColumns::default();
        let columns = footer.file_metadata().schema_descr().columns().iter().enumerate();
        for (leaf, column) in columns.filter(|(_, column)| column.max_rep_level() == 0) {
            let [name] = column.path().parts() else { continue };
            for (names, found) in
                [(&self.counted, &mut wanted.counted), (&self.bounded, &mut wanted.bounded)]
            {
                found.extend(names.contains(name).then(|| (name.clone(), leaf)));
            }
        }
        wanted
    }
}

/// What a walk over a plan has found.
#[derive(Default)]
struct Found {
    joins: usize,
    wanted: Wanted,
    /// New names of columns, and what they are.
    renamed: Vec<(String, String)>,
}

impl Found {
    fn visit(&mut self, node: &LogicalPlan) {
        match node {
            LogicalPlan::Join(join) => {
                self.joins += 1;
                let sides = join.on.iter().flat_map(|(one, other)| [one, other]);
                sides.for_each(|side| self.add(side));
                self.add_groups(&join.left);
                self.add_groups(&join.right);
            }
            LogicalPlan::Filter(filter) => self.add_compared(&filter.predicate),
            LogicalPlan::TableScan(scan) => {
                scan.filters.iter().for_each(|filter| self.add_compared(filter));
            }
            LogicalPlan::Projection(projection) => {
                self.renamed.extend(projection.expr.iter().filter_map(|expr| match expr {
                    Expr::Alias(alias) => Some((alias.name.clone(), name_of(&alias.expr)?)),
                    _ => None,
                }));
            }
            _ => {}
        }
    }

    fn add(&mut self, expr: &Expr) {
        self.wanted.counted.extend(name_of(expr));
    }

    /// Adds the columns that the rows of an input of a join are grouped by. An aggregate above all
    /// joins is not estimated.
    fn add_groups(&mut self, input: &LogicalPlan) {
        let walked = input.apply(|node| {
            if let LogicalPlan::Aggregate(aggregate) = node {
                aggregate.group_expr.iter().for_each(|key| self.add(key));
            }
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(walked.is_ok(), "no step of the walk fails");
    }

    /// Adds the columns that are compared somewhere in a condition.
    fn add_compared(&mut self, condition: &Expr) {
        let walked = condition.apply(|expr| {
            match expr {
                Expr::BinaryExpr(binary) if is_equality(binary.op) => {
                    self.add(&binary.left);
                    self.add(&binary.right);
                }
                Expr::BinaryExpr(binary) if is_of_order(binary.op) => {
                    let sides = [(&binary.left, &binary.right), (&binary.right, &binary.left)];
                    for (side, other) in sides {
                        self.wanted.bounded.extend(name_of(side).filter(|_| is_number(other)));
                    }
                }
                Expr::Between(between) if is_number(&between.low) || is_number(&between.high) => {
                    self.wanted.bounded.extend(name_of(&between.expr));
                }
                Expr::InList(list) => self.add(&list.expr),
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(walked.is_ok(), "no step of the walk fails");
    }

    /// Adds the columns that the found ones were before they got new names.
    fn followed(mut self) -> Wanted {
        for names in [&mut self.wanted.counted, &mut self.wanted.bounded] {
            // A name that leads to itself ends after as many steps as there are new names.
            for _ in 0..self.renamed.len() {
                let before = names.len();
                let renamed = self.renamed.iter().filter(|(new, _)| names.contains(new));
                let old: Vec<String> = renamed.map(|(_, old)| old.clone()).collect();
                names.extend(old);
                if names.len() == before {
                    break;
                }
            }
        }
        self.wanted
    }
}

const fn is_equality(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Eq | Operator::NotEq | Operator::IsDistinctFrom | Operator::IsNotDistinctFrom
    )
}

const fn is_of_order(operator: Operator) -> bool {
    matches!(operator, Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq)
}

/// Whether an expression is a number or a time.
fn is_number(expr: &Expr) -> bool {
    let Expr::Literal(value, _) = expr else { return false };
    let data_type = value.data_type();
    !value.is_null() && (data_type.is_numeric() || data_type.is_temporal())
}

/// The column that an expression is, perhaps in another type or by another name.
fn name_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Column(column) => Some(column.name.clone()),
        Expr::OuterReferenceColumn(_, column) => Some(column.name.clone()),
        Expr::Alias(alias) => name_of(&alias.expr),
        Expr::Cast(cast) => name_of(&cast.expr),
        Expr::TryCast(cast) => name_of(&cast.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;
    use rstest::rstest;

    use super::*;

    async fn wanted(sql: &str) -> Vec<String> {
        let context = SessionContext::new();
        for table in ["r", "s", "t"] {
            let columns =
                format!("CREATE TABLE {table} ({table}a INT, {table}b INT, {table}c INT)");
            context.sql(&columns).await.unwrap().collect().await.unwrap();
        }
        let plan = context.sql(sql).await.unwrap().into_optimized_plan().unwrap();
        let Wanted { counted, bounded } = Wanted::of(&plan);
        counted.into_iter().chain(bounded.into_iter().map(|name| format!("<{name}"))).collect()
    }

    #[rstest]
    #[case::keys("SELECT rc FROM r JOIN s ON ra = sa JOIN t ON sb = tb", "ra sa sb tb")]
    #[case::equality("SELECT rc FROM r, s, t WHERE ra = sa AND sa = ta AND rb = 5", "ra rb sa ta")]
    #[case::order(
        "SELECT rc FROM r, s, t WHERE ra = sa AND sa = ta AND 7 > tc AND sb BETWEEN 3 AND 5",
        "ra sa ta <sb <tc"
    )]
    #[case::order_of_columns(
        "SELECT rc FROM r, s, t WHERE ra = sa AND sa = ta AND rb < tc",
        "ra sa ta"
    )]
    #[case::order_above_a_limit(
        "SELECT x.k FROM (SELECT ra AS k, rb AS m FROM r LIMIT 9) x \
        JOIN s ON x.k = sa JOIN t ON sb = tb WHERE x.m > 5",
        "k ra sa sb tb <rb"
    )]
    #[case::list(
        "SELECT rc FROM r, s, t WHERE ra = sa AND sa = ta AND tc IN (1, 2, 3, 4, 5)",
        "ra sa ta tc"
    )]
    #[case::groups_above_all_joins(
        "SELECT rc, sum(rb) FROM r, s, t WHERE ra = sa AND sa = ta GROUP BY rc",
        "ra sa ta"
    )]
    #[case::groups_below_a_join(
        "SELECT m, tb FROM (SELECT ra, rc, max(rb) AS m FROM r, s WHERE ra = sa \
        GROUP BY ra, rc), t WHERE ra = ta",
        "ra rc sa ta"
    )]
    #[case::renamed(
        "SELECT x.k FROM (SELECT ra AS k, max(rb) AS m FROM r GROUP BY ra) x \
        JOIN s ON x.k = sa JOIN t ON sb = tb",
        "k ra sa sb tb"
    )]
    #[case::subquery(
        "SELECT rc FROM r WHERE ra IN (SELECT sa FROM s WHERE sb = 3) AND \
        EXISTS (SELECT 1 FROM t WHERE ta = rb)",
        "ra rb sa sb ta"
    )]
    #[case::other_types(
        "SELECT rc FROM r JOIN s ON ra = CAST(sa AS BIGINT) JOIN t ON sb = tb",
        "ra sa sb tb"
    )]
    #[case::one_join("SELECT rc FROM r JOIN s ON ra = sa WHERE rb = 5 GROUP BY rc", "")]
    #[case::no_join("SELECT ra, count(*) FROM r WHERE rb = 5 GROUP BY ra", "")]
    #[tokio::test]
    async fn columns_are_those_that_plans_depend_on(#[case] sql: &str, #[case] expected: &str) {
        let found = wanted(sql).await;
        let found: Vec<&str> =
            found.iter().map(String::as_str).filter(|name| !name.starts_with("__")).collect();
        assert_eq!(found.join(" "), expected);
    }

    #[tokio::test]
    async fn names_are_those_of_the_task_that_plans() {
        assert_eq!(Wanted::of_task(), None);
        let wanted = || Wanted::of_names(&[], &["a"]);
        let seen = wanted().scope(async { Wanted::of_task() }).await;
        assert_eq!(seen.as_deref(), Some(&wanted()));
        assert_eq!(Wanted::default().scope(async { Wanted::of_task() }).await, None);
    }
}
