// SPDX-License-Identifier: Apache-2.0
//! Orders joins by their estimated cost.
//!
//! [`choose`] takes relations with their rows, the columns that are compared with their distinct
//! counts, and the joins as they were written ([`Query`]). It returns the joins in the order of
//! least cost, with the side of each that its table is built of, and the rows that each is
//! estimated to return ([`Order`]). [`Estimates`] has the rows of a tree that is not to be ordered.
//!
//! ```text
//! query       what is ordered                              query.rs, set.rs
//! graph       hyperedges, and equalities that follow       graph.rs
//! conflicts   which joins may not change places            conflicts.rs
//! estimates   rows of a set of relations, cost of a join   cardinality.rs, cost.rs, estimates.rs
//! keys        what those of a join leave of the scans      reduction.rs
//! search      all orders of a small graph, or a greedy one enumerate.rs, greedy.rs
//! result      the cheapest tree                            table.rs, plan.rs, choose.rs
//! ```
//!
//! # What this crate does not do
//!
//! It does not know plans, expressions or files: who uses it gives the numbers and rebuilds the
//! plan. It orders joins that have equal columns, and joins without conditions; others are
//! relations to it.
//!
//! # Invariants
//!
//! - The joins in the new order return the rows of the original ones, NULLs and duplicates
//!   included.
//! - Every condition is applied once, where the relations it refers to come together, but for
//!   equalities that others imply.
//! - A join without conditions is in a new order only if there is none without; that of the
//!   statement stays if a new one gains too little.
//! - The search ends after [`STEPS_MAX`] steps.
#![forbid(unsafe_code)]

mod cardinality;
mod choose;
mod conflicts;
mod cost;
mod enumerate;
mod estimates;
mod graph;
mod greedy;
mod plan;
mod query;
mod reduction;
mod set;
mod table;
#[cfg(test)]
mod tests;

pub use choose::{Method, Order, STEPS_MAX, choose};
pub use cost::{COLLECTED_LARGE, CostModel};
pub use estimates::Estimates;
pub use plan::{Distribution, Plan, PlannedJoin, Side};
pub use query::{Column, Condition, Error, Join, Kind, Query, Relation, Tree};
pub use set::{RELATIONS_MAX, RelationSet};
