// SPDX-License-Identifier: Apache-2.0
//! A drive that is the host's own processor: every command, on Arrow buffers and the parquet crate.
//!
//! ```text
//! job     version check, read whole chunks            job.rs, files.rs
//! chunk   pages -> batches of up to 8192 values       chunk.rs, pages.rs
//! program predicate over every row -> bitmap          program.rs, arithmetic.rs, compare.rs
//!         kept rows gathered, projection over them    vector.rs
//! output  states (aggregate.rs, groups.rs) or rows (rows.rs)
//! ```
//!
//! Values of a batch lie in columns. A step is one tight loop over slices; which loop is decided
//! once a batch, by whether both operands fit in 64 bits. Truth values are two bitmaps, *true* and
//! *false*, so that three-valued AND, OR and NOT are one or two bitwise operations a word.
//!
//! # What is not here
//!
//! No DataFusion and no plan: what runs is a command, as on any other drive.
//!
//! # Invariants
//!
//! - It agrees with the evaluator of the conformance crate, and never answers `GroupCardinality`.
//! - Bytes that contradict Parquet end in a status. What the parquet crate would take for granted
//!   (a dictionary before its indexes, as many values as rows, level encodings) is checked in
//!   `pages.rs` before it gets there.
//! - No more commands are taken than `in_flight_max`; each is cancelled within a batch.
#![forbid(unsafe_code)]

mod aggregate;
mod arithmetic;
mod chunk;
mod combine;
mod compare;
mod dates;
mod decode;
mod dictionary;
mod drive;
mod error;
mod files;
mod fold;
mod groups;
mod header;
mod job;
mod like;
mod pages;
mod pool;
mod program;
mod rows;
mod scope;
mod select;
mod session;
mod strings;
mod top;
mod vector;

pub use drive::{CpuDrive, Options};
