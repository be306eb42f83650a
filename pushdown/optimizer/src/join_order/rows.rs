// SPDX-License-Identifier: Apache-2.0
//! Finds the joins of a finished plan, with the rows that they are estimated to return.
//!
//! The plan is estimated again, by what the order of joins was chosen by: later rules replace
//! operators, so what was known of them while joins were ordered cannot be carried along, and joins
//! that were left alone are estimated too. What the order was compared by can be another number
//! only where several keys of the same relations meet in other joins than before.

use std::{collections::BTreeSet, sync::Arc};

use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    physical_plan::{
        ExecutionPlan,
        aggregates::AggregateExec,
        joins::{
            CrossJoinExec, NestedLoopJoinExec, PiecewiseMergeJoinExec, SortMergeJoinExec,
            SymmetricHashJoinExec,
        },
        projection::ProjectionExec,
        sorts::sort::SortExec,
    },
};
use nearscan_join_order::{Estimates, RelationSet};

use super::{
    estimate,
    region::{Region, is_inside},
    seen::{Stage, as_join},
};
use crate::{
    aggregate::{DirectAggregateExec, PartitionedAggregateExec},
    exec::PushdownExec,
    fused::{FusedScanExec, dynamic_ids},
};

/// The joins of a plan and their inputs, with estimated rows, and after a run with actual ones.
///
/// The texts have a line for each join, and one for each input that is none.
#[derive(Debug, Clone)]
pub struct JoinRows {
    pub(super) trees: Vec<Node>,
}

/// A join, or an input of one.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) plan: Arc<dyn ExecutionPlan>,
    /// None if they are not known.
    pub(super) estimated: Option<f64>,
    /// Why its rows may be fewer than there are.
    pub(super) cut: Option<Cut>,
    /// Joins and inputs below; of a join the build side comes first.
    pub(super) inputs: Vec<Self>,
}

/// Why an operator may return fewer rows than are estimated, however right the estimate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// A limit above takes no more.
    Limit,
    /// Joins or a top-k above have told scans below which rows they want.
    Filter,
    /// The join above has an empty build side, and does not read the other.
    EmptyBuild,
}

impl JoinRows {
    /// The joins of a plan on which all rules have run.
    pub fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        Self { trees: joins(plan, Read::Whole) }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }
}

impl Node {
    fn new(
        plan: &Arc<dyn ExecutionPlan>,
        estimated: Option<f64>,
        read: Read,
        inputs: Vec<Self>,
    ) -> Self {
        let is_limited = read == Read::Partly || (is_join(plan) && plan.fetch().is_some());
        let cut = match is_limited {
            true => Some(Cut::Limit),
            false => is_filtered_from_above(plan).then_some(Cut::Filter),
        };
        Self { plan: Arc::clone(plan), estimated, cut, inputs }
    }
}

/// Whether all rows of an operator are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    Whole,
    /// A limit may end it before.
    Partly,
}

impl Read {
    /// Of an input of an operator that is read like this.
    fn of_input(self, plan: &Arc<dyn ExecutionPlan>, input: usize) -> Self {
        let groups = plan.downcast_ref::<AggregateExec>();
        let reads_first = plan.is::<SortExec>()
            || plan.is::<PartitionedAggregateExec>()
            || plan.is::<DirectAggregateExec>()
            || groups.is_some_and(|groups| groups.limit_options().is_none())
            || (is_join(plan) && input == BUILD_SIDE && !plan.is::<SortMergeJoinExec>());
        match (reads_first, plan.fetch()) {
            (true, _) => Self::Whole,
            (false, Some(_)) => Self::Partly,
            (false, None) => self,
        }
    }
}

/// The input of a join that it reads before the other.
const BUILD_SIDE: usize = 0;

/// The topmost joins of a plan.
fn joins(plan: &Arc<dyn ExecutionPlan>, read: Read) -> Vec<Node> {
    if let Some(join) = region(plan, read) {
        return vec![join];
    }
    let children = plan.children().into_iter().enumerate();
    let children = children.map(|(place, child)| (child, read.of_input(plan, place)));
    if !is_join(plan) {
        return children.flat_map(|(child, read)| joins(child, read)).collect();
    }
    let inputs = children.map(|(child, read)| input(child, read)).collect();
    vec![Node::new(plan, rows_of(plan), read, inputs)]
}

/// What a join reads: a join again, or something else with the joins below it.
fn input(plan: &Arc<dyn ExecutionPlan>, read: Read) -> Node {
    let seen = Stage::Planned.seen(plan);
    let mut below = joins(seen, read);
    match below.pop() {
        Some(join) if below.is_empty() && Arc::ptr_eq(&join.plan, seen) => join,
        last => {
            below.extend(last);
            Node::new(seen, rows_of(seen), read, below)
        }
    }
}

fn rows_of(plan: &Arc<dyn ExecutionPlan>) -> Option<f64> {
    estimate::of_plan(plan).map(|estimate| estimate.rows)
}

/// The joins whose order can be chosen at the top of a plan.
fn region(plan: &Arc<dyn ExecutionPlan>, read: Read) -> Option<Node> {
    let region = Region::of(plan, Stage::Planned)?;
    let query = region.query();
    let estimates = query.as_ref().and_then(|query| Estimates::of(query).ok());
    let mut walk = Walk { estimates: estimates.as_ref(), relations: 0 };
    Some(walk.visit(plan, read).0)
}

/// A walk over a region, in the order in which its relations are numbered.
struct Walk<'a> {
    /// None if the rows of a relation are not known.
    estimates: Option<&'a Estimates<'a>>,
    /// Relations so far.
    relations: usize,
}

impl Walk<'_> {
    fn visit(&mut self, plan: &Arc<dyn ExecutionPlan>, read: Read) -> (Node, RelationSet) {
        let plan = Stage::Planned.seen(plan);
        if !is_inside(plan, Stage::Planned) {
            self.relations += 1;
            return (input(plan, read), RelationSet::of(self.relations - 1));
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            return self.visit(projection.input(), read);
        }
        let children = plan.children().into_iter().enumerate();
        let children = children.map(|(place, child)| self.visit(child, read.of_input(plan, place)));
        let (inputs, sets): (Vec<Node>, Vec<RelationSet>) = children.unzip();
        let relations = sets.into_iter().fold(RelationSet::EMPTY, RelationSet::union);
        let estimated = self.estimates.map(|estimates| estimates.rows(relations));
        (Node::new(plan, estimated, read, inputs), relations)
    }
}

/// Whether an operator is a join of any kind.
pub(super) fn is_join(plan: &Arc<dyn ExecutionPlan>) -> bool {
    as_join(plan).is_some()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<CrossJoinExec>()
        || plan.is::<SortMergeJoinExec>()
        || plan.is::<SymmetricHashJoinExec>()
        || plan.is::<PiecewiseMergeJoinExec>()
}

/// Whether something below a plan drops rows by a filter of an operator above it. Those of its own
/// operators change nothing of what it returns.
fn is_filtered_from_above(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let (mut made, mut used) = (BTreeSet::new(), BTreeSet::new());
    let visited = plan.apply(|node| {
        let made_here = match as_join(node) {
            Some(join) => join.dynamic_expressions_produced(),
            None => node.dynamic_expressions_produced(),
        };
        made.extend(made_here.iter().filter_map(|filter| filter.expression_id()));
        node.apply_expressions(&mut |expr| {
            used.extend(dynamic_ids(expr));
            Ok(TreeNodeRecursion::Continue)
        })?;
        used.extend(
            node.downcast_ref::<FusedScanExec>().into_iter().flat_map(FusedScanExec::joins),
        );
        used.extend(node.downcast_ref::<PushdownExec>().into_iter().flat_map(PushdownExec::joins));
        Ok(TreeNodeRecursion::Continue)
    });
    debug_assert!(visited.is_ok(), "the visitor does not fail");
    !used.is_subset(&made)
}
