// SPDX-License-Identifier: Apache-2.0
//! Defines why a request about an application fails.

use prost::Message;
use tonic::{Code, Status};

use crate::{
    client::connection::{NoAnswer, reason_of},
    protocol::applications::{Refused, Why},
};

/// What kind of reason it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplicationErrorKind {
    /// There is no such application, handler or dead letter.
    NotFound,
    /// The application is not started.
    NotStarted,
    /// There is one of the name already.
    Exists,
    /// Handlers are registered for the application.
    InUse,
    /// The application could not do what was asked.
    Failed {
        /// Its words, of which the first 4 KiB are sent.
        words: String,
    },
    /// The call broke a rule, and was ended.
    Fault {
        /// A word for the rule, which never changes, such as `fuel` or `trap`.
        kind: String,
    },
    /// The package, a name or a filter is not as it has to be, or the application cannot be called
    /// like this.
    Invalid,
    /// The client has not the right to do it, or did not say who it is.
    Denied,
    /// The server has no room for it now.
    Busy,
    /// A component, a request or an answer is larger than it may be.
    TooLarge,
    /// There is no connection, or it was lost; whether something was done is not known.
    Unreachable,
    /// The server has no applications, or was built without them.
    Unsupported,
    /// The server failed; whether something was done is not known.
    Server,
}

/// The reason why a request about an application fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ApplicationError {
    /// Its kind.
    pub kind: ApplicationErrorKind,
    /// What the server says, or what is wrong with the connection.
    pub reason: String,
}

impl ApplicationError {
    fn of(status: &Status) -> Self {
        let details = Refused::decode(status.details()).unwrap_or_default();
        let kind = match (details.why(), status.code()) {
            (Why::NotStarted, _) => ApplicationErrorKind::NotStarted,
            (Why::InUse, _) => ApplicationErrorKind::InUse,
            (Why::Failed, _) => ApplicationErrorKind::Failed { words: details.words },
            (Why::Fault, _) => ApplicationErrorKind::Fault { kind: details.words },
            (Why::TooLarge, _) => ApplicationErrorKind::TooLarge,
            (Why::Code, code) => kind_of(code),
        };
        Self { kind, reason: reason_of(status) }
    }

    pub(in crate::client) fn unreachable(reason: String) -> Self {
        Self { kind: ApplicationErrorKind::Unreachable, reason }
    }

    pub(super) fn unsupported() -> Self {
        let reason = "the server is older than applications are".to_owned();
        Self { kind: ApplicationErrorKind::Unsupported, reason }
    }

    /// An answer that makes no sense.
    pub(super) fn nonsense(error: &dyn std::fmt::Display) -> Self {
        let reason = format!("the server's answer makes no sense: {error}");
        Self { kind: ApplicationErrorKind::Server, reason }
    }
}

impl From<NoAnswer> for ApplicationError {
    fn from(why: NoAnswer) -> Self {
        match why {
            NoAnswer::Status(status) => Self::of(&status),
            NoAnswer::Lost(reason) => Self::unreachable(reason),
        }
    }
}

fn kind_of(code: Code) -> ApplicationErrorKind {
    match code {
        Code::NotFound => ApplicationErrorKind::NotFound,
        Code::AlreadyExists => ApplicationErrorKind::Exists,
        Code::InvalidArgument | Code::OutOfRange => ApplicationErrorKind::Invalid,
        Code::Unauthenticated | Code::PermissionDenied => ApplicationErrorKind::Denied,
        Code::ResourceExhausted => ApplicationErrorKind::Busy,
        Code::Unimplemented => ApplicationErrorKind::Unsupported,
        Code::Unavailable | Code::Cancelled | Code::DeadlineExceeded => {
            ApplicationErrorKind::Unreachable
        }
        Code::Ok
        | Code::Unknown
        | Code::Internal
        | Code::DataLoss
        | Code::Aborted
        | Code::FailedPrecondition => ApplicationErrorKind::Server,
    }
}
