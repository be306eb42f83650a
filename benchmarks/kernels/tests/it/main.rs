// SPDX-License-Identifier: Apache-2.0
//! Tests of the whole benchmark on arrays of the length that it takes by itself.

#![forbid(unsafe_code)]

#[cfg(test)]
mod pages;
