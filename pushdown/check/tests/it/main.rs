// SPDX-License-Identifier: Apache-2.0
//! Tests checks of a drive whose times are known.

#![forbid(unsafe_code)]

#[cfg(test)]
mod check;
#[cfg(test)]
mod fake;
