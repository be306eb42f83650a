// SPDX-License-Identifier: Apache-2.0
//! Defines why an access file cannot be used. No text of it has a value of the file but names,
//! because somebody may have put a token where something else belongs.

use std::{io, path::PathBuf};

/// The reason why an access file cannot be used or changed.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// It cannot be read.
    #[error("cannot read {path}: {reason}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write {path}: {reason}")]
    Write {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// It is a folder or a device.
    #[error("{path} is not a regular file")]
    Kind {
        /// What it is not.
        path: PathBuf,
    },
    /// Others could give themselves access.
    #[error("{path} may be written by others than its owner (mode {mode:03o}): chmod go-w {path}")]
    Writable {
        /// Which file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It is longer than any access file.
    #[error("{path} has more than {max} bytes")]
    TooLong {
        /// Which file.
        path: PathBuf,
        /// How long it may be.
        max: u64,
    },
    /// It is not TOML, or has keys that there are not.
    #[error("{path}:{line}: {reason}")]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// Where, from 1.
        line: usize,
        /// What the parser says.
        reason: String,
    },
    /// A field has no value that it can have.
    #[error("{path}:{line}: {field}: {problem}")]
    Field {
        /// Which file.
        path: PathBuf,
        /// Where, from 1.
        line: usize,
        /// Which field.
        field: &'static str,
        /// What is wrong with it.
        problem: Problem,
    },
    /// A client cannot be added.
    #[error("cannot add a client to {path}: {field}: {problem}")]
    Grant {
        /// Which file.
        path: PathBuf,
        /// Which field of the client.
        field: &'static str,
        /// What is wrong with it.
        problem: Problem,
    },
    /// The system gives no random bytes.
    #[error("there are no random bytes for a token: {0}")]
    Random(#[source] getrandom::Error),
}

/// What is wrong with a field of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is no name.
    #[error("it is not 1 to 64 letters, digits and any of . _ @ -")]
    Name,
    /// It is no hash.
    #[error("it is not a SHA-256 of 64 hexadecimal digits")]
    Hash,
    /// There is no such scope.
    #[error("it is not read, write, install or admin")]
    Scope,
    /// A client that may do nothing.
    #[error("it is empty")]
    Empty,
    /// A limit under which nothing can run.
    #[error("it is 0: strike the client or the limit")]
    Zero,
    /// A client that nobody could be.
    #[error("it has neither token_sha256 nor certificate_sha256")]
    NoSecret,
    /// Another client has it.
    #[error("the client of line {line} has it too")]
    Twice {
        /// Where the other client's is, from 1.
        line: usize,
    },
    /// There are too many clients.
    #[error("there are more than {max} clients")]
    TooMany {
        /// How many there may be.
        max: usize,
    },
}
