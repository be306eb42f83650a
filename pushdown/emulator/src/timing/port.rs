// SPDX-License-Identifier: Apache-2.0
//! Models an AXI port of a compute unit: single beats, bursts, and arguments that share it.
//!
//! A loop that has a port for itself requests consecutive addresses, which the tool turns into
//! bursts: one beat a cycle. When arguments take turns on one port no two addresses follow each
//! other, and every access is its own request; the port keeps a few of them in flight. A loop whose
//! next address depends on what it has read keeps one in flight.

use super::Parameters;

/// The way in which a loop accesses the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Consecutive addresses in bursts.
    Bursts,
    /// Requests of one beat.
    SingleBeats,
}

impl Parameters {
    /// The way in which a plain loop over `arguments` arrays accesses them.
    pub(super) fn access(&self, arguments: u32) -> Access {
        if f64::from(arguments) > self.unit_ports { Access::SingleBeats } else { Access::Bursts }
    }

    /// Cycles that one iteration of a plain loop over `arguments` arrays keeps its busiest port.
    pub(super) fn iteration_cycles(&self, arguments: u32) -> f64 {
        match self.access(arguments) {
            Access::Bursts => 1.0,
            Access::SingleBeats => {
                (f64::from(arguments) / self.unit_ports).ceil() * self.single_beat_cycles()
            }
        }
    }

    /// Cycles a request of one beat takes of a port that always has requests in flight.
    pub(super) fn single_beat_cycles(&self) -> f64 {
        self.port_round_trip_cycles / self.port_outstanding
    }

    /// Cycles of a read on which the next address depends.
    pub(super) fn dependent_read_cycles(&self) -> f64 {
        self.port_round_trip_cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_share_a_port_take_iterations() {
        let parameters = Parameters::default();
        assert!((parameters.iteration_cycles(1) - 1.0).abs() < 1e-9);
        assert!((parameters.iteration_cycles(3) - 3.0 * 58.0 / 16.0).abs() < 1e-9);
        let apart = Parameters { unit_ports: 3.0, ..parameters };
        assert!((apart.iteration_cycles(3) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn requests_in_flight_hide_the_round_trip() {
        let one = Parameters { port_outstanding: 1.0, ..Parameters::default() };
        assert!((one.single_beat_cycles() - one.dependent_read_cycles()).abs() < 1e-9);
    }
}
