// SPDX-License-Identifier: Apache-2.0
//! Defines errors of the runner; a query with an unexpected result is a failed test.

use std::{io, path::PathBuf};

use nearscan::parquet::errors::ParquetError;

/// Result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a test could not be run, or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read, made or renamed.
    #[error("cannot use '{}'", path.display())]
    File {
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
        table: String,
        /// The reason.
        #[source]
        source: Box<ParquetError>,
    },
    /// The TPC-H data could not be made.
    #[error("cannot make the TPC-H data")]
    Tpch(#[source] Box<nearscan_tpch::Error>),
    /// The committed files could not be unpacked.
    #[error("cannot unpack the committed files")]
    Unpack(#[from] nearscan_archive::Error),
    /// A card in emulation cannot be made here.
    #[error("there is no card: {0}")]
    Card(String),
    /// The engine refused a drive, a setting, a table or a statement.
    #[error("{}", .0.render())]
    Engine(Box<nearscan::Error>),
    /// A column of a result has a type for which there is no text.
    #[error("column {column} has type {found}, which has no text in expected results")]
    ColumnType {
        /// Column, from 1.
        column: usize,
        /// Its type.
        found: String,
    },
    /// A file is not in the format of the tests.
    #[error("{0}")]
    Format(Box<sqllogictest::ParseError>),
    /// A statement did not do what the file says, with the file and line.
    #[error("{0}")]
    Mismatch(String),
}

const _: () = assert!(size_of::<Error>() <= 64);

impl From<nearscan::Error> for Error {
    fn from(error: nearscan::Error) -> Self {
        Self::Engine(Box::new(error))
    }
}
