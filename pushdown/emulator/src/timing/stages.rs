// SPDX-License-Identifier: Apache-2.0
//! Stages of the scan kernel: what each would have taken for a command.
//!
//! The kernel counts the turns of its loops, and a loop begins a turn each cycle. No row flows
//! before the command is loaded and the largest dictionary is whole; from then on the stages work
//! side by side, and the busiest of them decides:
//!
//! ```text
//! Command, then Dictionary, then the most of
//!     Fetch | Decompress | Decode | LookUp | Filter | Project | Aggregate | Write
//! ```
//!
//! What is left out: stages that wait for each other in between, because one of them is busy at
//! first and another one later.

use nearscan_command::Counters;

use super::Parameters;

/// A part of the scan kernel's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Loading the command, and filling the pipeline.
    Command,
    /// Decompressing and decoding the dictionary page of the busiest lane.
    Dictionary,
    /// Reading lines of the input.
    Fetch,
    /// Decompressing the data pages of the busiest lane.
    Decompress,
    /// Decoding them.
    Decode,
    /// Looking up in dictionaries that are in device memory.
    LookUp,
    /// Evaluating the predicate.
    Filter,
    /// Evaluating the projection.
    Project,
    /// Folding rows into groups.
    Aggregate,
    /// Writing the payload.
    Write,
}

impl Stage {
    /// All stages, in the order of a row's way.
    pub const ALL: [Self; 10] = [
        Self::Command,
        Self::Dictionary,
        Self::Fetch,
        Self::Decompress,
        Self::Decode,
        Self::LookUp,
        Self::Filter,
        Self::Project,
        Self::Aggregate,
        Self::Write,
    ];

    /// Whether it has to end before a row flows.
    pub fn is_before_rows(self) -> bool {
        matches!(self, Self::Command | Self::Dictionary)
    }
}

/// Cycles of each stage for a command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StageCycles {
    cycles: [(Stage, f64); Stage::ALL.len()],
}

impl StageCycles {
    /// Every stage with its cycles, in the order of a row's way.
    pub fn iter(&self) -> impl Iterator<Item = (Stage, f64)> {
        self.cycles.into_iter()
    }

    /// The stage with the most cycles; of several the first.
    pub fn slowest(&self) -> (Stage, f64) {
        let [first, rest @ ..] = self.cycles;
        rest.into_iter().fold(first, |most, next| if next.1 > most.1 { next } else { most })
    }

    /// Cycles of the command.
    pub fn total(&self) -> f64 {
        let (before, rows): (Vec<_>, Vec<_>) =
            self.iter().partition(|(stage, _)| stage.is_before_rows());
        let before: f64 = before.into_iter().map(|(_, cycles)| cycles).sum();
        before + rows.into_iter().fold(0.0, |most, (_, cycles)| f64::max(most, cycles))
    }
}

impl Parameters {
    /// What each stage of the scan kernel takes for a command that counted this.
    pub fn stage_cycles(&self, counters: &Counters) -> StageCycles {
        let turns = |turns: f64| self.stage_loop().cycles(turns);
        let cycles = |stage| match stage {
            Stage::Command => self.fill_cycles,
            Stage::Dictionary => turns(counters.dictionary_turns_lane_max.into()),
            // A line a turn.
            Stage::Fetch => turns(counters.lines_read as f64),
            Stage::Decompress => turns(counters.snappy_tokens_lane_max as f64),
            Stage::Decode => turns(counters.decode_turns_lane_max.into()),
            // A single beat each.
            Stage::LookUp => counters.dictionary_reads as f64 * self.single_beat_cycles(),
            Stage::Filter => turns(counters.filter_turns.into()),
            Stage::Project => turns(counters.project_turns.into()),
            Stage::Aggregate => turns(counters.aggregate_turns.into()),
            Stage::Write => turns(counters.write_turns.into()),
        };
        StageCycles { cycles: Stage::ALL.map(|stage| (stage, cycles(stage))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters in which one stage has more to do than all others.
    fn counters_of(stage: Stage) -> Counters {
        let rest = Counters {
            dictionary_turns_lane_max: 3000,
            lines_read: 3000,
            snappy_tokens_lane_max: 3000,
            decode_turns_lane_max: 3000,
            dictionary_reads: 800,
            filter_turns: 3000,
            project_turns: 3000,
            aggregate_turns: 3000,
            write_turns: 3000,
            ..Counters::default()
        };
        match stage {
            Stage::Command => Counters::default(),
            Stage::Dictionary => Counters { dictionary_turns_lane_max: 4000, ..rest },
            Stage::Fetch => Counters { lines_read: 4000, ..rest },
            Stage::Decompress => Counters { snappy_tokens_lane_max: 4000, ..rest },
            Stage::Decode => Counters { decode_turns_lane_max: 4000, ..rest },
            Stage::LookUp => Counters { dictionary_reads: 1600, ..rest },
            Stage::Filter => Counters { filter_turns: 4000, ..rest },
            Stage::Project => Counters { project_turns: 4000, ..rest },
            Stage::Aggregate => Counters { aggregate_turns: 4000, ..rest },
            Stage::Write => Counters { write_turns: 4000, ..rest },
        }
    }

    #[track_caller]
    fn check_total(stage: Stage, expected: f64) {
        let cycles = Parameters::default().stage_cycles(&counters_of(stage)).total();
        assert!((cycles - expected).abs() < 1e-6, "{stage:?} {cycles}");
    }

    #[test]
    fn each_stage_is_the_slowest_when_it_has_the_most_to_do() {
        for stage in Stage::ALL {
            let cycles = Parameters::default().stage_cycles(&counters_of(stage));
            assert_eq!(cycles.slowest().0, stage);
        }
    }

    #[test]
    fn the_busiest_stage_decides_once_rows_flow() {
        for stage in Stage::ALL.into_iter().filter(|stage| !stage.is_before_rows()) {
            let most = if stage == Stage::LookUp { 1600.0 * 58.0 / 16.0 } else { 4000.0 };
            check_total(stage, 2000.0 + 3000.0 + most);
        }
    }

    #[test]
    fn nothing_hides_the_command_and_the_dictionary() {
        check_total(Stage::Command, 2000.0);
        check_total(Stage::Dictionary, 2000.0 + 4000.0 + 3000.0);
    }

    #[test]
    fn a_look_up_in_device_memory_is_a_single_beat() {
        let counters = Counters { dictionary_reads: 1600, ..Counters::default() };
        let (stage, cycles) = Parameters::default().stage_cycles(&counters).slowest();
        assert_eq!(stage, Stage::LookUp);
        assert!((cycles - 5800.0).abs() < 1e-6, "{cycles}");
    }
}
