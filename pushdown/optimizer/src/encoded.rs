// SPDX-License-Identifier: Apache-2.0
//! Estimates from a footer how much work the encodings of a row group are for a drive's decoders:
//! dictionaries, look-ups in large ones, and strings that are stored one by one.
//!
//! A footer has the stored bytes of a chunk and of its dictionary page, and the bytes of the whole
//! chunk before compression. Indexes are hardly compressed, so if the stored bytes of data are no
//! more than those of an index for each value, the dictionary was compressed alone. Otherwise a
//! writer gave the dictionary up and stored the other values as they are; both are taken to be
//! compressed equally well, and the bytes of data tell how many values are indexes:
//!
//! ```text
//! entries = dictionary / width,  bits = log2(entries)
//! data    = indexes * bits / 8 + (values - indexes) * width
//! ```
//!
//! # What it does not do
//!
//! It reads no page headers, so dictionaries of strings, whose width is unknown, are measured by an
//! assumed one. NULLs are taken for values. The estimates only choose where a scan runs.

use std::collections::HashSet;

use nearscan_command::{Fragment, Op, Operand, ValueKind, limits};
use parquet::{basic::Type, file::metadata::ColumnChunkMetaData};

use crate::{
    cost::Encoded,
    units::{RowGroup, chunk_metadata, dictionary_bytes},
};

/// Entries of the memory that the scan kernel has for the large dictionary of one column of
/// numbers, beside what each decoder has of its own.
const STORE_ENTRIES: f64 = 114_688.0;

/// Loaders of dictionary pages that a scan unit has.
const LOADERS: f64 = 2.0;

/// Bytes of a string of a dictionary with its length; an assumption.
const STRING_BYTES: f64 = 24.0;

/// Bytes of page headers and levels, as a share of those of indexes; an assumption.
const PAGES: f64 = 0.1;

/// The work of the columns of a fragment in a row group.
pub(crate) fn encoded(unit: &RowGroup<'_>, fragment: &Fragment) -> Encoded {
    let filter = columns_of_filter(fragment);
    let chunks = (0..).zip(&fragment.columns).filter_map(|(index, column)| {
        let chunk = chunk_metadata(unit.metadata(), &column.name)?;
        Some((filter.contains(&index), ChunkWork::of(chunk, column.kind)))
    });
    let chunks: Vec<(bool, ChunkWork)> = chunks.collect();
    let most = |work: fn(&ChunkWork) -> f64| {
        chunks.iter().map(|(_, chunk)| work(chunk)).fold(0.0, f64::max)
    };
    let has_store = has_store(&chunks);
    let look_ups = |early: bool| {
        let of = chunks.iter().enumerate().filter(|(_, (is_early, _))| *is_early == early);
        of.map(|(at, (_, chunk))| {
            let stored = if has_store == Some(at) { chunk.look_ups_in_store() } else { 0.0 };
            chunk.look_ups() - stored
        })
        .sum::<f64>()
    };
    let dictionaries = chunks.iter().map(|(_, chunk)| chunk.dictionary_bytes);
    Encoded {
        dictionary_bytes: whole(in_busier_loader(dictionaries)),
        look_ups: whole(look_ups(true)),
        late_look_ups: whole(look_ups(false)),
        string_bytes: whole(most(|chunk| chunk.string_bytes)),
    }
}

/// The place of the column that has the store; of each column it is known whether the filter looks
/// at it. The largest dictionary of numbers that suit the store has it, unless one of the filter is
/// mostly far, of which all rows are looked up.
fn has_store(chunks: &[(bool, ChunkWork)]) -> Option<usize> {
    let goes_first = |(is_early, chunk): &(bool, ChunkWork)| *is_early && chunk.is_mostly_far;
    let suited = chunks.iter().enumerate().filter(|(_, (_, chunk))| chunk.suits_store);
    let best = suited.max_by(|(_, one), (_, other)| {
        let by_bytes = one.1.dictionary_bytes.total_cmp(&other.1.dictionary_bytes);
        goes_first(one).cmp(&goes_first(other)).then(by_bytes)
    });
    best.map(|(at, _)| at)
}

/// The columns whose values the filter looks at: they are looked up for every row, the others for
/// kept ones alone.
fn columns_of_filter(fragment: &Fragment) -> HashSet<u16> {
    let steps = fragment.predicate.steps.iter();
    let values = steps.filter(|step| !matches!(step.op, Op::IsNull | Op::IsNotNull));
    let operands = values.flat_map(|step| [step.a, step.b, step.c]);
    let column = |operand| match operand {
        Operand::Column(column) => Some(column),
        Operand::Test(test) => fragment.tests.get(usize::from(test)).map(|test| test.column),
        _ => None,
    };
    operands.filter_map(column).collect()
}

/// Bytes of the loader that has most of them, if they are shared out as evenly as they can be.
fn in_busier_loader(dictionaries: impl Iterator<Item = f64>) -> f64 {
    let (all, largest) = dictionaries
        .fold((0.0, 0.0), |(all, largest), bytes| (all + bytes, f64::max(largest, bytes)));
    f64::max(largest, all / LOADERS)
}

/// The work of one column chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ChunkWork {
    /// Of a dictionary of numbers, as stored: loaders load no other.
    dictionary_bytes: f64,
    /// Of the dictionary.
    entries: f64,
    /// Values that are indexes.
    indexes: f64,
    /// Bytes of strings beside the dictionary, and those of the dictionary as stored.
    string_bytes: f64,
    /// Whether its entries may be numbers of 32 bits, as the store has them.
    suits_store: bool,
    /// Whether at least half of its dictionary is not on chip, as far as its stored bytes tell.
    is_mostly_far: bool,
}

impl ChunkWork {
    fn of(chunk: &ColumnChunkMetaData, kind: ValueKind) -> Self {
        let dictionary_bytes = to_f64(dictionary_bytes(chunk));
        let uncompressed = to_f64(u64::try_from(chunk.uncompressed_size()).unwrap_or(0));
        let stored = to_f64(chunk.byte_range().1).max(1.0);
        let values = to_f64(u64::try_from(chunk.num_values()).unwrap_or(0));
        let width = match kind {
            ValueKind::Integer => bytes_of(chunk),
            ValueKind::Bytes => STRING_BYTES,
        };
        let index_bytes = |dictionary: f64| (dictionary / width).max(1.0).log2().ceil() / 8.0;
        let stored_data = stored - dictionary_bytes;
        let alone = (uncompressed - stored_data).max(0.0);
        let dictionary = match stored_data <= values * index_bytes(alone) * (1.0 + PAGES) {
            true => alone,
            false => dictionary_bytes * uncompressed / stored,
        };
        let data = uncompressed - dictionary;
        let entries = dictionary / width;
        let index_bytes = index_bytes(dictionary);
        let (indexes, string_bytes) = match (dictionary_bytes > 0.0, kind) {
            (false, ValueKind::Integer) => (0.0, 0.0),
            (false, ValueKind::Bytes) => (0.0, uncompressed),
            (true, ValueKind::Integer) if width > index_bytes => {
                let plain = (data - values * index_bytes) / (width - index_bytes);
                (values - plain.clamp(0.0, values), 0.0)
            }
            (true, ValueKind::Integer) => (values, 0.0),
            (true, ValueKind::Bytes) => {
                (values, (data - values * index_bytes).max(0.0) + dictionary_bytes)
            }
        };
        let suits_store = kind == ValueKind::Integer && chunk.column_type() != Type::DOUBLE;
        let is_loaded = kind == ValueKind::Integer;
        let dictionary_bytes = if is_loaded { dictionary_bytes } else { 0.0 };
        let near = f64::from(limits::DICTIONARY_ENTRIES_ON_CHIP);
        let is_mostly_far = dictionary_bytes >= 2.0 * near * width;
        Self { dictionary_bytes, entries, indexes, string_bytes, suits_store, is_mostly_far }
    }

    /// Look-ups beyond the entries that a decoder has in a memory of its own.
    fn look_ups(&self) -> f64 {
        let near = f64::from(limits::DICTIONARY_ENTRIES_ON_CHIP);
        match self.entries > near {
            true => self.indexes * (1.0 - near / self.entries),
            false => 0.0,
        }
    }

    /// Those of them for which the memory of one column is large enough.
    fn look_ups_in_store(&self) -> f64 {
        let far = self.entries - f64::from(limits::DICTIONARY_ENTRIES_ON_CHIP);
        match self.suits_store && far > 0.0 {
            true => self.look_ups() * (STORE_ENTRIES / far).min(1.0),
            false => 0.0,
        }
    }
}

/// Bytes of a number of a chunk.
fn bytes_of(chunk: &ColumnChunkMetaData) -> f64 {
    match chunk.column_type() {
        Type::BOOLEAN => 0.125,
        Type::INT32 | Type::FLOAT => 4.0,
        Type::INT64 | Type::DOUBLE => 8.0,
        Type::INT96 => 12.0,
        Type::BYTE_ARRAY => STRING_BYTES,
        Type::FIXED_LEN_BYTE_ARRAY => f64::from(chunk.column_descr().type_length().max(1)),
    }
}

/// Exact up to 2^53, which no row group reaches.
#[expect(clippy::cast_precision_loss, reason = "amounts of a row group are far below 2^53")]
fn to_f64(amount: u64) -> f64 {
    amount as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "amounts of a row group are positive and far below 2^53"
)]
fn whole(amount: f64) -> u64 {
    amount.max(0.0).round() as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
    use parquet::{basic::Compression, file::properties::WriterProperties};

    use super::*;
    use crate::units::tests::written_chunk;

    const ROWS: i64 = 100_000;

    /// A scattered number for each row.
    fn scattered(row: i64) -> i64 {
        row.wrapping_mul(0x5851_F42D_4C95_7F2D).rem_euclid(1 << 62) >> 20
    }

    fn numbers(distinct: i64) -> ArrayRef {
        Arc::new((0..ROWS).map(|row| scattered(row) % distinct).collect::<Int64Array>())
    }

    /// The work of a chunk with this column.
    fn work(column: ArrayRef, kind: ValueKind, dictionary_bytes_max: usize) -> ChunkWork {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_dictionary_enabled(dictionary_bytes_max > 0)
            .set_dictionary_page_size_limit(dictionary_bytes_max.max(1));
        ChunkWork::of(&written_chunk(column, properties), kind)
    }

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 0.15, "{found}, expected {expected}");
    }

    #[test]
    fn values_of_a_large_dictionary_are_looked_up_and_of_a_small_one_are_not() {
        let few = work(numbers(50), ValueKind::Integer, 1 << 20);
        near(few.indexes, 100_000.0);
        assert_eq!((few.look_ups(), few.look_ups_in_store()), (0.0, 0.0));
        let many = work(numbers(20_000), ValueKind::Integer, 1 << 20);
        near(many.entries, 20_000.0);
        near(many.look_ups(), 100_000.0 * (1.0 - 4096.0 / 20_000.0));
        near(many.look_ups_in_store(), many.look_ups());
        let doubles: ArrayRef = Arc::new(
            (0..ROWS)
                .map(|row| to_f64(scattered(row).unsigned_abs() % 20_000))
                .collect::<Float64Array>(),
        );
        let doubles = work(doubles, ValueKind::Integer, 1 << 20);
        near(doubles.look_ups(), many.look_ups());
        assert_eq!(doubles.look_ups_in_store(), 0.0);
    }

    #[test]
    fn store_goes_to_the_largest_dictionary_unless_one_of_the_filter_is_mostly_far() {
        let of = |distinct: i64| work(numbers(distinct), ValueKind::Integer, 1 << 20);
        let (few, more, most) = (of(5_000), of(40_000), of(80_000));
        assert_eq!(has_store(&[(false, more), (false, most)]), Some(1));
        assert_eq!(has_store(&[(true, more), (false, most)]), Some(0));
        assert_eq!(has_store(&[(true, few), (false, most)]), Some(1));
        assert_eq!(has_store(&[(true, more), (true, most)]), Some(1));
        let doubles = ChunkWork { suits_store: false, ..most };
        assert_eq!(has_store(&[(true, doubles), (false, few)]), Some(1));
    }

    #[test]
    fn busier_of_two_loaders_has_the_largest_dictionary_or_half_of_all() {
        let busier = |dictionaries: &[f64]| in_busier_loader(dictionaries.iter().copied());
        assert_eq!(busier(&[]), 0.0);
        assert_eq!(busier(&[7.0, 2.0, 3.0]), 7.0);
        assert_eq!(busier(&[5.0, 5.0, 6.0]), 8.0);
    }

    #[test]
    fn values_behind_a_dictionary_that_was_given_up_are_no_look_ups() {
        let all = work(numbers(1 << 40), ValueKind::Integer, 8 << 20);
        near(all.indexes, 100_000.0);
        let half = work(numbers(1 << 40), ValueKind::Integer, 400_000);
        near(half.entries, 50_000.0);
        near(half.indexes, 50_000.0);
    }

    #[test]
    fn chunk_without_a_dictionary_has_no_look_ups_and_all_bytes_of_its_strings() {
        let plain = work(numbers(50), ValueKind::Integer, 0);
        assert_eq!((plain.dictionary_bytes, plain.look_ups(), plain.string_bytes), (0.0, 0.0, 0.0));
        let texts: ArrayRef =
            Arc::new((0..ROWS).map(|row| Some(format!("{:026}", row))).collect::<StringArray>());
        let plain = work(Arc::clone(&texts), ValueKind::Bytes, 0);
        near(plain.string_bytes, 3_000_000.0);
        let repeated: ArrayRef = Arc::new(
            (0..ROWS).map(|row| Some(format!("{:026}", row % 100))).collect::<StringArray>(),
        );
        let coded = work(repeated, ValueKind::Bytes, 1 << 20);
        assert!(coded.string_bytes < 10_000.0, "{coded:?}");
        assert_eq!(coded.look_ups(), 0.0);
    }
}
