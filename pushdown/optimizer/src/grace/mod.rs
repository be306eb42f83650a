// SPDX-License-Identifier: Apache-2.0
//! Joins whose build side does not fit into memory: grace hash joins.
//!
//! ```text
//! HashJoinExec: mode=Partitioned   =>  GraceHashJoinExec: mode=Partitioned
//! ```
//!
//! DataFusion's hash join ends the query if the memory pool refuses its build side. The operator
//! here collects the build side first. If it fits, DataFusion's join runs over it, and over the
//! probe side as it comes. If it does not, both sides are written to temporary files by a hash of
//! their keys, and DataFusion's join runs over one pair of files after the other
//! ([Kitsuregawa et al. 1983](https://doi.org/10.1007/BF03037022)). No row was delivered before
//! that is decided, and no estimate is needed for it.
//!
//! - `rule`: which joins are replaced, and which collected builds are repartitioned, so that they
//!   can be.
//! - `exec`: the operator; `run`: the stream of one partition; `build`: collects a side within a
//!   budget; `split`: writes rows to files by their keys; `inner`: DataFusion's join over rows that
//!   are at hand.
//!
//! # What this module does not do
//!
//! It hashes and joins nothing itself, and changes nothing where the memory pool has no limit: the
//! engine installs the rules only with a limit, and the operator asks the pool again. Null-aware
//! anti joins stay DataFusion's, because they ask of the whole probe side whether it has NULL.
//!
//! # Invariants
//!
//! - Rows of equal keys are in the same pair of files, NULL keys too.
//! - Rows come in no order: a join is replaced only if nothing above relies on one.
//! - A build side that is held is charged to the memory pool, its hash table included, before
//!   DataFusion's join takes it.

mod build;
mod exec;
mod inner;
mod rule;
mod run;
mod split;

pub use exec::GraceHashJoinExec;
pub use rule::GraceJoinRule;
