// SPDX-License-Identifier: Apache-2.0
//! Defines why a drive did not accept a command, or did not finish one. Neither fails a query: the
//! unit goes to the CPU.

/// The reason why a drive did not accept work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The submission queue is full.
    #[error("the drive's queue is full")]
    Busy,
    /// Not enough device memory, or the query's memory budget is used up.
    #[error("{needed_bytes} bytes of device memory are not free")]
    LowMemory {
        /// Bytes requested.
        needed_bytes: u64,
    },
    /// The drive is gone or shut down.
    #[error("the drive is gone: {reason}")]
    Gone {
        /// Why.
        reason: String,
    },
    /// The command cannot be bound to this drive.
    #[error("the command was refused: {0}")]
    Command(#[from] nearscan_command::Error),
}

/// The reason why an accepted command did not finish.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The media could not be read.
    #[error("reading {path} failed: {reason}")]
    Read {
        /// The file.
        path: String,
        /// The message of the read.
        reason: String,
    },
    /// The file is not what the command says it was.
    #[error("{path} has changed since it was planned")]
    Stale {
        /// The file.
        path: String,
    },
    /// The kernel did not end in time.
    #[error("the kernel did not finish in time")]
    Timeout,
    /// The command was cancelled.
    #[error("the command was cancelled")]
    Cancelled,
    /// The drive was reset or lost while the command ran.
    #[error("the drive is gone: {reason}")]
    Gone {
        /// Why.
        reason: String,
    },
    /// The result does not fit in the query's memory.
    #[error("{needed_bytes} bytes of host memory are not free")]
    HostMemory {
        /// Bytes of the result.
        needed_bytes: u64,
    },
    /// The queue was full when the command got there: a drive elsewhere has other clients too.
    #[error("the drive's queue is full")]
    Busy,
    /// Device memory was not free when the command got there.
    #[error("{needed_bytes} bytes of device memory are not free")]
    LowMemory {
        /// Bytes requested.
        needed_bytes: u64,
    },
    /// The kernel or its runtime misbehaved.
    #[error("the kernel failed: {reason}")]
    Kernel {
        /// How.
        reason: String,
    },
}

const _: () = assert!(size_of::<Refusal>() <= 72 && size_of::<Failure>() <= 64);
