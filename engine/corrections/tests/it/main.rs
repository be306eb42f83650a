// SPDX-License-Identifier: Apache-2.0
//! Tests the corrections without the engine, on sessions of plain DataFusion.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod canary;
mod readme;
mod session;
mod switch;
