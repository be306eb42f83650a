// SPDX-License-Identifier: Apache-2.0
//! Models the single bank of DDR4: the time of a burst, and the contention of compute units.
//!
//! A burst takes an overhead, its bytes at the peak, and a turnaround when it writes. Units that
//! share the bank are a closed queue: each computes, requests a burst, waits for those before it,
//! and computes on. Mean-value analysis gives its rate, exact for service times that scatter as
//! those of a bank with open and closed rows do.
//!
//! A unit of the study alone is described by its port. So a burst never takes the bank longer than
//! the unit that requests it was seen to need: single beats of one unit find their rows open. A
//! port as wide as the memory requests more than the bank gives; such a unit is charged `bank_ns`
//! at least, before it shares the bank with others.

use super::Parameters;

/// The load of a compute unit on the bank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bursts {
    pub(super) reads: f64,
    pub(super) writes: f64,
    /// Bytes of each.
    pub(super) bytes: f64,
}

impl Parameters {
    /// Time of the bank for an average one of these bursts, in ns.
    fn service_ns(&self, bursts: &Bursts) -> f64 {
        let writes_share = bursts.writes / (bursts.reads + bursts.writes);
        self.bank_burst_overhead_ns
            + bursts.bytes / self.bank_bytes_per_s * 1e9
            + writes_share * self.bank_turnaround_ns
    }

    /// Time of the bank for all of these bursts, in ns: no unit is faster, however wide its port.
    pub(super) fn bank_ns(&self, bursts: &Bursts) -> f64 {
        let count = bursts.reads + bursts.writes;
        if count > 0.0 { count * self.service_ns(bursts) } else { 0.0 }
    }

    /// The rate of `units` compute units, as a multiple of that of one. Alone a unit takes
    /// `alone_ns` for its bursts.
    pub(super) fn speedup(&self, units: u32, alone_ns: f64, bursts: &Bursts) -> f64 {
        let count = bursts.reads + bursts.writes;
        if count <= 0.0 || alone_ns <= 0.0 {
            return f64::from(units);
        }
        let turn_ns = alone_ns / count;
        let service_ns = self.service_ns(bursts).min(turn_ns);
        let mut queue = 0.0;
        let mut rate = 0.0;
        for present in 1..=units {
            // A burst that arrives finds the queue of a system with one unit less.
            let response_ns = service_ns * (1.0 + queue);
            rate = f64::from(present) / (turn_ns - service_ns + response_ns);
            queue = rate * response_ns;
        }
        rate * turn_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: Bursts = Bursts { reads: 1.0, writes: 0.0, bytes: 64.0 };

    #[test]
    fn two_units_wait_as_in_a_closed_queue_of_two() {
        let parameters = Parameters {
            bank_burst_overhead_ns: 10.0,
            bank_bytes_per_s: 12.8e9,
            ..Parameters::default()
        };
        // A service of 15 in an iteration of 60: the second finds the bank busy a quarter of the
        // time.
        let speedup = parameters.speedup(2, 60.0, &READS);
        assert!((speedup - 2.0 * 60.0 / 63.75).abs() < 1e-9, "{speedup}");
        assert!((parameters.speedup(1, 60.0, &READS) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn bank_limits_many_units() {
        let parameters = Parameters::default();
        let limit = 53.3 / parameters.service_ns(&READS);
        let speedup = parameters.speedup(500, 53.3, &READS);
        assert!((speedup / limit - 1.0).abs() < 1e-3, "{speedup} of {limit}");
    }

    #[test]
    fn write_takes_longer_than_read() {
        let parameters = Parameters::default();
        let writes = Bursts { reads: 0.0, writes: 1.0, bytes: 64.0 };
        let more = parameters.service_ns(&writes) - parameters.service_ns(&READS);
        assert!((more - parameters.bank_turnaround_ns).abs() < 1e-9);
    }

    #[test]
    fn wide_unit_waits_for_the_bank_alone() {
        let parameters = Parameters::default();
        let bursts = Bursts { reads: 2.0, writes: 1.0, bytes: 1024.0 };
        let bank_ns = parameters.bank_ns(&bursts);
        assert!((bank_ns - (3.0 * (11.27 + 1024.0 / 19.2) + 11.5)).abs() < 1e-9, "{bank_ns}");
        // Nothing is left to gain by a second one.
        assert!((parameters.speedup(2, bank_ns, &bursts) - 1.0).abs() < 1e-9);
        assert!(parameters.bank_ns(&Bursts { reads: 0.0, writes: 0.0, bytes: 0.0 }) == 0.0);
    }

    #[test]
    fn single_unit_of_the_study_never_waits_for_the_bank() {
        let parameters = Parameters::default();
        assert!((parameters.speedup(4, 5.0, &READS) - 1.0).abs() < 1e-9);
    }
}
