// SPDX-License-Identifier: Apache-2.0
//! Emulates a SmartSSD: an in-process drive that runs the card's kernels on any machine.
//!
//! A command's column chunks go from the file into bounded device memory, in buffers that no other
//! part of the program sees; the HLS kernels, compiled by a C++ compiler, run on them on threads of
//! the drive's own; the result crosses back as bytes. Of a merge the results of
//! the scans stay in device memory, where the merge kernel reads them. What the card would have
//! taken for it is computed by a model ([`timing`]), from what the kernels' stages really did.
//!
//! # What this crate does not do
//!
//! It does not use SQL, Arrow or the optimizer. Its wall time says nothing about a device's speed:
//! the modelled time does, and names its model.
//!
//! # Invariants
//!
//! - Results and modelled times are a function of the command, the configuration and the seed:
//!   neither thread scheduling nor the order of completions enters; but the exchange of an image is
//!   charged to the first command that needs the other one.
//! - Device memory never exceeds its size; every lease is released.
//! - A fault ([`faults`]) is decided from the seed and the command alone, so a run can be repeated;
//!   except for one that is requested by a command's place in the order of submission.
#![forbid(unsafe_code)]

pub mod budget;
mod build;
mod card;
mod config;
mod device;
mod drive;
pub mod faults;
pub mod flash;
mod job;
mod kernels;
mod media;
mod merge;
mod shared;
mod strikes;
pub mod timing;

pub use build::{Build, Builds, Profile};
pub use card::EmulatedCard;
pub use config::{Config, ConfigError};
pub use drive::Emulator;
