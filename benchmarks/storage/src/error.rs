// SPDX-License-Identifier: Apache-2.0
//! Defines why a measurement gave no figures, in the three parts that a user reads: *primary*
//! (`Display`) says what is wrong, *detail* where and with what, *hint* what to do about it.

use std::{io, path::PathBuf};

/// The reason of a failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no nginx.
    #[error("nginx cannot be run")]
    NoNginx {
        /// The program that was tried.
        program: PathBuf,
        /// The message of the system.
        reason: String,
    },
    /// Servers and client cannot be bound to processors of their own.
    #[error("processes cannot be bound to processors")]
    Binding {
        /// What is missing.
        reason: String,
    },
    /// A server did not start, or has ended.
    #[error("{server} does not serve")]
    Server {
        /// Which one.
        server: &'static str,
        /// What it said.
        reason: String,
    },
    /// A file or the store could not be made.
    #[error("the measurement cannot be prepared")]
    Prepare {
        /// What failed.
        reason: String,
    },
    /// An object could not be read.
    #[error("reading from {server} failed")]
    Read {
        /// The server.
        server: &'static str,
        /// What the client said.
        reason: String,
    },
    /// Other bytes came than were written.
    #[error("{server} has sent other bytes than the object has")]
    Bytes {
        /// The server.
        server: &'static str,
        /// Bytes of the object.
        expected: u64,
        /// Bytes that came.
        received: u64,
    },
    /// A query failed.
    #[error("the query failed")]
    Query {
        /// What the engine said.
        reason: String,
    },
    /// A query returned other rows than were written.
    #[error("the answer is wrong")]
    Answer {
        /// Rows that were expected.
        expected: u64,
        /// Rows that came.
        found: u64,
    },
    /// An object could not be written.
    #[error("an object cannot be written")]
    Write {
        /// What the server said.
        reason: String,
    },
    /// An object whose write was acknowledged did not become a table in time.
    #[error("object {number} was written, and is no table")]
    Lost {
        /// The number of the object.
        number: u64,
        /// What the last query for the table said.
        reason: String,
    },
    /// Whoever watches the measurement ended it.
    #[error("the measurement was cancelled")]
    Cancelled,
}

impl Error {
    pub(crate) fn prepare(error: impl std::fmt::Display) -> Self {
        Self::Prepare { reason: error.to_string() }
    }

    pub(crate) fn file(action: &str, path: &std::path::Path, error: &io::Error) -> Self {
        Self::Prepare { reason: format!("{action} {}: {error}", path.display()) }
    }

    /// Where and with what it happened.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::NoNginx { program, reason } => Some(format!("{}: {reason}", program.display())),
            Self::Binding { reason }
            | Self::Server { reason, .. }
            | Self::Prepare { reason }
            | Self::Read { reason, .. }
            | Self::Query { reason }
            | Self::Write { reason }
            | Self::Lost { reason, .. } => Some(reason.clone()),
            Self::Answer { expected, found } => {
                Some(format!("{found} rows came, or other values; {expected} rows were written"))
            }
            Self::Bytes { expected, received, .. } => {
                Some(format!("{received} bytes came, the object has {expected}"))
            }
            Self::Cancelled => None,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoNginx { .. } => Some(
                "install it (Debian and Ubuntu: apt-get install nginx-light), and name the program \
                 with --nginx if it is not on the path, such as /usr/sbin/nginx",
            ),
            Self::Binding { .. } => Some(
                "a machine with two processors and the program taskset of util-linux are needed",
            ),
            Self::Prepare { .. } => Some("choose a folder with more space, or smaller objects"),
            Self::Server { .. }
            | Self::Read { .. }
            | Self::Bytes { .. }
            | Self::Query { .. }
            | Self::Answer { .. }
            | Self::Write { .. }
            | Self::Cancelled => None,
            Self::Lost { .. } => {
                Some("`nearscan app dead-letter list` says what the handler could not do")
            }
        }
    }
}
