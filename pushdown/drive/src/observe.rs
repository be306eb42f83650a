// SPDX-License-Identifier: Apache-2.0
//! Observes the times of commands, as sums from which rates are fitted.
//!
//! An [`Observer`] belongs to one drive. It keeps measured and modelled times in separate sums, and
//! refines a snapshot of modelled rates by modelled times only, and any other by measured ones.
//!
//! # Invariants
//!
//! - The same commands give the same rates, in whatever order they ended.
//! - Times of one model are not mixed with those of another: the sums begin anew.

use std::sync::{Mutex, MutexGuard, PoisonError};

use nearscan_command::Command;

use crate::{
    completion::Completion,
    cost::{CostSnapshot, Kernel, Load, RateSource, RequestClass},
    fit::Sums,
    time::{DriveTime, ModelId, Modelled},
};

/// Measured commands of a kernel and class after which older ones count half: a drive that ages
/// or is shared is judged by how it is now. A model does not age.
const MEASURED_MAX: u64 = 1024;

/// The load and the time of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// Which kernel it was for.
    pub kernel: Kernel,
    /// Ranges of files that it asked for, before a drive joins or cuts them.
    pub requests: u64,
    /// Its load.
    pub load: Load,
    /// Its time.
    pub time: DriveTime,
}

impl Observation {
    /// Makes the observation of a command that has ended and was checked. `planned` is what was
    /// known of its load before: the rows that it reads, or of a merge those that it merged, and
    /// what footers tell of encodings. Bytes are those that it moved.
    pub fn of(kernel: Kernel, scans: &[Command], planned: Load, completion: &Completion) -> Self {
        let requests = scans.iter().map(|scan| scan.unit.inputs.len() as u64).sum();
        let traffic = completion.traffic;
        let load = Load {
            commands: 1,
            media_bytes: traffic.media_bytes,
            link_bytes: traffic.link_bytes,
            ..planned
        };
        Self { kernel, requests, load, time: completion.time }
    }

    fn class(&self) -> RequestClass {
        RequestClass::of(self.load.media_bytes / self.requests.max(1))
    }
}

/// Sums by kernel and class of request size.
type Table = [[Sums; RequestClass::ALL.len()]; Kernel::ALL.len()];

#[derive(Debug, Default)]
struct State {
    measured: Table,
    modelled: Table,
    /// The model of the modelled times.
    model: Option<ModelId>,
}

/// Learns what the commands of a drive take.
#[derive(Debug, Default)]
pub struct Observer(Mutex<State>);

impl Observer {
    /// Takes note of a command.
    pub fn note(&self, observation: &Observation) {
        let Observation { kernel, load, time, .. } = observation;
        let (kernel, class) = (kernel.index(), observation.class().index());
        let mut state = self.state();
        match time {
            DriveTime::Measured(measured) => {
                let sums = &mut state.measured[kernel][class];
                sums.add(load, measured.ns);
                if sums.observations() >= MEASURED_MAX {
                    sums.fade();
                }
            }
            DriveTime::Modelled(modelled) => {
                if state.model.is_some_and(|model| model != modelled.model) {
                    state.modelled = Table::default();
                }
                state.model = Some(modelled.model);
                let ns = lane_ns(observation.kernel, modelled);
                state.modelled[kernel][class].add(load, ns);
            }
        }
    }

    /// The snapshot with rates that were fitted, where those can be trusted.
    #[must_use]
    pub fn refine(&self, mut snapshot: CostSnapshot) -> CostSnapshot {
        let state = self.state();
        let (table, source) = match snapshot.is_modelled() {
            true => (&state.modelled, RateSource::Modelled),
            false => (&state.measured, RateSource::Measured),
        };
        for (kernel, _) in Kernel::ALL {
            for (class, _) in RequestClass::ALL {
                let sums = &table[kernel.index()][class.index()];
                let own = snapshot.rates(kernel).get(class);
                if let Some(rates) = sums.trusted(source, own) {
                    snapshot.rates_mut(kernel).set(class, rates);
                }
            }
        }
        snapshot
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the time that a command kept its lane busy, with others behind it: its start shows once,
/// media and link are shared, and the model says how fast they are.
fn lane_ns(kernel: Kernel, time: &Modelled) -> u64 {
    match kernel {
        Kernel::Scan => time.kernel.interval_ns,
        Kernel::Merge => time.merge_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::{KernelRates, MediaRates, RatesByRequest};
    use crate::stages::{Schedules, StageTimes};
    use crate::time::{KernelTime, Measured};

    fn modelled(version: u32, kernel_ns: u64) -> DriveTime {
        DriveTime::Modelled(Modelled {
            model: ModelId { version, config_hash: 0, schedules: Schedules::default() },
            setup_ns: 1000,
            media_ns: 1 << 30,
            bank_ns: 0,
            kernel: KernelTime { alone_ns: 2 * kernel_ns, interval_ns: kernel_ns },
            ideal_kernel: KernelTime::default(),
            stages: StageTimes::default(),
            merge_ns: 0,
            exchange_ns: 0,
            link_ns: 1 << 30,
            compute_units: 4,
            commands: 1,
        })
    }

    fn scan(rows: u64, time: DriveTime) -> Observation {
        let load =
            Load { commands: 1, media_bytes: 1 << 20, rows, link_bytes: 300, ..Load::default() };
        Observation { kernel: Kernel::Scan, requests: 1, load, time }
    }

    fn snapshot(source: RateSource) -> CostSnapshot {
        let rates = KernelRates {
            setup_ns: 7.0,
            ns_per_media_byte: 7.0,
            ns_per_row: 7.0,
            ns_per_link_byte: 7.0,
            ..KernelRates::zero(source)
        };
        CostSnapshot {
            id: 0,
            lanes: 1,
            start_ns: 0.0,
            media: Some(MediaRates::uniform(1e9)),
            link_bytes_per_s: Some(1e9),
            dictionary_bytes_per_s: None,
            scan: RatesByRequest::uniform(rates),
            merge: RatesByRequest::UNKNOWN,
            queue_depth: 0,
            free_bytes: 0,
            image: None,
        }
    }

    fn scan_rates(observer: &Observer, source: RateSource) -> KernelRates {
        *observer.refine(snapshot(source)).scan.get(RequestClass::Group).unwrap()
    }

    #[test]
    fn modelled_rates_are_refined_by_what_lanes_took() {
        let observer = Observer::default();
        for rows in 1..20 {
            observer.note(&scan(rows * 1000, modelled(1, rows * 5000)));
        }
        let rates = scan_rates(&observer, RateSource::Modelled);
        assert!((rates.ns_per_row - 5.0).abs() < 0.1 && rates.setup_ns < 1100.0, "{rates:?}");
        assert_eq!(rates.source, RateSource::Modelled);
        assert_eq!(rates.fit.unwrap().observations, 19);
        // Requests of other sizes were not seen.
        let refined = observer.refine(snapshot(RateSource::Modelled));
        assert!(refined.scan.get(RequestClass::Page).unwrap().fit.is_none());
        assert_eq!(refined.merge, RatesByRequest::UNKNOWN);
    }

    #[test]
    fn modelled_times_do_not_refine_other_rates() {
        let observer = Observer::default();
        for rows in 1..20 {
            observer.note(&scan(rows * 1000, modelled(1, rows * 5000)));
        }
        assert_eq!(scan_rates(&observer, RateSource::Assumed).fit, None);
        for rows in 1..20 {
            let time = DriveTime::Measured(Measured { ns: rows * 3000 });
            observer.note(&scan(rows * 1000, time));
        }
        let rates = scan_rates(&observer, RateSource::Assumed);
        assert!((rates.ns_per_row - 3.0).abs() < 0.1, "{rates:?}");
        assert_eq!(rates.source, RateSource::Measured);
        let rates = scan_rates(&observer, RateSource::Modelled);
        assert!((rates.ns_per_row - 5.0).abs() < 0.1, "{rates:?}");
    }

    #[test]
    fn another_model_resets_the_sums() {
        let observer = Observer::default();
        for rows in 1..20 {
            observer.note(&scan(rows * 1000, modelled(1, rows * 5000)));
        }
        observer.note(&scan(1000, modelled(2, 5000)));
        assert_eq!(scan_rates(&observer, RateSource::Modelled).fit, None);
    }

    #[test]
    fn recent_commands_outweigh_older_ones() {
        let observer = Observer::default();
        let measured = |rows: u64, ns: u64| scan(rows, DriveTime::Measured(Measured { ns }));
        for number in 0..MEASURED_MAX * 8 {
            let rows = 1000 * (1 + number % 17);
            observer.note(&measured(rows, rows * 2));
        }
        for number in 0..MEASURED_MAX * 8 {
            let rows = 1000 * (1 + number % 17);
            observer.note(&measured(rows, rows * 20));
        }
        let rates = scan_rates(&observer, RateSource::Assumed);
        assert!(rates.ns_per_row > 15.0, "{rates:?}");
    }
}
