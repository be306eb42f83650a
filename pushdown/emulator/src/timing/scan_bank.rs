// SPDX-License-Identifier: Apache-2.0
//! Models the load of a scan on the memory bank.
//!
//! ```text
//! media    writes the chunks                         in bursts of 1 KiB
//! kernel   reads them                                in bursts of 1 KiB
//!          writes scratch: strings, large dictionaries   a burst for each request, of 256 bytes at
//!                                                        most where a lane writes, 512 a loader
//!          reads scratch: entries, strings           a burst for each request
//!          writes the result                         in bursts of 1 KiB
//! link     reads the result, or a merge does         in bursts of 1 KiB
//! ```
//!
//! A burst of fewer bytes than a line takes the time of a line: the memory moves no less. Media and
//! link are taken to use bursts as long as those of the kernel.

use nearscan_command::{Counters, ResultHeader};

use super::{Parameters, bank::Bursts};

/// Bytes of a line, and of a word.
const LINE_BYTES: f64 = 64.0;
const WORD_BYTES: f64 = 8.0;

impl Parameters {
    /// Time that the bank is busy with a scan of `media_bytes`, in ns.
    pub(super) fn scan_bank_ns(&self, media_bytes: u64, counters: &Counters) -> f64 {
        let result_bytes = match counters.payload_words {
            0 => 0.0,
            words => ResultHeader::BYTES as f64 + words as f64 * WORD_BYTES,
        };
        // An iteration writes a word of a loader, or a pair of words of a lane.
        let of_lanes = counters.memory_write_iterations.saturating_sub(counters.loader_words);
        let words = f64::from(counters.loader_words) + 2.0 * f64::from(of_lanes);
        let scratch_written = words * WORD_BYTES;
        let long = self.port_burst_beats * LINE_BYTES;
        let reads = counters.lines_read as f64 * LINE_BYTES + result_bytes;
        [
            self.write_ns(media_bytes as f64 / long, long),
            self.read_ns(reads / long, long),
            self.read_ns(counters.memory_reads.into(), LINE_BYTES),
            self.write_ns(
                counters.memory_writes.into(),
                scratch_written / f64::from(counters.memory_writes.max(1)),
            ),
            self.write_ns(result_bytes / long, long),
        ]
        .into_iter()
        .sum()
    }

    /// Time of so many bursts that read.
    fn read_ns(&self, count: f64, bytes: f64) -> f64 {
        self.bank_ns(&Bursts { reads: count, writes: 0.0, bytes: bytes.max(LINE_BYTES) })
    }

    /// Time of so many bursts that write.
    fn write_ns(&self, count: f64, bytes: f64) -> f64 {
        self.bank_ns(&Bursts { reads: 0.0, writes: count, bytes: bytes.max(LINE_BYTES) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy_ns(media_bytes: u64, counters: &Counters) -> f64 {
        Parameters::default().scan_bank_ns(media_bytes, counters)
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }

    #[test]
    fn chunks_are_written_once_and_read_once() {
        let counters = Counters { lines_read: 1 << 14, ..Counters::default() };
        let burst_ns = 11.27 + 1024.0 / 19.2;
        near(busy_ns(1 << 20, &counters), 1024.0 * (2.0 * burst_ns + 11.5));
    }

    #[test]
    fn look_up_takes_the_bank_for_a_whole_line() {
        let counters = Counters { memory_reads: 1000, ..Counters::default() };
        near(busy_ns(0, &counters), 1000.0 * (11.27 + 64.0 / 19.2));
    }

    #[test]
    fn results_and_scratch_are_charged_as_they_are_written() {
        let result = Counters { payload_words: 96, ..Counters::default() };
        let burst_ns = 11.27 + 1024.0 / 19.2;
        near(busy_ns(0, &result), 2.0 * burst_ns + 11.5);
        let scratch =
            Counters { memory_writes: 10, memory_write_iterations: 160, ..Counters::default() };
        near(busy_ns(0, &scratch), 10.0 * (11.27 + 11.5 + 256.0 / 19.2));
        let loaded = Counters { loader_words: 160, ..scratch };
        near(busy_ns(0, &loaded), 10.0 * (11.27 + 11.5 + 128.0 / 19.2));
    }
}
