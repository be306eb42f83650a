// SPDX-License-Identifier: Apache-2.0
//! The CPU drive passes the suite, alone and under load, and keeps to the contract of a drive.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod conformance;
mod contract;
mod fused;
mod fused_drive;
