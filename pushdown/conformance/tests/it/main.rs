// SPDX-License-Identifier: Apache-2.0
//! The suite, tried on a drive that is right and on drives that are wrong in one point each.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod fake;
mod meaning;
mod notices;
mod reader;
mod values;
