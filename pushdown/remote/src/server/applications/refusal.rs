// SPDX-License-Identifier: Apache-2.0
//! Says to a client why a request to the applications fails.

use nearscan_applications::Error;
use prost::Message;
use tonic::{Code, Status};

use crate::{
    convert::objects,
    protocol::applications::{Refused, Why},
    text::cut,
};

/// Bytes of the message of a status, at most: a header has it, in which a byte can become three.
const MESSAGE_BYTES_MAX: usize = 1 << 10;

/// Bytes of an application's words, at most.
const WORDS_BYTES_MAX: usize = 4 << 10;

/// The answer to a request that fails.
pub(super) fn status_of(error: &Error) -> Status {
    let code = match error {
        Error::Manifest { .. }
        | Error::Component { .. }
        | Error::Hash { .. }
        | Error::Signature { .. }
        | Error::Limit { .. }
        | Error::NoEntry { .. }
        | Error::TooLarge { .. }
        | Error::Invalid { .. } => Code::InvalidArgument,
        Error::NotFound { .. } => Code::NotFound,
        Error::Exists { .. } => Code::AlreadyExists,
        Error::NotStarted { .. } | Error::InUse { .. } => Code::FailedPrecondition,
        Error::Failed { .. } => Code::Unknown,
        Error::Fault { .. } => Code::Aborted,
        Error::TooManyEvents { .. } | Error::Busy { .. } => Code::ResourceExhausted,
        Error::Closed => Code::Unavailable,
        Error::Template { .. } | Error::Sandbox { .. } => Code::Internal,
        Error::Damaged { .. } => Code::DataLoss,
        Error::Store(error) => return objects::status_of(error),
    };
    let (why, words) = match error {
        Error::NotStarted { .. } => (Why::NotStarted, ""),
        Error::InUse { .. } => (Why::InUse, ""),
        Error::Failed { message, .. } => (Why::Failed, message.as_str()),
        Error::Fault { fault, .. } => (Why::Fault, fault.kind()),
        Error::TooLarge { .. } => (Why::TooLarge, ""),
        Error::Manifest { .. }
        | Error::Component { .. }
        | Error::Hash { .. }
        | Error::Signature { .. }
        | Error::Limit { .. }
        | Error::NotFound { .. }
        | Error::Exists { .. }
        | Error::NoEntry { .. }
        | Error::Invalid { .. }
        | Error::TooManyEvents { .. }
        | Error::Template { .. }
        | Error::Busy { .. }
        | Error::Closed
        | Error::Sandbox { .. }
        | Error::Damaged { .. }
        | Error::Store(_) => (Why::Code, ""),
    };
    let hint = error.hint().map_or_else(String::new, |hint| format!("; {hint}"));
    refused(code, why, &format!("{error}{hint}"), words)
}

/// The answer to what is longer than it may be.
pub(super) fn too_large(what: &'static str, length: u64, limit: u64) -> Status {
    status_of(&Error::TooLarge { what, length, limit })
}

fn refused(code: Code, why: Why, message: &str, words: &str) -> Status {
    let words = cut(words, WORDS_BYTES_MAX).into_owned();
    let details = Refused { why: why.into(), words }.encode_to_vec();
    Status::with_details(code, cut(message, MESSAGE_BYTES_MAX), details.into())
}
