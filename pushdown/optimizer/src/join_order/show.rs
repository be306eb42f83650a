// SPDX-License-Identifier: Apache-2.0
//! Writes the joins of a plan, with estimated and actual rows, as EXPLAIN shows them.
//!
//! ```text
//! inner on o_orderkey = l_orderkey: estimated 37430 rows, actual 149414, q-error 3.99
//!   orders, filtered: estimated 37422 rows, actual 37388, q-error 1.00
//!   lineitem: estimated 6001215 rows, actual 149414 (filtered by operators above)
//! largest q-error: 3.99
//! ```

use std::{fmt::Write as _, sync::Arc};

use datafusion::{
    common::JoinType,
    physical_expr::PhysicalExprRef,
    physical_expr_common::physical_expr::fmt_sql,
    physical_plan::{
        ExecutionPlan,
        aggregates::AggregateExec,
        filter::FilterExec,
        joins::{
            CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec, utils::JoinFilter,
        },
        projection::ProjectionExec,
    },
};

use super::{
    rows::{Cut, JoinRows, Node, is_join},
    seen::{Stage, as_join, replaced},
};
use crate::scan::Scan;

/// Numbers from here on have an exponent.
const PLAIN_MAX: f64 = 1e15;

impl JoinRows {
    /// The joins with estimated rows; empty without joins.
    pub fn estimated(&self) -> String {
        let mut text = Text::default();
        self.trees.iter().for_each(|tree| text.add(tree, 0, &mut |_, _| String::new(), None));
        text.lines.trim_end().to_owned()
    }

    /// The joins with estimated rows, the actual ones of the run that has ended, and the q-error,
    /// which is how many times the larger of both is the smaller one; empty without joins.
    ///
    /// Where an operator may return fewer rows than there are, only more rows than estimated are an
    /// error of the estimate, and one at least so large.
    pub fn analyzed(&self) -> String {
        let (mut text, mut largest) = (Text::default(), None);
        let mut compare = |node: &Node, cut: Option<Cut>| {
            let compared = Compared::of(node, cut);
            largest = largest.into_iter().chain(compared.q_error()).reduce(f64::max);
            compared.to_string()
        };
        self.trees.iter().for_each(|tree| text.add(tree, 0, &mut compare, None));
        let mut lines = text.lines;
        if let Some(largest) = largest {
            write_line(&mut lines, format_args!("largest q-error: {}", factor(largest)));
        }
        lines.trim_end().to_owned()
    }
}

/// Rows as they were estimated and as they were.
#[derive(Debug, Clone, Copy)]
struct Compared {
    estimated: Option<f64>,
    actual: Option<f64>,
    cut: Option<Cut>,
}

impl Compared {
    fn of(node: &Node, cut: Option<Cut>) -> Self {
        Self { estimated: node.estimated, actual: actual(&node.plan), cut }
    }

    /// None if it is not known.
    fn q_error(self) -> Option<f64> {
        let (estimated, actual) = (self.estimated?.max(1.0), self.actual?.max(1.0));
        match self.cut {
            None => Some((estimated / actual).max(actual / estimated)),
            Some(_) => Some(actual / estimated).filter(|error| *error > 1.0),
        }
    }
}

impl std::fmt::Display for Compared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(rows) = self.actual else { return f.write_str(", not counted") };
        write!(f, ", actual {}", number(rows))?;
        match self.cut {
            Some(Cut::Limit) => f.write_str(" (a limit above)")?,
            Some(Cut::Filter) => f.write_str(" (filtered by operators above)")?,
            Some(Cut::EmptyBuild) => f.write_str(" (nothing to join with)")?,
            None => {}
        }
        match (self.q_error(), self.cut) {
            (Some(error), None) => write!(f, ", q-error {}", factor(error)),
            (Some(error), Some(_)) => write!(f, ", q-error at least {}", factor(error)),
            (None, _) => Ok(()),
        }
    }
}

/// The lines.
#[derive(Debug, Default)]
struct Text {
    lines: String,
}

impl Text {
    /// Adds a tree; `compare` tells what came of the estimate.
    fn add(
        &mut self,
        node: &Node,
        depth: usize,
        compare: &mut impl FnMut(&Node, Option<Cut>) -> String,
        inherited: Option<Cut>,
    ) {
        let indent = "  ".repeat(depth);
        let estimated = match node.estimated {
            Some(rows) => format!("estimated {} rows", number(rows)),
            None => "not estimated".to_owned(),
        };
        let compared = compare(node, inherited.or(node.cut));
        let line = format_args!("{indent}{}: {estimated}{compared}", name(&node.plan));
        write_line(&mut self.lines, line);
        let is_build_empty =
            node.inputs.first().is_some_and(|build| actual(&build.plan) == Some(0.0));
        let stops_early = is_build_empty && needs_build(&node.plan);
        for (place, input) in node.inputs.iter().enumerate() {
            let is_unread = stops_early && place > 0;
            let inherited = if is_unread { Some(Cut::EmptyBuild) } else { inherited };
            self.add(input, depth + 1, compare, inherited);
        }
    }
}

/// Whether an operator is a join that returns nothing if its build side is empty.
fn needs_build(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let join_type = as_join(plan).map(HashJoinExec::join_type);
    let join_type = join_type
        .or_else(|| plan.downcast_ref::<NestedLoopJoinExec>().map(NestedLoopJoinExec::join_type));
    match join_type {
        Some(JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti) => true,
        Some(JoinType::RightSemi | JoinType::LeftMark) => true,
        Some(JoinType::Right | JoinType::Full | JoinType::RightAnti | JoinType::RightMark) => false,
        None => plan.is::<CrossJoinExec>(),
    }
}

fn write_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A string takes every text.
    let _written = writeln!(text, "{line}");
}

/// Rows that an operator has returned; none if it was not run, or is one that counts none, such as
/// the scan of a table in memory.
#[expect(clippy::cast_precision_loss, reason = "it is compared with an estimate")]
fn actual(plan: &Arc<dyn ExecutionPlan>) -> Option<f64> {
    plan.metrics()?.output_rows().map(|rows| rows as f64)
}

fn number(rows: f64) -> String {
    match rows < PLAIN_MAX {
        true => format!("{rows:.0}"),
        false => format!("{rows:.2e}"),
    }
}

fn factor(error: f64) -> String {
    match error < PLAIN_MAX {
        true => format!("{error:.2}"),
        false => format!("{error:.2e}"),
    }
}

/// What a join or an input is called.
fn name(plan: &Arc<dyn ExecutionPlan>) -> String {
    if let Some(join) = as_join(plan) {
        return join_name("", *join.join_type(), join.on(), join.filter());
    }
    if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        return join_name("merge ", join.join_type(), join.on(), join.filter().as_ref());
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        return join_name("nested loop ", *join.join_type(), &[], join.filter());
    }
    match is_join(plan) {
        true if plan.is::<CrossJoinExec>() => "cross".to_owned(),
        true => operator_name(plan),
        false => input_name(plan),
    }
}

fn operator_name(plan: &Arc<dyn ExecutionPlan>) -> String {
    plan.name().trim_end_matches("Exec").to_owned()
}

fn join_name(
    method: &str,
    join_type: JoinType,
    on: &[(PhysicalExprRef, PhysicalExprRef)],
    filter: Option<&JoinFilter>,
) -> String {
    let keys = on
        .iter()
        .map(|(one, other)| format!("{} = {}", fmt_sql(one.as_ref()), fmt_sql(other.as_ref())));
    let filter = filter.map(|filter| fmt_sql(filter.expression().as_ref()).to_string());
    let conditions: Vec<String> = keys.chain(filter).collect();
    let kind = match join_type {
        JoinType::Inner => "inner",
        JoinType::Left => "left",
        JoinType::Right => "right",
        JoinType::Full => "full",
        JoinType::LeftSemi => "left semi",
        JoinType::RightSemi => "right semi",
        JoinType::LeftAnti => "left anti",
        JoinType::RightAnti => "right anti",
        JoinType::LeftMark => "left mark",
        JoinType::RightMark => "right mark",
    };
    match conditions.is_empty() {
        true => format!("{method}{kind}"),
        false => format!("{method}{kind} on {}", conditions.join(" and ")),
    }
}

/// What something that is no join is called: by its table, if it reads one.
fn input_name(plan: &Arc<dyn ExecutionPlan>) -> String {
    let seen = Stage::Planned.seen(plan);
    let plan = replaced(seen);
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return filtered(input_name(filter.input()));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return input_name(projection.input());
    }
    if let Some(groups) = plan.downcast_ref::<AggregateExec>() {
        let input = Stage::Planned.seen(groups.input());
        return match replaced(input).is::<AggregateExec>() {
            true => input_name(input),
            false => format!("aggregate of {}", input_name(input)),
        };
    }
    if let Some(scan) = Scan::of(plan) {
        return scan.table_name();
    }
    match plan.children().as_slice() {
        _ if is_join(plan) => "joins".to_owned(),
        [input] => format!("{} of {}", operator_name(plan), input_name(input)),
        _ => operator_name(plan),
    }
}

fn filtered(name: String) -> String {
    match name.ends_with(FILTERED) {
        true => name,
        false => name + FILTERED,
    }
}

const FILTERED: &str = ", filtered";
