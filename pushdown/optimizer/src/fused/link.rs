// SPDX-License-Identifier: Apache-2.0
//! Implements [`JoinKeysRule`], which links joins to the scans of their probe sides.
//!
//! ```text
//! HashJoinExec: on=[(o_orderkey, l_orderkey)]   =>  HashJoinExec: on=[(o_orderkey, l_orderkey)]
//!   ..                                                JoinKeysExec: keys=[o_orderkey]
//!   FusedScanExec: dynamic_filter=true                  ..
//!                                                     FusedScanExec: join_keys=[l_orderkey]
//! ```
//!
//! The dynamic filter of a join, which DataFusion has pushed down before, shows which scan may drop
//! rows without a partner, and the column that it compares. The rule adds only the keys, because
//! looking them up in DataFusion's filter costs about as much as the join itself.

use std::{ops::RangeInclusive, sync::Arc};

use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    config::ConfigOptions,
    error::Result,
    execution::SessionStateBuilder,
    physical_expr::{
        PhysicalExpr,
        expressions::{Column, DynamicFilterPhysicalExpr},
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        joins::{HashJoinExec, JoinOn},
        replace_children_if_necessary,
    },
};
use nearscan_cpu::fused::JoinKeys;

use super::{
    exec::FusedScanExec,
    keys::{Collector, LinkedKeys, is_key_type},
    work::{Fused, FusedUnit},
};
use crate::units::column_range;

/// Links joins to the scans of their probe sides.
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
        link(plan, &mut Vec::new())
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A join above the node that is visited, on its probe side.
struct Join {
    /// The identity of its dynamic filter.
    id: u64,
    on: JoinOn,
    build_partitions: usize,
    /// For each pair of `on` the keys, if a scan wants them.
    keys: Vec<Option<Arc<JoinKeys>>>,
}

fn link(plan: Arc<dyn ExecutionPlan>, joins: &mut Vec<Join>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<FusedScanExec>() {
        let linked = joins.iter_mut().flat_map(|join| linked_keys(scan, join)).collect::<Vec<_>>();
        return Ok(match linked.is_empty() {
            true => plan,
            false => Arc::new(scan.with_keys(linked)),
        });
    }
    let join = plan.downcast_ref::<HashJoinExec>().and_then(join_of);
    let Some(join) = join else {
        let children = plan.children().into_iter().map(Arc::clone);
        let children = children.map(|child| link(child, joins)).collect::<Result<Vec<_>>>()?;
        return replace_children_if_necessary(plan, children);
    };
    let children: Vec<_> = plan.children().into_iter().map(Arc::clone).collect();
    let [build, probe] = children.as_slice() else { return Ok(plan) };
    let build = link(Arc::clone(build), joins)?;
    joins.push(join);
    let probe = link(Arc::clone(probe), joins)?;
    let keys = joins.pop().map_or_else(Vec::new, |join| {
        let pairs = join.on.into_iter().zip(join.keys);
        pairs.filter_map(|((build, _), keys)| Some((build, keys?))).collect()
    });
    let build = match keys.is_empty() {
        true => build,
        false => Collector::over_build_side(keys, build),
    };
    replace_children_if_necessary(plan, vec![build, probe])
}

/// A join that has pushed a dynamic filter down.
fn join_of(join: &HashJoinExec) -> Option<Join> {
    let produced = join.dynamic_expressions_produced();
    let id = produced.first()?.expression_id()?;
    let on = join.on().to_vec();
    let build_partitions = join.left().output_partitioning().partition_count();
    let keys = vec![None; on.len()];
    Some(Join { id, on, build_partitions, keys })
}

/// The keys of a join that a scan can use.
fn linked_keys(scan: &FusedScanExec, join: &mut Join) -> Vec<LinkedKeys> {
    let fused = scan.fused();
    let mut linked = Vec::new();
    for filter in scan.dynamic_filters() {
        let visited = filter.apply(|node| {
            let is_dynamic = node.downcast_ref::<DynamicFilterPhysicalExpr>().is_some();
            if is_dynamic && node.expression_id() == Some(join.id) {
                linked.extend(keys_of(fused, node, join));
            }
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(visited.is_ok(), "the visitor does not fail");
    }
    linked
}

/// The keys of a join whose dynamic filter, over the outputs of a scan, is `filter`.
fn keys_of(fused: &Fused, filter: &Arc<dyn PhysicalExpr>, join: &mut Join) -> Vec<LinkedKeys> {
    let compared = filter.children();
    let mut linked = Vec::new();
    for (pair, compared) in compared.into_iter().enumerate() {
        let Some(output) = compared.downcast_ref::<Column>().map(Column::index) else { continue };
        let Some(column) = fused.column_of_output(output) else { continue };
        if !fused.scan.types.get(column).is_some_and(is_key_type) {
            continue;
        }
        let Some(keys) = join.keys.get_mut(pair) else { continue };
        // The range is that of the first scan; values outside are kept.
        let new = || Arc::new(JoinKeys::new(join.build_partitions, range_of(fused, column)));
        let keys = Arc::clone(keys.get_or_insert_with(new));
        linked.push(LinkedKeys { join: join.id, column, keys });
    }
    linked
}

/// The range of a column's values, if all footers have it.
fn range_of(fused: &Fused, column: usize) -> Option<RangeInclusive<i64>> {
    let name = &fused.scan.fragment.columns.get(column)?.name;
    let data_type = fused.scan.types.get(column)?;
    let units = fused.partitions.iter().flatten();
    let groups = units.map(FusedUnit::metadata).collect::<Option<Vec<_>>>()?;
    column_range(groups, name, data_type)?.map(|(first, last)| first..=last)
}
