// SPDX-License-Identifier: Apache-2.0
//! Why a command stopped.

use nearscan_command::{Detail, Status};
use nearscan_drive::Failure;
use parquet::errors::ParquetError;

/// Why a command stopped before its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    /// The result's header says why.
    #[error("status {status:?}")]
    Status {
        /// How it ended.
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

    /// What the parquet crate said of column `column`.
    pub(crate) fn parquet(column: usize, error: &ParquetError) -> Self {
        let status = match error {
            // Of bytes that are sound but not for us.
            ParquetError::NYI(_) => Status::Encoding,
            _ => Status::Corrupt,
        };
        Self::at_column(status, column)
    }

    pub(crate) fn at_column(status: Status, column: usize) -> Self {
        let column = u32::try_from(column).unwrap_or(u32::MAX);
        Self::Status { status, detail: Some(Detail { column, page: 0, offset: 0 }) }
    }
}
