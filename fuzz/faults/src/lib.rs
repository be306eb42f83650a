// SPDX-License-Identifier: Apache-2.0
//! Simulates faults: each query runs once for each unit of work and each kind of fault that can
//! strike it, then with seeded mixtures of all kinds, and under memory limits.
//!
//! ```text
//! data    tables with small row groups, so that a query has several units
//! cases   the 22 queries of TPC-H, and merges
//! bench   one engine and one emulated drive for one run
//! served  the drive behind a link that breaks
//! waiting what is not over yet, for a bounded time
//! leaks   what a run has left behind
//! oracle  the rows without a drive, and the stored answers
//! walk    which faults, where: one run after the other
//! limits  the same queries with little memory
//! tally   what came of it, as a table and as JSON
//! ```
//!
//! A drive may also be served, and each message between it and the engine be the last one, or late:
//! links are struck by `nearscan_links`.
//!
//! The emulated drive defines the effect of each fault (`nearscan_emulator::faults`); this crate
//! checks the reaction of the rest of the program. After each run the rows are those of the same
//! query without a drive, and nothing is left: no command in flight, no device memory, no byte of
//! the query's memory pool, no task, thread or open file.
//!
//! # What this crate does not do
//!
//! It injects no faults itself, and none into the host's own memory or files: data that cannot be
//! read at all is an error of the query, with a drive and without. So is an object whose server
//! is gone for good: the error names it.
//!
//! # Invariants
//!
//! - Each run has its own engine and drive, so a leak of one run does not affect the next.
//! - What is printed of a run is enough to make it again: query, faults and seed.

#![forbid(unsafe_code)]

pub mod bench;
pub mod cases;
pub mod data;
pub mod leaks;
pub mod limits;
pub mod oracle;
pub mod served;
pub mod tally;
mod waiting;
pub mod walk;

pub use bench::{Answer, Bench, Placing, Setting};
pub use cases::Case;
pub use data::Data;
pub use leaks::{Baseline, Leak};
pub use served::{Remote, Served};
