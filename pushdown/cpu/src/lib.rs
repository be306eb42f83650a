// SPDX-License-Identifier: Apache-2.0
//! Runs scans on the host's processor: as a drive, which runs every command on Arrow buffers, and
//! for the engine itself ([`fused`]).
//!
//! ```text
//! job     version check, read whole chunks            job.rs
//! chunk   headers -> pages -> bodies decompressed     header.rs, pages.rs
//!         by codec                                    codecs.rs, snappy/
//!         -> batches of up to 8192 values or codes    chunk.rs, open_page.rs, dense.rs,
//!                                                     dictionary.rs, string_batch.rs, decode/
//! program predicate over every row -> bitmap          program.rs, compare.rs, strings.rs, like.rs,
//!                                                     contains.rs
//!         kept rows gathered                          selection.rs, vector.rs
//!         projection over them                        arithmetic.rs, select.rs, dates.rs
//! output  states                                      groups.rs, combine.rs, aggregate.rs,
//!                                                     fold.rs, floats.rs
//!         or rows                                     rows.rs, top.rs
//! merge   results of several jobs, row by row         merge.rs
//! ```
//!
//! Values of a batch are in columns. A step is one tight loop over slices; which loop is decided
//! once a batch, by whether both operands fit in 64 bits. The hot loops are compiled for several
//! levels of vector instructions, of which the processor's is chosen (`simd.rs`). Truth values are
//! two bitmaps, *true* and *false*, so that three-valued AND, OR and NOT are one or two bitwise
//! operations a word.
//!
//! Dictionary-encoded columns stay indexes until their values are needed: a comparison with
//! constants and a string test are evaluated once for each entry and looked up for each row; rows
//! are kept and grouped by their codes.
//!
//! # What this crate does not do
//!
//! It does not use DataFusion or plans: it runs commands, like any other drive. It uses the parquet
//! crate only in tests, to write files: the crate's readers trust a page more than a drive may
//! (they panic on indexes without a dictionary and on inconsistent sizes), do not expose indexes,
//! and hide the size that LZ4 needs.
//!
//! # Invariants
//!
//! - It agrees with the evaluator of the conformance crate. It answers `GroupCardinality` for a key
//!   outside of its range only, never because there are too many groups.
//! - Any bytes end in a status: allocations and loops are bounded by the rows of the unit and the
//!   bytes of the chunk, not by what a page declares; what strings repeat of those before them, by
//!   a limit for each batch.
//! - No more commands are taken than `in_flight_max`; each is cancelled within a batch.
#![deny(unsafe_code)]

mod aggregate;
mod arithmetic;
mod buffers;
mod chunk;
mod codecs;
mod combine;
mod compare;
mod contains;
mod dates;
mod decode;
mod dense;
mod dictionary;
mod drive;
mod entry_views;
mod error;
mod floats;
mod fold;
pub mod fused;
mod groups;
mod header;
mod job;
mod key_set;
mod like;
mod merge;
mod open_page;
mod pages;
mod pool;
mod program;
mod rows;
mod scope;
mod select;
mod selection;
mod session;
mod shared;
mod simd;
pub mod snappy;
mod string_batch;
mod strings;
#[cfg(test)]
mod tests;
mod top;
mod values;
mod vector;

pub use buffers::{Buffer, Buffers};
pub use drive::{CpuDrive, Options};
pub use header::PageHeader;
