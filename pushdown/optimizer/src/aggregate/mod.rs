// SPDX-License-Identifier: Apache-2.0
//! Replaces grouped aggregates in two phases by [`PartitionedAggregateExec`], whose hash tables
//! stay in the cache.
//!
//! ```text
//! AggregateExec: mode=FinalPartitioned      =>  PartitionedAggregateExec: gby=.., aggr=..
//!   RepartitionExec: Hash                         ..
//!     AggregateExec: mode=Partial
//!       ..
//! ```
//!
//! - `rule`: [`PartitionedAggregateRule`], its place among the rules.
//! - `plan`: which aggregates are replaced, and what is computed for them.
//! - `direct`: [`DirectAggregateExec`], which replaces aggregates by one number or date over
//!   windows of it: the keys of a window are in a short range, so their place in it is the index.
//! - `exec`: the operator of two phases; `collect`: takes the rows of all inputs; `run`: its
//!   streams; `spill`: the files of rows that memory is too short for.
//!
//! # Invariants
//!
//! - The output has the schema and the hash partitioning of the replaced node: a group is in the
//!   partition to which `RepartitionExec` would have sent it.
//! - Averages are derived from counts and sums by DataFusion's own accumulators.
//! - All rows are charged to the memory pool; those that do not fit are written to files.

mod collect;
mod direct;
mod exec;
mod plan;
mod rule;
mod run;
mod spill;

pub use direct::DirectAggregateExec;
pub use exec::PartitionedAggregateExec;
#[cfg(feature = "proto")]
pub(crate) use exec::replaced_over;
pub use rule::PartitionedAggregateRule;
