// SPDX-License-Identifier: Apache-2.0
//! Models the stages of the scan kernel: the busy time of each for a command.
//!
//! The kernel counts the iterations of its loops, and a loop begins an iteration each cycle. No row
//! flows before the command is loaded and its dictionaries are whole; from then on the stages work
//! side by side, and the busiest of them decides. Groups are written once the last row has gone by:
//!
//! ```text
//! ahead   Start, then Loaders
//! rows    Dictionary, then the most of
//!             Fetch | Pages | Decompress | Decode | Memory | Filter | Project | Aggregate | Write
//!         (of groups: the most of all but Write, then Write)
//!
//! alone     ahead + rows
//! interval  the longer of ahead and rows
//! ```
//!
//! Loaders have ports and memories of their own, the latter twice. So a unit does what goes ahead
//! of one command while the rows of the one before flow: behind another command each takes the
//! interval. A lane that loads its own dictionary decodes no row meanwhile, so that shows. All of
//! this rests on the structure of the source: a dataflow region whose processes begin the next
//! command as soon as each has ended its part of the present one.
//!
//! The stage that reads scratch keeps requests in flight, as many as its port does, so the way to
//! the memory and back shows in none of them. It does where the next request depends on an answer:
//! extremes of strings wait for each. A stage that asked ahead would not: the two times are the
//! ends of a band. What dictionaries take of scratch is written before the rows, by one stage for
//! all lanes and another one for both loaders.
//!
//! The model omits the waits between stages that are busy at different times of a command.

use nearscan_command::Counters;
use nearscan_drive::{KernelStage, KernelTime, StageTimes};

use super::{Parameters, whole};

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
            KernelStage::Loaders => {
                iterations(counters.loader_iterations_max.max(counters.loader_words).into())
            }
            KernelStage::Dictionary => {
                let busiest = counters.dictionary_iterations_lane_max;
                iterations(busiest.max(counters.dictionary_pairs).into())
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
        let beside_dictionaries = counters
            .memory_write_iterations
            .saturating_sub(counters.dictionary_pairs)
            .saturating_sub(counters.loader_words);
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
pub(super) fn kernel_time(stages: &StageTimes, groups: bool) -> KernelTime {
    let (ahead, rest) = stages.split();
    let ahead_ns = ahead.sum();
    let before_rows_ns = rest.get(KernelStage::Dictionary);
    let behind_rows_ns = if groups { rest.get(KernelStage::Write) } else { 0 };
    let rows = rest.with(KernelStage::Dictionary, 0);
    let rows = if groups { rows.with(KernelStage::Write, 0) } else { rows };
    let rows_ns = before_rows_ns.saturating_add(rows.slowest().1).saturating_add(behind_rows_ns);
    KernelTime { alone_ns: ahead_ns.saturating_add(rows_ns), interval_ns: ahead_ns.max(rows_ns) }
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
            loader_iterations_max: 30_000,
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
            KernelStage::Loaders => Counters { loader_iterations_max: 60_000, ..rest },
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

    /// The time of rows behind a dictionary of their lanes.
    const DICTIONARY_NS: u64 = 100_000;

    #[test]
    fn busiest_stage_decides_once_rows_flow() {
        let stages = KernelStage::ALL.map(|(stage, _, _)| stage);
        let before = [KernelStage::Start, KernelStage::Loaders, KernelStage::Dictionary];
        for stage in stages.into_iter().filter(|stage| !before.contains(stage)) {
            // 16,000 requests of 58 / 16 cycles each.
            let most = if stage == KernelStage::Memory { 193_334 } else { 200_000 };
            let KernelTime { alone_ns, interval_ns } = kernel_time(&stages_of(stage), false);
            assert_eq!(interval_ns, DICTIONARY_NS + most, "{stage}");
            // Loaders take 30,000 iterations.
            assert_eq!(alone_ns, START_NS + 100_000 + interval_ns, "{stage}");
        }
    }

    #[test]
    fn command_alone_hides_no_dictionary() {
        let alone_ns = |stage| kernel_time(&stages_of(stage), false).alone_ns;
        assert_eq!(alone_ns(KernelStage::Start), START_NS + KEYS_NS);
        let none = Parameters::default().stages(&Counters::default(), Waits::Exposed);
        assert_eq!(kernel_time(&none, false), KernelTime::unpipelined(START_NS));
        let all = START_NS + 200_000 + DICTIONARY_NS + 100_000;
        assert_eq!(alone_ns(KernelStage::Loaders), all);
        assert_eq!(alone_ns(KernelStage::Dictionary), all);
    }

    #[test]
    fn command_behind_another_hides_what_goes_ahead_or_the_rows() {
        let interval_ns = |stage| kernel_time(&stages_of(stage), false).interval_ns;
        // Start and loaders in front of 100,000 of dictionary and 100,000 of rows.
        assert_eq!(interval_ns(KernelStage::Loaders), START_NS + 200_000);
        // A lane loads its own dictionary in front of its rows.
        assert_eq!(interval_ns(KernelStage::Dictionary), 200_000 + 100_000);
        // Only keys.
        assert_eq!(interval_ns(KernelStage::Start), START_NS + KEYS_NS);
    }

    #[test]
    fn groups_are_written_behind_the_last_row() {
        let stages = stages_of(KernelStage::Decode);
        let (rows, groups) = (kernel_time(&stages, false), kernel_time(&stages, true));
        let write_ns = stages.get(KernelStage::Write);
        assert_eq!(groups.alone_ns, rows.alone_ns + write_ns);
        assert_eq!(groups.interval_ns, rows.interval_ns + write_ns);
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
        // What dictionaries take is written before, by one stage for lanes and one for loaders.
        let loaded = Counters { dictionary_pairs: 150, loader_words: 600, ..written };
        assert_eq!(memory_ns(&loaded), 500);
        let stages = Parameters::default().stages(&loaded, Waits::Exposed);
        assert_eq!(stages.get(KernelStage::Dictionary), 500);
        assert_eq!(stages.get(KernelStage::Loaders), 2000);
        // Two loaders write more words than the busier one loads.
        let beside = Counters { loader_iterations_max: 450, ..loaded };
        let stages = Parameters::default().stages(&beside, Waits::Exposed);
        assert_eq!(stages.get(KernelStage::Loaders), 2000);
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
