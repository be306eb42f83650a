// SPDX-License-Identifier: Apache-2.0
//! Repeats the SmartSSD study: it runs and checks the kernels, computes their times from their
//! counters by the time model, and shows the figures beside the study's.
//!
//! | module | does |
//! |---|---|
//! | [`data`] | seeded arrays, and what the right answers are |
//! | [`builds`] | which builds of the kernels the tables need |
//! | [`runs`] | runs each of them, checks its answer, times it by its counters |
//! | [`fast`] | does so with the fast set, and finds how many units are enough |
//! | [`host`] | the same jobs as loops of this machine, measured |
//! | [`tables`] | the study's tables beside ours |
//! | [`judge`] | what was set, what is compared, what was aimed at, and whether it holds |
//! | [`plot`] | the same as figures |
//! | [`report`] | all of it as text and as JSON |
//!
//! # Invariants
//!
//! - A figure comes from the counters of a run whose answer was right, never from a formula for
//!   the counters.
//! - Measured and modelled never share a column. A ratio of the two says in its title that it is
//!   one.
//! - The study's own numbers are in `study` only, and only errors are computed from them.

#![forbid(unsafe_code)]

pub mod builds;
pub mod data;
pub mod fast;
pub mod host;
pub mod judge;
pub mod plot;
pub mod report;
pub mod runs;
pub mod tables;

mod error;
mod study;
mod table;

pub use error::{Error, Result};
pub use table::{Cell, Column, Table};
