// SPDX-License-Identifier: Apache-2.0
//! Implements the same device behind XRT, as the card of the runtime's software emulation.
//!
//! The runtime speaks its own protocol over a socket; here a thread of the process that hosts the
//! drive answers it. Kernels are found by name and are the ones that are compiled into this
//! program, so an image for emulation carries no code.
//!
//! ```text
//! wire       messages             session    calls
//! memory     buffers              unit       registers and kernels
//! fates      faults by command
//! ```
//!
//! # What this module does not do
//!
//! No file is read: on this path the runtime's side moves bytes from the file into device memory,
//! as the host of a card does. No library of the runtime is called.

mod fates;
mod memory;
mod session;
mod unit;
mod wire;

use std::{
    os::unix::net::UnixListener,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use nearscan_command::{Counters, MediaPlan};
use nearscan_drive::{
    CardModel, CostSnapshot, DeviceClock, Failure, MakeMemory, Modelled, Refusal, Work,
};
use nearscan_link::{Image, Kernel};

use crate::{
    build::{Build, Builds},
    config::Config,
};
use fates::Fates;

/// An emulated card for XRT's software emulation.
#[derive(Debug)]
pub struct EmulatedCard {
    fates: Arc<Fates>,
    clock: Clock,
}

/// The time model, called for commands that ran on the card.
#[derive(Debug)]
struct Clock {
    config: Config,
    snapshots: AtomicU64,
}

impl EmulatedCard {
    /// A card that is configured with `image`, and with `merging` for merges: it has the units that
    /// are in there; what else it is like is in `config`.
    pub fn new(image: &Image, merging: Option<&Image>, config: Config) -> Self {
        let build = |image: &Image| Build {
            scan_units: image.units_of(Kernel::Scan),
            lanes: image.lanes,
            merge_units: image.units_of(Kernel::Merge),
        };
        let builds = Builds { first: build(image), merging: merging.map(build) };
        let config = Config { builds, ..config };
        Self { fates: Arc::default(), clock: Clock { config, snapshots: AtomicU64::new(0) } }
    }

    /// Faults that have struck since it was made.
    pub fn faults_struck(&self) -> u64 {
        self.fates.struck()
    }
}

impl CardModel for EmulatedCard {
    fn clock(&self) -> &dyn DeviceClock {
        &self.clock
    }

    fn merge_part_rows(&self) -> u64 {
        self.clock.config.merge_part_rows
    }

    fn admit(&self, work: &Work) -> Result<(), Refusal> {
        self.fates.admit(&self.clock.config, work)
    }

    fn begin(&self, work: &Work, path: &str) -> Result<(), Failure> {
        self.fates.begin(&self.clock.config, work, path)
    }

    fn took(&self, work: &Work, time: Modelled) -> Modelled {
        self.fates.took(work, time)
    }

    fn end(&self, work: &Work) {
        self.fates.end(work);
    }

    fn serve(self: Arc<Self>, listener: UnixListener, memory: MakeMemory) -> std::io::Result<()> {
        session::start(listener, memory, Arc::clone(&self.fates))
    }
}

impl DeviceClock for Clock {
    fn idle(&self) -> Modelled {
        let Config { timing, builds, .. } = &self.config;
        timing.scan(&builds.first, std::iter::empty(), &Counters::default())
    }

    fn scan(&self, plan: &MediaPlan, counters: &Counters) -> Modelled {
        let Config { timing, builds, .. } = &self.config;
        timing.scan(&builds.first, plan.requests(), counters)
    }

    fn merge_ns(&self, parts: &[Counters]) -> u64 {
        self.config.timing.merge_ns(parts)
    }

    fn link_ns(&self, result_bytes: u64) -> u64 {
        self.config.timing.link_ns(result_bytes)
    }

    fn exchange_ns(&self) -> u64 {
        self.config.timing.exchange_ns()
    }

    fn snapshot(&self) -> CostSnapshot {
        let rates = self.config.rates(Some(&self.config.builds.first));
        CostSnapshot { id: self.snapshots.fetch_add(1, Ordering::Relaxed), ..rates }
    }
}

#[cfg(test)]
mod tests {
    use nearscan_link::metadata::Format;
    use nearscan_link::{ImageDescription, xclbin};
    use rstest::rstest;

    use super::*;
    use crate::build::Profile;

    #[rstest]
    #[case("emulation", None, Profile::Unlimited)]
    #[case("smartssd_scan", Some("smartssd_scan_merge"), Profile::SmartSsd)]
    fn images_have_the_units_of_the_profile(
        #[case] first: &str,
        #[case] merging: Option<&str>,
        #[case] profile: Profile,
    ) {
        let image = |name| {
            let format = Format { major: 1, minor: 3 };
            let description = ImageDescription::of_name(name).unwrap();
            Image::read(&xclbin::emulation(description, format), format).unwrap()
        };
        let merging = merging.map(image);
        let card = EmulatedCard::new(&image(first), merging.as_ref(), Config::default());
        assert_eq!(card.clock.config.builds, profile.builds());
    }
}
