// SPDX-License-Identifier: Apache-2.0
//! Defines what a reader is asked for ([`Options`]) and what it got ([`Report`]).
//!
//! A number out of its limits is moved into them; what the machine refuses is left out with a
//! reason. So the same options work everywhere, and the report says what they came to.

use std::{fmt, str::FromStr};

use crate::target::BLOCK;

/// What sends requests to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Engine {
    /// `io_uring` where it can be had, else `pread`.
    #[default]
    Auto,
    /// `io_uring`, or an error.
    IoUring,
    /// `pread` on a few threads.
    Pread,
}

/// When reads go past the page cache (`O_DIRECT`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direct {
    /// For what is mostly not in the page cache, where offset and buffer are aligned.
    #[default]
    Auto,
    /// Never.
    Never,
    /// Wherever offset and buffer are aligned; the page cache is not asked.
    Always,
}

/// Whether the kernel polls: for requests (SQPOLL), or for the device's completions (IOPOLL).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Polling {
    /// It waits to be told, the default: polling takes a core.
    #[default]
    Off,
    /// It polls, where kernel and device can.
    On,
}

/// What a reader is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What sends requests.
    pub engine: Engine,
    /// Requests in flight at once, 1 to [`QUEUE_DEPTH_MAX`].
    pub queue_depth: u32,
    /// Largest request; longer reads are split. A multiple of [`BLOCK`] after rounding.
    pub request_bytes: u32,
    /// Two ranges of one call with at most this many bytes between them are one read.
    pub gap_bytes: u64,
    /// When reads go past the page cache.
    pub direct: Direct,
    /// Whether a thread of the kernel polls for requests.
    pub sqpoll: Polling,
    /// Whether the kernel polls the device for completions of direct reads.
    pub iopoll: Polling,
    /// Files that a ring keeps registered; 0 registers none.
    pub registered_files: u32,
    /// Threads of the engine `pread`.
    pub threads: u32,
}

/// Most requests in flight.
pub const QUEUE_DEPTH_MAX: u32 = 4096;

/// Most bytes of one request: the kernel transfers at most this much in one.
pub const REQUEST_BYTES_MAX: u32 = 64 << 20;

/// Most threads of the engine `pread`.
pub const THREADS_MAX: u32 = 256;

/// Most files that a ring keeps registered.
pub const REGISTERED_FILES_MAX: u32 = 4096;

impl Default for Options {
    fn default() -> Self {
        Self {
            engine: Engine::Auto,
            queue_depth: 32,
            request_bytes: 1 << 20,
            gap_bytes: GAP_BYTES,
            direct: Direct::Auto,
            sqpoll: Polling::Off,
            iopoll: Polling::Off,
            registered_files: 64,
            threads: 8,
        }
    }
}

/// The default of [`Options::gap_bytes`], where reading a gap costs what a request of its own does.
///
/// Measured with `bench` (`AsyncRegistered`, random, depth 32, median of 7 rounds, a virtual disk
/// on 2 cores): two requests of 64 KiB take 82 us; as one without a gap 78 us, with a gap of 32 KiB
/// 84 us, of 64 KiB 99 us. It is also the gap of the spans of a drive's command.
pub const GAP_BYTES: u64 = 32 << 10;

impl Options {
    /// The same with every number within its limits.
    #[must_use]
    pub(crate) fn limited(&self) -> Self {
        let block = u32::try_from(BLOCK).unwrap_or(u32::MAX);
        let request_bytes = self.request_bytes.clamp(block, REQUEST_BYTES_MAX);
        Self {
            queue_depth: self.queue_depth.clamp(1, QUEUE_DEPTH_MAX),
            request_bytes: request_bytes - request_bytes % block,
            registered_files: self.registered_files.min(REGISTERED_FILES_MAX),
            threads: self.threads.clamp(1, THREADS_MAX),
            ..self.clone()
        }
    }
}

/// A word that names no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no such value")]
pub struct UnknownWord;

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::IoUring => "io_uring",
            Self::Pread => "pread",
        })
    }
}

impl FromStr for Engine {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word.to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "io_uring" => Ok(Self::IoUring),
            "pread" => Ok(Self::Pread),
            _ => Err(UnknownWord),
        }
    }
}

impl fmt::Display for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Never => "never",
            Self::Always => "always",
        })
    }
}

impl FromStr for Direct {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word.to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "never" => Ok(Self::Never),
            "always" => Ok(Self::Always),
            _ => Err(UnknownWord),
        }
    }
}

/// A thing that a reader has, or has not, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Feature {
    /// It is in use.
    On,
    /// It is not.
    Off {
        /// Why.
        reason: String,
    },
}

impl Feature {
    pub(crate) fn off(reason: impl Into<String>) -> Self {
        Self::Off { reason: reason.into() }
    }

    /// Whether it is in use.
    #[must_use]
    pub fn is_on(&self) -> bool {
        matches!(self, Self::On)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On => f.write_str("on"),
            Self::Off { reason } => write!(f, "off: {reason}"),
        }
    }
}

/// What a reader got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What sends requests: never [`Engine::Auto`].
    pub engine: Engine,
    /// Why it is this engine.
    pub reason: String,
    /// Requests in flight at once.
    pub queue_depth: u32,
    /// Largest request.
    pub request_bytes: u32,
    /// When reads go past the page cache.
    pub direct: Direct,
    /// Whether reads into buffers of the pool spare the kernel the mapping of their pages.
    pub registered_buffers: Feature,
    /// Whether requests spare the kernel the look-up of the file.
    pub registered_files: Feature,
    /// Whether a thread of the kernel polls for requests.
    pub sqpoll: Feature,
    /// Whether the kernel polls the device.
    pub iopoll: Feature,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_what_they_are_written_for() {
        for engine in [Engine::Auto, Engine::IoUring, Engine::Pread] {
            assert_eq!(engine.to_string().parse(), Ok(engine));
        }
        for direct in [Direct::Auto, Direct::Never, Direct::Always] {
            assert_eq!(direct.to_string().to_uppercase().parse(), Ok(direct));
        }
        assert_eq!("aio".parse::<Engine>(), Err(UnknownWord));
        assert_eq!("sometimes".parse::<Direct>(), Err(UnknownWord));
    }

    #[test]
    fn numbers_are_moved_into_their_limits() {
        let wild = Options {
            queue_depth: 0,
            request_bytes: 5000,
            threads: 0,
            registered_files: u32::MAX,
            ..Options::default()
        };
        let limited = wild.limited();
        assert_eq!((limited.queue_depth, limited.request_bytes), (1, 4096));
        assert_eq!((limited.threads, limited.registered_files), (1, REGISTERED_FILES_MAX));
        let large = Options { request_bytes: u32::MAX, ..Options::default() };
        assert_eq!(large.limited().request_bytes, REQUEST_BYTES_MAX);
        assert_eq!(Options::default().limited(), Options::default());
    }
}
