// SPDX-License-Identifier: Apache-2.0
//! The emulated drive passes the suite, repeats itself, and gives everything back.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod budget;
mod card;
mod conformance;
mod fast;
mod faults;
mod merges;
mod scan;
mod study;
mod timing_model;
