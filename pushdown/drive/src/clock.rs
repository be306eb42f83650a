// SPDX-License-Identifier: Apache-2.0
//! Reads the clock; this is the only module that does, so that measured time has one source.

use std::time::{Duration, Instant};

use crate::time::Measured;

/// A running measurement.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts measuring.
    #[expect(clippy::disallowed_methods, reason = "this is the replacement that the ban names")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// Time since the start, as a figure that says it was measured.
    pub fn measured(&self) -> Measured {
        Measured { ns: u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX) }
    }
}

/// The time of day in ns since 1970, for logs and file versions; never for measuring.
#[expect(clippy::disallowed_methods, reason = "this is the replacement that the ban names")]
pub fn unix_ns() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// Waits; only for simulated hardware and back-off, never to wait for an event.
#[expect(clippy::disallowed_methods, reason = "this is the replacement that the ban names")]
pub fn pause(duration: Duration) {
    std::thread::sleep(duration);
}
