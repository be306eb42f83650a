// SPDX-License-Identifier: Apache-2.0
//! Tests orders against all there are, and against rows.
//!
//! Queries are random: the seed is in the message of what fails.

mod estimates;
mod large;
mod orders;
mod random;
mod rows;
