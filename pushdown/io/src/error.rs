// SPDX-License-Identifier: Apache-2.0
//! Defines why a read did not give its bytes, in the three parts that a user reads: *primary*
//! (`Display`) says what is wrong, *detail* where and with what, *hint* what to do about it.

use std::{io, path::PathBuf};

/// The reason of a failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened.
    #[error("{} cannot be opened", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The message of the system.
        source: io::Error,
    },
    /// The system reported an error for a request.
    #[error("reading {} failed", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// First byte of the request that failed.
        offset: u64,
        /// Its length.
        length: u64,
        /// The message of the system.
        source: io::Error,
    },
    /// The file ends before the last byte that was requested.
    #[error("{} ends too early", path.display())]
    End {
        /// The file.
        path: PathBuf,
        /// First byte of the read.
        offset: u64,
        /// Its length.
        length: u64,
        /// Where the file ended.
        end: u64,
    },
    /// A range ends before it begins, or is longer than memory can be.
    #[error("{start}..{end} is not a range of bytes")]
    Range {
        /// Its first byte.
        start: u64,
        /// The byte after its last one.
        end: u64,
    },
    /// The engine that was asked for by name cannot be used.
    #[error("io_uring cannot be used")]
    Ring {
        /// What refused it.
        reason: String,
    },
    /// The engine broke down while requests were in flight.
    #[error("the engine of reads failed")]
    Engine {
        /// The message of the system.
        source: io::Error,
    },
    /// The reader was dropped before the read ended.
    #[error("the reader was closed")]
    Closed,
    /// There is no memory for a buffer.
    #[error("{bytes} bytes of memory are not free")]
    Memory {
        /// Bytes needed.
        bytes: u64,
        /// Who refused them, and why.
        reason: String,
    },
    /// A thread could not be started.
    #[error("a thread for reads cannot be started")]
    Thread {
        /// The message of the system.
        source: io::Error,
    },
    /// Whoever watches a measurement ended it.
    #[error("the measurement was ended before it was done")]
    Stopped,
    /// The other program of a comparison did not give figures.
    #[error("fio gave no figures")]
    Fio {
        /// What it said instead.
        reason: String,
    },
}

impl Error {
    /// Where it happened and with what.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Read { offset, length, source, .. } => {
                Some(format!("{length} bytes at {offset}: {source}"))
            }
            Self::End { offset, length, end, .. } => {
                Some(format!("{length} bytes at {offset} were requested, and it ends at {end}"))
            }
            Self::Open { source, .. } | Self::Engine { source } | Self::Thread { source } => {
                Some(source.to_string())
            }
            Self::Ring { reason } | Self::Memory { reason, .. } | Self::Fio { reason } => {
                Some(reason.clone())
            }
            Self::Range { .. } | Self::Closed | Self::Stopped => None,
        }
    }

    /// What can be done about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Read { source, .. } if source.raw_os_error() == Some(libc::EIO) => {
                Some("the disk reports an error: see the system's log, and restore the file")
            }
            Self::End { .. } => Some("the file was cut off or replaced while it was read"),
            Self::Ring { .. } => Some("choose the engine auto, which reads with pread instead"),
            Self::Memory { .. } => Some("raise the memory limit, or read with fewer threads"),
            Self::Fio { .. } => Some("install fio 3, or compare without it"),
            Self::Open { .. }
            | Self::Read { .. }
            | Self::Range { .. }
            | Self::Engine { .. }
            | Self::Closed
            | Self::Stopped
            | Self::Thread { .. } => None,
        }
    }
}

/// A read that failed, with the buffer that it was given.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Failed<T> {
    /// The reason.
    #[source]
    pub error: Error,
    /// The buffer; none when the engine broke down, because then the kernel may still write to it,
    /// and its memory is never freed.
    pub target: Option<T>,
}

impl<T> From<Failed<T>> for Error {
    fn from(failed: Failed<T>) -> Self {
        failed.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_request_names_file_place_and_cause() {
        let source = io::Error::from_raw_os_error(libc::EIO);
        let error = Error::Read { path: "a.parquet".into(), offset: 4096, length: 512, source };
        assert_eq!(error.to_string(), "reading a.parquet failed");
        let detail = error.detail().unwrap();
        assert!(detail.starts_with("512 bytes at 4096: "), "{detail}");
        assert!(error.hint().unwrap().contains("disk"));
        let source = io::Error::from_raw_os_error(libc::EACCES);
        let other = Error::Read { path: "a".into(), offset: 0, length: 1, source };
        assert_eq!(other.hint(), None);
    }
}
