// SPDX-License-Identifier: Apache-2.0
//! Implements the target `files`: queries over a corrupt Parquet file.
//!
//! The input's bytes choose one of the files in `samples`, which three writers wrote, a query, and
//! either up to four numbers in page headers, indexes and the footer, which become wrong while the
//! rest of the file stays consistent, or bytes of the file to change. The query runs twice, without
//! a drive and with one that takes all it can.
//!
//! A query over such a file may return rows: most bytes are values, and no reader uses some of the
//! fields. It may fail; its error then names the file, and, unless the footer is corrupt, also the
//! row group, the column and the page. It may not panic, take long or need much memory.

mod bench;
mod sample;
mod thrift;
mod walk;

use std::sync::LazyLock;

use bench::{Bench, Ended};
use sample::{Corruption, Sample};
pub use walk::{Every, Walk};

use crate::choices::Choices;

/// Largest number of corrupt numbers, and of changed bytes, in one input.
const CORRUPTIONS_MAX: usize = 4;

/// The files, and the writers.
static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let sample = |name, bytes: &'static [u8]| {
        Sample::parse(name, bytes).unwrap_or_else(|| panic!("{name} is no Parquet"))
    };
    vec![
        sample("ours", include_bytes!("../samples/ours.parquet")),
        sample("pyarrow", include_bytes!("../samples/pyarrow.parquet")),
        sample("pyarrow_v2", include_bytes!("../samples/pyarrow_v2.parquet")),
        sample("duckdb", include_bytes!("../samples/duckdb.parquet")),
    ]
});

/// Runs a query over a corrupt file. Returns whether the query gets past the footer.
///
/// # Panics
/// If the engine panics, or its error says too little.
pub fn files(bytes: &[u8]) -> bool {
    thread_local! {
        static BENCH: Bench = Bench::start();
    }
    let mut choices = Choices::new(bytes);
    let sample = &SAMPLES[choices.below(SAMPLES.len())];
    let query = choices.below(bench::QUERIES.len());
    let kind = choices.byte();
    let mut corruptions = Vec::new();
    while kind % 4 < 3 && !choices.is_empty() && corruptions.len() < CORRUPTIONS_MAX {
        let structure = choices.below(sample.structures().len());
        let places = sample.structures()[structure].places().len();
        let place = usize::from(u16::from_le_bytes([choices.byte(), choices.byte()])) % places;
        let number = choices.wrong_number(sample.structures()[structure].original(place));
        corruptions.push(Corruption { structure, place, number });
    }
    let mut file = sample.with(&corruptions);
    for _ in 0..CORRUPTIONS_MAX {
        if kind % 4 < 2 || choices.is_empty() {
            break;
        }
        let at = u16::from_le_bytes([choices.byte(), choices.byte()]);
        let at = usize::from(at) % file.len();
        file[at] = choices.byte();
    }
    // The host trusts what a file says of its pages outside of them, and a drive does not: where
    // several numbers are wrong, their rows may differ.
    let ended = BENCH.with(|bench| bench.run(&file, query));
    ended.iter().any(|ended| match ended {
        Ended::Rows(_) => true,
        Ended::Error(text) => text.contains("row group"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_without_corruption_is_written_unchanged() {
        for sample in SAMPLES.iter() {
            assert!(sample.structures().len() > 14, "{}", sample.name);
            assert!(sample.with(&[]) == sample.bytes(), "{}", sample.name);
        }
    }
}
