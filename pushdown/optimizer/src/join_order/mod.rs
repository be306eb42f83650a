// SPDX-License-Identifier: Apache-2.0
//! Changes the order of joins to the one that is estimated to cost least.
//!
//! ```text
//! HashJoinExec                        HashJoinExec
//!   HashJoinExec               =>       nation, filtered
//!     orders                            HashJoinExec
//!     customer                            customer
//!   nation, filtered                      orders
//! ```
//!
//! - `rule`: [`JoinOrderRule`], its place among the rules.
//! - `region`: takes trees of hash joins apart into relations, columns and conditions.
//! - `estimate`: rows and values of the relations.
//! - `counted`: different values of columns and how values are spread, from the facts about files;
//!   `distribution`: the share of rows in an interval.
//! - `rebuild`: makes hash joins of the order that was chosen.
//! - `rows`: [`JoinRows`], estimates the joins of a finished plan, for EXPLAIN; `seen`: looks past
//!   what later rules have added and replaced; `show`: the text; `last`: [`LastPlanRule`], which
//!   keeps the finished plan.
//! - `shares`: what the keys of joins leave of the rows of scans, for the cost of placement.
//! - `size`: estimates of operators for other rules.
//!
//! Orders are enumerated and compared by the crate `nearscan-join-order`.
//!
//! # What this module does not do
//!
//! It reads no files: rows and bounds are those that scans state, and different values are counted
//! by the table provider. Joins that are null-aware, that
//! compare NULL with NULL, that return marks, or whose keys are not columns stay where they are and
//! are relations to the joins around them.
//!
//! # Invariants
//!
//! - The new tree has the schema of the old one, or the old one stays.
//! - If the rows of a relation are not known, the old tree stays.
//! - Rows come in another order than before, which no hash join promises.

mod counted;
mod distribution;
mod estimate;
mod last;
mod rebuild;
mod region;
mod rows;
mod rule;
mod seen;
mod shares;
mod show;
mod size;

pub(crate) use estimate::share_kept;
pub use last::LastPlanRule;
pub use rows::JoinRows;
pub use rule::JoinOrderRule;
pub(crate) use shares::KeyShares;
pub(crate) use size::{distinct_of, row_bytes_of, rows_of};
