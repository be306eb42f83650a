// SPDX-License-Identifier: Apache-2.0
//! Models merges of sorted results, whose parts run side by side on their units.
//!
//! A part reads columns ahead, and waits for what it could not ask for before: the beginnings of
//! blocks, strings, and each step of the search for its cuts. It compares rows, a step after the
//! other, and moves a line, a value, a word of a string or a word of payload a cycle. The kernel is
//! one loop, so what it does is added up. The slowest part counts, held up by the others at the
//! memory bank.

use nearscan_command::Counters;

use super::{Parameters, bank::Bursts, whole};

/// Bytes of a line, and of a word of payload.
const LINE_BYTES: f64 = 64.0;
const WORD_BYTES: f64 = 8.0;
/// Lines of a burst that is read ahead: half a window of the kernel.
const AHEAD_LINES: f64 = 4.0;

impl Parameters {
    /// The time of merging results in device memory, started like any other kernel. `parts` are
    /// what each part did.
    pub fn merge_ns(&self, parts: &[Counters]) -> u64 {
        let units = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let part_ns = |counters: &Counters| {
            let alone_ns = self.merge_cycles(counters) / self.clock_hz * 1e9;
            let bursts = self.merge_bursts(counters);
            alone_ns * f64::from(units) / self.speedup(units, alone_ns, &bursts)
        };
        let slowest_ns = parts.iter().map(part_ns).fold(0.0, f64::max);
        whole(self.setup_ns + slowest_ns)
    }

    /// Cycles of a part that has the bank to itself.
    fn merge_cycles(&self, counters: &Counters) -> f64 {
        // One value, word of a string or word of payload an iteration.
        let words = counters.values_decoded + counters.string_words + counters.payload_words;
        waits(counters) * self.dependent_read_cycles()
            + self.order_loop().cycles(counters.decode_steps_lane_max as f64)
            + self.word_loop().cycles((counters.lines_read + words) as f64)
    }

    /// The bursts that a part asks of the bank: those it waits for, taken to be of one line, those
    /// it reads ahead, and its payload.
    fn merge_bursts(&self, counters: &Counters) -> Bursts {
        let written_bytes = counters.payload_words as f64 * WORD_BYTES;
        let read_bytes = counters.lines_read as f64 * LINE_BYTES;
        let ahead = (counters.lines_read as f64 - waits(counters)).max(0.0);
        let reads = waits(counters) + ahead / AHEAD_LINES;
        let writes = written_bytes / (self.port_burst_beats * WORD_BYTES);
        let count = reads + writes;
        let bytes = if count > 0.0 { (read_bytes + written_bytes) / count } else { 0.0 };
        Bursts { reads, writes, bytes }
    }
}

/// Reads that nothing had asked for ahead.
fn waits(counters: &Counters) -> f64 {
    counters.dictionary_reads as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: Counters = Counters {
        lines_read: 10,
        pages: 0,
        bytes_decompressed: 0,
        snappy_tokens: 0,
        snappy_tokens_lane_max: 0,
        values_decoded: 7,
        decode_steps_lane_max: 100,
        dictionary_entries: 0,
        dictionary_reads: 2,
        rows_filtered: 0,
        rows_projected: 0,
        rows_aggregated: 0,
        filter_iterations: 0,
        project_iterations: 0,
        aggregate_iterations: 0,
        write_iterations: 0,
        decode_iterations_lane_max: 0,
        dictionary_iterations_lane_max: 0,
        page_iterations_lane_max: 0,
        memory_read_iterations: 0,
        memory_write_iterations: 0,
        memory_reads: 0,
        memory_waits: 0,
        memory_writes: 0,
        string_words: 5,
        payload_words: 3,
        blocks: 0,
        key_words: 0,
    };

    #[test]
    fn merge_pays_for_waits_comparisons_lines_and_words() {
        let parameters = Parameters::default();
        let cycles = parameters.merge_cycles(&PART);
        assert!((cycles - (116.0 + 400.0 + 10.0 + 15.0)).abs() < 1e-6, "{cycles}");
        assert_eq!(parameters.merge_ns(&[PART]), 100_000 + 1804);
    }

    #[test]
    fn slowest_part_counts_with_the_contention_of_others() {
        let parameters = Parameters::default();
        let longer = Counters { decode_steps_lane_max: 1000, ..PART };
        let alone = parameters.merge_ns(&[longer]);
        let beside = parameters.merge_ns(&[PART, longer, PART]);
        // A merge that compares hardly waits for the bank.
        assert!(beside > alone && beside < alone + 1000, "{beside} {alone}");
        // One that only moves does.
        let moving = Counters { payload_words: 1_000_000, ..Counters::default() };
        let moved = parameters.merge_ns(&[moving]) - 100_000;
        let beside = parameters.merge_ns(&[moving; 15]) - 100_000;
        assert!(beside > 2 * moved, "{beside} {moved}");
    }
}
