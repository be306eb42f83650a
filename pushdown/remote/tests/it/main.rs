// SPDX-License-Identifier: Apache-2.0
//! Tests drives behind Flight: they pass the suite over both transports, and every loss of a peer
//! is a push-back.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod application_access;
mod application_calls;
mod application_events;
mod applications;
mod bench;
mod certificates;
mod conformance;
mod dead_peers;
// Guests of tests of the applications themselves.
#[path = "../../../applications/tests/it/guest.rs"]
mod guest;
mod host;
mod http1;
mod http1_faults;
mod in_store;
mod lifecycle;
mod link;
mod link_faults;
mod listener;
mod messages;
mod objects;
mod replicas;
mod security;
