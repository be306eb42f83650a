// SPDX-License-Identifier: Apache-2.0
//! The one place of the engine that reads a clock.
//!
//! What it returns is *measured* time of this machine, never time modelled by an emulated drive.

use std::time::{Duration, Instant};

/// Measures wall time from its creation.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts measuring now.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "the one clock of the engine, measured time only"
    )]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the wall time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
