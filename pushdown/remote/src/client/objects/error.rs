// SPDX-License-Identifier: Apache-2.0
//! Defines why a request about an object fails.

use std::error::Error as _;

use tonic::{Code, Status};

use crate::client::connection::{NoAnswer, reason_of};

/// What kind of reason it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectErrorKind {
    /// There is no such object, collection or attribute.
    NotFound,
    /// There is one already.
    Exists,
    /// The object has another version than the request demands.
    Conflict,
    /// Bytes are meant that the object does not have, or changes that are forgotten.
    Range,
    /// A quota or a limit would be exceeded.
    Exhausted,
    /// A name or a value is not allowed.
    Invalid,
    /// The client did not say who it is, or is not known.
    Unauthenticated,
    /// The client has not the right to do it.
    Denied,
    /// The state of the server does not allow it.
    Refused,
    /// The server has no objects.
    NoObjects,
    /// There is no connection, or it was lost; whether a change was made is not known.
    Unreachable,
    /// The server failed; whether a change was made is not known.
    Failed,
}

/// The reason why a request about an object fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ObjectError {
    /// Its kind.
    pub kind: ObjectErrorKind,
    /// What the server says, or what is wrong with the connection.
    pub reason: String,
}

impl ObjectError {
    fn of(status: &Status) -> Self {
        let kind = match status.code() {
            // What a server says has no source: this is from the connection, whatever its code.
            _ if status.source().is_some() => ObjectErrorKind::Unreachable,
            Code::NotFound => ObjectErrorKind::NotFound,
            Code::AlreadyExists => ObjectErrorKind::Exists,
            Code::Aborted => ObjectErrorKind::Conflict,
            Code::OutOfRange => ObjectErrorKind::Range,
            Code::ResourceExhausted => ObjectErrorKind::Exhausted,
            Code::InvalidArgument => ObjectErrorKind::Invalid,
            Code::Unauthenticated => ObjectErrorKind::Unauthenticated,
            Code::PermissionDenied => ObjectErrorKind::Denied,
            Code::FailedPrecondition => ObjectErrorKind::Refused,
            Code::Unimplemented => ObjectErrorKind::NoObjects,
            Code::Unavailable | Code::Cancelled | Code::DeadlineExceeded => {
                ObjectErrorKind::Unreachable
            }
            Code::Ok | Code::Unknown | Code::Internal | Code::DataLoss => ObjectErrorKind::Failed,
        };
        Self { kind, reason: reason_of(status) }
    }

    pub(super) fn unreachable(reason: String) -> Self {
        Self { kind: ObjectErrorKind::Unreachable, reason }
    }

    /// There was no answer.
    pub(crate) fn unread() -> Self {
        let reason = "there was no answer".to_owned();
        Self { kind: ObjectErrorKind::Failed, reason }
    }

    /// An answer that makes no sense.
    pub(super) fn nonsense(error: &dyn std::fmt::Display) -> Self {
        let reason = format!("the server's answer makes no sense: {error}");
        Self { kind: ObjectErrorKind::Failed, reason }
    }
}

impl From<NoAnswer> for ObjectError {
    fn from(why: NoAnswer) -> Self {
        match why {
            NoAnswer::Status(status) => Self::of(&status),
            NoAnswer::Lost(reason) => Self::unreachable(reason),
        }
    }
}
