// SPDX-License-Identifier: Apache-2.0
//! Decides which nodes of a plan a fused scan replaces.
//!
//! At each node the largest part is tried first: a partial aggregate over a stack of filters and
//! projections over a scan, then a filter over a scan, then the scan alone. Whatever of an
//! aggregate cannot be computed in the scan stays above it. Conditions always move into the scan:
//! those without a counterpart in a fragment are evaluated there by DataFusion's expressions.

use std::sync::Arc;

use datafusion::{
    error::Result,
    physical_expr::{PhysicalExpr, expressions::Column},
    physical_plan::{
        ChildrenPropertiesMode, ExecutionPlan, ExecutionPlanProperties, ReplaceChildrenOptions,
        aggregates::{AggregateExec, AggregateMode},
        filter::FilterExec,
    },
};
use nearscan_command::{Chunk, Encodings, Fragment, Key, Output};
use nearscan_corrections::input_of_barrier;
use nearscan_cpu::fused::{RowFilter, ScanPlan};

use super::{
    choice::ScanChoice,
    exec::FusedScanExec,
    filter::{ExprFilter, columns_of, is_infallible, rebased},
    work::{Fused, FusedUnit, RowOutput},
};
use crate::{
    decision::{KeepReason, Kept},
    exec::Replaced,
    lower::{FragmentBuilder, Lowered, builder::Target, rows::lower_rows},
    phases::{final_over, partial_of},
    pruning::{self, Pruning},
    scan::{Scan, Stack, without_barriers},
    settings::FloatOrder,
    stack_fragments::lower_aggregate_states,
    units::{PlannedUnit, RowGroup, ScanUnits, chunk_metadata, chunk_of, dictionary_bytes},
};

/// Bytes of a dictionary whose codes may be group keys, in the file: with more entries than fit in
/// this, states of a row group are no smaller than its rows.
const KEY_DICTIONARY_BYTES_MAX: u64 = 16 << 10;

/// Replaces scans; returns the plan, and the reader of each scan.
///
/// # Errors
/// If DataFusion refuses to rebuild a node.
pub(super) fn decide(
    plan: Arc<dyn ExecutionPlan>,
    order: FloatOrder,
    batch_rows: usize,
) -> Result<(Arc<dyn ExecutionPlan>, Vec<ScanChoice>)> {
    let mut walk = Walk { order, batch_rows, choices: Vec::new() };
    let plan = walk.visit(plan)?;
    Ok((plan, walk.choices))
}

struct Walk {
    order: FloatOrder,
    batch_rows: usize,
    choices: Vec<ScanChoice>,
}

impl Walk {
    fn visit(&mut self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        if let Some(aggregate) = plan.downcast_ref::<AggregateExec>()
            && matches!(aggregate.mode(), AggregateMode::Partial | AggregateMode::Single)
            && let Some(fused) = self.fuse_states(&plan, aggregate)?
        {
            return Ok(fused);
        }
        let is_scan = Scan::of(&plan).is_some();
        if (is_scan || plan.downcast_ref::<FilterExec>().is_some())
            && let Some(stack) = Stack::read(&plan)
        {
            let table = stack.scan.table_name();
            match self.fuse_rows(&plan, &stack) {
                Ok(fused) => return Ok(fused),
                Err(kept) if is_scan => {
                    let choice = ScanChoice { table, kept: Some(kept), row_groups_kept: None };
                    self.choices.push(choice);
                    return Ok(plan);
                }
                Err(_) => {}
            }
        }
        self.visit_children(plan)
    }

    fn visit_children(&mut self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let children: Vec<_> = plan.children().into_iter().map(Arc::clone).collect();
        let children = children.into_iter().map(|child| self.visit(child));
        let after = children.collect::<Result<Vec<_>>>()?;
        over(plan, after)
    }

    /// The scan that returns the states of a partial aggregate, which is `plan`, below a final one
    /// if the aggregate has a single phase; nothing if the scan cannot compute them.
    fn fuse_states(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        aggregate: &AggregateExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let input = input_of_barrier(aggregate.input()).unwrap_or_else(|| aggregate.input());
        let Some(stack) = Stack::read(input) else { return Ok(None) };
        let Ok((fused, replaced)) = self.lower_states(aggregate, &stack) else { return Ok(None) };
        let partial = match aggregate.mode() {
            AggregateMode::Partial => Arc::clone(plan),
            _ => partial_of(aggregate)?,
        };
        let fused = Fused { states: Some(replaced), ..fused };
        let states: Arc<dyn ExecutionPlan> = Arc::new(FusedScanExec::new(fused, partial));
        match aggregate.mode() {
            AggregateMode::Single => final_over(aggregate, states).map(Some),
            _ => Ok(Some(states)),
        }
    }

    fn lower_states(
        &mut self,
        aggregate: &AggregateExec,
        stack: &Stack<'_>,
    ) -> Lowered<(Fused, Replaced)> {
        stack.check_options()?;
        let units = ScanUnits::unpruned(&stack.scan)?;
        let schema = stack.scan.table_schema();
        let mut builder = FragmentBuilder::for_host(schema, stack.scan.file_columns());
        let filters = lower_filters(&mut builder, &stack.conjuncts)?;
        // DataFusion adds the sums of several partitions in the order in which they come.
        let order = if stack.partitions > 1 { FloatOrder::Free } else { self.order };
        let states = lower_aggregate_states(&mut builder, aggregate, stack, &units, order)?;
        let fragment = builder.states(states.keys.clone(), states.slots.clone())?;
        check_keys(&fragment, &units)?;
        let fused = self.fused(stack, &units, fragment, filters)?;
        Ok((fused, Replaced::States { sources: states.sources }))
    }

    /// The scan that returns the rows of `plan`, the top of `stack`.
    fn fuse_rows(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        stack: &Stack<'_>,
    ) -> Lowered<Arc<dyn ExecutionPlan>> {
        stack.check_options()?;
        stack.check_order()?;
        let units = ScanUnits::unpruned(&stack.scan)?;
        let schema = stack.scan.table_schema();
        let mut builder = FragmentBuilder::for_host(schema, stack.scan.file_columns());
        let is_plain = |output: &Arc<dyn PhysicalExpr>| output.downcast_ref::<Column>().is_some();
        let (outputs, computed) = match stack.outputs.iter().all(is_plain) {
            true => (stack.outputs.clone(), None),
            false => {
                let mut read: Vec<usize> = stack.outputs.iter().flat_map(columns_of).collect();
                read.sort_unstable();
                read.dedup();
                let column = |index: &usize| -> Arc<dyn PhysicalExpr> {
                    let name = schema.fields().get(*index).map_or("", |field| field.name());
                    Arc::new(Column::new(name, *index))
                };
                let computed = stack.outputs.iter().map(|output| rebased(output, &read));
                (read.iter().map(column).collect(), Some(computed.collect()))
            }
        };
        let (columns, sources) = lower_rows(&mut builder, &outputs)?;
        let filters = lower_filters(&mut builder, &stack.conjuncts)?;
        let fragment = builder.rows(columns, None)?;
        let mut fused = self.fused(stack, &units, fragment, filters)?;
        let fields = outputs.iter().filter_map(|output| output.downcast_ref::<Column>());
        let fields = fields.filter_map(|column| schema.fields().get(column.index()).cloned());
        fused.rows = Some(RowOutput { sources, fields: fields.collect(), computed });
        Ok(Arc::new(FusedScanExec::new(fused, Arc::clone(plan))))
    }

    /// What both kinds of scan have.
    fn fused(
        &mut self,
        stack: &Stack<'_>,
        units: &ScanUnits<'_>,
        fragment: Fragment,
        filters: Vec<Arc<dyn RowFilter>>,
    ) -> Lowered<Fused> {
        let schema = stack.scan.table_schema();
        let data_type =
            |name: &String| schema.field_with_name(name).map(|it| it.data_type().clone());
        let types = fragment.columns.iter().filter_map(|column| data_type(&column.name).ok());
        let types: Vec<_> = types.collect();
        let mut kept: Option<(usize, Kept)> = None;
        let mut count = 0;
        let mut planned = |unit: &&RowGroup<'_>| {
            count += 1;
            let chunks = chunks_of(unit, &fragment, stack);
            let chunks = chunks.map_err(|reason| {
                let word = reason.reason;
                kept.get_or_insert((0, reason)).0 += 1;
                word
            });
            let footer = Arc::clone(&unit.facts.metadata);
            FusedUnit { planned: PlannedUnit::new(unit, chunks), footer }
        };
        let dealt = units.deal(stack.partitions);
        let partitions: Vec<Vec<FusedUnit>> =
            dealt.iter().map(|units| units.iter().map(&mut planned).collect()).collect();
        if let Some((all, reason)) = &kept
            && *all == count
        {
            return Err(reason.clone());
        }
        let table = stack.scan.table_name();
        let choice = ScanChoice { table: table.clone(), kept: None, row_groups_kept: kept };
        self.choices.push(choice);
        let config = stack.scan.config;
        Ok(Fused {
            table,
            scan: Arc::new(ScanPlan { fragment, types, filters, keys: Vec::new() }),
            partitions,
            files: Arc::clone(config.file_schema()),
            prunes: pruning::is_enabled(&stack.scan),
            pruning: Pruning::of(&stack.scan, &stack.conjuncts).map(Arc::new),
            conjuncts: stack.conjuncts.clone(),
            fetch: stack.fetch,
            is_ordered: config.preserve_order || !config.output_ordering.is_empty(),
            batch_rows: self.batch_rows,
            states: None,
            rows: None,
            windows: None,
        })
    }
}

/// Returns `plan` over these children, some of which are scans in place of its own.
///
/// A scan has the properties of what it replaces, except for its partitioning, and for when it
/// gives batches, which matters to unbounded inputs only. So `plan` keeps its properties if the
/// partitioning of its children is the same.
fn over(
    plan: Arc<dyn ExecutionPlan>,
    children: Vec<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let pairs = || plan.children().into_iter().zip(&children);
    if pairs().all(|(before, after)| Arc::ptr_eq(before, after)) {
        return Ok(plan);
    }
    let is_alike =
        pairs().all(|(before, after)| before.output_partitioning() == after.output_partitioning());
    let mode = match is_alike {
        true => ChildrenPropertiesMode::Keep,
        false => ChildrenPropertiesMode::Recompute,
    };
    plan.replace_children(children, ReplaceChildrenOptions::new(mode))
}

/// Lowers conditions into the predicate, as long as all are infallible; the others become filters.
fn lower_filters(
    builder: &mut FragmentBuilder<'_>,
    conjuncts: &[Arc<dyn PhysicalExpr>],
) -> Lowered<Vec<Arc<dyn RowFilter>>> {
    let mut filters: Vec<Arc<dyn RowFilter>> = Vec::new();
    let mut is_behind_fallible = false;
    for conjunct in conjuncts {
        if !is_behind_fallible {
            let bare = without_barriers(conjunct);
            let lowered =
                builder.attempt(|builder| builder.lower_truth(Target::Predicate, bare.as_ref()));
            if let Ok(verdict) = lowered {
                builder.keep_where(verdict);
                continue;
            }
        }
        is_behind_fallible |= !is_infallible(conjunct);
        let filter = ExprFilter::over_table(builder, conjunct, is_behind_fallible)?;
        filters.push(Arc::new(filter));
    }
    Ok(filters)
}

fn chunks_of(unit: &RowGroup<'_>, fragment: &Fragment, stack: &Stack<'_>) -> Lowered<Vec<Chunk>> {
    let schema = stack.scan.table_schema();
    let chunk = |column| chunk_of(unit, column, schema, Encodings::HOST);
    fragment.columns.iter().map(chunk).collect()
}

/// Refuses group keys of which a row group has about as many as rows.
fn check_keys(fragment: &Fragment, units: &ScanUnits<'_>) -> Lowered<()> {
    let Output::States { keys, .. } = &fragment.output else { return Ok(()) };
    for column in keys.iter().filter_map(Key::code_column) {
        let Some(column) = fragment.columns.get(usize::from(column)) else { continue };
        for unit in units.iter() {
            let chunk = chunk_metadata(unit.metadata(), &column.name);
            if chunk.is_some_and(|chunk| dictionary_bytes(chunk) > KEY_DICTIONARY_BYTES_MAX) {
                let detail = format!("the dictionary of {} is large", column.name);
                return Err(Kept::new(KeepReason::GroupCardinality, detail));
            }
        }
    }
    Ok(())
}
