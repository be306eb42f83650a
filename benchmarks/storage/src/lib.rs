// SPDX-License-Identifier: Apache-2.0
//! Measures a storage server, `nearscan drive serve --store`, as its clients see it: [`objects`]
//! reads whole objects beside nginx, [`select`] compares a SELECT that is pushed to the server with
//! the same one on the host, and [`ingest`] times the way from a CSV object to a table, with a
//! server that is killed meanwhile.
//!
//! The server is a process of its own, bound to one processor; the client is this process, bound to
//! another. All times are measured, and all answers are checked with what was written.
//!
//! # What this crate does not do
//!
//! It prints nothing, and measures no network: both sides are on one machine.
#![forbid(unsafe_code)]

mod accounts;
mod error;
pub mod ingest;
pub mod objects;
mod processors;
mod program;
pub mod select;
mod spread;

use std::path::Path;

use tempfile::TempDir;

pub use error::Error;
pub use program::Program;
pub use spread::Spread;

/// How far a measurement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Steps that were measured.
    pub done: u64,
    /// All steps.
    pub all: u64,
}

/// A folder for what one measurement makes, which is removed with it.
fn folder_in(parent: &Path) -> Result<TempDir, Error> {
    tempfile::tempdir_in(parent).map_err(|error| Error::file("make a folder in", parent, &error))
}
