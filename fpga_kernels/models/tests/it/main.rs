// SPDX-License-Identifier: Apache-2.0
//! The kernels as a host sees them, and as C++: test benches under several compilers, the check of
//! what the synthesis tool accepts, and commands of this project's own encoder run end to end.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod benches;
mod end_to_end;
mod replay;
mod synthesizable;
