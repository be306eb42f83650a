// SPDX-License-Identifier: Apache-2.0
//! Tests the parser with footers that declare too much.

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

/// The header of a list with 2^31 - 1 structures.
const MANY: [u8; 6] = [0xfc, 0xff, 0xff, 0xff, 0xff, 0x07];

#[test]
fn ranges_of_page_indexes_are_found() {
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
    // No shorter footer is valid.
    for length in 0..footer.len() {
        assert!(walk(&footer[..length]).is_err(), "{length} bytes");
    }
}

#[rstest]
#[case::row_groups(&[0x49], &MANY, "a list declares 2147483647 items in 1 bytes")]
#[case::something_new(&[0xe9], &MANY, "a list declares 2147483647 items in 1 bytes")]
#[case::a_map(&[0xeb], &MANY[1..], "a list declares 2147483647 items in 1 bytes")]
#[case::a_list_for_a_number(&[0x39], &[0x05], "field 3 is not of type integer")]
#[case::a_number_for_row_groups(&[0x45], &[0x02], "field 4 is not of type list")]
#[case::a_long_text(&[0x68], &[0x7f], "a string declares 127 bytes of 1")]
#[case::a_large_number(&[0x35], &[0xff; 11], "a number has more than 64 bits")]
#[case::a_large_field(&[0x05], &[0x80, 0x80, 0x08], "the number of a field is too large")]
#[case::an_unknown_kind(&[0xee], &[], "a value has the unknown type 14")]
#[case::structures_in_structures(&[0xec], &[0x1c; 80], "structures are nested too deeply")]
#[case::lists_in_lists(&[0xe9], &[0x19; 80], "lists are nested too deeply")]
// The crate takes the second byte for the next field.
#[case::truth_values(&[0xe9], &[0x11, 0x49], "a list has boolean items")]
#[case::truth_values_of_a_map(&[0xeb], &[0x01, 0x81, 0x01, 0x49], "a list has boolean items")]
#[case::children(
    &[0x29],
    &[0x1c, 0x55, 0x02, 0x00],
    "a schema element declares 1 children, but 0 elements are left"
)]
#[case::negative_children(
    &[0x29],
    &[0x1c, 0x55, 0x01, 0x00],
    "a schema element declares -1 children"
)]
// A chunk whose index has 2^32 + 8 bytes, which the crate truncates to 8.
#[case::a_long_index(
    &[0x49, 0x1c, 0x19, 0x1c, 0x55],
    &[0x90, 0x80, 0x80, 0x80, 0x20, 0x00, 0x00],
    "a number has more than 32 bits"
)]
fn invalid_field_is_refused(#[case] field: &[u8], #[case] value: &[u8], #[case] why: &str) {
    assert_eq!(walk(&[field, value, &[0]].concat()), Err(why.to_owned()));
}

#[rstest]
#[case::of_a_map(&[0xeb, 0x01, 0x85, 0x01, 0x61, 0x02])]
#[case::of_an_empty_map(&[0xeb, 0x00])]
#[case::of_sixteen_bytes(&[&[0xed][..], &[7; 16]].concat())]
#[case::of_an_empty_list(&[0xe9, 0x00])]
fn unknown_field_is_skipped(#[case] field: &[u8]) {
    // A list of key values follows, with an explicit field number.
    let rest = [0x09, 0x0a, 0x1c, 0x18, 0x01, 0x61, 0x00, 0x00];
    assert_eq!(walk(&[field, &rest].concat()), Ok(Indexes::default()));
    assert!(walk(&[field, &rest[..5]].concat()).is_err());
}

#[rstest]
#[case::flat(2, true)]
#[case::deep(90, true)]
#[case::deeper(120, false)]
fn schema_depth_is_limited(#[case] depth: usize, #[case] is_fine: bool) {
    // Each element has one child, and the last has none.
    let mut elements = [[0x55, 0x02, 0x00].repeat(depth), vec![0x00]].concat();
    let count = u8::try_from(depth + 1).unwrap();
    let footer = [&[0x29, 0xfc, count][..], &std::mem::take(&mut elements), &[0]].concat();
    assert_eq!(walk(&footer).is_ok(), is_fine, "{:?}", walk(&footer));
}

#[test]
fn row_group_count_is_limited() {
    let footer = |count: u8| {
        let groups = vec![0; (1 << 15) + usize::from(count)];
        [&[0x49, 0xfc, 0x80 | count, 0x80, 2][..], &groups, &[0]].concat()
    };
    assert_eq!(walk(&footer(0)), Ok(Indexes::default()));
    assert_eq!(walk(&footer(1)), Err("it declares 32769 row groups".to_owned()));
}

#[test]
fn page_count_is_limited_by_the_length_of_the_index() {
    let head = [&[0x19], &MANY[..]].concat();
    let many = "a list declares 2147483647 items in 100 bytes";
    assert_eq!(check_offsets(&head, 100), Err(many.to_owned()));
    assert_eq!(check_offsets(&head, 1 << 31), Ok(()));
    assert_eq!(check_offsets(&[0x19, 0x1c, 0x16, 0x08, 0], 5), Ok(()));
    // On this path the crate does not allocate first.
    assert_eq!(check_offsets(&[0], 1), Ok(()));
    assert_eq!(check_offsets(&[], 0), Ok(()));
}
