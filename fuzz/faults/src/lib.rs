// SPDX-License-Identifier: Apache-2.0
//! Fault simulation: each query runs once for each unit of work and each kind of fault that can
//! strike it, then with seeded mixtures of all kinds, and under limits of memory.
//!
//! ```text
//! data    tables with small row groups, so that a query has several units
//! cases   the 22 queries of TPC-H, and merges
//! bench   one engine and one emulated drive for one run
//! leaks   what a run has left behind
//! oracle  the rows without a drive, and the stored answers
//! walk    which faults, where: one run after the other
//! limits  the same queries with little memory
//! tally   what came of it, as a table and as JSON
//! ```
//!
//! The emulated drive says what it does of each fault (`nearscan_emulator::faults`); here is
//! checked what the rest of the program makes of it. After each run the rows are those of the same
//! query without a drive, and nothing is left: no command in flight, no device memory, no byte of
//! the query's memory pool, no task, thread or open file.
//!
//! # What is not here
//!
//! No fault is made here, and none is made in the host's own memory or files: what nobody could
//! read in the first place is an error of the query, with a drive and without.
//!
//! # Invariants
//!
//! - A run has an engine and a drive of its own, so what one run leaves behind is not the next
//!   one's.
//! - What is printed of a run is enough to make it again: query, faults and seed.

#![forbid(unsafe_code)]

pub mod bench;
pub mod cases;
pub mod data;
pub mod leaks;
pub mod limits;
pub mod oracle;
pub mod tally;
pub mod walk;

pub use bench::{Answer, Bench, Placing, Setting};
pub use cases::Case;
pub use data::Data;
pub use leaks::{Baseline, Leak};
