// SPDX-License-Identifier: Apache-2.0
//! Implements the extension module `nearscan._nearscan`, on which the Python package is built.
//!
//! - `connection`: an engine with its threads.
//! - `query`: a planned statement; `stream`: its rows while it runs; `batches`: rows in memory;
//!   `profile`: what was done.
//! - `table`: Arrow data of Python as tables; `function`: functions of Python in SQL.
//! - `parameter`: values of Python as parameters; `object`: values of Arrow as Python objects.
//! - `error`: the engine's errors as the package's exceptions.
//! - `wait`: waits for the engine without the interpreter lock, until a signal; `process`: what
//!   must not be used, or dropped, in a forked process.
//!
//! # What this crate does not do
//!
//! What users call is Python, in the folder `python`: relations, cursors, notebooks, figures. The
//! classes here are private to it. Nothing runs at import.
//!
//! # Invariants
//!
//! - The interpreter lock is released while the engine plans, runs or waits.
//! - No buffer of Arrow is copied on its way in or out.
//! - In a forked process every call ends with an error, and nothing joins a thread.

#![deny(unsafe_code)]

mod batches;
mod connection;
mod error;
mod function;
mod object;
mod parameter;
mod process;
mod profile;
mod query;
mod stream;
mod table;
mod wait;

/// The extension module.
#[pyo3::pymodule]
mod _nearscan {
    #[pymodule_export]
    use crate::batches::Batches;
    #[pymodule_export]
    use crate::connection::Connection;
    #[pymodule_export]
    use crate::query::Query;
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::table::Table;
}
