// SPDX-License-Identifier: Apache-2.0
//! Links to servers that break at a chosen message: [`Link`] is a TCP proxy before a server of
//! HTTP/2 or HTTP/1.1 that closes a connection, falls silent or is late at one frame of HTTP/2, or
//! at one head or part of a body of HTTP/1.1.
//!
//! ```text
//! client --- Link --- server
//!              | frame 0, 1, 2 .. in each direction, over all connections
//!              `- strikes one of them
//! ```
//!
//! # What this crate does not do
//!
//! It reads no frame and no head beyond the length, so it is of no use before TLS. It changes no
//! byte.
//!
//! # Invariants
//!
//! - Each frame is passed on as a whole or not at all, in its order.
//! - At most one frame of a link is struck, by [`Link::strike`]; then it is as [`After`] says.
//! - A dropped link has closed its connections and ended its threads.
#![forbid(unsafe_code)]

mod frames;
mod link;
mod parts;

pub use link::{After, Direction, Fault, Link, Place, Strike, Wire};
