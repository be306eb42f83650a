// SPDX-License-Identifier: Apache-2.0
//! Runs the tests of the Python package, with the extension module of this build.

#![forbid(unsafe_code)]

#[cfg(test)]
mod package;
