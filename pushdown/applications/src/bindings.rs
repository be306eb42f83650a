// SPDX-License-Identifier: Apache-2.0
//! Generates the Rust side of the interfaces in `wit`.
//!
//! A host function returns a [`Stop`]: either what the application is told, or what ends its call.

use crate::{fault::Fault, refusal::Refusal};

wasmtime::component::bindgen!({
    path: "wit",
    world: "nearscan:drive/host",
    imports: {
        "nearscan:drive/tables": async | trappable,
        "nearscan:drive/output": async | trappable,
        default: trappable,
    },
    trappable_error_type: {
        "nearscan:drive/types.error" => Stop,
    },
    with: {
        "nearscan:drive/objects.reader": crate::resources::ReaderState,
        "nearscan:drive/objects.writer": crate::resources::WriterState,
        "nearscan:drive/tables.batches": crate::resources::BatchesState,
        "nearscan:drive/tables.sink": crate::resources::SinkState,
    },
});

/// Why a host function does not do what it is asked.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The application is told, and goes on.
    Refused(Refusal),
    /// The call ends.
    Ended(wasmtime::Error),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<nearscan_store::Error> for Stop {
    fn from(error: nearscan_store::Error) -> Self {
        Self::Refused(error.into())
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Ended(wasmtime::Error::new(fault))
    }
}

impl From<wasmtime::component::ResourceTableError> for Stop {
    fn from(error: wasmtime::component::ResourceTableError) -> Self {
        Self::Ended(error.into())
    }
}

impl From<Refusal> for nearscan::drive::types::Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound(text) => Self::NotFound(text),
            Refusal::Exists(text) => Self::Exists(text),
            Refusal::Conflict(text) => Self::Conflict(text),
            Refusal::Denied(text) => Self::Denied(text),
            Refusal::Quota(text) => Self::Quota(text),
            Refusal::TooLarge(text) => Self::TooLarge(text),
            Refusal::Invalid(text) => Self::Invalid(text),
            Refusal::Unavailable(text) => Self::Unavailable(text),
        }
    }
}
