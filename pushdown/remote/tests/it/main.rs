// SPDX-License-Identifier: Apache-2.0
//! A drive behind Flight is the drive that it is: it passes the suite over both transports, and
//! whatever becomes of its peer is a push-back.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod bench;
mod conformance;
mod dead_peers;
mod host;
mod lifecycle;
mod listener;
mod messages;
