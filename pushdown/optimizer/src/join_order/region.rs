// SPDX-License-Identifier: Apache-2.0
//! Takes a tree of hash joins apart into relations, columns and conditions.

use std::{collections::HashMap, sync::Arc};

use datafusion::{
    common::{
        JoinSide, JoinType, NullEquality,
        tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion},
    },
    error::Result,
    physical_expr::{PhysicalExpr, expressions::Column},
    physical_expr_common::physical_expr::is_volatile,
    physical_plan::{
        ExecutionPlan,
        joins::{
            HashJoinExec,
            utils::{JoinFilter, build_join_schema},
        },
        projection::ProjectionExec,
        replace_children_if_necessary,
    },
};
use nearscan_join_order::{self as order, Condition, Join, Kind, Query, RelationSet, Tree};

use super::{
    estimate,
    seen::{Stage, as_join},
};

/// Fraction of pairs that a condition other than an equality of columns is taken to leave.
const OTHER_SELECTIVITY: f64 = 0.3;

/// A column of a relation: its number, and the place in its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) relation: usize,
    pub(super) column: usize,
}

/// A condition that is not an equality of columns.
#[derive(Debug)]
pub(super) struct Other {
    /// Its columns are numbers in `columns`.
    pub(super) expr: Arc<dyn PhysicalExpr>,
    pub(super) columns: Vec<Place>,
}

/// Joins that can change places, and what they join.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) relations: Vec<Arc<dyn ExecutionPlan>>,
    /// Columns that are keys.
    pub(super) keys: Vec<Place>,
    pub(super) others: Vec<Other>,
    /// The output of the tree, and its names.
    pub(super) outputs: Vec<Place>,
    pub(super) names: Vec<String>,
    tree: Tree,
}

/// A part of a region.
struct Part {
    tree: Tree,
    outputs: Vec<Place>,
}

/// What is found on the way.
struct Found {
    stage: Stage,
    relations: Vec<Arc<dyn ExecutionPlan>>,
    keys: Vec<Place>,
    numbers: HashMap<Place, usize>,
    others: Vec<Other>,
}

impl Region {
    /// The region at the top of a plan, if there is a join.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>, stage: Stage) -> Option<Self> {
        let join = as_join(plan).filter(|join| is_movable(join, stage))?;
        let mut found = Found::new(stage);
        let part = found.join(join)?;
        let Found { relations, keys, others, .. } = found;
        let Part { tree, outputs } = part;
        let names = plan.schema().fields().iter().map(|field| field.name().clone()).collect();
        Some(Self { relations, keys, others, outputs, names, tree })
    }

    /// What is ordered; none if the rows of a relation are not known.
    pub(super) fn query(&self) -> Option<Query> {
        let estimates = self.relations.iter().map(estimate::of_plan).collect::<Option<Vec<_>>>()?;
        let columns = self.keys.iter().map(|place| {
            let column = estimates[place.relation].column(place.column);
            order::Column {
                relation: place.relation,
                distinct: column.distinct,
                range: column.range,
            }
        });
        let columns = columns.collect();
        let relations =
            self.relations.iter().zip(&estimates).map(|(plan, estimate)| order::Relation {
                rows: estimate.rows,
                rows_unfiltered: estimate.rows_unfiltered,
                row_bytes: estimate::row_bytes(&plan.schema()),
            });
        Some(Query { relations: relations.collect(), columns, tree: self.tree.clone() })
    }

    /// The tree as it was, over the relations of now.
    pub(super) fn with_relations(
        &self,
        plan: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace(plan, &mut self.relations.iter())
    }

    fn replace(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        relations: &mut std::slice::Iter<'_, Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !is_inside(&plan, Stage::Ordering) {
            return Ok(relations.next().map_or(plan, Arc::clone));
        }
        let children = plan.children().into_iter().map(Arc::clone);
        let children = children.map(|child| self.replace(child, relations));
        let children = children.collect::<Result<Vec<_>>>()?;
        replace_children_if_necessary(plan, children)
    }
}

impl Found {
    fn new(stage: Stage) -> Self {
        let (relations, keys, others) = (Vec::new(), Vec::new(), Vec::new());
        Self { stage, relations, keys, numbers: HashMap::new(), others }
    }

    fn visit(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Option<Part> {
        let plan = self.stage.seen(plan);
        if !is_inside(plan, self.stage) {
            let relation = self.relations.len();
            self.relations.push(Arc::clone(plan));
            let columns = 0..plan.schema().fields().len();
            let outputs = columns.map(|column| Place { relation, column }).collect();
            return Some(Part { tree: Tree::Relation(relation), outputs });
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let part = self.visit(projection.input())?;
            let outputs = columns_of(projection)?.into_iter();
            let outputs = outputs.map(|column| part.outputs.get(column).copied());
            return Some(Part { outputs: outputs.collect::<Option<_>>()?, ..part });
        }
        self.join(as_join(plan)?)
    }

    fn join(&mut self, join: &HashJoinExec) -> Option<Part> {
        let left = self.visit(join.left())?;
        let right = self.visit(join.right())?;
        let mut conditions = Vec::with_capacity(join.on().len());
        for (one, other) in join.on() {
            let one = *left.outputs.get(place_of(one)?)?;
            let other = *right.outputs.get(place_of(other)?)?;
            conditions.push(Condition::Equal(self.key(one), self.key(other)));
        }
        if let Some(filter) = join.filter() {
            conditions.push(self.other(filter, &left.outputs, &right.outputs)?);
        }
        let (_, columns) =
            build_join_schema(&join.left().schema(), &join.right().schema(), join.join_type());
        let outputs = columns.iter().map(|column| match column.side {
            JoinSide::Left => left.outputs.get(column.index).copied(),
            JoinSide::Right => right.outputs.get(column.index).copied(),
            JoinSide::None => None,
        });
        let mut outputs = outputs.collect::<Option<Vec<_>>>()?;
        if let Some(projection) = join.projection.as_deref() {
            let projected = projection.iter().map(|column| outputs.get(*column).copied());
            outputs = projected.collect::<Option<_>>()?;
        }
        let (kind, is_exchanged) = kind_of(*join.join_type())?;
        let (left, right) = match is_exchanged {
            true => (right.tree, left.tree),
            false => (left.tree, right.tree),
        };
        Some(Part { tree: Tree::Join(Box::new(Join { kind, left, right, conditions })), outputs })
    }

    /// The number of a key.
    fn key(&mut self, place: Place) -> usize {
        *self.numbers.entry(place).or_insert_with(|| {
            self.keys.push(place);
            self.keys.len() - 1
        })
    }

    fn other(&mut self, filter: &JoinFilter, left: &[Place], right: &[Place]) -> Option<Condition> {
        let columns = filter.column_indices().iter().map(|column| match column.side {
            JoinSide::Left => left.get(column.index).copied(),
            JoinSide::Right => right.get(column.index).copied(),
            JoinSide::None => None,
        });
        let columns = columns.collect::<Option<Vec<_>>>()?;
        let used = used_columns(filter.expression());
        let used = used.iter().filter_map(|column| columns.get(*column));
        let relations = used
            .fold(RelationSet::default(), |set, place| set.union(RelationSet::of(place.relation)));
        let id = self.others.len();
        self.others.push(Other { expr: Arc::clone(filter.expression()), columns });
        // Whether it is not true of NULLs is not looked into.
        let rejects_nulls = RelationSet::default();
        Some(Condition::Other { id, relations, rejects_nulls, selectivity: OTHER_SELECTIVITY })
    }
}

/// The columns that an expression refers to, by their places.
pub(super) fn used_columns(expr: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    let mut used = Vec::new();
    let visited = expr.apply(|node| {
        used.extend(node.downcast_ref::<Column>().map(Column::index));
        Ok(TreeNodeRecursion::Continue)
    });
    debug_assert!(visited.is_ok(), "the visitor does not fail");
    used.sort_unstable();
    used.dedup();
    used
}

/// An expression with its columns renumbered.
pub(super) fn renumbered(
    expr: &Arc<dyn PhysicalExpr>,
    number: impl Fn(usize) -> Option<usize>,
) -> Result<Arc<dyn PhysicalExpr>> {
    let renumbered = Arc::clone(expr).transform(|node| {
        let column = node.downcast_ref::<Column>();
        Ok(match column.and_then(|column| Some((column.name(), number(column.index())?))) {
            Some((name, index)) => Transformed::yes(Arc::new(Column::new(name, index)) as _),
            None => Transformed::no(node),
        })
    });
    renumbered.data()
}

/// Whether a node is part of a region, and no relation.
pub(super) fn is_inside(plan: &Arc<dyn ExecutionPlan>, stage: Stage) -> bool {
    let plan = stage.seen(plan);
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        // A projection above something else belongs to that.
        return columns_of(projection).is_some() && is_inside(projection.input(), stage);
    }
    as_join(plan).is_some_and(|join| is_movable(join, stage))
}

/// Whether a join can change places with others, or could when joins were ordered.
fn is_movable(join: &HashJoinExec, stage: Stage) -> bool {
    let is_key = |key: &Arc<dyn PhysicalExpr>, plan: &Arc<dyn ExecutionPlan>| {
        // Zeros of both signs are equal to some comparisons and not to others.
        let data_type = key.data_type(&plan.schema());
        place_of(key).is_some() && data_type.is_ok_and(|it| !it.is_floating() && !it.is_nested())
    };
    let mut keys = join.on().iter();
    let has_keys = keys.all(|(one, other)| is_key(one, join.left()) && is_key(other, join.right()));
    let is_volatile = join.filter().is_some_and(|filter| is_volatile(filter.expression()));
    let is_plain = join.null_equality() == NullEquality::NullEqualsNothing && !join.null_aware;
    kind_of(*join.join_type()).is_some()
        && has_keys
        && is_plain
        && !is_volatile
        && (join.fetch().is_none() || stage == Stage::Planned)
}

/// The kind of a join, and whether its right input is the preserved one.
const fn kind_of(join_type: JoinType) -> Option<(Kind, bool)> {
    Some(match join_type {
        JoinType::Inner => (Kind::Inner, false),
        JoinType::Left => (Kind::LeftOuter, false),
        JoinType::Right => (Kind::LeftOuter, true),
        JoinType::Full => (Kind::FullOuter, false),
        JoinType::LeftSemi => (Kind::Semi, false),
        JoinType::RightSemi => (Kind::Semi, true),
        JoinType::LeftAnti => (Kind::Anti, false),
        JoinType::RightAnti => (Kind::Anti, true),
        JoinType::LeftMark | JoinType::RightMark => return None,
    })
}

/// The columns that a projection returns, if it does nothing else.
fn columns_of(projection: &ProjectionExec) -> Option<Vec<usize>> {
    projection.expr().iter().map(|it| place_of(&it.expr)).collect()
}

fn place_of(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expr.downcast_ref::<Column>().map(Column::index)
}
