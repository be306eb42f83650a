// SPDX-License-Identifier: Apache-2.0
//! Opens the applications of a store that is served, and has the tools to write applications, in
//! programs that are built with the feature `applications`. In others [`Hosted`] has none, and the
//! tools are errors that say so: this crate is where the two kinds of programs differ.
#![forbid(unsafe_code)]

#[cfg(feature = "applications")]
mod hosted;
#[cfg(not(feature = "applications"))]
#[path = "without.rs"]
mod hosted;

pub use hosted::{Hosted, new_application, pack};

/// A language that applications are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C, with clang, lld and wasi-libc.
    C,
    /// Python, with componentize-py.
    Python,
    /// Rust, with its target `wasm32-wasip2`.
    Rust,
}

/// Why applications cannot be opened or made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program is built without them.
    #[error("this program was built without applications; build it with --features applications")]
    NotBuilt,
    /// The system gives no threads.
    #[error("cannot start threads: {0}")]
    Threads(std::io::Error),
    /// The engine for operations on tables cannot be made.
    #[error(transparent)]
    Engine(#[from] nearscan::Error),
    /// The applications cannot be read, or a new one cannot be made.
    #[error("{0}")]
    Applications(String),
}
