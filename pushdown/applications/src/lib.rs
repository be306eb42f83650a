// SPDX-License-Identifier: Apache-2.0
//! Runs applications beside the objects of a storage server: WebAssembly components that are
//! installed at run time, answer requests, make tables and handle events.
//!
//! ```text
//! install, start, run, table       Applications        log of changes, published events
//!          |                            |                            |
//!        Calls ---------------------- Sandbox                   Dispatcher
//!                                       |                            |
//!                 objects, attributes, tables, log, clock, events <--+
//! ```
//!
//! What an application may call is in `wit`; the page `docs/applications.md` has the rest.
//!
//! # What this crate does not do
//!
//! It has no network and no SQL: a server calls [`Applications`], and an engine implements
//! [`Tables`]. It has no users: who may install or call is the server's to know, which can restrict
//! a call by [`Rights`]. Compiled code is not kept on disk. The time that a component takes to be
//! compiled is not limited, so installing is for those whom the server trusts with that.
//!
//! # Invariants
//!
//! - An application reaches nothing but the host functions: no file, no socket, no variable, no
//!   input; and through them only collections that its manifest names.
//! - A call ends: by itself, or at a limit of its fuel, time, memory, tables, stack or resources,
//!   which is a [`Fault`] that says which. The server and all other calls go on.
//! - An installed application is there as a whole or not at all, also after a crash.
//! - An event of an object is delivered to each handler at least once, in order for each object; or
//!   it is a dead letter. A handler's position is never ahead of that.
//! - A request in the command object is answered once for its id.
#![forbid(unsafe_code)]

mod bindings;
mod call;
mod calls;
mod causes;
mod commands;
mod dead_letters;
mod dispatcher;
mod error;
mod event;
mod fault;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod handler;
mod handlers;
mod host;
mod journal;
mod limiter;
mod limits;
mod manifest;
mod pack;
mod publisher;
mod refusal;
mod registry;
mod request;
mod resources;
mod rights;
mod sandbox;
mod service;
mod signature;
mod system;
mod table_stream;
mod tables;
mod template;

pub use call::Level;
pub use dead_letters::DeadLetter;
pub use dispatcher::{DEPTH_MAX, Delivery};
pub use error::{Error, Result};
pub use event::{Event, Kind, Subject};
pub use fault::Fault;
pub use handler::{Beginning, Filter, Handler};
pub use journal::{Notice, What};
pub use limits::{COMPONENT_BYTES_MAX, Limits, MESSAGE_BYTES_MAX, PAYLOAD_BYTES_MAX, STACK_BYTES};
pub use manifest::{Entry, Manifest};
pub use pack::{WIT, pack};
pub use publisher::Published;
pub use refusal::Refusal;
pub use registry::{Application, Package, Replace, Signed, State};
pub use rights::{Access, Grant, Rights};
pub use service::{Applications, Options, Request};
pub use signature::{PublicKey, Signature, Trust, Unsigned, sha256, signed_bytes};
pub use system::SYSTEM;
pub use table_stream::TableStream;
pub use tables::{
    Batches, Encoding, Format, Layout, NoTables, Query, Selection, Sink, Source, Tables, Target,
};
pub use template::{Language, new_application};
