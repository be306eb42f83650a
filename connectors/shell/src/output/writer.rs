// SPDX-License-Identifier: Apache-2.0
//! Defines what writes a result in some format, and how that can end.

use std::io;

use nearscan::{
    arrow::{array::RecordBatch, error::ArrowError},
    parquet::errors::ParquetError,
};

/// Writes one result.
pub(crate) trait ResultWriter: Send {
    /// Writes some of its rows.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError>;

    /// Writes the rest and flushes.
    fn finish(self: Box<Self>) -> Result<(), WriteError>;

    /// Whether another program has the screen now, so that nothing else may draw on it.
    fn has_screen(&self) -> bool {
        false
    }
}

/// Whether the reader of a result wants more of it.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    More,
    /// The user has quit the pager: the query can end, and no rows are needed.
    NoMore,
}

/// The reason why a result could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// The user has quit the pager; no failure of the output.
    #[error("the reader has left")]
    Left,
}

/// Drops rows.
pub(super) struct Nothing;

impl ResultWriter for Nothing {
    fn write(&mut self, _batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), WriteError> {
        Ok(())
    }
}
