// SPDX-License-Identifier: Apache-2.0
//! Corrects DataFusion: queries that it answers wrongly, or refuses without need.
//!
//! This crate registers everything that Nearscan does differently from DataFusion 55 because
//! DataFusion is wrong. Each [`Correction`] has a name, a sentence about DataFusion's behaviour,
//! upstream issues if there are any, and a *canary*: a test on plain DataFusion that fails once
//! DataFusion is right, so that the correction can be removed. The generated `README.md` of this
//! crate lists them.
//!
//! There is one entry point for sessions, [`install`], one for statements, [`plan_statement`], and
//! one switch, the [`CorrectionSet`], which both read at every statement. With
//! [`CorrectionSet::NONE`] plans are those of plain DataFusion.
//!
//! ```text
//! text -- parse --> statement -- plan_statement --> logical plan
//!                                  |  statement::      rewrites syntax
//!                                  v
//!      analyzer rules      logical::, subqueries::     correct subqueries and set operations
//!      optimizer rules     expressions::, logical::    wrap DataFusion's own rules
//!      query planner       planner                     hides what physical planning misreads
//!      physical rules      physical::                  wrap DataFusion's own rules
//! ```
//!
//! A correction costs a query that does not meet the bug no more than one inspection of the plan:
//! each begins with a cheap check that most plans do not pass. Two corrections that need the
//! footers of Parquet files are *not* here but in the engine's Parquet tables, and so is the
//! validation of such files.

#![forbid(unsafe_code)]

mod barrier;
#[cfg(feature = "proto")]
pub mod codec;
pub mod depth;
mod expressions;
mod float_extremes;
mod install;
mod logical;
pub mod pass_through;
mod physical;
mod planner;
mod registry;
mod rule;
mod set;
mod statement;
mod subqueries;
mod unchanged;
mod walk;

pub use barrier::behind_barrier;
pub use install::install;
pub use physical::null_extension::input_of_barrier;
pub use registry::{CORRECTIONS, Correction, Description};
pub use rule::ReadCorrections;
pub use set::{CorrectionSet, UnknownCorrection};
pub use statement::{parse_and_rewrite, parse_statement, plan_statement};
pub use unchanged::input_of_unchanged;
