// SPDX-License-Identifier: Apache-2.0
//! Defines errors of data generation and of runs; a wrong answer is not an error but a result.

use std::{io, path::PathBuf};

use nearscan::parquet::errors::ParquetError;

/// Result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why TPC-H data could not be made, or queries not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no scale factor.
    #[error("invalid scale factor '{text}': {reason}")]
    ScaleFactor {
        /// The text.
        text: String,
        /// The error in it.
        reason: &'static str,
    },
    /// There is no such layout of files.
    #[error("there is no layout '{text}', there are usual and pushdown")]
    Layout {
        /// The requested value.
        text: String,
    },
    /// There is no such query.
    #[error("there is no query '{text}', they are numbered 1 to 22")]
    QueryNumber {
        /// The requested value.
        text: String,
    },
    /// A file or folder could not be made, renamed or opened.
    #[error("cannot write '{}'", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// A table could not be encoded.
    #[error("cannot encode table '{table}'")]
    Encode {
        /// Name of the table.
        table: &'static str,
        /// The reason.
        #[source]
        source: Box<ParquetError>,
    },
    /// The progress callback ended it.
    #[error("generation was ended before it was done")]
    Stopped,
    /// The engine refused a table.
    #[error(transparent)]
    Engine(#[from] nearscan::Error),
}

const _: () = assert!(size_of::<Error>() <= 64);
