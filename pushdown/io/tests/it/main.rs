// SPDX-License-Identifier: Apache-2.0
//! Tests the reader from outside, over each engine, with and without faults.

mod ahead;
mod cancel;
mod contents;
mod errors;
mod fallback;
mod helpers;
mod pool;
