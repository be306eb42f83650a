// SPDX-License-Identifier: Apache-2.0
//! Runs the SQL tests of `slt/`: every file once per drive setting, with one expected result.
//!
//! | module | does |
//! |---|---|
//! | [`data`] | writes the Parquet files that the tests read, and makes tables of them |
//! | [`fixtures`] | what is in those that are not of TPC-H |
//! | [`settings`] | the drive settings, and which of them this build can run |
//! | [`database`] | the engine as the `sqllogictest` crate sees one |
//! | [`render`] | how a value is written in an expected result |
//! | [`suite`] | finds the files and runs one of them |
//! | [`rules`] | what a file must not do |
//! | [`third_party`] | other people's suites, on Parquet copies of their tables |
//!
//! Expected results come from DuckDB or from the stored answers of TPC-H, never from this engine:
//! nothing here can write a `.slt` file. `generate.py` does, and the README says how.
//!
//! Invariants:
//! - a setting never changes an expected result, so that no file has a condition on a setting;
//! - each file has its own engine, so that no file sees what another did;
//! - a setting whose drive is not there is reported as ignored, with the reason; it never passes.

#![forbid(unsafe_code)]

pub mod data;
pub mod database;
pub mod fixtures;
pub mod render;
pub mod rules;
pub mod settings;
pub mod suite;
pub mod third_party;

mod error;

pub use error::{Error, Result};
