// SPDX-License-Identifier: Apache-2.0
//! Decides which fragments of a plan run on which drive.
//!
//! [`decide`] walks the plan from the top, and tries the largest fragment first at each node:
//!
//! ```text
//! AggregateExec Partial or Single over a stack     -> aggregate states
//!   AggregateExec: mode=Partial                       PushdownExec
//!   AggregateExec: mode=Single                        AggregateExec: mode=Final over PushdownExec
//! ProjectionExec or FilterExec over a scan         -> filtered and projected rows
//! SortExec with a fetch over such a stack         -> the sort over rows that can be the first
//! FilterExec of which only some conjuncts lower    -> FilterExec with the rest over PushdownExec
//! DataSourceExec alone                             -> rows, if nothing above it was kept
//! ```
//!
//! Three kinds of fragments must not move: aggregates above a conjunct that cannot be lowered
//! (their input would have too many rows), anything above a `fetch`, and scans with options that
//! have no counterpart in a command.
//!
//! The function is pure: the same plan, settings, drives and rates give the same result.

use std::sync::Arc;

use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    error::Result,
    physical_expr::PhysicalExpr,
    physical_expr_common::physical_expr::fmt_sql,
    physical_plan::{
        ExecutionPlan,
        aggregates::{AggregateExec, AggregateMode},
        filter::{FilterExec, FilterExecBuilder},
        projection::ProjectionExec,
        replace_children_if_necessary,
        sorts::sort::SortExec,
    },
};
use nearscan_command::Fragment;
use nearscan_corrections::input_of_barrier;

use crate::{
    decision::{Candidate, Costs, Decision, KeepReason, Kept},
    exec::{PushdownExec, Pushed, Replaced},
    join_order::KeyShares,
    lower::{FragmentBuilder, Lowered},
    merge::{is_over_scans_alone, merges, weigh},
    phases::{final_over, partial_of},
    place::{KeptShare, Placed, place_units},
    planning::{DriveView, PlanningContext},
    scan::{Scan, Stack, split, without_barriers},
    settings::{DriveChoice, PushdownMode},
    stack_fragments::{lower_aggregate_states, lower_conjuncts, lower_rows_of, lower_top, lowers},
    units::{ScanUnits, kept_by},
};

/// Replaces the fragments that should run on a drive; returns the plan, and the decision about each
/// scan.
///
/// # Errors
/// If DataFusion refuses to rebuild a node. A scan that cannot be offloaded is not an error but a
/// [`Candidate`].
pub fn decide(
    plan: Arc<dyn ExecutionPlan>,
    planning: &PlanningContext,
) -> Result<(Arc<dyn ExecutionPlan>, Vec<Candidate>)> {
    if let Some(kept) = no_drive(planning) {
        let candidates = candidates_kept(&plan, &kept)?;
        return Ok((plan, candidates));
    }
    let weighing = match planning.options.mode {
        PushdownMode::Auto => Weighing::Decides,
        PushdownMode::Force | PushdownMode::Off => Weighing::Absent,
    };
    let shares = match weighing {
        Weighing::Decides | Weighing::Noted => KeyShares::of(&plan),
        Weighing::Absent => KeyShares::default(),
    };
    let mut walk = Walk { planning, weighing, shares: &shares, candidates: Vec::new() };
    let plan = walk.visit(plan, None)?;
    let plan = match weighing {
        Weighing::Absent => merges(plan, planning, &mut walk.candidates)?,
        Weighing::Decides | Weighing::Noted => plan,
    };
    Ok((plan, walk.candidates))
}

/// The reason why no scan can be offloaded, whatever the plan is.
fn no_drive(planning: &PlanningContext) -> Option<Kept> {
    if planning.options.mode == PushdownMode::Off {
        return Some(Kept::new(KeepReason::ModeOff, ""));
    }
    if allowed_drives(planning).next().is_some() {
        return None;
    }
    let detail = match &planning.options.drive {
        DriveChoice::Any => String::new(),
        DriveChoice::Named(name) => format!("no drive is called {name}"),
    };
    Some(Kept::new(KeepReason::NoDrive, detail))
}

fn allowed_drives(planning: &PlanningContext) -> impl Iterator<Item = &DriveView> {
    planning.drives.iter().filter(|drive| match &planning.options.drive {
        DriveChoice::Any => true,
        DriveChoice::Named(name) => drive.name == *name,
    })
}

/// All scans of a plan, kept for the same reason.
fn candidates_kept(plan: &Arc<dyn ExecutionPlan>, kept: &Kept) -> Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    plan.apply(|node| {
        candidates
            .extend(Scan::of(node).map(|scan| Candidate::kept(scan.table_name(), kept.clone())));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(candidates)
}

/// The role of the cost model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weighing {
    /// It is not used.
    Absent,
    /// It decides.
    Decides,
    /// Its estimates are recorded: the merge above the scans is weighed as a whole.
    Noted,
}

struct Walk<'a> {
    planning: &'a PlanningContext,
    weighing: Weighing,
    shares: &'a KeyShares,
    candidates: Vec<Candidate>,
}

/// A fragment that a drive will run.
struct Offload {
    exec: PushdownExec,
    drives: Vec<String>,
    costs: Option<Costs>,
    /// The number of units for the host, and the reason of the first.
    units_kept: Option<(usize, Kept)>,
}

impl Walk<'_> {
    /// `above` is why the nodes above stay on the host, if they were tried over the same scan.
    fn visit(
        &mut self,
        plan: Arc<dyn ExecutionPlan>,
        above: Option<Kept>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if self.weighing != Weighing::Decides || !is_over_scans_alone(&plan) {
            return self.visit_node(plan, above);
        }
        match self.weigh_merge(&plan)? {
            None => self.visit_node(plan, above),
            Some(Ok(merge)) => Ok(merge),
            // Its scans are decided separately.
            Some(Err(kept)) => {
                let first = self.candidates.len();
                let plan = self.visit_node(plan, above)?;
                for candidate in self.candidates.iter_mut().skip(first) {
                    candidate.above.get_or_insert_with(|| kept.clone());
                }
                Ok(plan)
            }
        }
    }

    /// Returns the merge whose top is `plan`, with its scans on the drive, or the reason why it
    /// stays on the host; nothing if it is not a merge.
    fn weigh_merge(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
    ) -> Result<Option<Lowered<Arc<dyn ExecutionPlan>>>> {
        let (weighing, candidates) = (Weighing::Noted, Vec::new());
        let mut trial = Walk { planning: self.planning, weighing, shares: self.shares, candidates };
        let tried = trial.visit(Arc::clone(plan), None)?;
        let Some(weighed) = weigh(&tried, self.planning) else { return Ok(None) };
        Ok(Some(weighed.map(|(exec, costs)| {
            let merged = trial.candidates.into_iter();
            self.candidates
                .extend(merged.map(|candidate| Candidate { merge: Some(costs), ..candidate }));
            Arc::new(exec) as Arc<dyn ExecutionPlan>
        })))
    }

    fn visit_node(
        &mut self,
        plan: Arc<dyn ExecutionPlan>,
        above: Option<Kept>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
            if matches!(aggregate.mode(), AggregateMode::Partial | AggregateMode::Single) {
                return self.visit_aggregate(&plan, aggregate);
            }
        } else if plan.downcast_ref::<FilterExec>().is_some()
            || plan.downcast_ref::<ProjectionExec>().is_some()
        {
            return self.visit_rows(plan, above);
        } else if let Some(scan) = Scan::of(&plan) {
            return Ok(self.visit_scan(&plan, &scan, above));
        } else if let Some(sort) = plan.downcast_ref::<SortExec>()
            && let Some(input) = self.offload_top(sort)
        {
            return replace_children_if_necessary(plan, vec![input]);
        }
        // Of a stack that was tried, only a round-robin repartition remains above the scan.
        self.visit_children(plan, above)
    }

    fn visit_children(
        &mut self,
        plan: Arc<dyn ExecutionPlan>,
        above: Option<Kept>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let children: Vec<_> = plan.children().into_iter().map(Arc::clone).collect();
        let children = children.into_iter().map(|child| self.visit(child, above.clone()));
        let after = children.collect::<Result<Vec<_>>>()?;
        replace_children_if_necessary(plan, after)
    }

    fn visit_aggregate(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        aggregate: &AggregateExec,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // A barrier is below grouping sets, which stay on the host.
        let input = input_of_barrier(aggregate.input()).unwrap_or_else(|| aggregate.input());
        let Some(stack) = Stack::read(input) else {
            return self.visit_children(Arc::clone(plan), None);
        };
        let table = stack.scan.table_name();
        match self.offload_states(aggregate, &stack)? {
            Ok(offload) => {
                self.note(table, &offload, None);
                let states: Arc<dyn ExecutionPlan> = Arc::new(offload.exec);
                match aggregate.mode() {
                    AggregateMode::Single => final_over(aggregate, states),
                    _ => Ok(states),
                }
            }
            Err(kept) => self.visit_children(Arc::clone(plan), Some(kept)),
        }
    }

    fn visit_rows(
        &mut self,
        plan: Arc<dyn ExecutionPlan>,
        above: Option<Kept>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(stack) = Stack::read(&plan) else { return self.visit_children(plan, None) };
        let table = stack.scan.table_name();
        let kept = match self.offload_rows(&plan, &stack) {
            Ok(offload) => {
                self.note(table, &offload, above);
                return Ok(Arc::new(offload.exec));
            }
            Err(kept) => kept,
        };
        if let Some(filter) = plan.downcast_ref::<FilterExec>()
            && let Some(plan) = self.split_filter(filter, above.as_ref(), &kept)?
        {
            return Ok(plan);
        }
        self.visit_children(plan, above.or(Some(kept)))
    }

    fn visit_scan(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        scan: &Scan<'_>,
        above: Option<Kept>,
    ) -> Arc<dyn ExecutionPlan> {
        let table = scan.table_name();
        let Some(stack) = Stack::read(plan) else { return Arc::clone(plan) };
        let filtered = !stack.conjuncts.is_empty();
        let attempt = match above {
            // Moving every row of the scan has no benefit if the work above it stays.
            Some(kept) if !filtered => Err(kept),
            _ => self.offload_rows(plan, &stack),
        };
        match attempt {
            Ok(offload) => {
                self.note(table, &offload, None);
                Arc::new(offload.exec)
            }
            Err(kept) => {
                self.candidates.push(Candidate::kept(table, kept));
                Arc::clone(plan)
            }
        }
    }

    fn note(&mut self, table: String, offload: &Offload, above: Option<Kept>) {
        let decision = Decision::Offload { drives: offload.drives.clone() };
        let units_kept = offload.units_kept.clone();
        self.candidates.push(Candidate {
            table,
            decision,
            costs: offload.costs,
            merge: None,
            above,
            units_kept,
        });
    }

    /// The partial aggregate over `stack` as states.
    fn offload_states(
        &self,
        aggregate: &AggregateExec,
        stack: &Stack<'_>,
    ) -> Result<Lowered<Offload>> {
        let schema = stack.scan.table_schema();
        let units = match self.begin(stack) {
            Ok(units) => units,
            Err(kept) => return Ok(Err(kept)),
        };
        let mut builder = FragmentBuilder::new(schema, stack.scan.file_columns());
        let order = self.planning.options.float_order;
        let lowered = lower_conjuncts(&mut builder, &stack.conjuncts)
            .and_then(|()| lower_aggregate_states(&mut builder, aggregate, stack, &units, order));
        let (fragment, states) = match lowered.and_then(|states| {
            Ok((builder.states(states.keys.clone(), states.slots.clone())?, states))
        }) {
            Ok(lowered) => lowered,
            Err(kept) => return Ok(Err(kept)),
        };
        let partial = match aggregate.mode() {
            AggregateMode::Partial => Arc::new(aggregate.clone()) as Arc<dyn ExecutionPlan>,
            _ => partial_of(aggregate)?,
        };
        let replaced = Replaced::States { sources: states.sources };
        Ok(self.offload(partial, stack, &units, fragment, replaced))
    }

    /// The rows that `plan`, the top of `stack`, outputs.
    fn offload_rows(&self, plan: &Arc<dyn ExecutionPlan>, stack: &Stack<'_>) -> Lowered<Offload> {
        let units = self.begin(stack)?;
        stack.check_order()?;
        let (fragment, shape) = lower_rows_of(stack, &stack.conjuncts)?;
        self.offload(Arc::clone(plan), stack, &units, fragment, Replaced::Rows(shape))
    }

    /// Offloads the input of a sort with a fetch: of each unit only the rows that can be among the
    /// first. The sort stays, and receives all rows that tie.
    fn offload_top(&mut self, sort: &SortExec) -> Option<Arc<dyn ExecutionPlan>> {
        let stack = Stack::read(sort.input()).filter(|stack| stack.fetch.is_none())?;
        let units = self.begin(&stack).ok()?;
        let (fragment, shape) = lower_top(&stack, sort).ok()?;
        let plan = Arc::clone(sort.input());
        let offload = self.offload(plan, &stack, &units, fragment, Replaced::Rows(shape)).ok()?;
        self.note(stack.scan.table_name(), &offload, None);
        Some(Arc::new(offload.exec))
    }

    /// Splits a filter: the conjuncts that lower go to the drive, the rest stays above it.
    fn split_filter(
        &mut self,
        filter: &FilterExec,
        above: Option<&Kept>,
        kept: &Kept,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(input) = Stack::read(filter.input()) else { return Ok(None) };
        let schema = filter.input().schema();
        let (moved, rest): (Vec<_>, Vec<_>) = split(filter.predicate())
            .into_iter()
            .partition(|conjunct| lowers(&input, conjunct, &schema));
        if moved.is_empty() || rest.is_empty() {
            return Ok(None);
        }
        // The replaced plan is a filter with the moved conjuncts alone, so that a unit that is
        // pushed back returns the same rows.
        let moved = datafusion::physical_expr::conjunction(moved);
        let lower_half: Arc<dyn ExecutionPlan> =
            Arc::new(FilterExecBuilder::new(moved, Arc::clone(filter.input())).build()?);
        let Some(stack) = Stack::read(&lower_half) else { return Ok(None) };
        let Ok(offload) = self.offload_rows(&lower_half, &stack) else { return Ok(None) };
        let above = above.cloned().or_else(|| Some(kept.clone()));
        self.note(stack.scan.table_name(), &offload, above);
        let predicate = datafusion::physical_expr::conjunction(rest);
        let projection = filter.projection().as_ref().map(|indices| indices.to_vec());
        let rebuilt = FilterExecBuilder::new(predicate, Arc::new(offload.exec))
            .apply_projection(projection)?
            .with_default_selectivity(filter.default_selectivity())
            .with_batch_size(filter.batch_size())
            .with_fetch(filter.fetch())
            .build()?;
        Ok(Some(Arc::new(rebuilt)))
    }

    /// Checks what every fragment over a stack needs: known options, facts.
    fn begin<'a>(&self, stack: &Stack<'a>) -> Lowered<ScanUnits<'a>> {
        stack.check_options()?;
        ScanUnits::find(&stack.scan, &stack.conjuncts)
    }

    /// The fragment on the first drive that has files of the scan and can run it, and on the next
    /// ones that have those that are missing; the last refusal if there is none.
    fn offload(
        &self,
        replaced_plan: Arc<dyn ExecutionPlan>,
        stack: &Stack<'_>,
        units: &ScanUnits<'_>,
        fragment: Fragment,
        replaced: Replaced,
    ) -> Lowered<Offload> {
        let in_order = replaced.keeps_order();
        let mut last = Kept::new(KeepReason::NoDrive, "");
        let mut refused = Vec::new();
        let mut drives = Vec::new();
        let mut found: Option<(Placed, Option<Costs>)> = None;
        for drive in allowed_drives(self.planning) {
            let before = found.as_ref().map(|(placed, _)| placed);
            if before.is_some_and(|placed| !placed.is_partly_elsewhere()) {
                break;
            }
            match (self.place(drive, stack, units, &fragment, &replaced_plan, before), &mut found) {
                (Ok(first), None) => found = Some(first),
                (Ok((more, its_costs)), Some((placed, costs))) => {
                    placed.add(more, drives.len());
                    let both = costs.zip(its_costs).map(|(one, other)| one.and(other, in_order));
                    *costs = both.or(*costs);
                }
                (Err(kept), _) => {
                    if kept.reason != KeepReason::NotOnDrive {
                        refused.push((drive, kept.clone()));
                    }
                    last = kept;
                    continue;
                }
            }
            drives.push(drive.name.clone());
        }
        let Some((mut placed, costs)) = found else { return Err(last) };
        for (drive, kept) in refused {
            placed.keep_for(&drive.name, &kept, units, stack.partitions);
        }
        let exec = PushdownExec::new(
            Pushed {
                drives: drives.clone(),
                table: stack.scan.table_name(),
                query_id: self.planning.query_id,
                fragment: Arc::new(fragment),
                replaced,
                partitions: placed.partitions,
                filter: shown(&stack.conjuncts),
                fetch: stack.fetch,
                costs,
            },
            replaced_plan,
        );
        Ok(Offload { exec, drives, costs, units_kept: placed.kept })
    }

    /// The units of a fragment on one drive, but for those that were placed `before`.
    fn place(
        &self,
        drive: &DriveView,
        stack: &Stack<'_>,
        units: &ScanUnits<'_>,
        fragment: &Fragment,
        replaced_plan: &Arc<dyn ExecutionPlan>,
        before: Option<&Placed>,
    ) -> Lowered<(Placed, Option<Costs>)> {
        drive.capabilities.admits(fragment).map_err(|refused| kept_by(refused, ""))?;
        if self.planning.is_quarantined(&drive.name, fragment.hash()) {
            return Err(Kept::for_quarantine());
        }
        let mut placed = place_units(drive, stack, units, fragment, before)?;
        if self.weighing == Weighing::Absent {
            return Ok((placed, None));
        }
        let share = KeptShare::of(replaced_plan, &placed.partitions, fragment);
        let share = share.with_keys(self.shares.of_scan(&stack.scan));
        let costs = placed.weigh(drive, &self.planning.host, fragment, share)?;
        match costs.prefer_drive() || self.weighing == Weighing::Noted {
            true => Ok((placed, Some(costs))),
            false => Err(Kept::for_cost(costs)),
        }
    }
}

/// Formats conjuncts for EXPLAIN.
fn shown(conjuncts: &[Arc<dyn PhysicalExpr>]) -> String {
    let conjuncts = conjuncts.iter().map(without_barriers);
    let predicate = datafusion::physical_expr::conjunction_opt(conjuncts);
    predicate.map_or_else(String::new, |predicate| fmt_sql(predicate.as_ref()).to_string())
}

/// Whether any node of a plan is a [`PushdownExec`].
pub fn is_pushed(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.exists(|node| Ok(node.downcast_ref::<PushdownExec>().is_some())).unwrap_or(false)
}
