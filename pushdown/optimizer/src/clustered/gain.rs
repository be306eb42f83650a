// SPDX-License-Identifier: Apache-2.0
//! Decides whether windows are expected to take less time than to distribute rows by their keys.
//!
//! Windows spare that rows are distributed, and that they are looked up in tables beyond the cache.
//! They cost that every key is compared with its window, and that row groups across a cut are read
//! on either side. So the rows that an operator would distribute are compared with those that the
//! scans below it read: keys of joins often leave few of them, and then there is nothing to spare.
//!
//! # Invariants
//!
//! - What is not known counts for nothing: such an operator stays as it is.
//! - A wrong estimate costs time, and changes no row.

use std::sync::Arc;

use datafusion::{
    common::JoinType,
    physical_expr::expressions::Column,
    physical_plan::{ExecutionPlan, aggregates::AggregateExec, joins::HashJoinExec},
};

use super::chain::{Link, first_phase, groups, inputs_of};
use crate::{
    aggregate::DirectAggregateExec,
    join_order::{distinct_of, row_bytes_of, rows_of},
};

/// Bytes of a table that the caches hold, of all partitions together. Assumed: the second cache of
/// a few cores, and their part of the third.
const CACHE_BYTES: f64 = 8.0 * 1024.0 * 1024.0;

/// Bytes of a table for a row or a group besides its values: hash, place, and room to spare.
const TABLE_ROW_BYTES: f64 = 16.0;

/// Rows that are read in the time in which one is distributed and looked up. Assumed: a scan
/// compares its key, which is some nanoseconds, and reads a part of the rows again.
const READ_ROWS_PER_DISTRIBUTED: f64 = 4.0;

/// Whether it pays to run `plan` over windows of this link, rather than only operators below it.
pub(super) fn is_expected(plan: &Arc<dyn ExecutionPlan>, by: &Link) -> bool {
    let Some(inputs) = inputs_of(plan, by) else { return false };
    let read_below: Vec<f64> = inputs.iter().map(|(input, by)| read(input, by)).collect();
    let all: f64 = read_below.iter().sum();
    // The others would stay as they are if only the largest input had windows.
    let others = all - read_below.iter().copied().fold(0.0, f64::max);
    distributed_in(plan, by) * READ_ROWS_PER_DISTRIBUTED >= all.max(1.0)
        && distributed(plan, by) * READ_ROWS_PER_DISTRIBUTED >= others
}

/// Rows that the scans read to which a link leads.
#[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
fn read(plan: &Arc<dyn ExecutionPlan>, by: &Link) -> f64 {
    let groups = groups(plan, by).unwrap_or_default();
    groups.iter().map(|group| group.rows).sum::<u64>() as f64
}

/// Rows that an operator, and those below to which its link leads, distribute without windows.
fn distributed_in(plan: &Arc<dyn ExecutionPlan>, by: &Link) -> f64 {
    let below = inputs_of(plan, by).unwrap_or_default();
    let below = below.iter().map(|(input, by)| distributed_in(input, by));
    distributed(plan, by) + below.sum::<f64>()
}

/// Rows that an operator distributes without windows, to tables beyond the cache.
fn distributed(plan: &Arc<dyn ExecutionPlan>, by: &Link) -> f64 {
    let rows = match by {
        Link::Aggregate { .. } => first_phase(plan).and_then(|first| grouped(plan, first)),
        Link::Stays { .. } => plan.downcast_ref::<HashJoinExec>().and_then(joined),
        Link::Scan { .. } | Link::Distributes { .. } => None,
    };
    rows.unwrap_or(0.0)
}

/// Rows of a grouped aggregate that would be computed by an index in its windows. Other aggregates
/// are as fast in two phases.
fn grouped(plan: &Arc<dyn ExecutionPlan>, first: &AggregateExec) -> Option<f64> {
    let table_bytes = rows_of(plan)? * (row_bytes_of(plan) + TABLE_ROW_BYTES);
    let is_large = table_bytes > CACHE_BYTES && DirectAggregateExec::computes(first);
    if is_large { rows_of(first.input()) } else { None }
}

/// Rows of both sides of a join, but for those of the probe side that its keys drop in their scan.
fn joined(join: &HashJoinExec) -> Option<f64> {
    let (build, probe) = (join.left(), join.right());
    let (build_rows, probe_rows) = (rows_of(build)?, rows_of(probe)?);
    if build_rows * (row_bytes_of(build) + TABLE_ROW_BYTES) <= CACHE_BYTES {
        return None;
    }
    let has_keys = match join.join_type() {
        JoinType::Inner
        | JoinType::Left
        | JoinType::LeftSemi
        | JoinType::LeftAnti
        | JoinType::LeftMark
        | JoinType::RightSemi => true,
        JoinType::Right | JoinType::Full | JoinType::RightAnti | JoinType::RightMark => false,
    };
    let keys = join.on().iter().filter_map(|(_, key)| key.downcast_ref::<Column>());
    let distinct = keys.filter_map(|key| distinct_of(probe, key.index())).fold(0.0, f64::max);
    let passing = match has_keys && distinct > 0.0 {
        true => (build_rows / distinct).min(1.0),
        false => 1.0,
    };
    Some(build_rows + probe_rows * passing)
}
