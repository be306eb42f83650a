// SPDX-License-Identifier: Apache-2.0
//! Defines why a scan stopped.

use std::error::Error;

use nearscan_command::Status;

use crate::error::Stop;

/// The reason why a scan stopped.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The bytes are not what this scan reads, or a number left its width.
    #[error("status {0:?}")]
    Status(Status),
    /// A condition failed.
    #[error(transparent)]
    Filter(Box<dyn Error + Send + Sync>),
    /// The caller has not given the bytes of a column that the scan needs.
    #[error("the bytes of column {column} are missing")]
    MissingBytes {
        /// Place of the column in the fragment.
        column: usize,
    },
    /// Arrow refused an array.
    #[error(transparent)]
    Array(#[from] arrow::error::ArrowError),
}

impl From<Stop> for ScanError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Status { status, .. } => Self::Status(status),
            Stop::Failed(failure) => Self::Filter(Box::new(failure)),
        }
    }
}
