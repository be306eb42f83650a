// SPDX-License-Identifier: Apache-2.0
//! Implements the time model: it computes the time of a SmartSSD from the counters of its kernels.
//!
//! Each file is one mechanism; a figure is computed by mechanisms, never taken from a table of
//! figures:
//!
//! ```text
//! port      single beats, bursts, round trips in flight    arguments that share a port
//! bank      time of a burst in the memory bank             compute units that wait for each other
//! clock     kernel clock                                   local memories that spread over rows
//! schedule  cycles of a loop                               initiation interval, depth
//! link      flash to device memory, device memory to host  request sizes, requests in flight
//! stages    iterations of the scan kernel's stages         what waits, and what works side by side
//! ```
//!
//! [`study`] puts them together for the four kernels of the SmartSSD study, [`fast`] for the same
//! jobs with wide ports, `pipeline` and `merge` for the scans and merges that a drive runs.
//! `rates` is what the model comes to for a mean row and byte, which a drive says before anything
//! ran. `docs/timing-model.md` is the whole model on a few pages.
//!
//! # Invariants
//!
//! - Every number is in [`Parameters`], with its source. A mechanism is turned off by its
//!   parameter.
//! - A time is a function of counters and parameters alone.

mod assumptions;
mod bank;
mod clock;
pub mod fast;
mod link;
mod merge;
mod parameters;
mod pipeline;
mod port;
mod rates;
mod scan_bank;
mod schedule;
mod stages;
pub mod study;
mod unbuildable;

pub use assumptions::ASSUMPTIONS;
pub use clock::LocalMemory;
pub use parameters::{Parameter, Parameters, Source};
pub use pipeline::MODEL_VERSION;

/// Nanoseconds, rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the model's times are positive and far below 2^64 ns"
)]
fn whole(ns: f64) -> u64 {
    ns.ceil() as u64
}
