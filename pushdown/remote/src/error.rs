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
    /// A server answers, but the client did not say who it is, or may not do that.
    #[error("{address} denies access: {reason}")]
    Denied {
        /// Where.
        address: Address,
        /// Why.
        reason: String,
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
