// SPDX-License-Identifier: Apache-2.0
//! Scans: what a SmartSSD would have taken for a command.
//!
//! Four parts, one after the other for a single command, and a fifth one for a merge (`merge.rs`):
//!
//! ```text
//! setup   starting a command through the runtime
//! media   bytes of all requests / overlapped P2P bandwidth, and one latency
//! kernel  cycles of the busiest stage / clock; cycles come from what the stages did
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
use nearscan_drive::{ModelId, Modelled};

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

    /// Cycles of the busiest stage.
    fn kernel_cycles(&self, counters: &Counters) -> f64 {
        // A look-up in a dictionary in device memory is a single beat.
        let decode = counters.decode_steps_lane_max as f64
            + counters.dictionary_reads as f64 * self.single_beat_cycles();
        let busiest = [
            // One line a cycle.
            counters.lines_read as f64,
            // One token a cycle and lane.
            counters.snappy_tokens_lane_max as f64,
            // One row, dictionary entry or string word a cycle and lane.
            decode,
            // One row a cycle each.
            counters.rows_filtered as f64,
            counters.rows_projected as f64,
            counters.rows_aggregated as f64,
            // One word a cycle, and one for each string word fetched.
            (counters.payload_words + counters.string_words) as f64,
        ]
        .into_iter()
        .fold(0.0, f64::max);
        self.stage_loop().cycles(busiest)
    }

    /// The time of a scan whose result stays in device memory.
    pub fn scan(&self, compute_units: u32, media_bytes: u64, counters: &Counters) -> Modelled {
        Modelled {
            model: self.model(compute_units),
            setup_ns: whole(self.setup_ns),
            media_ns: whole(self.media_ns(media_bytes)),
            kernel_ns: whole(self.kernel_cycles(counters) / self.clock_hz * 1e9),
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

    #[test]
    fn the_busiest_stage_decides() {
        let parameters = Parameters::default();
        let rows = Counters { rows_filtered: 300_000, ..Counters::default() };
        let tokens = Counters { snappy_tokens_lane_max: 600_000, ..rows };
        let difference = parameters.kernel_cycles(&tokens) - parameters.kernel_cycles(&rows);
        assert!((difference - 300_000.0).abs() < 1e-6);
    }

    #[test]
    fn a_look_up_in_device_memory_is_a_single_beat() {
        let counters = Counters { dictionary_reads: 1600, ..Counters::default() };
        let cycles = Parameters::default().kernel_cycles(&counters);
        assert!((cycles - (5800.0 + 2000.0)).abs() < 1e-6, "{cycles}");
    }

    #[test]
    fn a_megabyte_from_the_media_takes_its_share_of_the_bandwidth() {
        let time = Parameters::default().scan(4, 3_250_000, &Counters::default());
        assert_eq!(time.media_ns, 1_000_000 + 20_000);
    }

    #[test]
    fn parameters_are_part_of_the_model() {
        let slower = Parameters { clock_hz: 250e6, ..Parameters::default() };
        assert_ne!(slower.model(4), Parameters::default().model(4));
    }
}
