// SPDX-License-Identifier: Apache-2.0
//! Chooses the layout of a table's copy at random: row groups, pages, codec, encodings, from a
//! seed.
//!
//! The seed is a hash of the name of the file of tests, and its tables draw in turn: a run of a
//! file writes the same copies every time. What is drawn changes no answer; it changes what a drive
//! has to read.

use nearscan::{
    arrow::{
        array::{Array, AsArray, RecordBatch},
        datatypes::{DataType, Float32Type, Float64Type, Schema},
    },
    parquet::{
        basic::{Compression, Encoding, GzipLevel, ZstdLevel},
        file::properties::{EnabledStatistics, WriterProperties, WriterVersion},
        schema::types::ColumnPath,
    },
};

/// Row groups of a copy, at most, where it has the rows.
const GROUPS_MAX: u64 = 5;

/// Rows of a page, at most.
const PAGE_ROWS: [usize; 4] = [3, 32, 128, 1_000];

/// One table in so many has a codec that no drive reads, and one column an encoding: the host then
/// does it, with the rest of the query as before.
const RARE_ONE_IN: u64 = 16;

/// Bytes of a dictionary, at most: the small one is soon full, and plain pages follow.
const DICTIONARY_BYTES: [usize; 2] = [256, 1 << 20];

/// Draws numbers, the same ones for the same seed.
#[derive(Debug, Clone)]
pub struct Draw(u64);

impl Draw {
    /// Starts with a seed; what is drawn is mixed, so seeds side by side have nothing in common.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`. `SplitMix64` (Steele, Lea and Flood, 2014).
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    /// One of several.
    pub fn of<T: Copy>(&mut self, several: &[T], otherwise: T) -> T {
        let place = usize::try_from(self.below(several.len() as u64)).unwrap_or(0);
        several.get(place).copied().unwrap_or(otherwise)
    }

    /// True once in sixteen times.
    pub fn is_rare(&mut self) -> bool {
        self.below(RARE_ONE_IN) == 0
    }

    /// True as often as not.
    pub fn flip(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// Draws how the rows of a table are written.
///
/// A column that holds a NaN has no statistics: they know of none, and DataFusion takes a column
/// whose least and greatest value are the same for a constant.
#[must_use]
pub fn draw(schema: &Schema, batches: &[RecordBatch], draw: &mut Draw) -> WriterProperties {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let groups = usize::try_from(1 + draw.below(GROUPS_MAX)).unwrap_or(1);
    let page_rows = draw.of(&PAGE_ROWS, PAGE_ROWS[0]);
    let rare = [Compression::ZSTD(ZstdLevel::default()), Compression::GZIP(GzipLevel::default())];
    let usual = [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW];
    let codecs: &[Compression] = if draw.is_rare() { &rare } else { &usual };
    let version = if draw.flip() { WriterVersion::PARQUET_1_0 } else { WriterVersion::PARQUET_2_0 };
    let mut builder = WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(draw.of(codecs, Compression::SNAPPY))
        .set_max_row_group_row_count(Some(rows.div_ceil(groups).max(1)))
        .set_data_page_row_count_limit(page_rows)
        // The limit of a page is checked once for each write batch.
        .set_write_batch_size(page_rows.min(32))
        .set_statistics_enabled(draw.of(
            &[EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page],
            EnabledStatistics::Page,
        ))
        .set_dictionary_page_size_limit(draw.of(&DICTIONARY_BYTES, DICTIONARY_BYTES[0]));
    for (index, field) in schema.fields().iter().enumerate() {
        let path = ColumnPath::from(field.name().clone());
        let encoding = encoding(field.data_type(), draw);
        builder = builder.set_column_dictionary_enabled(path.clone(), encoding.is_none());
        if batches.iter().any(|batch| has_nan(batch.column(index))) {
            builder = builder.set_column_statistics_enabled(path.clone(), EnabledStatistics::None);
        }
        if let Some(encoding) = encoding {
            builder = builder.set_column_encoding(path, encoding);
        }
    }
    builder.build()
}

fn has_nan(array: &dyn Array) -> bool {
    let doubles = array.as_primitive_opt::<Float64Type>();
    let floats = array.as_primitive_opt::<Float32Type>();
    doubles.is_some_and(|array| array.iter().flatten().any(f64::is_nan))
        || floats.is_some_and(|array| array.iter().flatten().any(f32::is_nan))
}

/// An encoding that a column of this type can have; none is a dictionary.
fn encoding(data_type: &DataType, draw: &mut Draw) -> Option<Encoding> {
    let plain = Some(Encoding::PLAIN);
    match data_type {
        DataType::Boolean => draw.of(&[plain, Some(Encoding::RLE)], plain),
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => {
            let rare = [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY].map(Some);
            let usual = [None, plain];
            let encodings = if draw.is_rare() { &rare } else { &usual };
            draw.of(encodings, plain)
        }
        DataType::Float32 | DataType::Float64 => {
            draw.of(&[None, plain, Some(Encoding::BYTE_STREAM_SPLIT)], plain)
        }
        DataType::Date32 | DataType::Time32(_) | DataType::Time64(_) | DataType::Timestamp(..) => {
            draw.of(&[None, plain, Some(Encoding::DELTA_BINARY_PACKED)], plain)
        }
        integer if integer.is_integer() => {
            draw.of(&[None, plain, Some(Encoding::DELTA_BINARY_PACKED)], plain)
        }
        _ => draw.of(&[None, plain], plain),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc};

    use super::*;

    use nearscan::{
        arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray},
        parquet::{arrow::ArrowWriter, file::metadata::ParquetMetaData},
    };
    use rstest::rstest;

    #[rstest]
    #[case(f64::NAN, false)]
    #[case(1.0, true)]
    fn nan_has_no_statistics(#[case] value: f64, #[case] expected: bool) {
        let column: ArrayRef = Arc::new(Float64Array::from(vec![value, f64::INFINITY]));
        let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let path = ColumnPath::from("a");
        let has_statistics = |seed| {
            let properties =
                draw(&batch.schema(), std::slice::from_ref(&batch), &mut Draw::new(seed));
            properties.statistics_enabled(&path) != EnabledStatistics::None
        };
        assert_eq!((0..32).any(has_statistics), expected);
    }

    #[test]
    fn same_seed_draws_the_same_and_another_draws_another() {
        let drawn = |seed| {
            let mut draw = Draw::new(seed);
            (0..8).map(|_| draw.below(100)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        assert!(drawn(3).iter().all(|number| *number < 100));
    }

    /// Returns the metadata in the file of a copy of a hundred rows.
    fn written(seed: u64) -> ParquetMetaData {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
        let texts: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..100).map(|row| format!("text {row}"))));
        let batch = RecordBatch::try_from_iter([("a", numbers), ("b", texts)]).unwrap();
        let schema = batch.schema();
        let properties = draw(&schema, std::slice::from_ref(&batch), &mut Draw::new(seed));
        let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap()
    }

    #[test]
    fn seeds_give_files_of_every_kind() {
        let files: Vec<ParquetMetaData> = (0..200).map(written).collect();
        let of = |what: &dyn Fn(&ParquetMetaData) -> String| -> BTreeSet<String> {
            files.iter().map(what).collect()
        };
        let groups = of(&|file| file.num_row_groups().to_string());
        assert_eq!(groups, ["1", "2", "3", "4", "5"].map(str::to_owned).into());
        let column = |file: &ParquetMetaData, index| file.row_group(0).column(index).clone();
        let codecs = of(&|file| format!("{:?}", column(file, 0).compression()));
        let codecs: Vec<&str> = codecs.iter().map(|codec| &codec[..3]).collect();
        assert_eq!(codecs, ["GZI", "LZ4", "SNA", "UNC", "ZST"]);
        let encodings: BTreeSet<String> = files
            .iter()
            .flat_map(|file| [column(file, 0), column(file, 1)])
            .flat_map(|column| column.encodings().collect::<Vec<_>>())
            .map(|encoding| format!("{encoding:?}"))
            .collect();
        let expected = [
            "DELTA_BINARY_PACKED",
            "DELTA_BYTE_ARRAY",
            "DELTA_LENGTH_BYTE_ARRAY",
            "PLAIN",
            "RLE",
            "RLE_DICTIONARY",
        ];
        assert!(expected.iter().all(|name| encodings.contains(*name)), "{encodings:?}");
        let statistics = of(&|file| column(file, 0).statistics().is_some().to_string());
        assert_eq!(statistics.len(), 2);
        let pages = of(&|file| {
            let index = file.offset_index().map(|index| index[0][0].page_locations.len());
            format!("{index:?}")
        });
        assert!(pages.len() > 5, "{pages:?}");
    }
}
