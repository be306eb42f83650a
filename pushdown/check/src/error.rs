// SPDX-License-Identifier: Apache-2.0
//! Defines errors of a check. A drive that fails a case, or is slow, is not an error but a result.

use std::{io, path::PathBuf};

use nearscan_drive::{Fault, Refusal};

/// Result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a drive could not be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no place for files.
    #[error("cannot write below '{}'", folder.display())]
    Folder {
        /// Where.
        folder: PathBuf,
        /// The message of the file system.
        #[source]
        source: io::Error,
    },
    /// The drive does not hold a file that was made for it.
    #[error("the drive does not hold '{}': {reason}", path.display())]
    NotHeld {
        /// The file.
        path: PathBuf,
        /// The message of the drive.
        reason: String,
    },
    /// The drive took no command.
    #[error("the drive did not take a command of the benchmark")]
    Refused(#[from] Refusal),
    /// A command returned a wrong result.
    #[error("a command of the benchmark did not give its rows")]
    Fault(#[from] Box<Fault>),
    /// A command that the format does not allow.
    #[error("a command of the benchmark is none")]
    Command(#[from] nearscan_command::Error),
    /// The progress callback ended the check.
    #[error("the check was ended before it was done")]
    Stopped,
}
