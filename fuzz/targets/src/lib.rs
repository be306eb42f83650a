// SPDX-License-Identifier: Apache-2.0
//! Defines the targets of coverage-guided fuzzers: each is a function of bytes that panics if an
//! invariant is broken.
//!
//! | target | bytes | must hold |
//! |---|---|---|
//! | `command` | a command, a merge, a fragment or a result | what decodes encodes to what decodes to the same |
//! | `scan` | a [`Call`](call::Call) of the scan kernel | it ends, within its memories, and its result passes the check |
//! | `merge` | a call of the merge kernel | the same, and the rows are those of a plain sort |
//! | `drives` | a call of the scan kernel | the CPU drive ends too; where both give rows, they are the same |
//! | `messages` | a message of the protocol of remote drives, or what is said to a server | it comes back as it was; the server answers and does not panic |
//! | `packages` | a manifest and a component | what is installed has a name, writes nothing of the system's, and comes back |
//! | `handlers` | a handler as it is registered, or kept | it comes back, and sees of the system only what it names |
//! | `commands` | the command object or the response object | each line has an id, and each answer is a line that is known again |
//! | `heads` | heads of HTTP/1.1, or what they are made of | no byte is lost, and what one side says the other understands |
//! | `sql` | words of SQL, or any text | it parses, and has a plan with a drive where it has one without |
//! | `arguments` | a drive URL or a size | what is read is shown and read again, but for tokens |
//! | `files` | choices: a file of one of three writers, wrong numbers in footer, indexes and page headers, a query | rows, or an error that says where |
//! | `pages` | choices: a column, a layout, wrong numbers in headers and in the command | as `drives` |
//!
//! Checksums are corrected before the bytes are used: corruption that a checksum detects is tested
//! with the checksum, and would hide all later code.
//!
//! `cargo xtask fuzz coverage` builds the programs in `src/bin` with coverage and, for the C++ of
//! the kernels, with address and undefined-behaviour sanitizers, and runs them. A plain
//! `cargo test` replays `corpus/TARGET.tsv`, an archive (`xtask/archive`), and the files of
//! `regressions/TARGET` without either.
//!
//! # What this crate does not do
//!
//! No rows of SQL: whether queries are right is for the tests of `sqllogictest`. No network but a
//! socket in a folder, no drive but the kernels' and the processor's.
//!
//! # Features
//!
//! `sql` adds the three targets that need the engine; without it nothing here builds DataFusion.
//! `libfuzzer` is for the programs in `src/bin`, which link only as the task links them.
//!
//! # Invariants
//!
//! - A target does the same for the same bytes, whatever ran before; but for what is said to a
//!   server, which keeps the objects that it was given.
//! - A target returns whether its input passed the first checks, so that a useless corpus is
//!   detected.
//! - Work is bounded by the bytes: rows, steps and buffers that an input requests are limited where
//!   a target would only take longer.
#![forbid(unsafe_code)]

#[cfg(feature = "sql")]
mod arguments;
pub mod call;
mod choices;
mod command;
mod commands;
mod drives;
#[cfg(feature = "sql")]
mod files;
mod handlers;
mod heads;
mod host;
mod kernel;
mod merge;
mod messages;
mod packages;
mod pages;
pub mod seeds;
mod sign;
#[cfg(feature = "sql")]
mod sql;
#[cfg(feature = "sql")]
mod words;

#[cfg(feature = "sql")]
pub use arguments::arguments;
pub use command::command;
pub use commands::commands;
pub use drives::drives;
#[cfg(feature = "sql")]
pub use files::{Every, Walk, files};
pub use handlers::handlers;
pub use heads::heads;
pub use kernel::scan;
pub use merge::merge;
pub use messages::messages;
pub use packages::packages;
pub use pages::pages;
#[cfg(feature = "sql")]
pub use sql::sql;

/// A target; whether the bytes came as far as to what must hold, or were refused before.
pub type Run = fn(&[u8]) -> bool;

/// Every target by the name that its corpus, its program and its regressions have.
pub const TARGETS: &[(&str, Run)] = &[
    ("command", command),
    ("scan", scan),
    ("merge", merge),
    ("drives", drives),
    ("pages", pages),
    ("messages", messages),
    ("packages", packages),
    ("handlers", handlers),
    ("commands", commands),
    ("heads", heads),
    #[cfg(feature = "sql")]
    ("sql", sql),
    #[cfg(feature = "sql")]
    ("arguments", arguments),
    #[cfg(feature = "sql")]
    ("files", files),
];
