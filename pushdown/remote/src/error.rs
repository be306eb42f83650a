// SPDX-License-Identifier: Apache-2.0
//! Defines why a drive could not be reached, served or hosted. Later errors, while commands run,
//! are refusals or failures of the drive.

use std::{io, path::PathBuf};

use crate::address::Address;

/// The reason why a drive could not be reached, served or hosted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system has no threads left.
    #[error("no thread could be started: {0}")]
    Threads(#[source] io::Error),
    /// No server answers at the address.
    #[error("no drive can be reached at {address}: {reason}")]
    Unreachable {
        /// Where.
        address: Address,
        /// The reason.
        reason: String,
    },
    /// A server answers, but does not let the client connect.
    #[error("{address} {denial}")]
    Denied {
        /// Where.
        address: Address,
        /// Why not.
        denial: Denial,
    },
    /// A server answers, but refuses the request.
    #[error("{address} refused: {reason}")]
    Refused {
        /// Where.
        address: Address,
        /// Why.
        reason: String,
    },
    /// Other machines may reach the address, and nothing says that this is meant.
    #[error("{address} may be reached by other machines, and {lacks}")]
    Exposed {
        /// Where.
        address: Address,
        /// What would protect it.
        lacks: &'static str,
    },
    /// The server cannot listen there.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// Where.
        address: Address,
        /// The reason.
        reason: String,
    },
    /// The server's connections failed as a whole.
    #[error("serving failed: {reason}")]
    Serve {
        /// Why.
        reason: String,
    },
    /// The program of a hosted drive does not run.
    #[error("the drive host {program} did not start: {reason}")]
    Host {
        /// Which program.
        program: PathBuf,
        /// Why.
        reason: String,
    },
}

/// Why a server does not let a client connect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// The client shows no token and no certificate, or none that the server knows.
    #[error("does not know this client")]
    Unknown {
        /// What the server says.
        reason: String,
    },
    /// The server knows the client, which may do other things.
    #[error("knows this client, which may not connect: that needs the scope read")]
    OutOfScope {
        /// What the server says.
        reason: String,
    },
}

impl Error {
    /// Returns what the server says, if the text of the error does not have it.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::Denied { denial, .. } => {
                let (Denial::Unknown { reason } | Denial::OutOfScope { reason }) = denial;
                Some(reason)
            }
            Self::Threads(_)
            | Self::Unreachable { .. }
            | Self::Refused { .. }
            | Self::Exposed { .. }
            | Self::Listen { .. }
            | Self::Serve { .. }
            | Self::Host { .. } => None,
        }
    }

    /// Returns what the user can do, if anything can be said.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Denied { denial: Denial::Unknown { .. }, .. } => Some(
                "give the client's token or certificate in the URL of the drive: \
                 token_file=FILE, or certificate=FILE and key=FILE",
            ),
            Self::Denied { denial: Denial::OutOfScope { .. }, .. } => Some(
                "add the scope read to the client's entry in the access file of the server, and \
                 have it read again by SIGHUP",
            ),
            Self::Threads(_)
            | Self::Unreachable { .. }
            | Self::Refused { .. }
            | Self::Exposed { .. }
            | Self::Listen { .. }
            | Self::Serve { .. }
            | Self::Host { .. } => None,
        }
    }
}

/// An error with what caused it, which the transport keeps apart.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
