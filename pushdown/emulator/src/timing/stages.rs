// SPDX-License-Identifier: Apache-2.0
//! Models the stages of the scan kernel: the busy time of each for a command.
//!
//! The kernel counts the iterations of its loops, and a loop begins an iteration each cycle. No row
//! flows before the command is loaded and the largest dictionary is whole; from then on the stages
//! work side by side, and the busiest of them decides. Groups are written once the last row has
//! gone by:
//!
//! ```text
//! Start, then Dictionary, then the most of
//!     Fetch | Pages | Decompress | Decode | Memory | Filter | Project | Aggregate | Write
//! (of groups: the most of all but Write, then Write)
//! ```
//!
//! The stage that reads scratch keeps requests in flight, as many as its port does, so the way to
//! the memory and back shows in none of them. It does where the next request depends on an answer:
//! extremes of strings wait for each. A stage that asked ahead would not: the two times are the
//! ends of a band. What dictionaries take of scratch is written before the rows, by one stage for
//! all lanes.
//!
//! The model omits the waits between stages that are busy at different times of a command.

use nearscan_command::Counters;
use nearscan_drive::{KernelStage, StageTimes};

use super::{Parameters, whole};

/// Stages that have to end before a row flows.
const BEFORE_ROWS: [KernelStage; 2] = [KernelStage::Start, KernelStage::Dictionary];

/// Whether the waits of the aggregates for device memory are charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// Each request is waited for before the next is made, as the kernel is written.
    Exposed,
    /// None: others go on meanwhile.
    Hidden,
}

impl Parameters {
    /// The time of each stage of the scan kernel for a command with these counters.
    pub(super) fn stages(&self, counters: &Counters, waits: Waits) -> StageTimes {
        let iterations = |iterations: f64| self.stage_loop().cycles(iterations);
        let cycles = |stage| match stage {
            // Loading the command and its key filters, and filling the pipeline.
            KernelStage::Start => self.fill_cycles + iterations(counters.key_words as f64),
            KernelStage::Dictionary => {
                let busiest = counters.dictionary_iterations_lane_max;
                iterations(busiest.max(counters.dictionary_words).into())
            }
            // A line an iteration.
            KernelStage::Fetch => iterations(counters.lines_read as f64),
            KernelStage::Pages => iterations(counters.page_iterations_lane_max.into()),
            KernelStage::Decompress => iterations(counters.snappy_tokens_lane_max as f64),
            KernelStage::Decode => iterations(counters.decode_iterations_lane_max.into()),
            KernelStage::Memory => self.scratch_cycles(counters),
            KernelStage::Filter => iterations(counters.filter_iterations.into()),
            KernelStage::Project => iterations(counters.project_iterations.into()),
            KernelStage::Aggregate => {
                iterations(counters.aggregate_iterations.into())
                    + self.waited_cycles(counters, waits)
            }
            KernelStage::Write => iterations(counters.write_iterations.into()),
        };
        KernelStage::ALL.into_iter().fold(StageTimes::default(), |times, (stage, _, _)| {
            let waited_ns = if stage == KernelStage::Start { self.start_ns } else { 0.0 };
            times.with(stage, whole(waited_ns + cycles(stage) / self.clock_hz * 1e9))
        })
    }

    /// Cycles of scratch while rows flow: it is read by one stage and written by another. A request
    /// takes the port at least as long as one of a single beat.
    fn scratch_cycles(&self, counters: &Counters) -> f64 {
        let read = self.stage_loop().cycles(counters.memory_read_iterations.into());
        let asked = f64::from(counters.memory_reads) * self.single_beat_cycles();
        let beside_dictionaries =
            counters.memory_write_iterations.saturating_sub(counters.dictionary_words);
        let written = self.stage_loop().cycles(beside_dictionaries.into());
        read.max(asked).max(written)
    }

    /// Cycles in which the aggregates wait for what they have asked.
    fn waited_cycles(&self, counters: &Counters, waits: Waits) -> f64 {
        match waits {
            Waits::Exposed => f64::from(counters.memory_waits) * self.dependent_read_cycles(),
            Waits::Hidden => 0.0,
        }
    }
}

/// Time of a command of these stages. `groups` are written behind the last row.
pub(super) fn kernel_ns(stages: &StageTimes, groups: bool) -> u64 {
    let behind_rows = if groups { stages.get(KernelStage::Write) } else { 0 };
    let alone = BEFORE_ROWS.map(|stage| stages.get(stage)).into_iter().sum::<u64>();
    let rows = BEFORE_ROWS.into_iter().fold(*stages, |rows, stage| rows.with(stage, 0));
    let rows = if groups { rows.with(KernelStage::Write, 0) } else { rows };
    alone.saturating_add(rows.slowest().1).saturating_add(behind_rows)
}

/// Whether a command answers with groups: it has aggregated its rows.
pub(super) fn has_groups(counters: &Counters) -> bool {
    counters.rows_aggregated > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters in which one stage has more to do than all others.
    fn counters_of(stage: KernelStage) -> Counters {
        let rest = Counters {
            dictionary_iterations_lane_max: 30_000,
            lines_read: 30_000,
            page_iterations_lane_max: 30_000,
            snappy_tokens_lane_max: 30_000,
            decode_iterations_lane_max: 30_000,
            memory_read_iterations: 1000,
            memory_reads: 8000,
            memory_write_iterations: 30_000,
            filter_iterations: 30_000,
            project_iterations: 30_000,
            aggregate_iterations: 30_000,
            write_iterations: 30_000,
            ..Counters::default()
        };
        match stage {
            KernelStage::Start => Counters { key_words: 16_384, ..Counters::default() },
            KernelStage::Dictionary => Counters { dictionary_iterations_lane_max: 60_000, ..rest },
            KernelStage::Fetch => Counters { lines_read: 60_000, ..rest },
            KernelStage::Pages => Counters { page_iterations_lane_max: 60_000, ..rest },
            KernelStage::Decompress => Counters { snappy_tokens_lane_max: 60_000, ..rest },
            KernelStage::Decode => Counters { decode_iterations_lane_max: 60_000, ..rest },
            KernelStage::Memory => Counters { memory_reads: 16_000, ..rest },
            KernelStage::Filter => Counters { filter_iterations: 60_000, ..rest },
            KernelStage::Project => Counters { project_iterations: 60_000, ..rest },
            KernelStage::Aggregate => Counters { aggregate_iterations: 60_000, ..rest },
            KernelStage::Write => Counters { write_iterations: 60_000, ..rest },
        }
    }

    fn stages_of(stage: KernelStage) -> StageTimes {
        Parameters::default().stages(&counters_of(stage), Waits::Exposed)
    }

    /// From the queue, and the pipeline filled.
    const START_NS: u64 = 5000 + 6667;

    /// 128 KiB of key filters, a word in each of 3.33 ns.
    const KEYS_NS: u64 = 54_613;

    #[test]
    fn stage_with_the_most_work_is_the_slowest() {
        for (stage, _, _) in KernelStage::ALL {
            assert_eq!(stages_of(stage).slowest().0, stage);
        }
    }

    #[test]
    fn busiest_stage_decides_once_rows_flow() {
        let stages = KernelStage::ALL.map(|(stage, _, _)| stage);
        for stage in stages.into_iter().filter(|stage| !BEFORE_ROWS.contains(stage)) {
            // 16,000 requests of 58 / 16 cycles each.
            let most = if stage == KernelStage::Memory { 193_334 } else { 200_000 };
            assert_eq!(kernel_ns(&stages_of(stage), false), START_NS + 100_000 + most, "{stage}");
        }
    }

    #[test]
    fn command_and_dictionary_stages_are_not_hidden() {
        assert_eq!(kernel_ns(&stages_of(KernelStage::Start), false), START_NS + KEYS_NS);
        let none = Parameters::default().stages(&Counters::default(), Waits::Exposed);
        assert_eq!(kernel_ns(&none, false), START_NS);
        let dictionary = kernel_ns(&stages_of(KernelStage::Dictionary), false);
        assert_eq!(dictionary, START_NS + 200_000 + 100_000);
    }

    #[test]
    fn groups_are_written_behind_the_last_row() {
        let stages = stages_of(KernelStage::Decode);
        let rows = kernel_ns(&stages, false);
        assert_eq!(kernel_ns(&stages, true), rows + stages.get(KernelStage::Write));
        assert!(has_groups(&Counters { rows_aggregated: 1, ..Counters::default() }));
        assert!(!has_groups(&Counters::default()));
    }

    #[test]
    fn scratch_takes_the_most_of_words_read_requests_and_words_written() {
        let memory_ns = |counters: &Counters| {
            Parameters::default().stages(counters, Waits::Exposed).get(KernelStage::Memory)
        };
        let none = Counters::default();
        assert_eq!(memory_ns(&Counters { memory_read_iterations: 600, ..none }), 2000);
        assert_eq!(memory_ns(&Counters { memory_reads: 1600, ..none }), 19_334);
        let written = Counters { memory_write_iterations: 900, ..none };
        assert_eq!(memory_ns(&written), 3000);
        // What a dictionary takes is written before.
        let loaded = Counters { dictionary_words: 600, ..written };
        assert_eq!(memory_ns(&loaded), 1000);
        let dictionary = Parameters::default().stages(&loaded, Waits::Exposed);
        assert_eq!(dictionary.get(KernelStage::Dictionary), 2000);
    }

    #[test]
    fn waits_of_the_aggregates_are_the_band_between_written_and_ideal() {
        let counters =
            Counters { aggregate_iterations: 300, memory_waits: 150, ..Counters::default() };
        let time =
            |waits| Parameters::default().stages(&counters, waits).get(KernelStage::Aggregate);
        assert_eq!((time(Waits::Exposed), time(Waits::Hidden)), (1000 + 29_000, 1000));
    }
}
