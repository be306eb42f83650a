// SPDX-License-Identifier: Apache-2.0
//! Any drive behind Arrow Flight: [`serve`] offers one, [`RemoteDrive`] is one that is elsewhere,
//! and [`HostedDrive`] is one in a process of its own on this machine.
//!
//! ```text
//! RemoteDrive --- Unix socket or TCP --- serve --- any Drive
//!   capabilities, snapshot, locate, reset, health      actions
//!   session: submit, cancel -> completions             one exchange a session
//! ```
//!
//! The protocol is on the page `docs/remote-protocol.md`.
//!
//! # What is not here
//!
//! No backend, and no authentication: whoever reaches the address may read what the drive holds.
//!
//! # Invariants
//!
//! - A result arrives as the drive wrote it: the check of a completion stays end to end.
//! - A peer that is gone or silent is a push-back, never a hang: every ticket ends within the time
//!   of the keep-alive, and what comes later is refused at once until there is a connection again.
//! - A session belongs to one connection, to one run of the server and to one epoch; it does not
//!   come back.
//! - What a client leaves behind is cancelled, and its leases are given back.
#![forbid(unsafe_code)]

mod address;
mod client;
mod convert;
mod error;
mod host;
mod protocol;
mod results;
mod server;

pub use address::Address;
pub use client::{Options, RemoteDrive};
pub use error::Error;
pub use host::{HostOptions, HostedDrive, Program, serve_hosted};
pub use protocol::{PROTOCOL_MAJOR, PROTOCOL_MINOR};
pub use server::{Listener, ServerOptions, serve};
