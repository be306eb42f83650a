// SPDX-License-Identifier: Apache-2.0
//! Traces a column of an operator's output to the inputs in which rows can be dropped by it.
//!
//! An operator above wants rows only if their value in a column is in some set. Here is said in
//! which columns of the operator's inputs the same holds: an input row whose value is not in the
//! set may be dropped, because every output row that it is part of, or that it changes, is not
//! wanted either. This is the step from one operator to its inputs of what research calls predicate
//! transfer ([Yang et al. 2024](https://arxiv.org/abs/2307.15255)).
//!
//! An inner join makes columns equal, and a semi join asks for equal ones. So a set that is wanted
//! of one side's key holds for the other side's key too, though the column above is of the one side
//! only:
//!
//! ```text
//! join              column of the left        column of the right
//! inner             left, right by its key    right, left by its key
//! left semi         left, right by its key    -
//! left outer        left                      nowhere
//! left anti, mark   left                      -
//! full outer        nowhere                   nowhere
//! ```
//!
//! and those of the right mirrored. If a row is dropped from the other side of an outer, anti or
//! mark join, rows that are not wanted change or appear, and operators above could fail on them.
//!
//! # Invariants
//!
//! - NULL is in every set: who drops rows keeps those with NULL.
//! - Nothing is traced through an operator whose rows depend on how many rows it reads: a limit, an
//!   aggregate without the column among its keys, a window over other rows, and conditions or
//!   columns that are volatile.

use std::sync::Arc;

use datafusion::{
    common::{JoinSide, JoinType},
    physical_expr::{PhysicalExpr, expressions::Column},
    physical_expr_common::physical_expr::is_volatile,
    physical_plan::{
        ExecutionPlan,
        aggregates::AggregateExec,
        coalesce_partitions::CoalescePartitionsExec,
        coop::CooperativeExec,
        filter::FilterExec,
        joins::{CrossJoinExec, HashJoinExec, utils::build_join_schema},
        projection::ProjectionExec,
        repartition::RepartitionExec,
        sorts::{sort::SortExec, sort_preserving_merge::SortPreservingMergeExec},
        union::{InterleaveExec, UnionExec},
        windows::{BoundedWindowAggExec, WindowAggExec},
    },
};

use crate::clustered::WindowsExec;

/// A column of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Which of the operator's inputs.
    pub(crate) input: usize,
    pub(crate) column: usize,
}

/// The columns of the inputs of `plan` by which rows can be dropped if its column `column` is
/// wanted to be in a set.
pub(crate) fn origins(plan: &Arc<dyn ExecutionPlan>, column: usize) -> Vec<Origin> {
    // The rows that a limit lets pass depend on those before.
    if plan.fetch().is_some() {
        return Vec::new();
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return of_hash_join(join, column);
    }
    if let Some(join) = plan.downcast_ref::<CrossJoinExec>() {
        let left = join.left().schema().fields().len();
        return vec![match column.checked_sub(left) {
            None => Origin { input: 0, column },
            Some(column) => Origin { input: 1, column },
        }];
    }
    if plan.is::<UnionExec>() || plan.is::<InterleaveExec>() {
        let inputs = 0..plan.children().len();
        return inputs.map(|input| Origin { input, column }).collect();
    }
    of_one_input(plan, column).map(|column| Origin { input: 0, column }).into_iter().collect()
}

/// The column of the only input of an operator.
fn of_one_input(plan: &Arc<dyn ExecutionPlan>, column: usize) -> Option<usize> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let is_volatile = projection.expr().iter().any(|it| is_volatile(&it.expr));
        return place_of(&projection.expr().get(column)?.expr).filter(|_| !is_volatile);
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let column = projected(filter.projection().as_deref(), column)?;
        return Some(column).filter(|_| !is_volatile(filter.predicate()));
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let keys = aggregate.group_expr();
        let is_plain = keys.is_single() && aggregate.limit_options().is_none();
        return place_of(&keys.expr().get(column)?.0).filter(|_| is_plain);
    }
    let partitions = [
        plan.downcast_ref::<WindowAggExec>().map(WindowAggExec::window_expr),
        plan.downcast_ref::<BoundedWindowAggExec>().map(BoundedWindowAggExec::window_expr),
    ];
    if let Some(windows) = partitions.into_iter().flatten().next() {
        let is_key = |key: &Arc<dyn PhysicalExpr>| place_of(key) == Some(column);
        let is_in_each = windows.iter().all(|window| window.partition_by().iter().any(is_key));
        return Some(column).filter(|_| is_in_each);
    }
    let keeps_all_rows = plan.is::<RepartitionExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<SortExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<WindowsExec>();
    keeps_all_rows.then_some(column)
}

fn of_hash_join(join: &HashJoinExec, column: usize) -> Vec<Origin> {
    let Some(column) = projected(join.projection.as_deref(), column) else { return Vec::new() };
    let (left, right) = (join.left().schema(), join.right().schema());
    let (_, places) = build_join_schema(&left, &right, join.join_type());
    let Some(place) = places.get(column) else { return Vec::new() };
    let (side, other) = match place.side {
        JoinSide::Left => (0, 1),
        JoinSide::Right => (1, 0),
        JoinSide::None => return Vec::new(),
    };
    let is_traced = match join.join_type() {
        JoinType::Inner => true,
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => side == 0,
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
            side == 1
        }
        JoinType::Full => false,
    };
    // NOT IN asks of the other side whether it has any rows.
    if !is_traced || join.null_aware {
        return Vec::new();
    }
    let mut origins = vec![Origin { input: side, column: place.index }];
    let drops_with_partner =
        matches!(join.join_type(), JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi);
    if !drops_with_partner {
        return origins;
    }
    for (left, right) in join.on() {
        let keys = [place_of(left), place_of(right)];
        if keys[side] == Some(place.index)
            && let Some(column) = keys[other]
        {
            origins.push(Origin { input: other, column });
        }
    }
    origins
}

/// The column that an expression is.
fn place_of(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expr.downcast_ref::<Column>().map(Column::index)
}

/// The column before a projection.
fn projected(projection: Option<&[usize]>, column: usize) -> Option<usize> {
    match projection {
        None => Some(column),
        Some(projection) => projection.get(column).copied(),
    }
}
