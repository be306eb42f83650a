// SPDX-License-Identifier: Apache-2.0
//! Counts the commands of a drive since it was opened, with the faults that have struck.

use std::sync::atomic::{AtomicU64, Ordering};

use nearscan_drive::Work;

use crate::{config::Config, faults::Fault};

/// The faults of one drive since it was opened.
#[derive(Debug, Default)]
pub(crate) struct Strikes {
    submitted: AtomicU64,
    struck: AtomicU64,
}

impl Strikes {
    /// The place of the next command in the order of submission.
    pub(crate) fn place(&self) -> u64 {
        self.submitted.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether `fault` strikes `work`; counts it if it does.
    pub(crate) fn strikes(&self, config: &Config, fault: Fault, work: &Work, place: u64) -> bool {
        let strikes = config.faults.strikes(config.seed, fault, work, place);
        if strikes {
            self.struck.fetch_add(1, Ordering::Relaxed);
        }
        strikes
    }

    /// The fault that strikes a running kernel; there is one at most.
    pub(crate) fn of_kernel(&self, config: &Config, work: &Work, place: u64) -> Option<Fault> {
        let kinds = [Fault::Slow, Fault::CorruptPage, Fault::KernelError, Fault::Corrupt];
        kinds.into_iter().find(|fault| self.strikes(config, *fault, work, place))
    }

    /// Commands that have a place.
    pub(crate) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Relaxed)
    }

    /// Faults that have struck.
    pub(crate) fn count(&self) -> u64 {
        self.struck.load(Ordering::Relaxed)
    }
}
