// SPDX-License-Identifier: Apache-2.0
//! Implements [`JoinKeysRule`], which links joins to the scans that read their keys later.
//!
//! ```text
//! HashJoinExec: on=[(o_orderkey, l_orderkey)]   =>  HashJoinExec: on=[(o_orderkey, l_orderkey)]
//!   ..                                                JoinKeysExec: keys=[o_orderkey]
//!   HashJoinExec: on=[(r_orderkey, l_orderkey)]         ..
//!     FusedScanExec: table=returns                    HashJoinExec: on=[(r_orderkey, l_orderkey)]
//!     FusedScanExec: table=lineitem                     FusedScanExec: join_keys=[r_orderkey]
//!                                                       FusedScanExec: join_keys=[l_orderkey]
//! ```
//!
//! A join wants rows of its probe side only if their keys are on its build side. The rule traces
//! the key down to scans, through other joins also to columns that are equal to it (`lineage.rs`).
//! Every such scan is read when the build side is complete. If the build side has one partition,
//! every partition of the join reads it first; if it has several, a join waits for all of them only
//! if it finds its dynamic filter below its probe side, so the scans say that they have it.
//!
//! Of a join on several columns the scan gets the keys of each column, and those of all together.
//!
//! Of a join that runs window by window, each window has keys of its own, for the scans in the same
//! window: the others may run later.
//!
//! Looking the keys up in the filter itself costs about as much as the join.
//!
//! A scan on a drive gets them in the same way; it looks them up in filters of its fragments, see
//! `exec/keys.rs`.

use std::{collections::BTreeMap, ops::RangeInclusive, sync::Arc};

use datafusion::{
    config::ConfigOptions,
    error::Result,
    execution::SessionStateBuilder,
    physical_expr::{PhysicalExpr, expressions::Column},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        coalesce_partitions::CoalescePartitionsExec,
        joins::{HashJoinExec, JoinOn, PartitionMode},
        repartition::RepartitionExec,
        replace_children_if_necessary,
        sorts::sort_preserving_merge::SortPreservingMergeExec,
        union::UnionExec,
    },
};
use nearscan_cpu::fused::JoinKeys;

use super::{
    exec::FusedScanExec,
    keys::{BuildKeys, Collector, LinkedKeys, SharedKeys, is_key_type},
    lineage::origins,
    work::{Fused, FusedUnit},
};
use crate::{
    clustered::WindowsExec,
    exec::{
        PushdownExec,
        keys::{ColumnValues, UnitKeys},
    },
};

/// The inputs of a join.
const BUILD_SIDE: usize = 0;
const PROBE_SIDE: usize = 1;

/// Links joins to scans below their probe sides.
#[derive(Debug, Clone, Copy, Default)]
pub struct JoinKeysRule;

impl JoinKeysRule {
    /// Name of the rule in EXPLAIN VERBOSE.
    pub const NAME: &'static str = "JoinKeys";

    /// Puts the rule into a session that is being built, behind all rules that are there already:
    /// the dynamic filters must have been pushed down.
    pub fn install(self, state: &mut SessionStateBuilder) {
        state.physical_optimizers().get_or_insert_default().rules.push(Arc::new(self));
    }
}

impl PhysicalOptimizerRule for JoinKeysRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Linker::default().link(plan, &[], Region::Whole)
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A part of a plan whose partitions are run in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    /// All of them at the same time.
    Whole,
    /// One after the other, as windows; parts with other windows have other numbers.
    Windows(usize),
}

/// A join whose probe side is visited, or was.
struct Join {
    /// The identity of its dynamic filter.
    id: u64,
    /// The filter, over the probe side, if a scan has to say that it has it. A join that collects
    /// its build side would then wait for partitions of its own that may never be read.
    announced: Option<Arc<dyn PhysicalExpr>>,
    on: JoinOn,
    build_partitions: usize,
    /// Where it collects the keys, which are of use there only if these are windows.
    region: Region,
    /// Pairs of `on`, and the keys of these that scans want.
    keys: Vec<(Vec<usize>, SharedKeys)>,
}

impl Join {
    /// The keys of some pairs of `on`.
    fn keys_of(&mut self, pairs: &[usize]) -> SharedKeys {
        if let Some((_, keys)) = self.keys.iter().find(|(of, _)| of == pairs) {
            return keys.clone();
        }
        let of_partitions = |partitions| Arc::new(JoinKeys::new(partitions));
        let keys = match self.region {
            Region::Whole => SharedKeys::Together(of_partitions(self.build_partitions)),
            Region::Windows(_) => {
                let windows = 0..self.build_partitions;
                SharedKeys::ByWindow(windows.map(|_| of_partitions(1)).collect())
            }
        };
        self.keys.push((pairs.to_vec(), keys.clone()));
        keys
    }

    /// Whether scans in a region can have the keys.
    fn is_known_in(&self, region: Region) -> bool {
        self.region == Region::Whole || self.region == region
    }

    /// The keys as a scan has them.
    fn linked(&self, columns: Vec<usize>, keys: SharedKeys) -> LinkedKeys {
        LinkedKeys { join: self.id, announced: self.announced.clone(), columns, keys }
    }

    /// What the build side collects.
    fn collected(&self) -> Vec<BuildKeys> {
        let of_pair = |pair: &usize| self.on.get(*pair).map(|(build, _)| Arc::clone(build));
        let keys = self.keys.iter().map(|(pairs, keys)| BuildKeys {
            columns: pairs.iter().filter_map(of_pair).collect(),
            keys: keys.clone(),
        });
        keys.collect()
    }
}

/// Rows of an operator are wanted only if a column of theirs is a key of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Want {
    /// The place of the join.
    join: usize,
    /// Which pair of its keys.
    pair: usize,
    column: usize,
}

/// Visits the operators of a plan.
#[derive(Default)]
struct Linker {
    joins: Vec<Join>,
    /// Parts with windows, so far.
    windows: usize,
}

impl Linker {
    /// Visits `plan`, of whose rows these are wanted.
    fn link(
        &mut self,
        plan: Arc<dyn ExecutionPlan>,
        wants: &[Want],
        region: Region,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if let Some(scan) = plan.downcast_ref::<FusedScanExec>() {
            let linked = linked_keys(scan.fused(), wants, &mut self.joins);
            return Ok(match linked.is_empty() {
                true => plan,
                false => Arc::new(scan.with_keys(linked)),
            });
        }
        if let Some(scan) = plan.downcast_ref::<PushdownExec>() {
            let linked: Vec<_> =
                wants.iter().filter_map(|want| unit_keys(scan, *want, &mut self.joins)).collect();
            return Ok(match linked.is_empty() {
                true => plan,
                false => Arc::new(scan.with_keys(linked)),
            });
        }
        let (mut inputs, own) = self.wants_of_inputs(&plan, wants, region);
        let mut children = Vec::with_capacity(inputs.len());
        for (child, wants) in plan.children().into_iter().zip(&mut inputs) {
            let below = self.region_of_input(&plan, child, region);
            wants.retain(|want| self.joins.get(want.join).is_some_and(|it| it.is_known_in(below)));
            children.push(self.link(Arc::clone(child), wants, below)?);
        }
        if let Some(join) = own.and_then(|own| self.joins.get(own)) {
            let keys = join.collected();
            if let Some(build) = children.get_mut(BUILD_SIDE).filter(|_| !keys.is_empty()) {
                *build = Collector::over_build_side(keys, Arc::clone(build));
            }
        }
        replace_children_if_necessary(plan, children)
    }

    /// What is wanted of the rows of each input, and the place of the join that the operator is.
    fn wants_of_inputs(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        wants: &[Want],
        region: Region,
    ) -> (Vec<Vec<Want>>, Option<usize>) {
        let mut inputs: Vec<Vec<Want>> = vec![Vec::new(); plan.children().len()];
        let mut add = |input: usize, want: Want| {
            if let Some(wants) = inputs.get_mut(input).filter(|wants| !wants.contains(&want)) {
                wants.push(want);
            }
        };
        for want in wants {
            for origin in origins(plan, want.column) {
                add(origin.input, Want { column: origin.column, ..*want });
            }
        }
        let join = plan.downcast_ref::<HashJoinExec>().and_then(|join| join_of(join, region));
        let own = join.map(|join| {
            for (pair, (_, probe)) in join.on.iter().enumerate() {
                if let Some(column) = probe.downcast_ref::<Column>().map(Column::index) {
                    add(PROBE_SIDE, Want { join: self.joins.len(), pair, column });
                }
            }
            self.joins.push(join);
            self.joins.len() - 1
        });
        (inputs, own)
    }

    /// The region of an input of an operator.
    fn region_of_input(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        input: &Arc<dyn ExecutionPlan>,
        region: Region,
    ) -> Region {
        if plan.is::<WindowsExec>() {
            self.windows += 1;
            return Region::Windows(self.windows);
        }
        let is_other = plan.is::<RepartitionExec>()
            || plan.is::<CoalescePartitionsExec>()
            || plan.is::<SortPreservingMergeExec>()
            || plan.is::<UnionExec>()
            // A side that is collected.
            || input.output_partitioning().partition_count()
                != plan.output_partitioning().partition_count();
        if is_other { Region::Whole } else { region }
    }
}

/// A join that has a dynamic filter: rows of its probe side without a partner change nothing. Of
/// NOT IN, which asks whether that side has any rows, DataFusion makes one only without NULLs.
fn join_of(join: &HashJoinExec, region: Region) -> Option<Join> {
    let produced = join.dynamic_expressions_produced();
    let filter = produced.first()?;
    let id = filter.expression_id()?;
    let is_partitioned = *join.partition_mode() == PartitionMode::Partitioned;
    // A side that is collected has one partition, whose keys are the same in all windows.
    let region = if is_partitioned { region } else { Region::Whole };
    // A window does not wait for another.
    let is_announced = is_partitioned && region == Region::Whole;
    let announced = is_announced.then(|| Arc::clone(filter));
    let on = join.on().to_vec();
    let build_partitions = join.left().output_partitioning().partition_count();
    Some(Join { id, announced, on, build_partitions, region, keys: Vec::new() })
}

/// The keys that a scan has to look up, as far as it can: those of each column by itself, which
/// prune row groups, and of several columns of one join together, which drop more rows.
fn linked_keys(fused: &Fused, wants: &[Want], joins: &mut [Join]) -> Vec<LinkedKeys> {
    // Not before rows are counted.
    if fused.fetch.is_some() {
        return Vec::new();
    }
    let mut found = Vec::new();
    // For each join the pairs, and their columns.
    let mut several: BTreeMap<usize, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for want in wants {
        let column = fused.column_of_output(want.column);
        let is_key = |column: &usize| fused.scan.types.get(*column).is_some_and(is_key_type);
        let Some((column, join)) = column.filter(is_key).zip(joins.get_mut(want.join)) else {
            continue;
        };
        let keys = join.keys_of(&[want.pair]);
        match &keys {
            SharedKeys::Together(keys) => keys.add_scan(range_of(fused, column)),
            SharedKeys::ByWindow(keys) => keys.iter().enumerate().for_each(|(window, keys)| {
                keys.add_scan(fused.range_in_partition(column, window));
            }),
        }
        found.push(join.linked(vec![column], keys));
        let (pairs, columns) = several.entry(want.join).or_default();
        if !pairs.contains(&want.pair) {
            pairs.push(want.pair);
            columns.push(column);
        }
    }
    for (join, (pairs, columns)) in several {
        if let Some(join) = joins.get_mut(join).filter(|_| pairs.len() > 1) {
            let keys = join.keys_of(&pairs);
            match &keys {
                SharedKeys::Together(keys) => keys.add_scan(None),
                SharedKeys::ByWindow(keys) => keys.iter().for_each(|keys| keys.add_scan(None)),
            }
            found.push(join.linked(columns, keys));
        }
    }
    found
}

/// The keys that a scan on a drive has to look up, if it can.
fn unit_keys(scan: &PushdownExec, want: Want, joins: &mut [Join]) -> Option<UnitKeys> {
    let column = scan.pushed().key_column(want.column)?;
    let schema = scan.schema();
    schema.fields().get(want.column).filter(|field| is_key_type(field.data_type()))?;
    let name = &scan.fragment().columns.get(usize::from(column))?.name;
    let join = joins.get_mut(want.join)?;
    // Windows are of scans on the host.
    let SharedKeys::Together(keys) = join.keys_of(&[want.pair]) else { return None };
    let values = Arc::new(ColumnValues::find(scan.replaced(), scan.pushed(), name));
    keys.add_scan(values.range());
    Some(UnitKeys { join: join.id, announced: join.announced.clone(), column, keys, values })
}

/// The range of a column's values, if all footers have it.
fn range_of(fused: &Fused, column: usize) -> Option<RangeInclusive<i64>> {
    let units = fused.partitions.iter().flatten();
    let groups = units.map(FusedUnit::metadata).collect::<Option<Vec<_>>>()?;
    fused.range_of(column, groups)
}
