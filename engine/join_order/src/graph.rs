// SPDX-License-Identifier: Apache-2.0
//! Makes the join graph: a hyperedge for each condition of an inner join, and for each other join,
//! with the rules under which it may be applied.
//!
//! A condition of an inner join is an edge of its own, for it may be applied wherever its relations
//! meet; those of another join belong together. Equal columns are a class, and an inner join that
//! makes two classes equal gets an edge for each pair of their members: `a = b` and `b = c` let
//! `a` and `c` be joined first.
//!
//! A join without conditions is no edge. Where nothing else connects its inputs it is an edge
//! between all of their relations ([`Graph::cross`]).

use crate::{
    conflicts::{Operator, Rule, rules},
    query::{Condition, Error, Kind, Query, Tree},
    set::RelationSet,
};

/// A condition, or a join of another kind than inner with all of its conditions.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) kind: Kind,
    /// Relations that it refers to, of either input.
    pub(crate) left: RelationSet,
    pub(crate) right: RelationSet,
    pub(crate) rules: Vec<Rule>,
    pub(crate) conditions: Vec<Condition>,
}

impl Edge {
    pub(crate) fn relations(&self) -> RelationSet {
        self.left.union(self.right)
    }

    /// Whether a hash join can have it as a key.
    fn has_key(&self) -> bool {
        self.conditions.iter().any(|condition| matches!(condition, Condition::Equal(..)))
    }

    fn may_be_applied(&self, relations: RelationSet) -> bool {
        self.rules.iter().all(|rule| rule.holds(relations))
    }
}

/// A step of the tree in post-order.
#[derive(Debug)]
pub(crate) enum Step {
    Relation(usize),
    /// The join of the last two results, with its place among the operators.
    Join(usize),
}

/// The join graph.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The joins of the tree, those below before those above.
    pub(crate) operators: Vec<Operator>,
    /// The tree in post-order.
    pub(crate) steps: Vec<Step>,
    pub(crate) edges: Vec<Edge>,
    /// Edges of joins without conditions, between all relations of their inputs.
    pub(crate) cross: Vec<Edge>,
}

/// Whether joins without conditions may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crossing {
    No,
    Yes,
}

/// How two sets of relations can be joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joining {
    /// By an inner join, of all edges between them.
    Inner,
    /// By another join, an edge of which the first set is the preserved input.
    Directed(usize),
    /// By that with the sets exchanged.
    Exchanged(usize),
}

impl Graph {
    /// The graph of a query.
    ///
    /// # Errors
    /// If the query refers to what is not there.
    pub(crate) fn of(query: &Query) -> Result<Self, Error> {
        query.check()?;
        let mut builder = Builder { query, operators: Vec::new(), steps: Vec::new() };
        builder.add(&query.tree)?;
        let Builder { operators, steps, .. } = builder;
        let mut graph = Self { operators, steps, edges: Vec::new(), cross: Vec::new() };
        for place in 0..graph.operators.len() {
            graph.add_edges(query, place)?;
        }
        Ok(graph)
    }

    fn add_edges(&mut self, query: &Query, place: usize) -> Result<(), Error> {
        let operator = &self.operators[place];
        let rules = rules(&self.operators, place);
        let kind = operator.kind;
        // A side that is not referred to at all has to be there as a whole.
        let edge = |relations: RelationSet, conditions: Vec<Condition>| {
            let part = |side: RelationSet| match relations.intersection(side) {
                RelationSet::EMPTY => side,
                part => part,
            };
            let (left, right) = (part(operator.left), part(operator.right));
            Edge { kind, left, right, rules: rules.clone(), conditions }
        };
        if kind != Kind::Inner {
            let added = edge(operator.referenced, operator.conditions.clone());
            self.edges.push(added);
        } else if operator.conditions.is_empty() {
            let added = edge(RelationSet::EMPTY, Vec::new());
            self.cross.push(added);
        } else {
            for condition in operator.conditions.clone() {
                let added = edge(query.relations_of(&condition)?, vec![condition]);
                self.edges.push(added);
            }
        }
        Ok(())
    }

    /// The edges between two sets that are applied when they are joined: those whose relations are
    /// in both together, and in neither alone.
    pub(crate) fn between(
        &self,
        left: RelationSet,
        right: RelationSet,
    ) -> impl Iterator<Item = (usize, &Edge)> {
        let both = left.union(right);
        self.edges.iter().enumerate().filter(move |(_, edge)| {
            let relations = edge.relations();
            relations.is_subset_of(both)
                && !relations.is_subset_of(left)
                && !relations.is_subset_of(right)
        })
    }

    /// How two disjoint sets can be joined. Every edge is applied once: where its relations come
    /// together, or the sets cannot be joined.
    pub(crate) fn joining(
        &self,
        left: RelationSet,
        right: RelationSet,
        crossing: Crossing,
    ) -> Option<Joining> {
        let both = left.union(right);
        let (mut has_inner, mut has_key, mut directed) = (false, false, None);
        for (place, edge) in self.between(left, right) {
            if !edge.may_be_applied(both) {
                return None;
            }
            if edge.kind == Kind::Inner {
                has_inner = true;
                has_key |= edge.has_key();
                continue;
            }
            if directed.is_some() {
                return None;
            }
            directed = Some(match edge {
                edge if edge.left.is_subset_of(left) && edge.right.is_subset_of(right) => {
                    Joining::Directed(place)
                }
                edge if edge.left.is_subset_of(right) && edge.right.is_subset_of(left) => {
                    Joining::Exchanged(place)
                }
                _ => return None,
            });
        }
        match directed {
            Some(directed) => (!has_inner).then_some(directed),
            None if has_inner => has_key.then_some(Joining::Inner),
            None if crossing == Crossing::No => None,
            None => {
                let is_crossed = self.cross.iter().any(|edge| {
                    let is_between = (edge.left.is_subset_of(left)
                        && edge.right.is_subset_of(right))
                        || (edge.left.is_subset_of(right) && edge.right.is_subset_of(left));
                    is_between && edge.may_be_applied(both)
                });
                is_crossed.then_some(Joining::Inner)
            }
        }
    }
}

/// Walks the tree.
struct Builder<'a> {
    query: &'a Query,
    operators: Vec<Operator>,
    steps: Vec<Step>,
}

/// What is known of a subtree.
struct Subtree {
    relations: RelationSet,
    /// Columns that are equal in every row of the output.
    classes: Vec<Vec<usize>>,
}

impl Builder<'_> {
    fn add(&mut self, tree: &Tree) -> Result<Subtree, Error> {
        let join = match tree {
            Tree::Relation(relation) => {
                self.steps.push(Step::Relation(*relation));
                let relations = RelationSet::of(*relation);
                return Ok(Subtree { relations, classes: Vec::new() });
            }
            Tree::Join(join) => join,
        };
        let left = self.add(&join.left)?;
        let right = self.add(&join.right)?;
        let mut conditions = join.conditions.clone();
        // The other kinds have rows in which what their condition says does not hold; of those
        // without a partner the columns of the other side are NULL.
        let classes = match join.kind {
            Kind::Inner => merged(left.classes, right.classes, &mut conditions),
            Kind::LeftOuter | Kind::Semi | Kind::Anti => left.classes,
            Kind::FullOuter => Vec::new(),
        };
        let (mut referenced, mut rejects_nulls) = (RelationSet::EMPTY, RelationSet::EMPTY);
        for condition in &conditions {
            let relations = self.query.relations_of(condition)?;
            referenced = referenced.union(relations);
            rejects_nulls = rejects_nulls.union(match condition {
                Condition::Equal(..) => relations,
                Condition::Other { rejects_nulls, .. } => *rejects_nulls,
            });
        }
        self.operators.push(Operator {
            kind: join.kind,
            left: left.relations,
            right: right.relations,
            referenced,
            rejects_nulls,
            conditions,
        });
        self.steps.push(Step::Join(self.operators.len() - 1));
        Ok(Subtree { relations: left.relations.union(right.relations), classes })
    }
}

/// Merges the classes of both sides by the equalities of a join, which gets those that follow.
fn merged(
    left: Vec<Vec<usize>>,
    right: Vec<Vec<usize>>,
    conditions: &mut Vec<Condition>,
) -> Vec<Vec<usize>> {
    let mut classes: Vec<Vec<usize>> = left.into_iter().chain(right).collect();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let ordered = |one: usize, other: usize| (one.min(other), one.max(other));
    for condition in conditions.iter() {
        if let Condition::Equal(one, other) = condition {
            pairs.push(ordered(*one, *other));
        }
    }
    for place in 0..pairs.len() {
        let (one, other) = pairs[place];
        let mut take = |column: usize| {
            let class = classes.iter().position(|class| class.contains(&column));
            class.map_or_else(|| vec![column], |class| classes.swap_remove(class))
        };
        let (mut class, others) = (take(one), take(other));
        for (one, other) in class.iter().flat_map(|one| others.iter().map(move |it| (*one, *it))) {
            let pair = ordered(one, other);
            if !pairs.contains(&pair) {
                pairs.push(pair);
                conditions.push(Condition::Equal(pair.0, pair.1));
            }
        }
        class.extend(others);
        classes.push(class);
    }
    classes
}
