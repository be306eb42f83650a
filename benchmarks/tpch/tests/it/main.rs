// SPDX-License-Identifier: Apache-2.0
//! Tests of the benchmark as a whole, in one binary because linking the engine takes seconds.

#![forbid(unsafe_code)]

#[cfg(test)]
mod answers;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod layouts;
#[cfg(test)]
mod placement;
#[cfg(test)]
mod statistics;
