// SPDX-License-Identifier: Apache-2.0
//! Tests committed inputs, without libFuzzer and sanitizers.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod replay;
mod seeds;
