// SPDX-License-Identifier: Apache-2.0
//! Tests the whole benchmark on arrays of the default length.

#![forbid(unsafe_code)]

#[cfg(test)]
mod pages;
