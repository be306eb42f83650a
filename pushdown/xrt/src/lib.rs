// SPDX-License-Identifier: Apache-2.0
//! Implements a drive on a card, a SmartSSD or any board with the same kernels, through XRT.
//!
//! The runtime's libraries are found when a card is opened; nothing is linked. Without a card the
//! same code runs on XRT's own software emulation, where a [`CardModel`](nearscan_drive::CardModel)
//! replaces the device.
//!
//! ```text
//! process, environment, library    what the runtime wants before anything else
//! handles, pool, unit, card        the runtime's objects, and the order in which they close
//! images                           what a card can be loaded with, and which one a command needs
//! media, job, merge                a command: file to device, kernel, result to host
//! running, shared, drive           many commands, deadlines, cancellation, the drive itself
//! checks, error                    what a card needs, and what is said where it is missing
//! signals, debian_shim             what the runtime does to a process, undone
//! ```
//!
//! Like every user of the runtime, it should run in a separate process: [`prepare`] comes first
//! there, before threads, or the process is started with [`Environment::variables`].
//!
//! # What this crate does not do
//!
//! No model of a card. No number that is known before it was measured: on a card rates are fitted
//! to commands that ran.
//!
//! # Invariants
//!
//! - Every command is answered within its time and a grace, also by a card that hangs or vanishes.
//! - What a device may still touch is never given out again.
//! - On a card times are measured, in emulation modelled.

mod address;
mod card;
mod checks;
mod config;
mod debian_shim;
mod drive;
mod environment;
mod error;
mod handles;
mod images;
mod job;
mod library;
mod media;
mod merge;
mod pool;
mod process;
mod running;
mod shared;
mod signals;
mod unit;

pub use config::{Config, PeerToPeer};
pub use drive::XrtDrive;
pub use environment::Environment;
pub use error::OpenError;
pub use images::read_image;
pub use process::{Preparation, leave, prepare};
