// SPDX-License-Identifier: Apache-2.0
//! Tests the reader from outside, over each engine, with and without faults.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod bench;
mod buffers;
mod cancel;
mod contents;
mod errors;
mod fallback;
mod helpers;
mod pool;
mod system;
