// SPDX-License-Identifier: Apache-2.0
//! Defines the model of a card, as the drive that uses it in place of hardware sees it.
//!
//! A drive behind a vendor's runtime can be tried without hardware: the runtime's emulation
//! communicates with a model of the device over a socket. Model and drive are different backends
//! that do not depend on each other; the code that opens both passes the model to the drive.
//!
//! ```text
//! drive --runtime's calls--> runtime --socket--> CardModel::serve     kernels, device memory
//!   '------------------------------------------> CardModel::clock     what it would have taken
//!   '------------------------------------------> admit, begin, end    what shall go wrong
//! ```
//!
//! # Invariants
//!
//! - Time and faults are functions of the work, the configuration and the seed: they are computed
//!   from the work, not from the messages on the socket, so they equal those of an in-process
//!   drive.

use std::{fmt::Debug, fs::File, os::unix::net::UnixListener, sync::Arc};

use nearscan_command::{Counters, MediaPlan};

use crate::{
    cost::CostSnapshot,
    drive::Work,
    error::{Failure, Refusal},
    time::Modelled,
};

/// Makes memory of so many bytes that two parties can map: a file without a name.
pub type MakeMemory = fn(u64) -> std::io::Result<File>;

/// Computes the time that a device would have taken for emulated work.
pub trait DeviceClock: Send + Sync + Debug {
    /// A command that failed before a kernel ran.
    fn idle(&self) -> Modelled;

    /// A scan whose input was read as `plan` says, and whose result stays in device memory.
    fn scan(&self, plan: &MediaPlan, counters: &Counters) -> Modelled;

    /// The merging of a merge that was cut into these parts, in ns.
    fn merge_ns(&self, parts: &[Counters]) -> u64;

    /// A result on its way to the host, in ns.
    fn link_ns(&self, result_bytes: u64) -> u64;

    /// Loading another image, in ns.
    fn exchange_ns(&self) -> u64;

    /// The speed of the device with its first image; what is in flight and free is left to the
    /// drive, and so is which image is loaded.
    fn snapshot(&self) -> CostSnapshot;
}

/// A device in software, behind the socket of a runtime's emulation.
pub trait CardModel: Send + Sync + Debug {
    /// Its clock.
    fn clock(&self) -> &dyn DeviceClock;

    /// Rows that make one more part of a merge worth its search.
    fn merge_part_rows(&self) -> u64;

    /// Whether it takes this work.
    ///
    /// # Errors
    /// The refusal that its fault plan has for it.
    fn admit(&self, work: &Work) -> Result<(), Refusal>;

    /// Says that this work begins; what shall happen to its kernels is kept by command. `path` is
    /// the file that is read first.
    ///
    /// # Errors
    /// The failure that its fault plan has for it.
    fn begin(&self, work: &Work, path: &str) -> Result<(), Failure>;

    /// Returns the time of this work; `time` is that of its clock.
    fn took(&self, work: &Work, time: Modelled) -> Modelled;

    /// Says that this work has ended, or was not taken after all.
    fn end(&self, work: &Work);

    /// Waits for the runtime on `listener`, on its own thread, and answers it until it closes the
    /// device.
    ///
    /// # Errors
    /// When there is no thread left.
    fn serve(self: Arc<Self>, listener: UnixListener, memory: MakeMemory) -> std::io::Result<()>;
}
