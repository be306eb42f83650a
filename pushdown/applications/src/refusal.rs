// SPDX-License-Identifier: Apache-2.0
//! Defines what an application is told when a request of it is not done.

use nearscan_store::Error;

/// The reason why a host function does nothing. It is an answer, and the application goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such object, collection or attribute.
    #[error("not found: {0}")]
    NotFound(String),
    /// There is one already.
    #[error("exists: {0}")]
    Exists(String),
    /// The object has another version than the request demands.
    #[error("conflict: {0}")]
    Conflict(String),
    /// The application has no right to this.
    #[error("denied: {0}")]
    Denied(String),
    /// A quota would be exceeded.
    #[error("quota: {0}")]
    Quota(String),
    /// A value, a range or a list is longer than is taken.
    #[error("too large: {0}")]
    TooLarge(String),
    /// The request has no meaning.
    #[error("invalid: {0}")]
    Invalid(String),
    /// It cannot be done, or not now.
    #[error("unavailable: {0}")]
    Unavailable(String),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::NotFound { .. } => Self::NotFound(text),
            Error::Exists { .. } => Self::Exists(text),
            Error::Conflict { .. } => Self::Conflict(text),
            Error::QuotaExceeded { .. } | Error::TooManyAttributes { .. } => Self::Quota(text),
            Error::TooLong { .. } | Error::Range { .. } => Self::TooLarge(text),
            Error::Name { .. } | Error::NotEmpty { .. } | Error::Needed { .. } => {
                Self::Invalid(text)
            }
            // The names of files and folders of the server are nothing for an application.
            Error::Io { .. } | Error::Damaged { .. } | Error::Format { .. } => {
                Self::Unavailable("the store cannot read or write its files".to_owned())
            }
            Error::Abandoned { .. }
            | Error::Forgotten { .. }
            | Error::NotLocal { .. }
            | Error::Locked => Self::Unavailable(text),
            Error::Catalog(_) | Error::Uncertain(_) => {
                Self::Unavailable("the catalog of the store failed".to_owned())
            }
        }
    }
}
