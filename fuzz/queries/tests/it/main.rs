// SPDX-License-Identifier: Apache-2.0
//! Tests that a fixed number of random queries returns the rows of DuckDB in every configuration.
//!
//! `NEARSCAN_RANDOM_SEED` chooses others; as many as one likes: `cargo xtask fuzz sql`.

#![forbid(unsafe_code)]

#[cfg(test)]
mod sql;
