// SPDX-License-Identifier: Apache-2.0
//! The time model: what a SmartSSD would have taken, computed from what its kernels did.
//!
//! Each file is one mechanism; a figure comes out of mechanisms, never out of a table of figures:
//!
//! ```text
//! port      single beats, bursts, round trips in flight    arguments that share a port
//! bank      time of a burst in the memory bank             compute units that wait for each other
//! clock     kernel clock                                   local memories that spread over rows
//! schedule  cycles of a loop                               initiation interval, depth
//! link      flash to device memory, device memory to host  request sizes, requests in flight
//! stages    turns of the scan kernel's stages              what waits, and what works side by side
//! ```
//!
//! [`study`] puts them together for the four kernels of the SmartSSD study, `pipeline` for the
//! commands that a drive runs: scans and merges. `docs/timing-model.md` is the whole model on two
//! pages.
//!
//! # Invariants
//!
//! - Every number stands in [`Parameters`], with its source. A mechanism is turned off by its
//!   parameter.
//! - A time is a function of counters and parameters alone.

mod bank;
mod clock;
mod link;
mod parameters;
mod pipeline;
mod port;
mod schedule;
mod stages;
pub mod study;

pub use clock::LocalMemory;
pub use parameters::{Parameter, Parameters, Source};
pub use pipeline::MODEL_VERSION;
pub use stages::{Stage, StageCycles};
