// SPDX-License-Identifier: Apache-2.0
//! Defines why a command stopped.

use nearscan_command::{Detail, Status};
use nearscan_drive::Failure;

/// The reason why a command stopped before its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    /// The result's header says why.
    #[error("status {status:?}")]
    Status {
        /// The outcome.
        status: Status,
        /// Where, if that is known.
        detail: Option<Detail>,
    },
    /// There is no result.
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl Stop {
    pub(crate) const fn status(status: Status) -> Self {
        Self::Status { status, detail: None }
    }

    pub(crate) const OVERFLOW: Self = Self::status(Status::Overflow);
}
