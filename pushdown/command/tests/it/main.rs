// SPDX-License-Identifier: Apache-2.0
//! Tests the command format: encoding round-trips, corrupt bytes are refused, and the bytes of
//! known commands do not change undetected.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "helpers of tests: a panic shows where, and numbers are cut on purpose"
)]

mod any;
mod compact;
mod generated;
mod golden;
mod key_filters;
mod malformed;
mod merges;
mod results;
mod round_trip;
mod rules;
mod rules_of_shapes;
mod sections;
mod shapes;
