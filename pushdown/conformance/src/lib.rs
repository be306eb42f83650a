// SPDX-License-Identifier: Apache-2.0
//! Implements the conformance suite, which every drive has to pass.
//!
//! ```text
//! values --pages--> column chunks --file--> drive --> rows \
//!    \                                                      compare
//!     `--> rows --evaluator-------------------------> rows /
//! ```
//!
//! - [`evaluator`] defines the meaning of a command, one row at a time. It shares no code with any
//!   backend.
//! - [`pages`] writes Parquet column chunks from literal values, in every layout that writers use
//!   and in some that they could, and corrupt ones.
//! - [`check`] runs all cases against a drive and returns a [`Report`].
//! - [`sample`] is one small file and commands over it, for tests of a single drive.
//!
//! A merge has several files, and its result is the rows of its scans, sorted.
//!
//! A backend's test is one line:
//!
//! ```text
//! let report = nearscan_conformance::check(&drive);
//! assert!(report.is_clean(), "{report}");
//! ```
//!
//! # What this crate does not do
//!
//! No Arrow, no parquet crate, no Snappy crate, no rows computed by a backend: a mistake that two
//! backends share would go unseen. No file from outside.
//!
//! # Invariants
//!
//! - Whatever the data, a drive that answers with rows answers with the evaluator's rows.
//! - A drive may refuse only where the format says that it may: each case lists the statuses it
//!   tolerates, most list none.
//! - Damaged chunks end in a status or a failure within a bounded time, or in the right rows; never
//!   in wrong ones.
#![forbid(unsafe_code)]

mod blocks;
mod case;
mod cases;
mod data;
pub mod evaluator;
mod executor;
mod file;
mod fragments;
mod judge;
mod merge_executor;
pub mod pages;
mod random;
mod report;
pub mod sample;
mod suite;
mod tables;
mod values;

pub use case::{Case, Expectation, MergeCase};
pub use data::{ColumnData, Presence, Table, Values};
pub use random::Random;
pub use report::{Failed, Report};
pub use suite::{Options, check, check_watched, check_with};
pub use tables::random_column;
