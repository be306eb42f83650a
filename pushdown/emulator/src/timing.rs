// SPDX-License-Identifier: Apache-2.0
//! The first time model: what a SmartSSD would have taken for a command.
//!
//! Four parts, one after the other for a single command, and a fifth one for a merge:
//!
//! ```text
//! setup   starting a command through the runtime
//! media   bytes of all requests / overlapped P2P bandwidth, and one latency
//! kernel  cycles of the busiest stage / clock; cycles come from what the stages did
//! merge   setup, and cycles of the merge kernel / clock; its scans come before it
//! link    bytes of the result / host link bandwidth, and one latency
//! ```
//!
//! The scans of a merge share the compute units as those of several commands do; their results stay
//! in device memory, so they take no link. The merge kernel is one loop: what it does is added up.
//!
//! Every loop schedule (cycles an iteration) is assumed: nothing was synthesised. What is left out:
//! the contention of compute units for the memory bank, and the flash translation layer.

use nearscan_command::Counters;
use nearscan_drive::{ModelId, Modelled, Schedule};

/// Version of this model, shown with every figure.
pub const MODEL_VERSION: u32 = 2;

/// Parameters of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// Kernel clock, in Hz. Source: the SmartSSD study (300 MHz).
    pub clock_hz: f64,
    /// NAND to device memory, requests overlapped, in bytes a second. Source: vendor log (3.25
    /// GB/s).
    pub media_bytes_per_s: f64,
    /// Until the first byte of a request, in ns. Source: vendor log (4 KiB at 0.05 GB/s).
    pub media_latency_ns: f64,
    /// Device memory to host, in bytes a second. Source: vendor log (1.86 GB/s).
    pub link_bytes_per_s: f64,
    /// Until the first byte of a transfer, in ns. Assumed.
    pub link_latency_ns: f64,
    /// Starting a command, in ns. Source: the study bounds it by 150 us; assumed 100 us.
    pub setup_ns: f64,
    /// Cycles of a dictionary look-up in device memory: a round trip of 58 with 16 outstanding.
    /// Source: calibrated on the study.
    pub dictionary_read_cycles: f64,
    /// Cycles until a line of device memory is there that a merge asks for: it asks for one at a
    /// time. Source: calibrated on the study, as above.
    pub line_read_cycles: f64,
    /// Cycles of a step in which a merge compares two rows: both keys out of memory on chip,
    /// compared, the winner chosen. Assumed.
    pub order_step_cycles: f64,
    /// Cycles from the first byte in to the last row out of an empty pipeline. Assumed.
    pub fill_cycles: f64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            clock_hz: 300e6,
            media_bytes_per_s: 3.25e9,
            media_latency_ns: 80_000.0,
            link_bytes_per_s: 1.86e9,
            link_latency_ns: 10_000.0,
            setup_ns: 100_000.0,
            dictionary_read_cycles: 58.0 / 16.0,
            line_read_cycles: 58.0,
            order_step_cycles: 4.0,
            fill_cycles: 2000.0,
        }
    }
}

impl Parameters {
    /// Identity of the model with these parameters.
    pub fn model(&self, compute_units: u32) -> ModelId {
        let words = [
            self.clock_hz,
            self.media_bytes_per_s,
            self.media_latency_ns,
            self.link_bytes_per_s,
            self.link_latency_ns,
            self.setup_ns,
            self.dictionary_read_cycles,
            self.line_read_cycles,
            self.order_step_cycles,
            self.fill_cycles,
            f64::from(compute_units),
        ];
        let bytes = words.map(f64::to_le_bytes).concat();
        ModelId {
            version: MODEL_VERSION,
            config_hash: xxhash_rust::xxh3::xxh3_64(&bytes),
            schedule: Schedule::Assumed,
        }
    }

    /// Cycles of the busiest stage.
    pub fn kernel_cycles(&self, counters: &Counters) -> f64 {
        let decode = counters.decode_steps_lane_max as f64
            + counters.dictionary_reads as f64 * self.dictionary_read_cycles;
        [
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
        .fold(0.0, f64::max)
            + self.fill_cycles
    }

    /// Cycles of a merge.
    pub fn merge_cycles(&self, counters: &Counters) -> f64 {
        counters.lines_read as f64 * self.line_read_cycles
            + counters.decode_steps_lane_max as f64 * self.order_step_cycles
            // One value, word of a string or word of payload a cycle.
            + (counters.values_decoded + counters.string_words + counters.payload_words) as f64
    }

    /// The time of a scan whose result stays in device memory.
    pub fn scan(&self, compute_units: u32, media_bytes: u64, counters: &Counters) -> Modelled {
        let media = if media_bytes == 0 {
            0.0
        } else {
            self.media_latency_ns / MEDIA_REQUESTS_IN_FLIGHT
                + media_bytes as f64 / self.media_bytes_per_s * 1e9
        };
        Modelled {
            model: self.model(compute_units),
            setup_ns: whole(self.setup_ns),
            media_ns: whole(media),
            kernel_ns: whole(self.kernel_cycles(counters) / self.clock_hz * 1e9),
            merge_ns: 0,
            link_ns: 0,
            compute_units,
            commands: 1,
        }
    }

    /// The time of merging results in device memory, started like any other kernel.
    pub fn merge_ns(&self, counters: &Counters) -> u64 {
        whole(self.setup_ns + self.merge_cycles(counters) / self.clock_hz * 1e9)
    }

    /// The time of sending a result to the host.
    pub fn link_ns(&self, result_bytes: u64) -> u64 {
        whole(self.link_latency_ns + result_bytes as f64 / self.link_bytes_per_s * 1e9)
    }
}

/// Requests that hide each other's latency. Assumed: the queue depth at which the overlapped
/// bandwidth was published is not given.
const MEDIA_REQUESTS_IN_FLIGHT: f64 = 4.0;

/// Nanoseconds, rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the model's times are positive and far below 2^64 ns"
)]
fn whole(ns: f64) -> u64 {
    ns.ceil() as u64
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
    fn a_megabyte_from_the_media_takes_its_share_of_the_bandwidth() {
        let time = Parameters::default().scan(4, 3_250_000, &Counters::default());
        assert_eq!(time.media_ns, 1_000_000 + 20_000);
    }

    #[test]
    fn a_merge_pays_for_lines_comparisons_and_words() {
        let parameters = Parameters::default();
        let counters = Counters {
            lines_read: 10,
            decode_steps_lane_max: 100,
            values_decoded: 7,
            string_words: 5,
            payload_words: 3,
            ..Counters::default()
        };
        let cycles = parameters.merge_cycles(&counters);
        assert!((cycles - (580.0 + 400.0 + 15.0)).abs() < 1e-6, "{cycles}");
        assert_eq!(parameters.merge_ns(&counters), 100_000 + 3317);
    }

    #[test]
    fn parameters_are_part_of_the_model() {
        let slower = Parameters { clock_hz: 250e6, ..Parameters::default() };
        assert_ne!(slower.model(4), Parameters::default().model(4));
    }
}
