// SPDX-License-Identifier: Apache-2.0
//! What shall happen to kernels that have not started yet.
//!
//! The fault plan decides by work as the host has it; a kernel sees only addresses. So what is in
//! store for a command is kept by its number until the work ends.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nearscan_drive::{Failure, Refusal, Work};

use crate::config::Config;
use crate::faults::{Fault, draw};

/// What happens to a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It does not end until it is cancelled.
    Hang,
    /// A byte of its result changes.
    Corrupt {
        /// Which one: a number to be cut to the length of the result.
        draw: u64,
    },
}

/// Fates by command.
#[derive(Debug, Default)]
pub(super) struct Fates(Mutex<HashMap<u128, Fate>>);

impl Fates {
    fn known(&self) -> MutexGuard<'_, HashMap<u128, Fate>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happens to the kernel of a command.
    pub(super) fn of(&self, command_id: u128) -> Option<Fate> {
        self.known().get(&command_id).copied()
    }

    /// Whether a submission is refused.
    pub(super) fn admit(config: &Config, work: &Work) -> Result<(), Refusal> {
        let strikes = |fault| config.faults.strikes(config.seed, fault, work);
        if strikes(Fault::QueueFull) {
            return Err(Refusal::Busy);
        }
        if strikes(Fault::LowMemory) {
            return Err(Refusal::LowMemory { needed_bytes: work.device_bytes() });
        }
        Ok(())
    }

    /// Whether work fails before its kernel starts; what happens to the kernel is kept.
    pub(super) fn begin(&self, config: &Config, work: &Work, path: &str) -> Result<(), Failure> {
        let strikes = |fault| config.faults.strikes(config.seed, fault, work);
        if strikes(Fault::Gone) {
            return Err(Failure::Gone { reason: "an injected fault".to_owned() });
        }
        if strikes(Fault::ReadError) {
            let reason = "uncorrectable error".to_owned();
            return Err(Failure::Read { path: path.to_owned(), reason });
        }
        let id = work.envelope().command_id;
        if strikes(Fault::Hang) {
            self.known().insert(id, Fate::Hang);
        } else if strikes(Fault::Timeout) {
            return Err(Failure::Timeout);
        } else if strikes(Fault::Corrupt) {
            let draw = draw(config.seed, u64::MAX, work);
            self.known().insert(id, Fate::Corrupt { draw });
        }
        Ok(())
    }

    /// Forgets what was in store.
    pub(super) fn end(&self, work: &Work) {
        self.known().remove(&work.envelope().command_id);
    }
}
