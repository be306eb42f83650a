// SPDX-License-Identifier: Apache-2.0
//! Footers that say too much.

use std::sync::Arc;

use datafusion::{
    arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray},
    parquet::{
        arrow::ArrowWriter,
        file::{
            metadata::{ColumnChunkMetaData, KeyValue, ParquetMetaDataReader, SortingColumn},
            properties::WriterProperties,
        },
    },
};
use rstest::rstest;

use super::{Indexes, check_offsets, walk};

/// A list of so many structures that nobody has them.
const MANY: [u8; 6] = [0xfc, 0xff, 0xff, 0xff, 0xff, 0x07];

#[test]
fn the_indexes_of_a_footer_are_found() {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(40))
        .set_key_value_metadata(Some(vec![KeyValue::new("k".to_owned(), None)]))
        .set_sorting_columns(Some(vec![SortingColumn {
            column_idx: 0,
            descending: true,
            nulls_first: false,
        }]))
        .build();
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..100).map(|n| n.to_string())));
    let batch = RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let file = writer.into_inner().unwrap();
    let (rest, length) = file[..file.len() - 4].split_last_chunk().unwrap();
    let footer = &rest[rest.len() - u32::from_le_bytes(*length) as usize..];
    let metadata = ParquetMetaDataReader::decode_metadata(footer).unwrap();
    let chunks: Vec<&ColumnChunkMetaData> =
        metadata.row_groups().iter().flat_map(|group| group.columns()).collect();
    assert_eq!(chunks.len(), 6);
    let range = |start: Option<i64>, bytes: Option<i32>| {
        let start = u64::try_from(start.unwrap()).unwrap();
        start..start + u64::try_from(bytes.unwrap()).unwrap()
    };
    let offsets = chunks.iter().map(|it| range(it.offset_index_offset(), it.offset_index_length()));
    let bounds = chunks.iter().map(|it| range(it.column_index_offset(), it.column_index_length()));
    let expected = Indexes { offsets: offsets.collect(), bounds: bounds.collect() };
    assert_eq!(walk(footer).unwrap(), expected);
    // Not one byte less.
    for length in 0..footer.len() {
        assert!(walk(&footer[..length]).is_err(), "{length} bytes");
    }
}

#[rstest]
#[case::row_groups(&[0x49], &MANY, "a list is said to have 2147483647 items in 1 bytes")]
#[case::something_new(&[0xe9], &MANY, "a list is said to have 2147483647 items in 1 bytes")]
#[case::a_list_for_a_number(&[0x39], &[0x05], "field 3 is no integer")]
#[case::a_number_for_row_groups(&[0x45], &[0x02], "field 4 is no list")]
#[case::a_long_text(&[0x68], &[0x7f], "a text is said to have 127 bytes of 1")]
#[case::a_large_number(&[0x35], &[0xff; 11], "a number has more than 64 bits")]
#[case::a_large_field(&[0x05], &[0x80, 0x80, 0x08], "the number of a field is too large")]
#[case::an_unknown_kind(&[0xed], &[], "there is a value of kind 13")]
#[case::structures_in_structures(&[0xec], &[0x1c; 40], "structures are too deep in one another")]
#[case::lists_in_lists(&[0xe9], &[0x19; 40], "lists are too deep in one another")]
fn what_cannot_be_is_refused(#[case] field: &[u8], #[case] value: &[u8], #[case] why: &str) {
    assert_eq!(walk(&[field, value, &[0]].concat()), Err(why.to_owned()));
}

#[test]
fn an_index_has_the_bytes_of_its_pages() {
    let index = [&[0x19], &MANY[..]].concat();
    assert!(check_offsets(&index).unwrap_err().contains("2147483647 items in 0 bytes"));
    assert_eq!(check_offsets(&[0x19, 0x1c, 0x16, 0x08, 0]), Ok(()));
    // This is not the way in which the crate makes room first.
    assert_eq!(check_offsets(&[0]), Ok(()));
    assert_eq!(check_offsets(&[]), Ok(()));
}
