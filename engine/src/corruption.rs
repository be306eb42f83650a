// SPDX-License-Identifier: Apache-2.0
//! Describes the corruption of a Parquet file: what is wrong, and where.

use std::{error::Error, fmt};

use datafusion::{common::DataFusionError, parquet::errors::ParquetError};

/// A place in a file whose contents are impossible or contradict the metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Corruption {
    /// Path of the file.
    pub(crate) file: String,
    /// Row group, from 0, and column; nothing for corruption of the footer.
    pub(crate) chunk: Option<(usize, String)>,
    /// Offset in the file of the first wrong byte.
    pub(crate) offset: Option<u64>,
    /// The error.
    pub(crate) what: String,
}

impl Corruption {
    /// Returns the corruption that an error carries.
    pub(crate) fn of(error: &DataFusionError) -> Option<&Self> {
        cause(error)
    }
}

/// Returns the first error of a type among an error and its causes.
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

/// Strips the names of error kinds that libraries put in front of a message, one for each nested
/// error.
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
