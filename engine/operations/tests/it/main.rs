// SPDX-License-Identifier: Apache-2.0
//! Tests the operations on tables over a store and a CPU drive.

#![forbid(unsafe_code)]

#[cfg(test)]
mod function;
#[cfg(test)]
#[path = "../../../../pushdown/applications/tests/it/guest.rs"]
mod guest;
#[cfg(test)]
mod make;
#[cfg(test)]
mod scan;
#[cfg(test)]
mod support;
