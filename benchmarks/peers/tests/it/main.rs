// SPDX-License-Identifier: Apache-2.0
//! Tests the comparison with other engines on small tables, and its modules in Python.

#![forbid(unsafe_code)]

#[cfg(test)]
mod suites;
