// SPDX-License-Identifier: Apache-2.0
//! Tests that the emulated drive passes the suite, is deterministic, and releases its memory.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod budget;
mod card;
mod compact;
mod conformance;
mod fast;
mod faults;
mod flash;
mod images;
mod merges;
mod scan;
mod study;
mod timing_model;
