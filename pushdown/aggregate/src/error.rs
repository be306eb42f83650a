// SPDX-License-Identifier: Apache-2.0
//! Defines [`Error`].

use arrow::{datatypes::DataType, error::ArrowError};

/// Why rows could not be grouped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A column has another type than it was planned with.
    #[error("a column was planned for another type than {found}")]
    Type {
        /// The type that it has.
        found: DataType,
    },
    /// A key is NULL in a column that was planned for none.
    #[error("a key is NULL that was planned not to be")]
    Null,
    /// A key is beyond the range that was promised.
    #[error("key {key} is beyond the range from {first} to {last}")]
    Range {
        /// The key.
        key: i64,
        /// The least key of the range.
        first: i64,
        /// The greatest one.
        last: i64,
    },
    /// The arrays of the groups cannot be made.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// A spilled block cannot be read back.
    #[error("a spilled block is damaged: {what}")]
    Damaged {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The groups of the smallest share of a partition have no room in memory.
    #[error("there is no memory for {bytes} bytes of groups")]
    Memory {
        /// The bytes that they take.
        bytes: usize,
    },
    /// A file of spilled blocks cannot be written or read.
    #[error("spilled blocks: {0}")]
    File(#[from] std::io::Error),
}

pub(crate) type Result<T> = std::result::Result<T, Error>;
