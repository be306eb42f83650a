// SPDX-License-Identifier: Apache-2.0
//! Models merges of sorted results, whose parts run side by side on their units.
//!
//! A part first waits for what it cannot ask for ahead: the lines that its search looks at, the
//! heads of blocks, strings that tie. Then its processes run side by side, and the busiest counts:
//!
//! ```text
//! choice   a step for each row that is compared with those of all inputs, and an iteration for
//!          each further word of its keys; a row begins once the one before it is chosen
//! rows     an iteration for each turn, each word of a value, each word that arrives
//! reads    an iteration for each word, and a share of a round trip for each burst
//! output   an iteration for each word of the payload, or of a string that is packed
//! bank     what the bank takes for the bursts
//! ```
//!
//! A round trip each fills and drains them. The slowest part counts, held up by the others at the
//! memory bank.

use nearscan_command::Counters;

use super::{Parameters, bank::Bursts, whole};

/// Bytes of a line, and of a word of payload.
const LINE_BYTES: f64 = 64.0;
const WORD_BYTES: f64 = 8.0;

impl Parameters {
    /// The time of merging results in device memory, started like any other kernel. `parts` are
    /// what each part did.
    pub fn merge_ns(&self, parts: &[Counters]) -> u64 {
        let units = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let part_ns = |counters: &Counters| {
            let bursts = self.merge_bursts(counters);
            let cycles_ns = |cycles: f64| cycles / self.clock_hz * 1e9;
            let merging_ns = cycles_ns(self.merge_cycles(counters)).max(self.bank_ns(&bursts));
            let alone_ns = cycles_ns(self.wait_cycles(counters)) + merging_ns;
            alone_ns * f64::from(units) / self.speedup(units, alone_ns, &bursts)
        };
        let slowest_ns = parts.iter().map(part_ns).fold(0.0, f64::max);
        whole(self.setup_ns + slowest_ns)
    }

    /// Cycles in which a part waits for single reads, and for the first and the last words.
    fn wait_cycles(&self, counters: &Counters) -> f64 {
        (counters.dictionary_reads as f64 + 2.0) * self.dependent_read_cycles()
    }

    /// Cycles of the busiest process of a part that has the bank to itself.
    fn merge_cycles(&self, counters: &Counters) -> f64 {
        let iterations = |count: u32| self.word_loop().cycles(count.into());
        let choices = counters.decode_steps_lane_max as f64;
        let further_words = (f64::from(counters.filter_iterations) - choices).max(0.0);
        let choice = self.order_loop().cycles(choices) + self.word_loop().cycles(further_words);
        let bursts = counters.pages as f64 * self.single_beat_cycles();
        choice
            .max(iterations(counters.decode_iterations_lane_max))
            .max(iterations(counters.project_iterations))
            .max(bursts)
            .max(iterations(counters.write_iterations))
    }

    /// The bursts that a part asks of the bank: those that it reads, and its payload in lines.
    fn merge_bursts(&self, counters: &Counters) -> Bursts {
        let written_bytes = counters.payload_words as f64 * WORD_BYTES;
        let read_bytes = counters.lines_read as f64 * LINE_BYTES;
        let reads = counters.pages as f64;
        let writes = written_bytes / (self.port_burst_beats * LINE_BYTES);
        let count = reads + writes;
        let bytes = if count > 0.0 { (read_bytes + written_bytes) / count } else { 0.0 };
        Bursts { reads, writes, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 rows with two words of keys each, in two columns.
    const PART: Counters = Counters {
        lines_read: 40,
        pages: 12,
        bytes_decompressed: 0,
        snappy_tokens: 0,
        snappy_tokens_lane_max: 0,
        values_decoded: 400,
        decode_steps_lane_max: 102,
        dictionary_entries: 0,
        dictionary_reads: 2,
        rows_filtered: 0,
        rows_projected: 0,
        rows_aggregated: 0,
        filter_iterations: 202,
        project_iterations: 210,
        aggregate_iterations: 0,
        write_iterations: 206,
        decode_iterations_lane_max: 500,
        dictionary_iterations_lane_max: 0,
        page_iterations_lane_max: 0,
        memory_read_iterations: 0,
        memory_write_iterations: 0,
        memory_reads: 0,
        dictionary_pairs: 0,
        loader_iterations_max: 0,
        loader_words: 0,
        memory_waits: 0,
        memory_writes: 0,
        string_words: 0,
        payload_words: 206,
        blocks: 1,
        key_words: 0,
    };

    #[test]
    fn merge_pays_for_waits_and_the_busiest_process() {
        let parameters = Parameters::default();
        let near = |counters: Counters, expected: f64| {
            let cycles = parameters.merge_cycles(&counters);
            assert!((cycles - expected).abs() < 1e-6, "{cycles} {expected}");
        };
        assert!((parameters.wait_cycles(&PART) - 4.0 * 58.0).abs() < 1e-6);
        // A step of four cycles for each row, and one for the second word of each.
        near(PART, 4.0 * 102.0 + 100.0);
        near(Counters { decode_iterations_lane_max: 600, ..PART }, 600.0);
        near(Counters { project_iterations: 700, ..PART }, 700.0);
        near(Counters { write_iterations: 800, ..PART }, 800.0);
        near(Counters { pages: 160, ..PART }, 580.0);
        // All of them are beside each other.
        assert_eq!(parameters.merge_ns(&[PART]), 100_000 + 2467);
    }

    #[test]
    fn merge_is_no_faster_than_the_bank() {
        let parameters = Parameters::default();
        let moving = Counters { lines_read: 1_000_000, pages: 1000, ..Counters::default() };
        let moved = parameters.merge_ns(&[moving]) - 100_000;
        // 64 MB at 19.2 GB/s, and the overhead of bursts.
        assert!((3_333_333..3_360_000).contains(&moved), "{moved}");
    }

    #[test]
    fn comparing_can_be_made_free() {
        let free = Parameters { order_step_cycles: 0.0, ..Parameters::default() };
        assert!((free.merge_cycles(&PART) - 500.0).abs() < 1e-6);
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
        let moving = Counters { lines_read: 1_000_000, pages: 60_000, ..Counters::default() };
        let moved = parameters.merge_ns(&[moving]) - 100_000;
        let beside = parameters.merge_ns(&[moving; 15]) - 100_000;
        assert!(beside > 2 * moved, "{beside} {moved}");
    }
}
