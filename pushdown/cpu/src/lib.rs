// SPDX-License-Identifier: Apache-2.0
//! A drive that is the host's own processor: every command, on Arrow buffers.
//!
//! ```text
//! job     version check, read whole chunks            job.rs, files.rs
//! chunk   headers -> pages -> bodies decompressed     header.rs, pages.rs
//!         -> batches of up to 8192 values or codes    chunk.rs, dictionary.rs, decode/
//! program predicate over every row -> bitmap          program.rs, compare.rs, strings.rs, like.rs
//!         kept rows gathered                          selection.rs, vector.rs
//!         projection over them                        arithmetic.rs, select.rs, dates.rs
//! output  states                                      groups.rs, combine.rs, aggregate.rs, fold.rs
//!         or rows                                     rows.rs, top.rs
//! merge   results of several jobs, row by row         merge.rs
//! ```
//!
//! Values of a batch lie in columns. A step is one tight loop over slices; which loop is decided
//! once a batch, by whether both operands fit in 64 bits. Truth values are two bitmaps, *true* and
//! *false*, so that three-valued AND, OR and NOT are one or two bitwise operations a word.
//!
//! What is stored as dictionary indexes stays indexes as long as nobody needs the values: a
//! comparison with constants and a string test are done once for each entry and looked up for each
//! row, rows are kept and grouped by their codes.
//!
//! # What is not here
//!
//! No DataFusion and no plan: what runs is a command, as on any other drive. No parquet crate
//! outside of tests, where it writes files: its readers trust a page more than a drive may (they
//! panic on indexes without a dictionary and on sizes that do not add up), do not give out indexes,
//! and keep from us the size that LZ4 needs.
//!
//! # Invariants
//!
//! - It agrees with the evaluator of the conformance crate. It answers `GroupCardinality` for a key
//!   outside of its range only, never because there are too many groups.
//! - Any bytes end in a status: nothing is allocated or looped over because a page claims it, but
//!   only as far as the unit has rows and the chunk has bytes.
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
mod fold;
mod groups;
mod header;
mod job;
mod like;
mod merge;
mod pages;
mod pool;
mod program;
mod rows;
mod scope;
mod select;
mod selection;
mod session;
mod strings;
#[cfg(test)]
mod tests;
mod top;
mod vector;

pub use drive::{CpuDrive, Options};
pub use header::PageHeader;
