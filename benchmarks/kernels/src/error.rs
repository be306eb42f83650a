// SPDX-License-Identifier: Apache-2.0
//! Defines errors of a run; a figure that differs from the study's is not an error but a result.

use std::{io, path::PathBuf};

use nearscan_emulator::timing::study::Kernel;
use nearscan_models::study as kernels;

/// Result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why the tables could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A kernel gave an answer that plain Rust does not give.
    #[error("wrong answer of {build}")]
    WrongAnswer {
        /// Which build.
        build: String,
    },
    /// A loop of the host gave such an answer.
    #[error("wrong answer of the host's loop for {kernel}")]
    WrongHostAnswer {
        /// Which job.
        kernel: Kernel,
    },
    /// A kernel did not run to its end.
    #[error("{build} did not run")]
    Kernel {
        /// Which build.
        build: String,
        /// The reason.
        #[source]
        source: kernels::Error,
    },
    /// The progress callback ended the run.
    #[error("the run was ended before it was done")]
    Stopped,
    /// A figure could not be drawn.
    #[error("cannot draw {figure}: {reason}")]
    Draw {
        /// Name of the figure.
        figure: String,
        /// The message of the drawing library.
        reason: String,
    },
    /// A file or folder could not be made.
    #[error("cannot write '{}'", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
}

const _: () = assert!(size_of::<Error>() <= 64);
