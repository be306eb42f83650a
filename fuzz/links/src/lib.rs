// SPDX-License-Identifier: Apache-2.0
//! Links to servers that break at a chosen message: [`Link`] is a TCP proxy before a server of
//! HTTP/2 that closes a connection, falls silent or is late at one frame.
//!
//! ```text
//! client --- Link --- server
//!              | frame 0, 1, 2 .. in each direction, over all connections
//!              `- strikes one of them
//! ```
//!
//! # What this crate does not do
//!
//! It reads no frame beyond its length, so it is of no use before TLS. It changes no byte.
//!
//! # Invariants
//!
//! - Each frame is passed on as a whole or not at all, in its order.
//! - At most one frame of a link is struck, by [`Link::strike`]; then it is as [`After`] says.
//! - A dropped link has closed its connections and ended its threads.
#![forbid(unsafe_code)]

mod frames;
mod link;

pub use link::{After, Direction, Fault, Link, Place, Strike};
