// SPDX-License-Identifier: Apache-2.0
//! Models the stages of the scan kernel: the busy time of each for a command.
//!
//! The kernel counts the iterations of its loops, and a loop begins an iteration each cycle. No row
//! flows before the command is loaded and the largest dictionary is whole; from then on the stages
//! work side by side, and the busiest of them decides:
//!
//! ```text
//! Start, then Dictionary, then the most of
//!     Fetch | Decompress | Decode | LookUp | Filter | Project | Aggregate | Write
//! ```
//!
//! The model omits the waits between stages that are busy at different times of a command.

use nearscan_command::Counters;
use nearscan_drive::{KernelStage, StageTimes};

use super::{Parameters, whole};

/// Stages that have to end before a row flows.
const BEFORE_ROWS: [KernelStage; 2] = [KernelStage::Start, KernelStage::Dictionary];

impl Parameters {
    /// The time of each stage of the scan kernel for a command with these counters.
    pub(super) fn stages(&self, counters: &Counters) -> StageTimes {
        let iterations = |iterations: f64| self.stage_loop().cycles(iterations);
        let cycles = |stage| match stage {
            // Loading the command and its key filters, and filling the pipeline.
            KernelStage::Start => self.fill_cycles + iterations(counters.key_words as f64),
            KernelStage::Dictionary => iterations(counters.dictionary_iterations_lane_max.into()),
            // A line an iteration.
            KernelStage::Fetch => iterations(counters.lines_read as f64),
            KernelStage::Decompress => iterations(counters.snappy_tokens_lane_max as f64),
            KernelStage::Decode => iterations(counters.decode_iterations_lane_max.into()),
            // A single beat each.
            KernelStage::LookUp => counters.dictionary_reads as f64 * self.single_beat_cycles(),
            KernelStage::Filter => iterations(counters.filter_iterations.into()),
            KernelStage::Project => iterations(counters.project_iterations.into()),
            KernelStage::Aggregate => iterations(counters.aggregate_iterations.into()),
            KernelStage::Write => iterations(counters.write_iterations.into()),
        };
        KernelStage::ALL.into_iter().fold(StageTimes::default(), |times, (stage, _, _)| {
            let waited_ns = if stage == KernelStage::Start { self.start_ns } else { 0.0 };
            times.with(stage, whole(waited_ns + cycles(stage) / self.clock_hz * 1e9))
        })
    }
}

/// Time of a command of these stages.
pub(super) fn kernel_ns(stages: &StageTimes) -> u64 {
    let before = BEFORE_ROWS.map(|stage| stages.get(stage)).into_iter().sum::<u64>();
    let rows = BEFORE_ROWS.into_iter().fold(*stages, |rows, stage| rows.with(stage, 0));
    before.saturating_add(rows.slowest().1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters in which one stage has more to do than all others.
    fn counters_of(stage: KernelStage) -> Counters {
        let rest = Counters {
            dictionary_iterations_lane_max: 30_000,
            lines_read: 30_000,
            snappy_tokens_lane_max: 30_000,
            decode_iterations_lane_max: 30_000,
            dictionary_reads: 8000,
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
            KernelStage::Decompress => Counters { snappy_tokens_lane_max: 60_000, ..rest },
            KernelStage::Decode => Counters { decode_iterations_lane_max: 60_000, ..rest },
            KernelStage::LookUp => Counters { dictionary_reads: 24_000, ..rest },
            KernelStage::Filter => Counters { filter_iterations: 60_000, ..rest },
            KernelStage::Project => Counters { project_iterations: 60_000, ..rest },
            KernelStage::Aggregate => Counters { aggregate_iterations: 60_000, ..rest },
            KernelStage::Write => Counters { write_iterations: 60_000, ..rest },
        }
    }

    fn stages_of(stage: KernelStage) -> StageTimes {
        Parameters::default().stages(&counters_of(stage))
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
            let most = if stage == KernelStage::LookUp { 290_000 } else { 200_000 };
            assert_eq!(kernel_ns(&stages_of(stage)), START_NS + 100_000 + most, "{stage}");
        }
    }

    #[test]
    fn command_and_dictionary_stages_are_not_hidden() {
        assert_eq!(kernel_ns(&stages_of(KernelStage::Start)), START_NS + KEYS_NS);
        let none = Parameters::default().stages(&Counters::default());
        assert_eq!(kernel_ns(&none), START_NS);
        assert_eq!(kernel_ns(&stages_of(KernelStage::Dictionary)), START_NS + 200_000 + 100_000);
    }
}
