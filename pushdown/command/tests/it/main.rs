// SPDX-License-Identifier: Apache-2.0
//! The command format from outside: what is encoded comes back, what is damaged is refused, and the
//! bytes of known commands do not change unnoticed.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "helpers of tests: a panic shows where, and numbers are cut on purpose"
)]

mod any;
mod generated;
mod golden;
mod malformed;
mod merges;
mod results;
mod round_trip;
mod rules;
mod rules_of_shapes;
mod sections;
mod shapes;
