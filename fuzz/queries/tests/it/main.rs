// SPDX-License-Identifier: Apache-2.0
//! A fixed number of random queries gives the rows of DuckDB in every way.
//!
//! `NEARSCAN_RANDOM_SEED` chooses others; as many as one likes: `cargo xtask fuzz sql`.

#![forbid(unsafe_code)]

#[cfg(test)]
mod sql;
