// SPDX-License-Identifier: Apache-2.0
//! Keeps the planned faults of kernels that have not started yet.
//!
//! The fault plan decides by the host's view of the work; a kernel has only addresses. So the fault
//! of a command is kept by its number until the work ends. A fault of a merge strikes its merge
//! kernel; a fault of its input strikes the input of its first scan.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use nearscan_drive::{Failure, Modelled, Refusal, Work};

use crate::{
    config::Config,
    faults::{self, Fault, INJECTED},
    strikes::Strikes,
};

/// The end that a fault prepares for a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It does not end until it is cancelled.
    Hang,
    /// A byte of its result changes.
    Corrupt {
        /// Which one: a number to be cut to the length of the result.
        draw: u64,
    },
    /// A byte of its input changes.
    CorruptPage {
        /// Which one.
        at: u64,
    },
    /// It ends with a status.
    Error,
    /// It starts late.
    Slow,
}

/// Fates by command, and what has struck.
#[derive(Debug, Default)]
pub(super) struct Fates {
    kernels: Mutex<HashMap<u128, Fate>>,
    /// Places in the order of submission of commands that were taken and have not ended.
    places: Mutex<HashMap<u128, u64>>,
    strikes: Strikes,
}

impl Fates {
    fn kernels(&self) -> MutexGuard<'_, HashMap<u128, Fate>> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn places(&self) -> MutexGuard<'_, HashMap<u128, u64>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Faults that have struck.
    pub(super) fn struck(&self) -> u64 {
        self.strikes.count()
    }

    /// The end that is prepared for the kernel of a command.
    pub(super) fn of(&self, command_id: u128) -> Option<Fate> {
        self.kernels().get(&command_id).copied()
    }

    /// Whether a submission is refused.
    pub(super) fn admit(&self, config: &Config, work: &Work) -> Result<(), Refusal> {
        let place = self.strikes.place();
        let strikes = |fault| self.strikes.strikes(config, fault, work, place);
        if strikes(Fault::QueueFull) {
            return Err(Refusal::Busy);
        }
        if strikes(Fault::LowMemory) {
            return Err(Refusal::LowMemory { needed_bytes: work.device_bytes() });
        }
        self.places().insert(work.envelope().command_id, place);
        Ok(())
    }

    /// Whether work fails before its kernel starts; what happens to the kernel is kept.
    pub(super) fn begin(&self, config: &Config, work: &Work, path: &str) -> Result<(), Failure> {
        let id = work.envelope().command_id;
        let place = self.places().remove(&id).unwrap_or(u64::MAX);
        let strikes = |fault| self.strikes.strikes(config, fault, work, place);
        if strikes(Fault::Gone) || strikes(Fault::Back) {
            return Err(Failure::Gone { reason: INJECTED.to_owned() });
        }
        if strikes(Fault::Reset) {
            return Err(Failure::Gone { reason: "it was reset".to_owned() });
        }
        if strikes(Fault::ReadError) {
            return Err(faults::read_error(path.to_owned()));
        }
        if strikes(Fault::ShortRead) {
            return Err(faults::short_read(work, path.to_owned()));
        }
        if strikes(Fault::Hang) {
            self.kernels().insert(id, Fate::Hang);
            return Ok(());
        }
        if strikes(Fault::Timeout) {
            return Err(Failure::Timeout);
        }
        let fate = match self.strikes.of_kernel(config, work, place) {
            Some(Fault::Slow) => Fate::Slow,
            Some(Fault::KernelError) => Fate::Error,
            Some(Fault::Corrupt) => Fate::Corrupt { draw: faults::result_byte(config.seed, work) },
            Some(Fault::CorruptPage) => {
                let scan = work.scans().first().map(|scan| scan.envelope.command_id);
                if let (Some(at), Some(id)) = (faults::page_byte(config.seed, work), scan) {
                    self.kernels().insert(id, Fate::CorruptPage { at });
                }
                return Ok(());
            }
            Some(_) | None => return Ok(()),
        };
        self.kernels().insert(id, fate);
        Ok(())
    }

    /// The time of a piece of work, as the card's clock says, if the model says `time`.
    pub(super) fn took(&self, work: &Work, time: Modelled) -> Modelled {
        match self.of(work.envelope().command_id) {
            Some(Fate::Slow) => faults::slowed(time),
            Some(Fate::Hang | Fate::Corrupt { .. } | Fate::CorruptPage { .. } | Fate::Error)
            | None => time,
        }
    }

    /// Removes the planned fault.
    pub(super) fn end(&self, work: &Work) {
        self.places().remove(&work.envelope().command_id);
        let mut kernels = self.kernels();
        kernels.remove(&work.envelope().command_id);
        if let Some(scan) = work.scans().first() {
            kernels.remove(&scan.envelope.command_id);
        }
    }
}
