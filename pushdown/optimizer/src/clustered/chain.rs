// SPDX-License-Identifier: Apache-2.0
//! Traces a column of an operator's rows to the scans that would have to be cut by it, and rebuilds
//! the operators over scans that are.
//!
//! The rows of most operators are in the partition of the rows that they are made of. Distributing
//! rows by hash is what windows make needless, so it is left out.
//!
//! # Invariants
//!
//! - If the scans have windows of a column, each row of the operator is in the window of its own
//!   value of the column.

use std::sync::Arc;

use datafusion::{
    common::{JoinType, internal_err},
    error::Result,
    physical_expr::{Partitioning, PhysicalExpr, expressions::Column},
    physical_plan::{
        ExecutionPlan, InputOrderMode,
        aggregates::{AggregateExec, AggregateMode},
        coop::CooperativeExec,
        filter::FilterExec,
        joins::{HashJoinExec, PartitionMode},
        projection::ProjectionExec,
        repartition::RepartitionExec,
        replace_children_if_necessary,
    },
};
use nearscan_corrections::input_of_unchanged;

use super::cut::Group;
use crate::fused::{Cuts, FusedScanExec, origins};

/// How the rows of an operator are in windows of a column.
#[derive(Debug, Clone)]
pub(super) enum Link {
    /// It is a scan, which is cut by this column of its output.
    Scan { column: usize },
    /// It stays as it is, over inputs that have windows of these columns.
    Stays { inputs: Vec<(usize, usize)> },
    /// It only distributes the rows of its input, and is left out.
    Distributes { column: usize },
    /// It and two operators below aggregate in two phases; one suffices over an input that has
    /// windows of this column.
    Aggregate { column: usize },
}

/// The first phase of a grouped aggregate whose groups are distributed by hash before the second.
pub(super) fn first_phase(plan: &Arc<dyn ExecutionPlan>) -> Option<&AggregateExec> {
    let last = aggregate_of(plan, AggregateMode::FinalPartitioned)?;
    let distributed = last.input().downcast_ref::<RepartitionExec>().filter(distributes)?;
    let first = aggregate_of(distributed.input(), AggregateMode::Partial)?;
    (first.group_expr().expr().len() == last.group_expr().expr().len()).then_some(first)
}

/// The node as a grouped aggregate of a mode, whose rows are in no order.
fn aggregate_of(plan: &Arc<dyn ExecutionPlan>, mode: AggregateMode) -> Option<&AggregateExec> {
    let aggregate = plan.downcast_ref::<AggregateExec>()?;
    let is_plain = *aggregate.mode() == mode
        && aggregate.limit_options().is_none()
        && *aggregate.input_order_mode() == InputOrderMode::Linear
        && aggregate.group_expr().is_single()
        && !aggregate.group_expr().is_empty();
    is_plain.then_some(aggregate)
}

fn distributes(repartition: &&RepartitionExec) -> bool {
    let is_known = match repartition.partitioning() {
        Partitioning::Hash(..) | Partitioning::RoundRobinBatch(_) => true,
        Partitioning::Range(_) | Partitioning::UnknownPartitioning(_) => false,
    };
    is_known && !repartition.preserve_order()
}

/// The links of an operator whose input or inputs are distributed by keys, and the names of these
/// keys; windows would spare that.
pub(super) fn links_of_distributed(plan: &Arc<dyn ExecutionPlan>) -> Vec<(Link, String)> {
    if let Some(first) = first_phase(plan) {
        let keys = first.group_expr().expr().iter();
        let link = |(key, name): &(_, String)| Some((link_of_key(key)?, name.clone()));
        return keys.filter_map(link).collect();
    }
    let Some(join) = plan.downcast_ref::<HashJoinExec>().filter(joins_partitions) else {
        return Vec::new();
    };
    let link = |pair: &(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)| {
        let [left, right] = columns_of(pair)?;
        let inputs = vec![(0, left.index()), (1, right.index())];
        Some((Link::Stays { inputs }, left.name().to_owned()))
    };
    join.on().iter().filter_map(link).collect()
}

/// Whether a join is of partitions of both sides, of which each is joined by itself.
fn joins_partitions(join: &&HashJoinExec) -> bool {
    // NOT IN asks of the whole other side whether it has any rows, and NULL.
    *join.partition_mode() == PartitionMode::Partitioned
        && !join.null_aware
        && join.fetch().is_none()
}

/// The columns that a pair of keys is.
fn columns_of(pair: &(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)) -> Option<[&Column; 2]> {
    Some([pair.0.downcast_ref()?, pair.1.downcast_ref()?])
}

/// The keys of a join of partitions that are in the windows of its column `column`.
fn keys_of_windows(
    join: &HashJoinExec,
    plan: &Arc<dyn ExecutionPlan>,
    column: usize,
) -> Option<Vec<(usize, usize)>> {
    // Of a side that may be extended with NULL there is none.
    let origins = origins(plan, column);
    let is_pair = |pair: &[&Column; 2]| {
        origins
            .iter()
            .any(|origin| pair.get(origin.input).map(|key| key.index()) == Some(origin.column))
    };
    let [left, right] = join.on().iter().filter_map(columns_of).find(is_pair)?;
    Some(vec![(0, left.index()), (1, right.index())])
}

fn link_of_key(key: &Arc<dyn PhysicalExpr>) -> Option<Link> {
    let column = key.downcast_ref::<Column>()?.index();
    Some(Link::Aggregate { column })
}

/// How the rows of `plan` are in windows of its column `column`; nothing if they are not.
fn link(plan: &Arc<dyn ExecutionPlan>, column: usize) -> Option<Link> {
    if let Some(scan) = plan.downcast_ref::<FusedScanExec>() {
        return scan.fused().window_column(column).map(|_| Link::Scan { column });
    }
    if plan.fetch().is_some() {
        return None;
    }
    if let Some(first) = first_phase(plan) {
        return link_of_key(&first.group_expr().expr().get(column)?.0);
    }
    if plan.downcast_ref::<RepartitionExec>().filter(distributes).is_some() {
        return Some(Link::Distributes { column });
    }
    if input_of_unchanged(plan).is_some() {
        return Some(Link::Stays { inputs: vec![(0, column)] });
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>().filter(joins_partitions) {
        return Some(Link::Stays { inputs: keys_of_windows(join, plan, column)? });
    }
    let probe_side = plan.downcast_ref::<HashJoinExec>().is_some_and(has_windows_of_probe_side);
    let is_by_row =
        plan.is::<ProjectionExec>() || plan.is::<FilterExec>() || plan.is::<CooperativeExec>();
    let input = match (is_by_row, probe_side) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => return None,
    };
    let origin = origins(plan, column).into_iter().find(|origin| origin.input == input)?;
    Some(Link::Stays { inputs: vec![(input, origin.column)] })
}

/// Whether each row of a join is in the partition of a row of the probe side: the build side is
/// collected, and none of its rows is returned by itself.
fn has_windows_of_probe_side(join: &HashJoinExec) -> bool {
    *join.partition_mode() == PartitionMode::CollectLeft
        && match join.join_type() {
            JoinType::Inner
            | JoinType::Right
            | JoinType::RightSemi
            | JoinType::RightAnti
            | JoinType::RightMark => true,
            JoinType::Left
            | JoinType::LeftSemi
            | JoinType::LeftAnti
            | JoinType::LeftMark
            | JoinType::Full => false,
        }
}

/// The inputs of an operator that have windows, and how; nothing if one of them has none.
pub(super) fn inputs_of<'a>(
    plan: &'a Arc<dyn ExecutionPlan>,
    by: &Link,
) -> Option<Vec<(&'a Arc<dyn ExecutionPlan>, Link)>> {
    let below = |plan: &'a Arc<dyn ExecutionPlan>, column| Some((plan, link(plan, column)?));
    match by {
        Link::Scan { .. } => Some(Vec::new()),
        Link::Stays { inputs } => {
            let children = plan.children();
            let of_input = |(input, column): &(usize, usize)| below(children.get(*input)?, *column);
            inputs.iter().map(of_input).collect()
        }
        Link::Distributes { column } => Some(vec![below(plan.children().first()?, *column)?]),
        Link::Aggregate { column } => Some(vec![below(first_phase(plan)?.input(), *column)?]),
    }
}

/// The row groups of all scans that a link leads to; nothing if it leads elsewhere, too.
pub(super) fn groups(plan: &Arc<dyn ExecutionPlan>, by: &Link) -> Option<Vec<Group>> {
    let Link::Scan { column } = by else {
        let inputs = inputs_of(plan, by)?;
        let all = inputs.iter().map(|(input, by)| groups(input, by)).collect::<Option<Vec<_>>>()?;
        return Some(all.into_iter().flatten().collect());
    };
    let fused = plan.downcast_ref::<FusedScanExec>()?.fused();
    let column = fused.window_column(*column)?;
    let group = |unit| {
        let bounds = fused.key_bounds(column, unit);
        Group { bounds, rows: unit.planned.rows }
    };
    Some(fused.partitions.iter().flatten().map(group).collect())
}

/// Rebuilds an operator over scans that are cut.
///
/// `others` rebuilds the inputs that have no windows. `joins` gets the identities of the dynamic
/// filters of joins that run once for each window.
pub(super) struct Rebuild<'a> {
    pub(super) cuts: &'a Cuts,
    pub(super) others: &'a dyn Fn(Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>,
    pub(super) joins: Vec<u64>,
}

impl Rebuild<'_> {
    /// The operator `plan` with the windows of its link.
    ///
    /// # Errors
    /// If a node refuses its new input.
    pub(super) fn rebuilt(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        by: &Link,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match by {
            Link::Scan { column } => match plan.downcast_ref::<FusedScanExec>() {
                Some(scan) => Ok(Arc::new(scan.windowed(*column, self.cuts.clone())?)),
                None => internal_err!("{} is no scan", plan.name()),
            },
            Link::Stays { inputs } => self.over_windows(plan, inputs),
            Link::Distributes { column } => match plan.children().first() {
                Some(input) => self.below(input, *column),
                None => internal_err!("{} distributes no rows", plan.name()),
            },
            Link::Aggregate { column } => {
                let Some(first) = first_phase(plan) else {
                    return internal_err!("{} has no first phase", plan.name());
                };
                let input = self.below(first.input(), *column)?;
                let aggregate = AggregateExec::try_new(
                    AggregateMode::SinglePartitioned,
                    first.group_expr().clone(),
                    first.aggr_expr().to_vec(),
                    first.filter_expr().to_vec(),
                    input,
                    first.input_schema(),
                )?;
                Ok(Arc::new(aggregate))
            }
        }
    }

    fn below(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        column: usize,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match link(plan, column) {
            Some(link) => self.rebuilt(plan, &link),
            None => internal_err!("{} has no windows of its column {column}", plan.name()),
        }
    }

    fn over_windows(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        inputs: &[(usize, usize)],
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut children = Vec::new();
        for (place, child) in plan.children().into_iter().enumerate() {
            let column = inputs.iter().find(|(input, _)| *input == place);
            children.push(match column {
                Some((_, column)) => self.below(child, *column)?,
                None => (self.others)(Arc::clone(child))?,
            });
        }
        let produced = plan.dynamic_expressions_produced();
        self.joins.extend(produced.iter().filter_map(|filter| filter.expression_id()));
        replace_children_if_necessary(Arc::clone(plan), children)
    }
}
