// SPDX-License-Identifier: Apache-2.0
//! Defines why a request to the applications fails.

use crate::fault::Fault;

/// The result of a request.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a request fails.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The manifest cannot be read, or says something that has no meaning.
    #[error("invalid manifest: {reason}")]
    Manifest {
        /// What is wrong.
        reason: String,
    },
    /// The component cannot be compiled, or is not what its manifest says.
    #[error("invalid component: {reason}")]
    Component {
        /// What is wrong.
        reason: String,
    },
    /// The hash of the component is not that of its manifest.
    #[error("the component has the hash {found}, its manifest says {expected}")]
    Hash {
        /// The one in the manifest.
        expected: String,
        /// That of the component.
        found: String,
    },
    /// The package has no signature that is trusted.
    #[error("the signature is not accepted: {reason}")]
    Signature {
        /// Why not.
        reason: &'static str,
    },
    /// A limit of the manifest is beyond what the server gives.
    #[error("{limit} is {wanted}, the server gives at most {given}")]
    Limit {
        /// Which limit.
        limit: &'static str,
        /// What the manifest asks for.
        wanted: u64,
        /// The most that there is.
        given: u64,
    },
    /// There is no application, handler or dead letter of the name.
    #[error("{what} not found")]
    NotFound {
        /// Its kind and its name.
        what: String,
    },
    /// There is one already.
    #[error("{what} exists")]
    Exists {
        /// Its kind and its name.
        what: String,
    },
    /// The application is not started.
    #[error("application {name} is not started")]
    NotStarted {
        /// The application.
        name: String,
    },
    /// Handlers are registered for the application.
    #[error("application {name} has handlers: {handlers}")]
    InUse {
        /// The application.
        name: String,
        /// Their names.
        handlers: String,
    },
    /// The application has no entry of the kind.
    #[error("application {name} has no {entry}")]
    NoEntry {
        /// The application.
        name: String,
        /// What it is called as.
        entry: &'static str,
    },
    /// The application answers that it could not do what was asked.
    #[error("application {name} failed: {message}")]
    Failed {
        /// The application.
        name: String,
        /// Its words.
        message: String,
    },
    /// The call broke a rule, and was ended.
    #[error("application {name}: {fault}")]
    Fault {
        /// The application.
        name: String,
        /// The rule.
        fault: Fault,
    },
    /// A request or a part of it is larger than it may be.
    #[error("{what} has {length} bytes, the limit is {limit}")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// Its length.
        length: u64,
        /// The limit.
        limit: u64,
    },
    /// A name, a filter or a line of a request has no meaning.
    #[error("invalid {what}: {reason}")]
    Invalid {
        /// What it is.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// More events wait to be handled than are kept.
    #[error("{limit} events wait for their handlers, which is the limit")]
    TooManyEvents {
        /// The limit.
        limit: usize,
    },
    /// A folder for a new application cannot be written.
    #[error("cannot write {path}: {source}")]
    Template {
        /// The file.
        path: String,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// As many calls run as may, and none of them ended in the time that this one has.
    #[error("{calls_max} calls run already, and none of them has ended")]
    Busy {
        /// The most calls.
        calls_max: usize,
    },
    /// The applications are closed.
    #[error("the applications are closed")]
    Closed,
    /// The machine that runs components failed, which is not the application's doing.
    #[error("the sandbox failed: {reason}")]
    Sandbox {
        /// What it says.
        reason: String,
    },
    /// What the store has of an application, a handler or an event cannot be read.
    #[error("{what} is damaged: {reason}")]
    Damaged {
        /// The object.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] nearscan_store::Error),
}

impl Error {
    pub(crate) fn sandbox(error: impl std::fmt::Display) -> Self {
        Self::Sandbox { reason: error.to_string() }
    }

    /// Returns what the user can do, if anything can be said.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotStarted { .. } => Some("start it"),
            Self::InUse { .. } => Some("unregister its handlers first"),
            Self::Limit { .. } => Some("ask for less in the manifest"),
            Self::Signature { .. } => Some("sign the package with a key that the server trusts"),
            Self::Busy { .. } => Some("try again, or let more calls run at the same time"),
            Self::TooManyEvents { .. } => Some("start the applications of the handlers"),
            Self::Store(error) => error.hint(),
            _ => None,
        }
    }
}
