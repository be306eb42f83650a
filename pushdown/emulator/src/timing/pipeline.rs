// SPDX-License-Identifier: Apache-2.0
//! Scans: what a SmartSSD would have taken for a command.
//!
//! Four parts, one after the other for a single command, and a fifth one for a merge (`merge.rs`):
//!
//! ```text
//! setup   starting a command through the runtime, and waiting for its first request
//! media   all requests, as many in flight as the drive keeps
//! kernel  taking the command, and cycles of the busiest stage / clock; cycles come from what the
//!         stages did
//! merge   setup, and the slowest part of the merge; its scans come before it
//! link    bytes of the result / host link bandwidth, and one latency
//! ```
//!
//! The scans of a merge share the compute units as those of several commands do; their results stay
//! in device memory, so they take no link.
//!
//! Every loop schedule (cycles an iteration) is assumed: nothing was synthesised. What is left out:
//! the contention of scans for the memory bank, and the flash translation layer.

use nearscan_command::Counters;
use nearscan_drive::{KernelStage, ModelId, Modelled, StageTimes};

use super::{Parameters, whole};

/// Version of this model, shown with every figure.
pub const MODEL_VERSION: u32 = 3;

impl Parameters {
    /// Identity of the model with these parameters.
    pub fn model(&self, compute_units: u32) -> ModelId {
        let values = self.table().into_iter().map(|parameter| parameter.value);
        let words = values.chain([f64::from(compute_units)]);
        let bytes: Vec<u8> = words.flat_map(f64::to_le_bytes).collect();
        ModelId {
            version: MODEL_VERSION,
            config_hash: xxhash_rust::xxh3::xxh3_64(&bytes),
            schedule: self.schedule(),
        }
    }

    /// How long each stage of the scan kernel was busy.
    fn stages(&self, counters: &Counters) -> StageTimes {
        let interval_cycles = self.stage_loop().interval_cycles;
        let turns = [
            // One line a cycle.
            (KernelStage::Fetch, counters.lines_read as f64),
            // One token a cycle and lane.
            (KernelStage::Decompress, counters.snappy_tokens_lane_max as f64),
            // One row, dictionary entry or string word a cycle and lane.
            (KernelStage::Decode, counters.decode_steps_lane_max as f64),
            // A single beat.
            (KernelStage::LookUp, counters.dictionary_reads as f64 * self.single_beat_cycles()),
            // One row a cycle each.
            (KernelStage::Filter, counters.rows_filtered as f64),
            (KernelStage::Project, counters.rows_projected as f64),
            (KernelStage::Aggregate, counters.rows_aggregated as f64),
            // One word a cycle, and one for each string word fetched.
            (KernelStage::Write, (counters.payload_words + counters.string_words) as f64),
        ];
        let start = StageTimes::default().with(KernelStage::Start, whole(self.start_ns));
        turns.into_iter().fold(start, |times, (stage, turns)| {
            times.with(stage, whole(self.kernel_ns(turns * interval_cycles)))
        })
    }

    /// Time of the scan kernel: it starts, and then its stages run side by side.
    fn scan_ns(&self, stages: &StageTimes) -> u64 {
        let start = stages.get(KernelStage::Start);
        let (_, busiest) = stages.with(KernelStage::Start, 0).slowest();
        start
            .saturating_add(busiest)
            .saturating_add(whole(self.kernel_ns(self.stage_loop().depth_cycles)))
    }

    fn kernel_ns(&self, cycles: f64) -> f64 {
        cycles / self.clock_hz * 1e9
    }

    /// The time of a scan whose input was read by `requests`, and whose result stays in device
    /// memory.
    pub fn scan(
        &self,
        compute_units: u32,
        requests: impl Iterator<Item = u64>,
        counters: &Counters,
    ) -> Modelled {
        let media = self.media(requests);
        let stages = self.stages(counters);
        Modelled {
            model: self.model(compute_units),
            setup_ns: whole(self.setup_ns + media.wait_ns),
            media_ns: whole(media.busy_ns),
            kernel_ns: self.scan_ns(&stages),
            stages,
            merge_ns: 0,
            link_ns: 0,
            compute_units,
            commands: 1,
        }
    }

    /// The time of sending a result to the host.
    pub fn link_ns(&self, result_bytes: u64) -> u64 {
        whole(self.to_host_ns(result_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(counters: &Counters) -> Modelled {
        Parameters::default().scan(4, std::iter::empty(), counters)
    }

    #[test]
    fn the_busiest_stage_decides_and_is_named() {
        let rows = Counters { rows_filtered: 300_000, ..Counters::default() };
        let tokens = Counters { snappy_tokens_lane_max: 600_000, ..rows };
        assert_eq!(scan(&tokens).kernel_ns - scan(&rows).kernel_ns, 1_000_000);
        assert_eq!(scan(&rows).stages.slowest(), (KernelStage::Filter, 1_000_000));
        assert_eq!(scan(&tokens).stages.slowest(), (KernelStage::Decompress, 2_000_000));
    }

    #[test]
    fn a_look_up_in_device_memory_is_a_single_beat() {
        let counters = Counters { dictionary_reads: 1600, ..Counters::default() };
        assert_eq!(scan(&counters).stages.get(KernelStage::LookUp), 5800 * 10 / 3 + 1);
    }

    #[test]
    fn an_empty_scan_starts_and_is_filled() {
        assert_eq!(scan(&Counters::default()).kernel_ns, 5000 + 6667);
    }

    #[test]
    fn a_megabyte_from_the_media_takes_its_share_of_the_bandwidth() {
        let requests = [1 << 20, 1 << 20, 1 << 20].into_iter();
        let time = Parameters::default().scan(4, requests, &Counters::default());
        assert_eq!(time.media_ns, 967_917);
    }

    #[test]
    fn parameters_are_part_of_the_model() {
        let slower = Parameters { clock_hz: 250e6, ..Parameters::default() };
        assert_ne!(slower.model(4), Parameters::default().model(4));
    }
}
