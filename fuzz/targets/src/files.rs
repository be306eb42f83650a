// SPDX-License-Identifier: Apache-2.0
//! The target `files`: queries over a Parquet file with lies in it.
//!
//! Bytes choose one of the files in `samples`, which three writers wrote, a query, and up to four
//! numbers in page headers, indexes and the footer that lie while all else is true, or bytes of the
//! file that change. The query runs twice, without a drive and with one that takes all it can.
//!
//! A query over such a file may give rows: most bytes are values, and some fields are read by
//! nobody. It may fail, and then says in which file, and behind the footer also in which row group,
//! column and page. It may not panic, take long or need much memory.

mod bench;
mod sample;
mod thrift;
mod walk;

use std::sync::LazyLock;

use bench::{Bench, Ended};
use sample::{Lie, Sample};
pub use walk::{Every, Walk};

use crate::choices::Choices;

/// Lies of one input, and bytes that change, at most.
const LIES_MAX: usize = 4;

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

/// Runs a query over a file with lies. Whether it gets past the footer.
///
/// # Panics
/// When the engine does, or says too little of what is wrong.
pub fn files(bytes: &[u8]) -> bool {
    thread_local! {
        static BENCH: Bench = Bench::start();
    }
    let mut choices = Choices::new(bytes);
    let sample = &SAMPLES[choices.below(SAMPLES.len())];
    let query = choices.below(bench::QUERIES.len());
    let kind = choices.byte();
    let mut lies = Vec::new();
    while kind % 4 < 3 && !choices.is_empty() && lies.len() < LIES_MAX {
        let structure = choices.below(sample.structures().len());
        let places = sample.structures()[structure].places().len();
        let place = usize::from(u16::from_le_bytes([choices.byte(), choices.byte()])) % places;
        let number = choices.lie(sample.structures()[structure].truth(place));
        lies.push(Lie { structure, place, number });
    }
    let mut file = sample.with(&lies);
    for _ in 0..LIES_MAX {
        if kind % 4 < 2 || choices.is_empty() {
            break;
        }
        let at = u16::from_le_bytes([choices.byte(), choices.byte()]);
        let at = usize::from(at) % file.len();
        file[at] = choices.byte();
    }
    // What a file says of its pages apart from them is believed by the host, and not by a drive:
    // where several numbers lie, their rows may differ.
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
    fn a_file_without_lies_is_the_file() {
        for sample in SAMPLES.iter() {
            assert!(sample.structures().len() > 14, "{}", sample.name);
            assert!(sample.with(&[]) == sample.bytes(), "{}", sample.name);
        }
    }
}
