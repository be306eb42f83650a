// SPDX-License-Identifier: Apache-2.0
//! Corrections of DataFusion: queries that it answers wrongly, or refuses without need.
//!
//! What Nearscan does differently from DataFusion 55 because DataFusion is wrong is registered
//! here. Each [`Correction`] has a name, a sentence about what DataFusion does, upstream issues
//! where there are some, and a *canary*: a test on plain DataFusion that fails once DataFusion is
//! right, and says that the correction can go. The generated `README.md` of this crate lists them.
//!
//! There is one way in for sessions, [`install`], one for statements, [`plan_statement`], and one
//! switch, the [`CorrectionSet`] that both ask for at every statement. With
//! [`CorrectionSet::NONE`] plans are those of plain DataFusion.
//!
//! ```text
//! text -- parse --> statement -- plan_statement --> logical plan
//!                                  |  statement::      rewrites syntax
//!                                  v
//!      analyzer rules      logical::, subqueries::     say what a subquery, a set operation means
//!      optimizer rules     expressions::, logical::    wrap DataFusion's own rules
//!      query planner       planner                     hides what physical planning misreads
//!      physical rules      physical::                  wrap DataFusion's own rules
//! ```
//!
//! A correction costs those who do not meet the bug no more than a look at the plan: each begins
//! with a test that most plans fail. What is *not* here: two corrections that need the footers of
//! Parquet files, which the engine's Parquet tables make, and the validation of such files.

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
mod set;
mod statement;
mod subqueries;
mod walk;

pub use barrier::behind_barrier;
pub use install::{ReadCorrections, install};
pub use physical::null_extension::input_of_barrier;
pub use registry::{CORRECTIONS, Correction, Description};
pub use set::{CorrectionSet, UnknownCorrection};
pub use statement::{parse_statement, plan_statement};
