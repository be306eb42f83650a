// SPDX-License-Identifier: Apache-2.0
//! Scans and merges: what a SmartSSD would have taken for a command.
//!
//! Four parts, one after the other for a single command, and a fifth one for a merge:
//!
//! ```text
//! setup   starting a command through the runtime
//! media   bytes of all requests / overlapped P2P bandwidth, and one latency
//! kernel  cycles of the stages / clock; cycles come from the turns that the stages made
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
use nearscan_drive::{ModelId, Modelled};

use super::Parameters;

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

    /// Cycles of a merge.
    fn merge_cycles(&self, counters: &Counters) -> f64 {
        // One value, word of a string or word of payload a turn.
        let words = counters.values_decoded + counters.string_words + counters.payload_words;
        // It asks for one line at a time.
        counters.lines_read as f64 * self.dependent_read_cycles()
            + self.order_loop().cycles(counters.decode_steps_lane_max as f64)
            + self.word_loop().cycles(words as f64)
    }

    /// The time of a scan whose result stays in device memory.
    pub fn scan(&self, compute_units: u32, media_bytes: u64, counters: &Counters) -> Modelled {
        Modelled {
            model: self.model(compute_units),
            setup_ns: whole(self.setup_ns),
            media_ns: whole(self.media_ns(media_bytes)),
            kernel_ns: whole(self.stage_cycles(counters).total() / self.clock_hz * 1e9),
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
        whole(self.to_host_ns(result_bytes))
    }
}

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
