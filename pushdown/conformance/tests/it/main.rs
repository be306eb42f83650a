// SPDX-License-Identifier: Apache-2.0
//! Tests the suite on a right drive, and on drives with one mistake each.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod fake;
mod meaning;
mod notices;
mod packing;
mod reader;
mod values;
