// SPDX-License-Identifier: Apache-2.0
//! Decides which merges of sorted rows run on a drive.
//!
//! Without the cost model, this is a second walk over a plan, after [`decide`](crate::decide) has
//! put its scans on a drive ([`merges`]). With it, `decide` tries each such merge with all of its
//! scans on the drive, and takes it if it is cheaper as a whole ([`weigh`]); a merge on the host
//! may have scans on the drive below it. The patterns are:
//!
//! ```text
//! SortPreservingMergeExec                    PushdownMergeExec
//!   [UnionExec]                        =>      PushdownExec ...
//!     PushdownExec ...
//!
//! [SortPreservingMergeExec]
//!   SortExec                           =>    the same, if each row group is sorted by its footer
//!     PushdownExec
//!
//! [SortExec]                                 PushdownMergeExec: distinct=true
//!   AggregateExec: no aggregates               PushdownExec ...
//!     SortPreservingMergeExec, ...     =>
//!       UnionExec, sorted by all columns
//!         PushdownExec ...
//! ```
//!
//! If a drive does not keep the order of rows, or a merge is too wide, DataFusion runs it.
//!
//! No merge changes the set of rows; of rows that tie, those of an earlier input come first.

pub(crate) mod part;
mod sorted;
pub(crate) mod windows;

use std::{collections::HashMap, sync::Arc};

use datafusion::{
    common::tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    datasource::source::DataSourceExec,
    error::Result,
    physical_expr::{LexOrdering, expressions::Column},
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        aggregates::AggregateExec,
        coalesce_partitions::CoalescePartitionsExec,
        filter::FilterExec,
        projection::ProjectionExec,
        repartition::RepartitionExec,
        sorts::{sort::SortExec, sort_preserving_merge::SortPreservingMergeExec},
        union::UnionExec,
    },
};
use nearscan_command::{Merge, Output, SortKey};

use crate::{
    cost::{MergeVolume, Volume, estimate_merge},
    decision::{Candidate, Costs, KeepReason, Kept},
    exec::{Merged, PushdownExec, PushdownMergeExec, Replaced, UnitPlace},
    lower::Lowered,
    merge::windows::{Run, Terms, windows},
    place::{self, KeptShare},
    planning::PlanningContext,
};

/// Puts merges over pushed scans on the drive of the scans, and notes at the candidates of those
/// that stay why they do.
///
/// # Errors
/// If DataFusion refuses to rebuild a node.
pub(crate) fn merges(
    plan: Arc<dyn ExecutionPlan>,
    planning: &PlanningContext,
    candidates: &mut [Candidate],
) -> Result<Arc<dyn ExecutionPlan>> {
    let merged = plan.transform_down(|node| {
        let Some(found) = Found::at(&node) else { return Ok(Transformed::no(node)) };
        match found.on_drive(&node, planning) {
            Ok(exec) => {
                let exec: Arc<dyn ExecutionPlan> = Arc::new(exec);
                Ok(Transformed::new(exec, true, TreeNodeRecursion::Jump))
            }
            Err(kept) => {
                let is_below = |candidate: &&mut Candidate| found.reads(&candidate.table);
                for candidate in candidates.iter_mut().filter(is_below) {
                    candidate.above.get_or_insert_with(|| kept.clone());
                }
                Ok(Transformed::no(node))
            }
        }
    })?;
    Ok(merged.data)
}

/// The merge whose top is `plan`, over scans that are all on the drive, if it is cheaper there with
/// its scans than the scans wherever they are cheapest and the merge on the host.
pub(crate) fn weigh(
    plan: &Arc<dyn ExecutionPlan>,
    planning: &PlanningContext,
) -> Option<Lowered<(PushdownMergeExec, Costs)>> {
    let found = Found::at(plan)?;
    Some(found.on_drive(plan, planning).and_then(|exec| {
        let drive = planning.drives.iter().find(|drive| drive.name == exec.merged().drive);
        let costs = drive
            .and_then(|drive| estimate_merge(&volume_of(&exec), &drive.snapshot, &planning.host));
        let costs = costs.ok_or_else(Kept::for_want_of_rates)?;
        match costs.prefer_drive() {
            true => Ok((exec.with_costs(costs), costs)),
            false => Err(Kept::for_cost(costs)),
        }
    }))
}

/// Whether `plan` may be a merge: it orders or groups, and below it are scans and what a merge
/// replaces, so that trying is cheap.
pub(crate) fn is_over_scans_alone(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let is_top = plan.downcast_ref::<SortPreservingMergeExec>().is_some()
        || plan.downcast_ref::<SortExec>().is_some()
        || groups_by_all_columns(plan);
    is_top && is_of_scans(plan)
}

fn is_of_scans(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let is_known = plan.downcast_ref::<SortPreservingMergeExec>().is_some()
        || plan.downcast_ref::<SortExec>().is_some()
        || plan.downcast_ref::<RepartitionExec>().is_some()
        || plan.downcast_ref::<CoalescePartitionsExec>().is_some()
        || plan.downcast_ref::<UnionExec>().is_some()
        || plan.downcast_ref::<FilterExec>().is_some()
        || plan.downcast_ref::<ProjectionExec>().is_some()
        || plan.downcast_ref::<DataSourceExec>().is_some()
        || groups_by_all_columns(plan);
    is_known && plan.children().into_iter().all(is_of_scans)
}

/// Returns the volume of a merge. A unit that is cut is read for each of its parts, and its parts
/// are assumed to have equally many rows.
fn volume_of(exec: &PushdownMergeExec) -> MergeVolume {
    let scans: Vec<&PushdownExec> = exec.scans().collect();
    let shares: Vec<KeptShare> = scans
        .iter()
        .map(|scan| KeptShare::of(scan.replaced(), &scan.pushed().partitions, scan.fragment()))
        .collect();
    let Merged { windows, merge, .. } = &**exec.merged();
    let places = || windows.iter().flat_map(|window| &window.inputs).map(|input| input.place);
    let mut parts: HashMap<UnitPlace, u64> = HashMap::new();
    places().for_each(|place| *parts.entry(place).or_default() += 1);
    let mut volume = MergeVolume::default();
    for window in windows {
        let is_merged = merge.distinct || window.inputs.len() > 1;
        volume.merges += u64::from(is_merged);
        for place in window.inputs.iter().map(|input| input.place) {
            let Some(scan) = scans.get(place.input) else { continue };
            let units = scan.pushed().partitions.get(place.partition);
            let Some(unit) = units.and_then(|units| units.get(place.unit)) else { continue };
            let whole = place::volume(unit, scan.fragment(), shares[place.input]);
            let times = parts.get(&place).copied().unwrap_or(1);
            let part = Volume {
                result_rows: whole.result_rows / times,
                result_bytes: whole.result_bytes / times,
                ..whole
            };
            volume.scans = volume.scans.with(part);
            volume.rows += if is_merged { part.result_rows } else { 0 };
        }
    }
    let cheapest = |costs: &Costs| costs.drive_ns.min(costs.host_ns);
    let costs = scans.iter().filter_map(|scan| scan.pushed().costs.as_ref());
    volume.scans_apart_ns = costs.map(cheapest).sum();
    volume
}

/// A merge over pushed scans.
struct Found<'a> {
    inputs: Vec<&'a Arc<dyn ExecutionPlan>>,
    ordering: LexOrdering,
    distinct: bool,
    fetch: Option<usize>,
}

impl<'a> Found<'a> {
    /// The merge whose top is `plan`, if it is one.
    fn at(plan: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        if let Some(found) = Self::distinct(plan) {
            return Some(found);
        }
        let (ordering, fetch, inputs) =
            if let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() {
                (merge.expr(), merge.fetch(), sorted_scans(merge.input(), merge.expr())?)
            } else {
                let sort = plan.downcast_ref::<SortExec>()?;
                // A sort of each of several partitions does not merge them.
                let is_whole = plan.output_partitioning().partition_count() == 1;
                (sort.expr(), None, sorted_scans(plan, sort.expr()).filter(|_| is_whole)?)
            };
        Some(Self { inputs, ordering: ordering.clone(), distinct: false, fetch })
    }

    /// A grouping by all columns without aggregates, over scans that are sorted by all columns: a
    /// merge that removes repeated rows.
    fn distinct(plan: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        if plan.output_partitioning().partition_count() != 1 {
            return None;
        }
        let merge = plan.downcast_ref::<SortPreservingMergeExec>();
        let below = merge.map_or(plan, |merge| merge.input());
        let sort = below.downcast_ref::<SortExec>();
        let top = sort.map_or(below, |sort| sort.input());
        if !groups_by_all_columns(top) || sort.is_some_and(|sort| sort.fetch().is_some()) {
            return None;
        }
        let mut input = top;
        while let Some(below) = below_distinct(input) {
            input = below;
        }
        let inputs = pushed_scans(input)?;
        let (ordering, are_sorted) = match sort {
            Some(sort) => (sort.expr(), inputs.iter().all(|scan| declares(scan, sort.expr()))),
            None => (input.output_ordering()?, true),
        };
        let schema = input.schema();
        let covers_all = ordering.len() == schema.fields().len();
        let is_float = schema.fields().iter().any(|field| field.data_type().is_floating());
        let agrees = merge.is_none_or(|merge| ordering.starts_with(merge.expr()));
        // A float has two zeros, which are equal but not identical.
        (covers_all && agrees && are_sorted && !is_float).then(|| Self {
            ordering: ordering.clone(),
            distinct: true,
            fetch: merge.and_then(SortPreservingMergeExec::fetch),
            inputs,
        })
    }

    fn scans(&self) -> impl Iterator<Item = &'a PushdownExec> {
        self.inputs.iter().filter_map(|input| input.downcast_ref::<PushdownExec>())
    }

    fn reads(&self, table: &str) -> bool {
        self.scans().any(|scan| scan.pushed().table == table)
    }

    /// The merge as an operator of the scans' drive, in place of `plan`.
    fn on_drive(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        planning: &PlanningContext,
    ) -> Lowered<PushdownMergeExec> {
        let ordering = |detail: &str| Err(Kept::new(KeepReason::Ordering, detail));
        let Some(first) = self.scans().next() else { return ordering("a merge of nothing") };
        let [name] = first.drives() else {
            return ordering("a merge of rows of several drives");
        };
        if self.scans().any(|scan| scan.drives() != first.drives()) {
            return ordering("a merge of rows of several drives");
        }
        let drive = planning.drives.iter().find(|drive| drive.name == *name);
        let inputs_max = drive.map_or(0, |drive| drive.capabilities.merge_inputs_max as usize);
        if inputs_max == 0 {
            return ordering("the drive does not merge");
        }
        let widths = first.fragment().output_widths();
        for scan in self.scans() {
            if !is_whole(scan) {
                return ordering("a merge of rows that are cut off, or not all on the drive");
            }
            let columns = scan.fragment().columns.len();
            if !drive.is_some_and(|drive| drive.capabilities.admits_merge_of_columns(columns)) {
                return ordering("a merge of scans of more columns than the drive merges");
            }
            if scan.fragment().output_widths() != widths {
                return ordering("a merge of rows of several shapes");
            }
        }
        let merge = Merge { keys: self.keys()?, distinct: self.distinct };
        if let Err(error) = merge.check(&widths) {
            return ordering(&error.to_string());
        }
        let schema = plan.schema();
        let runs = sorted::runs(self.scans(), self.ordering.first());
        let key = self.ordering.first();
        let key_type = key.expr.data_type(&schema);
        let can_cut = key_type.is_ok_and(|data_type| sorted::has_numbers(&data_type));
        let memory_bytes = drive.map_or(0, |drive| drive.capabilities.memory_bytes);
        let terms = Terms { inputs_max, bytes_max: memory_bytes / MEMORY_SHARE, can_cut };
        let spans: Vec<Run> = runs.iter().map(|run| run.run).collect();
        let Some(windows) = windows(&spans, terms) else {
            return ordering("more sorted row groups overlap than a drive merges at a time");
        };
        let merged = Merged {
            drive: name.clone(),
            merge,
            ordering: self.ordering.clone(),
            fetch: self.fetch,
            windows: sorted::windows_of_units(&windows, &runs),
            costs: None,
        };
        let inputs = self.inputs.iter().map(|input| Arc::clone(input)).collect();
        let exec = PushdownMergeExec::new(merged, inputs, plan.equivalence_properties().clone());
        match planning.is_quarantined(name, exec.quarantine_hash()) {
            true => Err(Kept::for_quarantine()),
            false => Ok(exec),
        }
    }

    fn keys(&self) -> Lowered<Vec<SortKey>> {
        let key = |column: &Column, options: arrow::compute::SortOptions| SortKey {
            column: u16::try_from(column.index()).unwrap_or(u16::MAX),
            descending: options.descending,
            nulls_first: options.nulls_first,
        };
        self.ordering
            .iter()
            .map(|sort| match sort.expr.downcast_ref::<Column>() {
                Some(column) => Ok(key(column, sort.options)),
                None => Err(Kept::new(KeepReason::Ordering, format!("a merge by {}", sort.expr))),
            })
            .collect()
    }
}

/// A merge has this part of a drive's memory, so that a few can run side by side.
const MEMORY_SHARE: u64 = 4;

/// The scan in a node, or those of a union; nothing when anything else is in it.
fn pushed_scans(plan: &Arc<dyn ExecutionPlan>) -> Option<Vec<&Arc<dyn ExecutionPlan>>> {
    if let Some(union) = plan.downcast_ref::<UnionExec>() {
        let scans = union.inputs().iter().map(pushed_scans);
        return scans.collect::<Option<Vec<_>>>().map(|scans| scans.concat());
    }
    plan.downcast_ref::<PushdownExec>().map(|_| vec![plan])
}

/// The pushed scans of a plan that gives rows in an order: those of a sort are in it only if each
/// row group is by itself.
fn sorted_scans<'a>(
    plan: &'a Arc<dyn ExecutionPlan>,
    ordering: &LexOrdering,
) -> Option<Vec<&'a Arc<dyn ExecutionPlan>>> {
    if let Some(union) = plan.downcast_ref::<UnionExec>() {
        let scans = union.inputs().iter().map(|input| sorted_scans(input, ordering));
        return scans.collect::<Option<Vec<_>>>().map(|scans| scans.concat());
    }
    let Some(sort) = plan.downcast_ref::<SortExec>() else { return pushed_scans(plan) };
    let is_plain = sort.fetch().is_none() && sort.expr() == ordering;
    let are_sorted =
        |scans: &Vec<&Arc<dyn ExecutionPlan>>| scans.iter().all(|scan| declares(scan, ordering));
    pushed_scans(sort.input()).filter(|scans| is_plain && are_sorted(scans))
}

/// Whether each row group of a pushed scan says that it has this order.
fn declares(scan: &Arc<dyn ExecutionPlan>, ordering: &LexOrdering) -> bool {
    let scan = scan.downcast_ref::<PushdownExec>();
    scan.is_some_and(|scan| sorted::declares(scan, ordering))
}

/// Whether all rows of a scan's units leave it, as the drive has them.
fn is_whole(scan: &PushdownExec) -> bool {
    let pushed = scan.pushed();
    matches!(pushed.replaced, Replaced::Rows(_))
        && !pushed.replaced.has_folder_values()
        && pushed.fetch.is_none()
        && matches!(&pushed.fragment.output, Output::Rows { limit: None, top: None, .. })
}

/// Whether a node keeps one of each row of its input, and does nothing else.
fn groups_by_all_columns(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else { return false };
    let group = aggregate.group_expr();
    let columns = aggregate.input().schema().fields().len();
    let is_column = |(at, (expr, _)): (usize, &(_, String))| -> bool {
        let expr: &Arc<dyn datafusion::physical_expr::PhysicalExpr> = expr;
        expr.downcast_ref::<Column>().is_some_and(|column| column.index() == at)
    };
    group.is_single()
        && aggregate.aggr_expr().is_empty()
        && aggregate.limit_options().is_none()
        && group.expr().len() == columns
        && group.expr().iter().enumerate().all(is_column)
}

/// The input of a node that neither adds rows nor drops any but duplicates.
fn below_distinct(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    if let Some(repartition) = plan.downcast_ref::<RepartitionExec>() {
        return Some(repartition.input());
    }
    if let Some(coalesce) = plan.downcast_ref::<CoalescePartitionsExec>() {
        return Some(coalesce.input()).filter(|_| coalesce.fetch().is_none());
    }
    if let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() {
        return Some(merge.input()).filter(|_| merge.fetch().is_none());
    }
    let aggregate = plan.downcast_ref::<AggregateExec>()?;
    groups_by_all_columns(plan).then(|| aggregate.input())
}
