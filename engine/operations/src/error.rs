// SPDX-License-Identifier: Apache-2.0
//! Converts errors of the engine to what an application is told.

use std::error::Error as _;

use nearscan::{
    Error,
    datafusion::{common::DataFusionError, object_store},
};
use nearscan_applications::Refusal;
use tokio::task::JoinError;

/// What an application is told of an error of the engine.
pub(crate) fn refusal(error: &Error) -> Refusal {
    if let Some(known) = of_store(error) {
        return known;
    }
    let text = match error.detail() {
        Some(detail) => format!("{error}: {detail}"),
        None => error.to_string(),
    };
    match error {
        Error::Memory(_) | Error::Disk(_) | Error::Io(_) | Error::Internal(_) => {
            Refusal::Unavailable(text)
        }
        _ => Refusal::Invalid(text),
    }
}

/// What the store of the objects said, if that is the cause.
fn of_store(error: &Error) -> Option<Refusal> {
    let mut source = error.source();
    while let Some(cause) = source {
        let found = match cause.downcast_ref::<object_store::Error>() {
            Some(found) => Some(found),
            None => match cause.downcast_ref::<DataFusionError>().map(DataFusionError::find_root) {
                Some(DataFusionError::ObjectStore(found)) => Some(found.as_ref()),
                _ => None,
            },
        };
        match found {
            Some(object_store::Error::Precondition { source, .. }) => {
                return Some(Refusal::Conflict(source.to_string()));
            }
            Some(object_store::Error::NotFound { source, .. }) => {
                return Some(Refusal::NotFound(source.to_string()));
            }
            _ => source = cause.source(),
        }
    }
    None
}

/// What an application is told when a task of the server ends without an answer.
pub(crate) fn ended(error: &JoinError) -> Refusal {
    match error.is_panic() {
        true => Refusal::Invalid("the rows cannot be handled".to_owned()),
        false => Refusal::Unavailable("the server ends".to_owned()),
    }
}
