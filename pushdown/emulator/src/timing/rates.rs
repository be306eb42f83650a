// SPDX-License-Identifier: Apache-2.0
//! Derives mean rates from the model, for decisions before a command has run.
//!
//! The times of commands depend on the counters of their stages, which are unknown beforehand. So
//! the model is evaluated for commands of a nominal shape, a large one and an empty one, and the
//! difference is a rate. No cost is added that the model does not have.

use nearscan_command::Counters;
use nearscan_drive::{
    CostSnapshot, KernelRates, LoadedImage, MediaPoint, MediaRates, RateSource, RatesByRequest,
};

use super::Parameters;
use crate::{
    build::{Build, Profile},
    config::Config,
};

/// Rows, bytes or words of a command that is large: what it takes beside them does not show.
const MANY: u32 = 1 << 24;

/// Bytes of a line.
const LINE_BYTES: u64 = 64;

/// Bytes of a word.
const WORD_BYTES: f64 = 8.0;

/// Stored bytes of a dictionary page for each iteration of its loader. Prices, which are nearly all
/// different, have so many: in TPC-H Q6 at scale factor 1, usual layout, the loader of
/// `l_extendedprice` takes 29.0 MB in 5.8 million iterations.
const BYTES_PER_DICTIONARY_ITERATION: u32 = 5;

/// Stored bytes of all columns for each iteration of the busiest decompressor. A token has up to 8
/// bytes, and a half of all bytes are taken to be of one column.
const BYTES_PER_TOKEN: u32 = 16;

/// Bytes of a string, its length among them, for each iteration of its decoder: as many as comments
/// of TPC-H orders have under the patterns of Q13. Without patterns they have 7.
const BYTES_PER_STRING_ITERATION: u32 = 5;

/// Rows that each stage moves an iteration.
const ROWS_PER_ITERATION: u32 = 2;

/// Words that a merge reads at once: half a window of a command with some columns.
const MERGE_BURST_WORDS: u64 = 64;

/// Sizes of requests for which the rates of the media are given: those that were published.
const REQUEST_BYTES: [u64; 4] = [4 << 10, 64 << 10, 1 << 20, 4 << 20];

impl Config {
    /// The speed that a drive of this configuration states before a command has run, with this
    /// build loaded, or none during an exchange: the first snapshot, of a drive where nothing runs.
    pub(crate) fn rates(&self, loaded: Option<&Build>) -> CostSnapshot {
        let Self { timing, builds, .. } = self;
        CostSnapshot {
            id: 0,
            lanes: builds.first.scan_units,
            start_ns: timing.setup_ns,
            media: timing.media_rates(builds.first.scan_units),
            link_bytes_per_s: Some(timing.link_bytes_per_s),
            dictionary_bytes_per_s: Some(timing.dictionary_bytes_per_s()),
            scan: RatesByRequest::uniform(timing.scan_rates()),
            merge: match builds.that_merges() {
                None => RatesByRequest::UNKNOWN,
                Some(build) => RatesByRequest::uniform(timing.merge_rates(build.merge_units)),
            },
            queue_depth: 0,
            free_bytes: self.memory_bytes,
            image: builds
                .merging
                .map(|_| LoadedImage::of(loaded.map(Build::ability), timing.exchange_ns())),
        }
    }
}

impl Parameters {
    /// Rates of flash to device memory, with the requests in flight that a drive keeps, and through
    /// the decompressors of so many scan units, which bytes pass while rows of others are decoded.
    pub fn media_rates(&self, units: u32) -> Option<MediaRates> {
        let bytes = Counters {
            lines_read: u64::from(MANY) / LINE_BYTES,
            page_iterations_lane_max: MANY / BYTES_PER_TOKEN,
            snappy_tokens_lane_max: (MANY / BYTES_PER_TOKEN).into(),
            ..Counters::default()
        };
        let decompressed = self.per_s(&bytes) * f64::from(units);
        let most = self.media_bytes_per_s.min(decompressed);
        let point = |request_bytes| MediaPoint {
            request_bytes,
            bytes_per_s: self.p2p_bytes_per_s(request_bytes, 1) * self.media_in_flight,
        };
        let at_most =
            |point: MediaPoint| MediaPoint { bytes_per_s: point.bytes_per_s.min(most), ..point };
        MediaRates::new(REQUEST_BYTES.map(point).map(at_most).to_vec())
    }

    /// The time that a scan takes of a unit, or of the memory bank: its start and each amount of a
    /// load, as if none were hidden by another. Bytes and dictionaries are not among them: they are
    /// decompressed and loaded while rows pass.
    pub fn scan_rates(&self) -> KernelRates {
        let empty_ns = self.busy_ns(&Counters::default());
        let each = |counters: &Counters| mean(self.busy_ns(counters) - empty_ns);
        let iterations = MANY / ROWS_PER_ITERATION;
        let rows = Counters {
            decode_iterations_lane_max: iterations,
            filter_iterations: iterations,
            ..Counters::default()
        };
        // Two words each.
        let look_ups = Counters {
            dictionary_reads: MANY.into(),
            memory_reads: MANY,
            memory_read_iterations: 2 * MANY,
            ..Counters::default()
        };
        let strings = Counters {
            decode_iterations_lane_max: MANY / BYTES_PER_STRING_ITERATION,
            ..Counters::default()
        };
        let words = Counters { write_iterations: MANY, ..Counters::default() };
        KernelRates {
            setup_ns: to_f64(empty_ns),
            ns_per_row: each(&rows),
            ns_per_look_up: each(&look_ups),
            ns_per_string_byte: each(&strings),
            ns_per_link_byte: each(&words) / WORD_BYTES,
            ..KernelRates::zero(RateSource::Modelled)
        }
    }

    /// Stored bytes of dictionary pages that a loader of a unit takes a second.
    pub fn dictionary_bytes_per_s(&self) -> f64 {
        let counters = Counters {
            loader_iterations_max: MANY / BYTES_PER_DICTIONARY_ITERATION,
            ..Counters::default()
        };
        self.per_s(&counters)
    }

    /// How many amounts a unit takes a second, with the counters of [`MANY`].
    fn per_s(&self, counters: &Counters) -> f64 {
        let empty_ns = self.busy_ns(&Counters::default());
        1e9 / mean(self.busy_ns(counters) - empty_ns)
    }

    /// The time of a scan in a unit. What takes the memory bank longer takes as long as the bank.
    fn busy_ns(&self, counters: &Counters) -> u64 {
        let time = self.scan(&Profile::default().builds().first, std::iter::empty(), counters);
        time.kernel.alone_ns.max(time.bank_ns)
    }

    /// The time of a merge on so many units: its start, the choice of each row, and for each word
    /// of the result its share of a line and of a burst read, a value taken and a word written, as
    /// if none were hidden by another.
    pub fn merge_rates(&self, units: u32) -> KernelRates {
        let merge_ns = |counters: &Counters| self.merge_ns(&shared_out(counters, units));
        let empty_ns = merge_ns(&Counters::default());
        let each = |counters: &Counters| mean(merge_ns(counters) - empty_ns);
        let rows = Counters { decode_steps_lane_max: MANY.into(), ..Counters::default() };
        let words = Counters {
            lines_read: u64::from(MANY) / 8,
            pages: u64::from(MANY) / MERGE_BURST_WORDS,
            decode_iterations_lane_max: MANY,
            write_iterations: MANY,
            payload_words: MANY.into(),
            ..Counters::default()
        };
        KernelRates {
            setup_ns: to_f64(empty_ns),
            ns_per_row: each(&rows),
            ns_per_link_byte: each(&words) / WORD_BYTES,
            ..KernelRates::zero(RateSource::Modelled)
        }
    }
}

/// The share of each of `units` in a merge.
fn shared_out(counters: &Counters, units: u32) -> Vec<Counters> {
    let units = units.max(1);
    let share = |amount: u64| amount / u64::from(units);
    let part = Counters {
        lines_read: share(counters.lines_read),
        pages: share(counters.pages),
        decode_steps_lane_max: share(counters.decode_steps_lane_max),
        decode_iterations_lane_max: counters.decode_iterations_lane_max / units,
        write_iterations: counters.write_iterations / units,
        payload_words: share(counters.payload_words),
        ..Counters::default()
    };
    (0..units).map(|_| part).collect()
}

/// One of [`MANY`].
fn mean(ns: u64) -> f64 {
    to_f64(ns) / f64::from(MANY)
}

/// Exact up to 2^53 ns, three months.
fn to_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use nearscan_drive::Load;

    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < expected * 0.001 + 1e-3, "{found} {expected}");
    }

    #[test]
    fn media_rates_are_those_of_a_few_requests_in_flight_up_to_the_peak() {
        let rates = Parameters::default().media_rates(1).unwrap();
        near(rates.bytes_per_s(4 << 10), 0.4e9);
        near(rates.bytes_per_s(64 << 10), 3.25e9);
        near(rates.bytes_per_s(1 << 20), 3.25e9);
    }

    #[test]
    fn media_are_as_fast_as_decompressors_where_those_are_slower() {
        let fast = Parameters {
            p2p_4_mib_bytes_per_s: 20e9,
            media_bytes_per_s: 20e9,
            ..Parameters::default()
        };
        let most = |units| fast.media_rates(units).unwrap().bytes_per_s(4 << 20);
        near(most(1), 300e6 * f64::from(BYTES_PER_TOKEN));
        near(most(2), 2.0 * 300e6 * f64::from(BYTES_PER_TOKEN));
    }

    #[test]
    fn scan_has_rates_of_its_stages() {
        let parameters = Parameters::default();
        let rates = parameters.scan_rates();
        let rows = Counters { filter_iterations: 500_000, ..Counters::default() };
        let modelled =
            parameters.scan(&Profile::default().builds().first, std::iter::empty(), &rows);
        let load = Load { commands: 1, rows: 1_000_000, ..Load::default() };
        near(rates.busy_ns(&load), to_f64(modelled.kernel.alone_ns));
        // Bytes are decompressed and dictionaries loaded meanwhile.
        near(rates.ns_per_media_byte, 0.0);
        near(rates.ns_per_dictionary_byte, 0.0);
        let per_iteration = f64::from(BYTES_PER_DICTIONARY_ITERATION);
        near(parameters.dictionary_bytes_per_s(), 300e6 * per_iteration);
        near(1e9 / rates.ns_per_string_byte, 300e6 * f64::from(BYTES_PER_STRING_ITERATION));
        let slow = Parameters { clock_hz: 150e6, ..parameters };
        near(slow.scan_rates().ns_per_row, 2.0 * rates.ns_per_row);
        near(slow.dictionary_bytes_per_s(), parameters.dictionary_bytes_per_s() / 2.0);
    }

    #[test]
    fn look_up_takes_as_long_as_the_bank_for_a_line() {
        near(Parameters::default().scan_rates().ns_per_look_up, 11.27 + 64.0 / 19.2);
    }

    #[test]
    fn merge_has_rates_of_its_loops() {
        let parameters = Parameters::default();
        let rates = parameters.merge_rates(2);
        // A million rows of two words.
        let counters = Counters {
            lines_read: 250_000,
            pages: 31_250,
            decode_steps_lane_max: 1_000_000,
            decode_iterations_lane_max: 4_000_000,
            write_iterations: 2_000_000,
            payload_words: 2_000_000,
            ..Counters::default()
        };
        let load = Load { commands: 1, rows: 1_000_000, link_bytes: 16_000_000, ..Load::default() };
        // Words and choices are side by side in the merge, and one behind the other in its rates.
        let modelled = to_f64(parameters.merge_ns(&shared_out(&counters, 2)));
        let ratio = rates.busy_ns(&load) / modelled;
        assert!((1.0..1.6).contains(&ratio), "{ratio}");
        assert!(parameters.merge_rates(1).ns_per_row > 1.8 * rates.ns_per_row);
    }
}
