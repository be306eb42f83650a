// SPDX-License-Identifier: Apache-2.0
//! Groups and aggregates rows on the host, in partitions whose hash tables stay in the cache.
//!
//! A hash table of all groups is larger than the caches of a core, so that every row waits for main
//! memory. Here rows are first written to partitions by their hash (radix partitioning), which
//! touches memory in order; then each partition, of a few thousand groups, is aggregated by a table
//! of its own.
//!
//! ```text
//! collect  one collector a thread                         collect.rs
//!          keys packed to words, or to bytes              keys/
//!          groups of a small table while groups repeat,   table.rs, fold.rs
//!          otherwise rows, sorted by partition            block.rs
//! merge    one merger a partition of the output: range   merge.rs
//!          by range, a table over all blocks              merging.rs
//! spill    blocks in a file, partition by partition       spill.rs
//! direct   without partitions, of keys in a short range   direct.rs
//! ```
//!
//! A merger that may not hold the groups of a partition passes over its rows several times, and
//! keeps a share of the groups each time.
//!
//! # What this crate does not do
//!
//! It does not use DataFusion or plans, evaluates no expressions, and computes no hash that others
//! rely on: keys, arguments and hashes are given. It computes counts, sums, minimums and maximums
//! only; what is derived from them, such as an average, is derived by its user.
//!
//! # Invariants
//!
//! - A group is in one partition only, that of its hash; rows of equal keys must have equal hashes.
//! - NULL is a key like any other. NULL arguments do not count.
//! - Sums of integers wrap, as those of DataFusion do. Sums of floats are added in any order.
#![forbid(unsafe_code)]

mod block;
mod collect;
mod column;
mod direct;
mod error;
mod fold;
mod keys;
mod merge;
mod merging;
mod shape;
mod spill;
mod table;

pub use block::Block;
pub use collect::Collector;
pub use column::Column;
pub use direct::{DirectGroups, DirectKeys};
pub use error::Error;
pub use keys::KeyLayout;
pub use merge::{Blocks, Merger, Step};
pub use merging::Groups;
pub use shape::{Fold, Limits, Shape, State, Values};
pub use spill::{SpillReader, Spilled, write_blocks};
