// SPDX-License-Identifier: Apache-2.0
//! Makes hash joins of an order.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::{
    common::{JoinSide, JoinType},
    error::Result,
    logical_expr::Operator,
    physical_expr::{
        PhysicalExpr,
        expressions::{BinaryExpr, Column},
    },
    physical_plan::{
        ExecutionPlan,
        joins::{
            HashJoinExecBuilder, PartitionMode,
            utils::{ColumnIndex, JoinFilter},
        },
        projection::{ProjectionExec, ProjectionExpr},
    },
};
use nearscan_join_order::{Condition, Distribution, Kind, Plan, PlannedJoin, Side};

use super::region::{Place, Region, renumbered, used_columns};

/// A plan, and what its columns are.
struct Built {
    plan: Arc<dyn ExecutionPlan>,
    outputs: Vec<Place>,
}

impl Built {
    fn index_of(&self, place: Place) -> Option<usize> {
        self.outputs.iter().position(|output| *output == place)
    }

    fn column(&self, place: Place) -> Option<Arc<dyn PhysicalExpr>> {
        let index = self.index_of(place)?;
        Some(Arc::new(Column::new(self.plan.schema().field(index).name(), index)))
    }
}

/// The joins of a region in an order, with the output of the region; none if it cannot be.
pub(super) fn rebuilt(region: &Region, order: &Plan) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(built) = build(region, order, &region.outputs)? else { return Ok(None) };
    let Plan::Join(_) = order else { return Ok(None) };
    let columns = region.outputs.iter().zip(&region.names).map(|(place, name)| {
        Some(ProjectionExpr { expr: built.column(*place)?, alias: name.clone() })
    });
    let Some(columns) = columns.collect::<Option<Vec<_>>>() else { return Ok(None) };
    Ok(Some(Arc::new(ProjectionExec::try_new(columns, built.plan)?)))
}

/// A tree of joins that returns at least `wanted`.
fn build(region: &Region, order: &Plan, wanted: &[Place]) -> Result<Option<Built>> {
    match order {
        Plan::Relation(relation) => {
            let Some(plan) = region.relations.get(*relation) else { return Ok(None) };
            let columns = 0..plan.schema().fields().len();
            let place = |column| Place { relation: *relation, column };
            Ok(Some(Built { plan: Arc::clone(plan), outputs: columns.map(place).collect() }))
        }
        Plan::Join(join) => build_join(region, join, wanted),
    }
}

fn build_join(region: &Region, join: &PlannedJoin, wanted: &[Place]) -> Result<Option<Built>> {
    let mut below = wanted.to_vec();
    for condition in &join.conditions {
        match condition {
            Condition::Equal(one, other) => below.extend([region.keys[*one], region.keys[*other]]),
            Condition::Other { id, .. } => {
                let other = &region.others[*id];
                below.extend(used_columns(&other.expr).iter().map(|used| other.columns[*used]));
            }
        }
    }
    let Some(left) = build(region, &join.left, &below)? else { return Ok(None) };
    let Some(right) = build(region, &join.right, &below)? else { return Ok(None) };
    let (table, probe) = match join.build {
        Side::Left => (left, right),
        Side::Right => (right, left),
    };
    let join_type = type_of(join.kind, join.build);
    let Some(on) = keys(region, join, &table, &probe) else { return Ok(None) };
    let Some(filter) = filter(region, join, &table, &probe)? else { return Ok(None) };
    let mode = match join.distribution {
        Distribution::Collected => PartitionMode::CollectLeft,
        Distribution::Partitioned => PartitionMode::Partitioned,
    };
    let all = match join_type {
        JoinType::LeftSemi | JoinType::LeftAnti => table.outputs,
        JoinType::RightSemi | JoinType::RightAnti => probe.outputs,
        _ => [table.outputs, probe.outputs].concat(),
    };
    let kept = (0..all.len()).filter(|column| wanted.contains(&all[*column]));
    let kept: Vec<usize> = kept.collect();
    let outputs = kept.iter().map(|column| all[*column]).collect();
    let plan = HashJoinExecBuilder::new(table.plan, probe.plan, on, join_type)
        .with_filter(filter.filter)
        .with_projection((kept.len() < all.len()).then_some(kept))
        .with_partition_mode(mode)
        .build_exec()?;
    Ok(Some(Built { plan, outputs }))
}

type Keys = Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)>;

/// The pairs of equal columns; none if there is none, or one is not there.
fn keys(region: &Region, join: &PlannedJoin, table: &Built, probe: &Built) -> Option<Keys> {
    let mut keys = Keys::new();
    for condition in &join.conditions {
        let Condition::Equal(one, other) = condition else { continue };
        let (one, other) = (region.keys[*one], region.keys[*other]);
        keys.push(match (table.column(one), probe.column(other)) {
            (Some(one), Some(other)) => (one, other),
            _ => (table.column(other)?, probe.column(one)?),
        });
    }
    Some(keys).filter(|keys| !keys.is_empty())
}

/// The filter of a join, if it has one.
struct Filtered {
    filter: Option<JoinFilter>,
}

/// The other conditions as one filter; none if a column is not there.
fn filter(
    region: &Region,
    join: &PlannedJoin,
    table: &Built,
    probe: &Built,
) -> Result<Option<Filtered>> {
    let mut columns: Vec<Place> = Vec::new();
    let mut conjunction: Option<Arc<dyn PhysicalExpr>> = None;
    for condition in &join.conditions {
        let Condition::Other { id, .. } = condition else { continue };
        let other = &region.others[*id];
        for used in used_columns(&other.expr) {
            if !columns.contains(&other.columns[used]) {
                columns.push(other.columns[used]);
            }
        }
        let number = |column: usize| {
            let place = other.columns.get(column)?;
            columns.iter().position(|known| known == place)
        };
        let expr = renumbered(&other.expr, number)?;
        conjunction = Some(match conjunction {
            Some(before) => Arc::new(BinaryExpr::new(before, Operator::And, expr)),
            None => expr,
        });
    }
    let mut fields: Vec<Field> = Vec::with_capacity(columns.len());
    let mut indices = Vec::with_capacity(columns.len());
    for place in columns {
        let (side, index, built) = match (table.index_of(place), probe.index_of(place)) {
            (Some(index), _) => (JoinSide::Left, index, table),
            (None, Some(index)) => (JoinSide::Right, index, probe),
            (None, None) => return Ok(None),
        };
        fields.push(built.plan.schema().field(index).clone());
        indices.push(ColumnIndex { index, side });
    }
    let schema = Arc::new(Schema::new(fields));
    let filter = conjunction.map(|expr| JoinFilter::new(expr, indices, schema));
    Ok(Some(Filtered { filter }))
}

/// The type of a hash join, whose table is over its left input.
const fn type_of(kind: Kind, build: Side) -> JoinType {
    match (kind, build) {
        (Kind::Inner, _) => JoinType::Inner,
        (Kind::FullOuter, _) => JoinType::Full,
        (Kind::LeftOuter, Side::Left) => JoinType::Left,
        (Kind::LeftOuter, Side::Right) => JoinType::Right,
        (Kind::Semi, Side::Left) => JoinType::LeftSemi,
        (Kind::Semi, Side::Right) => JoinType::RightSemi,
        (Kind::Anti, Side::Left) => JoinType::LeftAnti,
        (Kind::Anti, Side::Right) => JoinType::RightAnti,
    }
}
