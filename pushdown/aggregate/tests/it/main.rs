// SPDX-License-Identifier: Apache-2.0
//! Tests grouping against a map of one row at a time.

mod direct;
mod grouping;
mod random;
mod spilling;
mod support;
