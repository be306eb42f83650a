// SPDX-License-Identifier: Apache-2.0
//! Corruption of Parquet files: what is wrong, and where.

use std::{error::Error, fmt};

use datafusion::{common::DataFusionError, parquet::errors::ParquetError};

/// A place in a file where it cannot be what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Corruption {
    /// Path of the file.
    pub(crate) file: String,
    /// Row group, from 0, and the column; what is wrong with a footer has neither.
    pub(crate) chunk: Option<(usize, String)>,
    /// First byte of what is wrong, in the file.
    pub(crate) offset: Option<u64>,
    /// What is wrong.
    pub(crate) what: String,
}

impl Corruption {
    /// The corruption that an error is about, if it knows.
    pub(crate) fn of(error: &DataFusionError) -> Option<&Self> {
        cause(error)
    }
}

/// The first error of a type among those that led to an error.
pub(crate) fn cause<T: Error + 'static>(error: &DataFusionError) -> Option<&T> {
    let mut next: Option<&(dyn Error + 'static)> = Some(error.find_root());
    while let Some(error) = next {
        if let Some(cause) = error.downcast_ref() {
            return Some(cause);
        }
        next = error.source();
    }
    None
}

/// What an error says, without the kinds that libraries put in front: one error is in another.
pub(crate) fn bare(mut text: &str) -> &str {
    const KINDS: [&str; 4] =
        ["Parquet argument error: ", "External: ", "Parquet error: ", "Arrow: "];
    while let Some(inner) = KINDS.iter().find_map(|kind| text.strip_prefix(kind)) {
        text = inner;
    }
    text
}

impl From<Corruption> for ParquetError {
    fn from(corruption: Corruption) -> Self {
        Self::External(Box::new(corruption))
    }
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file '{}'", self.file)?;
        if let Some((row_group, column)) = &self.chunk {
            write!(f, ", row group {row_group}, column '{column}'")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl Error for Corruption {}
