// SPDX-License-Identifier: Apache-2.0
//! Implements TPC-H: it makes the data, runs the 22 queries and checks every answer.
//!
//! | module | does |
//! |---|---|
//! | [`generate`] | writes the eight tables as Parquet files |
//! | [`queries`] | the text of the queries, and what is needed to compare their answers |
//! | [`answers`] | stored answers, and the comparison with them |
//! | [`run`] | runs queries and reports time, answers and work on drives |
//! | [`compare`] | two reports side by side |
//!
//! The data is made by the `tpchgen` crates and is the same, byte for byte, on every machine and
//! with every number of threads. This is no audited benchmark: there are no refresh functions, no
//! throughput test, and the parameters of the queries are the validation ones.

#![forbid(unsafe_code)]

pub mod answers;
pub mod compare;
pub mod generate;
pub mod queries;
pub mod run;

mod error;
mod fused;
mod layout;
mod machine;
mod report;
mod scale;
mod statements;
mod tables;
mod versus;

pub use error::{Error, Result};
pub use layout::Layout;
pub use report::{Checked, QueryReport, RunReport, TimeSource};
pub use scale::ScaleFactor;
pub use tables::Table;
pub use versus::{Scanned, Versus};
