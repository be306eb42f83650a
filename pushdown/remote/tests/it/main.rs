// SPDX-License-Identifier: Apache-2.0
//! Tests drives behind Flight: they pass the suite over both transports, and every loss of a peer
//! is a push-back.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod bench;
mod certificates;
mod conformance;
mod dead_peers;
mod host;
mod lifecycle;
mod link;
mod listener;
mod messages;
mod objects;
mod plain;
mod security;
