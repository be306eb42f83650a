// SPDX-License-Identifier: Apache-2.0
//! Defines why a fragment or command was refused.

use std::fmt;

/// An error in a fragment, a command or a result.
///
/// "Not supported by a drive" is not an error: the optimizer keeps such work on the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes end before a field that they promise.
    #[error("{part} ends at byte {available}, {needed} bytes are needed")]
    Truncated {
        /// The section or record.
        part: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes there.
        available: u64,
    },
    /// The first bytes are not those of this format.
    #[error("{part} does not start with its magic number")]
    Magic {
        /// `command`, `fragment` or `result`.
        part: &'static str,
    },
    /// Written by a version that this one cannot read.
    #[error("format version {major}.{minor} is not supported")]
    FormatVersion {
        /// Major version found.
        major: u16,
        /// Minor version found.
        minor: u16,
    },
    /// The checksum over the bytes does not match.
    #[error("{part} has checksum {actual:#010x}, its header says {expected:#010x}")]
    Checksum {
        /// `command`, `fragment`, `result header` or `result payload`.
        part: &'static str,
        /// As stored.
        expected: u32,
        /// As computed.
        actual: u32,
    },
    /// A section that must be understood is not known.
    #[error("critical section {kind} is not known")]
    UnknownSection {
        /// Its number.
        kind: u16,
    },
    /// A section is missing or occurs twice.
    #[error("section {section} occurs {count} times")]
    SectionCount {
        /// Its name.
        section: &'static str,
        /// Number of its occurrences.
        count: u32,
    },
    /// A number has no variant.
    #[error("{value} is no {what}")]
    UnknownCode {
        /// The enum.
        what: &'static str,
        /// The number.
        value: u64,
    },
    /// More of something than the format allows.
    #[error("{actual} {what}, the limit is {limit}")]
    Limit {
        /// The items that are too many.
        what: &'static str,
        /// The number.
        actual: u64,
        /// The limit.
        limit: u64,
    },
    /// An index points at nothing, or forward.
    #[error("{what} {index} is out of range, there are {count}")]
    Index {
        /// The items that the index counts.
        what: &'static str,
        /// The index.
        index: u64,
        /// Their number.
        count: u64,
    },
    /// An operand or a column has the wrong kind for its use.
    #[error("{place} needs {expected}")]
    Kind {
        /// Where.
        place: Place,
        /// The kind that is required.
        expected: &'static str,
    },
    /// A number does not fit the output column that it is written to.
    #[error("a number does not fit output column {column}")]
    Width {
        /// The column of the output.
        column: u32,
    },
    /// A field contradicts another.
    #[error("{what}")]
    Inconsistent {
        /// Which rule is broken.
        what: &'static str,
    },
}

/// The place of a fault inside a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// Step of the predicate.
    Predicate(u32),
    /// Step of the projection.
    Projection(u32),
    /// String test.
    Test(u32),
    /// Aggregate slot.
    Aggregate(u32),
    /// Group key.
    Key(u32),
    /// Column of the output.
    OutputColumn(u32),
    /// Column of the unit.
    Column(u32),
    /// The order of a top.
    Top,
    /// Key filter.
    KeyFilter(u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Predicate(index) => write!(f, "predicate step {index}"),
            Self::Projection(index) => write!(f, "projection step {index}"),
            Self::Test(index) => write!(f, "string test {index}"),
            Self::Aggregate(index) => write!(f, "aggregate {index}"),
            Self::Key(index) => write!(f, "group key {index}"),
            Self::OutputColumn(index) => write!(f, "output column {index}"),
            Self::Column(index) => write!(f, "column {index}"),
            Self::Top => f.write_str("the top"),
            Self::KeyFilter(index) => write!(f, "key filter {index}"),
        }
    }
}

const _: () = assert!(size_of::<Error>() <= 64);
