// SPDX-License-Identifier: Apache-2.0
//! Lowers DataFusion's expressions and aggregates to a fragment.
//!
//! Expressions arrive over the columns of the *table* (file columns, then partition columns); the
//! [`FragmentBuilder`] collects the columns, literals and string tests that they need and appends
//! steps to the predicate or the projection. What has no counterpart is refused with a reason;
//! nothing is lowered approximately.
//!
//! - `types`: which types have a counterpart, and their scales.
//! - `builder`: columns, literals, tests, programs; equal steps are shared. `expr` and
//!   `truth`, which call each other, add methods to it.
//! - `steps`: numbers and operators of steps.
//! - `expr`: expressions with a numeric value.
//! - `truth`: conditions; `strings`: conditions on byte strings; `ranges`: bounds on one number.
//! - `aggregate`: aggregates as states; `keys`: what they are grouped by.
//! - `rows`: output columns of rows.

pub(crate) mod aggregate;
pub(crate) mod builder;
pub(crate) mod expr;
pub(crate) mod keys;
mod order;
mod ranges;
pub(crate) mod rows;
mod steps;
mod strings;
#[cfg(test)]
mod tests;
pub(crate) mod truth;
pub(crate) mod types;

pub(crate) use builder::FragmentBuilder;

use crate::decision::Kept;

/// The result of lowering something.
pub(crate) type Lowered<T> = Result<T, Kept>;
