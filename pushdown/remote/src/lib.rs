// SPDX-License-Identifier: Apache-2.0
//! Serves drives over Arrow Flight: [`serve`] offers a drive, [`RemoteDrive`] is one on another
//! machine, and [`HostedDrive`] is one in a separate process on this machine.
//!
//! ```text
//! RemoteDrive --- Unix socket or TCP --- serve --- any Drive
//!   capabilities, snapshot, locate, reset, health      actions
//!   session: submit, cancel -> completions             one exchange a session
//!
//! Objects, RemoteStore --- the same connection --- serve --- the objects of a Store
//!   describe, list, change                             actions
//!   bytes                                              one stream an object, or one
//!                                                      request over HTTP/1.1
//!
//! RemoteApplications --- the same connection --- serve --- the applications of that store
//!   install, start, list, handlers, dead letters       actions, and a stream for a component
//!   run, table, watch                                  one stream a call
//! ```
//!
//! The protocol is on the page `docs/remote-protocol.md`.
//!
//! # Features
//!
//! `applications` lets a server serve applications, which brings a compiler of WebAssembly. Clients
//! have no need of it.
//!
//! # What this crate does not do
//!
//! It has no backend, and no store of its own: who serves one gives it ([`ServerOptions::store`]).
//! Without an access file every client that reaches the address may do everything, which is refused
//! at addresses that other machines may reach.
//!
//! # Invariants
//!
//! - A result arrives as the drive wrote it: the check of a completion stays end to end.
//! - A peer that is gone or silent is a push-back, never a hang: every ticket ends within the time
//!   of the keep-alive, and what comes later is refused at once until there is a connection again.
//! - A session belongs to one connection, to one run of the server and to one epoch; it cannot be
//!   resumed.
//! - The commands of a client that is gone are cancelled, and their leases released.
#![forbid(unsafe_code)]

pub mod access;
mod address;
pub mod applications;
pub mod audit;
mod buffers;
mod client;
mod convert;
mod error;
mod framing;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod host;
pub mod link;
mod object_store;
mod protocol;
mod results;
mod server;
mod text;

pub use address::Address;
pub use client::{
    ApplicationError, ApplicationErrorKind, FilesOf, More, ObjectError, ObjectErrorKind,
    ObjectUpload, Objects, Options, Reading, RemoteApplications, RemoteDrive, Security,
    TableReading, Tls, TlsOptions, Watching,
};
pub use error::{Denial, Error};
pub use host::{HostOptions, HostedDrive, Program, serve_hosted};
pub use link::{Link, LinkLimit, Throttled};
pub use object_store::{
    Connect, Peers, RemoteStore, Replica, Replicated, ReplicatedStore, Seen, Side, replicate,
};
pub use protocol::{PROTOCOL_MAJOR, PROTOCOL_MINOR};
pub use server::{
    Allowed, Applications, Exposure, Http1Patience, Listener, ServerOptions, ServerTls, serve,
};
