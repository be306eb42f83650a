// SPDX-License-Identifier: Apache-2.0
//! Defines what ends the wait of a backend.

use std::fmt::Debug;

/// Ends the wait of a backend, from any thread.
pub trait Interrupt: Send + Sync + Debug {
    /// The present wait, or the next one, ends at once.
    fn interrupt(&self);
}
