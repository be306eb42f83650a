// SPDX-License-Identifier: Apache-2.0
//! Tests results: encoding round-trips, and inconsistent results are refused.

use nearscan_command::{
    BlockForm, CellColumn, Cells, ColumnarWriter, Error, ResultHeader, ResultView, ResultWriter,
    Row, Status, Value, Width, limits,
};
use proptest::prelude::*;
use rstest::rstest;

use crate::{golden, malformed::sealed};

pub(crate) fn value(width: Width) -> BoxedStrategy<Value> {
    let some = match width {
        Width::Bool => any::<bool>().prop_map(|b| Value::Number(b.into())).boxed(),
        Width::W32 => any::<i32>().prop_map(|n| Value::Number(n.into())).boxed(),
        Width::W64 => any::<i64>().prop_map(|n| Value::Number(n.into())).boxed(),
        Width::W128 => any::<i128>().prop_map(Value::Number).boxed(),
        Width::Bytes => {
            proptest::collection::vec(any::<u8>(), 0..40).prop_map(Value::Bytes).boxed()
        }
    };
    prop_oneof![1 => Just(Value::Null), 4 => some].boxed()
}

fn widths() -> impl Strategy<Value = Vec<Width>> {
    let width = proptest::sample::select(Width::ALL).prop_map(|(width, _)| width);
    proptest::collection::vec(width, 0..6)
}

pub(crate) fn table() -> impl Strategy<Value = (Vec<Width>, Vec<Row>)> {
    (widths(), 0usize..200).prop_flat_map(|(widths, row_count)| {
        let row: Vec<_> = widths.iter().map(|width| value(*width)).collect();
        (Just(widths), proptest::collection::vec(row, row_count))
    })
}

pub(crate) fn rows_of(view: &ResultView<'_>) -> Vec<Row> {
    let cell = |column: &nearscan_command::BlockColumn<'_>, row| match column.is_valid(row) {
        false => Value::Null,
        true if column.width == Width::Bytes => Value::Bytes(column.string(row).unwrap().to_vec()),
        true => Value::Number(column.number(row).unwrap()),
    };
    let mut rows = Vec::new();
    for block in &view.blocks {
        for row in 0..block.rows as usize {
            rows.push(block.columns.iter().map(|column| cell(column, row)).collect());
        }
    }
    rows
}

pub(crate) fn written(widths: &[Width], rows: &[Row]) -> Vec<u8> {
    let mut writer = ResultWriter::new(widths.to_vec());
    for row in rows {
        writer.push(row.clone()).unwrap();
    }
    writer.finish(golden::header())
}

proptest! {
    #[test]
    fn rows_survive_a_round_trip((widths, rows) in table()) {
        let bytes = written(&widths, &rows);
        let view = ResultView::parse(&bytes, &widths).unwrap();
        prop_assert_eq!(view.header.rows_out, rows.len() as u64);
        prop_assert_eq!(view.header.counters.payload_words * 8, view.header.payload_bytes);
        prop_assert_eq!(rows_of(&view), rows);
    }
}

fn text_of(value: &Value) -> &[u8] {
    match value {
        Value::Bytes(bytes) => bytes,
        Value::Null | Value::Number(_) => b"of a null row",
    }
}

/// The same rows through the columnar writer, in batches of `batch_rows`.
pub(crate) fn written_by_columns(
    widths: &[Width],
    rows: &[Row],
    batch_rows: usize,
    form: BlockForm,
) -> Vec<u8> {
    let mut writer = ColumnarWriter::new(widths, form);
    for batch in rows.chunks(batch_rows) {
        let column = |index: usize| batch.iter().map(move |row: &Row| &row[index]);
        let numbers = |index| {
            column(index).map(|value| match value {
                Value::Number(number) => *number,
                // What is in a null row must not matter.
                Value::Null | Value::Bytes(_) => 99,
            })
        };
        let indexes = 0..widths.len();
        let validity: Vec<Vec<bool>> =
            indexes.clone().map(|i| column(i).map(|v| *v != Value::Null).collect()).collect();
        let wide: Vec<Vec<i128>> = indexes.clone().map(|i| numbers(i).collect()).collect();
        let narrow: Vec<Vec<i64>> =
            indexes.clone().map(|i| numbers(i).map(|n| n as i64).collect()).collect();
        let truth: Vec<Vec<bool>> =
            indexes.clone().map(|i| numbers(i).map(|n| n != 0).collect()).collect();
        let strings: Vec<Vec<&[u8]>> =
            indexes.clone().map(|i| column(i).map(text_of).collect()).collect();
        let cells = indexes.map(|index| {
            let is_null = validity[index].iter().all(|valid| !valid);
            let cells = match widths[index] {
                _ if is_null => Cells::Null,
                Width::Bool => Cells::Truth(&truth[index]),
                Width::W32 | Width::W64 => Cells::Narrow(&narrow[index]),
                Width::W128 => Cells::Wide(&wide[index]),
                Width::Bytes => Cells::Strings(&strings[index]),
            };
            let is_valid = validity[index].iter().all(|valid| *valid);
            CellColumn { cells, validity: (!is_valid).then_some(&validity[index]) }
        });
        writer.push(batch.len(), &cells.collect::<Vec<_>>()).unwrap();
    }
    let bytes = writer.bytes();
    let result = writer.finish(golden::header());
    match form {
        BlockForm::Plain => assert_eq!(result.len() as u64, bytes),
        BlockForm::Compact => assert!(bytes >= written(widths, rows).len() as u64),
    }
    result
}

proptest! {
    #[test]
    fn both_writers_write_the_same_bytes((widths, rows) in table(), batch_rows in 1usize..100) {
        let by_rows = written(&widths, &rows);
        prop_assert_eq!(written_by_columns(&widths, &rows, batch_rows, BlockForm::Plain), by_rows);
    }
}

#[test]
fn blocks_of_the_columnar_writer_do_not_depend_on_its_batches() {
    let rows: Vec<Row> = (0..5000)
        .map(|n| match n % 7 {
            0 => vec![Value::Null, Value::Null],
            _ => vec![Value::Number(n), Value::Bytes(n.to_string().into_bytes())],
        })
        .collect();
    let widths = [Width::W64, Width::Bytes];
    let expected = written(&widths, &rows);
    for batch_rows in [1, 1000, 1024, 1025, 5000] {
        assert_eq!(
            written_by_columns(&widths, &rows, batch_rows, BlockForm::Plain),
            expected,
            "{batch_rows}"
        );
    }
}

#[rstest]
#[case(BlockForm::Plain)]
#[case(BlockForm::Compact)]
fn block_of_long_strings_ends_before_its_ends_do(#[case] form: BlockForm) {
    let long = vec![b'x'; 30 << 20];
    let strings: Vec<&[u8]> = vec![&long; 5];
    let mut writer = ColumnarWriter::new(&[Width::Bytes], form);
    let column = CellColumn { cells: Cells::Strings(&strings), validity: None };
    writer.push(5, &[column]).unwrap();
    let bytes = writer.finish(golden::header());
    let view = ResultView::parse(&bytes, &[Width::Bytes]).unwrap();
    assert_eq!(view.blocks.iter().map(|block| block.rows).collect::<Vec<_>>(), [3, 2]);
    assert_eq!(view.blocks[1].columns[0].string(1), Some(long.as_slice()));
}

#[rstest]
#[case(Width::W32, Cells::Narrow(&[1 << 31]), Err(Error::Width { column: 0 }))]
#[case(Width::W64, Cells::Wide(&[1 << 63]), Err(Error::Width { column: 0 }))]
#[case(Width::W32, Cells::Constant(1 << 40), Err(Error::Width { column: 0 }))]
#[case(Width::Bool, Cells::Constant(2), Err(Error::Width { column: 0 }))]
#[case(Width::W128, Cells::Constant(i128::MIN), Ok(()))]
#[case(Width::Bool, Cells::Constant(1), Ok(()))]
fn numbers_beyond_their_width_are_refused(
    #[case] width: Width,
    #[case] cells: Cells<'static>,
    #[case] expected: Result<(), Error>,
) {
    let column = CellColumn { cells, validity: None };
    assert_eq!(ColumnarWriter::new(&[width], BlockForm::Plain).push(1, &[column]), expected);
    let null = CellColumn { cells, validity: Some(&[false]) };
    assert_eq!(ColumnarWriter::new(&[width], BlockForm::Plain).push(1, &[null]), Ok(()));
}

#[rstest]
#[case(Width::Bytes, Cells::Narrow(&[1]))]
#[case(Width::Bytes, Cells::Constant(1))]
#[case(Width::W64, Cells::Strings(&[b"1"]))]
#[case(Width::W64, Cells::Truth(&[true]))]
#[case(Width::W64, Cells::Narrow(&[]))]
fn cells_of_another_kind_are_refused(#[case] width: Width, #[case] cells: Cells<'static>) {
    let column = CellColumn { cells, validity: None };
    let refused = ColumnarWriter::new(&[width], BlockForm::Plain).push(1, &[column]);
    assert!(matches!(refused, Err(Error::Inconsistent { .. })));
}

#[rstest]
#[case(0, 0)]
#[case(1, 1)]
#[case(1023, 1)]
#[case(1024, 1)]
#[case(1025, 2)]
#[case(3000, 3)]
fn blocks_hold_up_to_1024_rows(#[case] row_count: i128, #[case] block_count: usize) {
    let rows: Vec<Row> = (0..row_count).map(|n| vec![Value::Number(n)]).collect();
    let bytes = written(&[Width::W64], &rows);
    let view = ResultView::parse(&bytes, &[Width::W64]).unwrap();
    assert_eq!(view.blocks.len(), block_count);
    assert_eq!(view.header.counters.blocks, block_count as u64);
    assert_eq!(rows_of(&view), rows);
}

#[test]
fn rows_without_columns_are_counted() {
    let bytes = written(&[], &vec![vec![]; 1500]);
    let view = ResultView::parse(&bytes, &[]).unwrap();
    assert_eq!(view.blocks.iter().map(|b| b.rows).collect::<Vec<_>>(), [1024, 476]);
}

#[rstest]
#[case(vec![Value::Number(1)])]
#[case(vec![Value::Number(1), Value::Number(2)])]
#[case(vec![Value::Number(i128::from(i32::MAX) + 1), Value::Null])]
#[case(vec![Value::Bytes(vec![]), Value::Null])]
fn row_that_does_not_fit_is_refused(#[case] row: Row) {
    let mut writer = ResultWriter::new(vec![Width::W32, Width::Bytes]);
    assert!(matches!(writer.push(row), Err(Error::Inconsistent { .. })));
    assert_eq!(ResultHeader::decode(&writer.finish(golden::header())).unwrap().rows_out, 0);
}

#[test]
fn every_status_survives_a_round_trip_and_voids_the_payload() {
    for (status, name) in Status::ALL {
        let header = ResultHeader { status: *status, ..golden::header() };
        let mut writer = ResultWriter::new(vec![Width::W32]);
        writer.push(vec![Value::Number(1)]).unwrap();
        let bytes = writer.finish(header);
        let view = ResultView::parse(&bytes, &[Width::W32]).unwrap();
        assert_eq!(view.header.status, *status, "{name}");
        assert_eq!(view.blocks.is_empty(), *status != Status::Ok, "{name}");
    }
}

#[test]
fn header_survives_a_round_trip_with_detail_and_counters() {
    let header = golden::header();
    assert_eq!(ResultHeader::decode(&header.encode()), Ok(header));
    assert!(header.detail.is_some());
}

#[test]
fn missing_rows_are_detected() {
    let bytes = written(&[Width::W32], &[vec![Value::Number(1)]]);
    let payload = &bytes[usize::try_from(ResultHeader::BYTES).unwrap()..];
    assert!(ResultView::parse(&sealed(payload, 1), &[Width::W32]).is_ok());
    assert!(matches!(
        ResultView::parse(&sealed(payload, 2), &[Width::W32]),
        Err(Error::Inconsistent { .. })
    ));
}

/// A block's header and what follows it.
fn block(rows: u32, bytes: u32, rest: &[u8]) -> Vec<u8> {
    [&rows.to_le_bytes()[..], &bytes.to_le_bytes(), &[0; 8], rest].concat()
}

#[rstest]
#[case::no_rows(block(0, 16, &[]))]
#[case::too_many_rows(block(limits::BLOCK_ROWS_MAX + 1, 16, &[]))]
#[case::shorter_than_its_header(block(1, 8, &[0; 32]))]
#[case::longer_than_the_payload(block(1, 4096, &[0; 32]))]
#[case::shorter_than_its_columns(block(1, 24, &[0; 8]))]
#[case::longer_than_its_columns(block(1, 48, &[0; 32]))]
#[case::no_whole_header(vec![1, 0, 0])]
fn inconsistent_block_is_refused(#[case] payload: Vec<u8>) {
    assert!(ResultView::parse(&sealed(&payload, 1), &[Width::W32]).is_err());
}

#[test]
fn ends_of_strings_that_decrease_are_refused() {
    let strings = |ends: [u32; 2]| {
        let ends = ends.map(u32::to_le_bytes).concat();
        let rest = [&[3, 0, 0, 0, 0, 0, 0, 0], &ends[..], b"abcdefgh"].concat();
        sealed(&block(2, 40, &rest), 2)
    };
    let good = strings([5, 8]);
    let view = ResultView::parse(&good, &[Width::Bytes]).unwrap();
    assert_eq!(view.blocks[0].columns[0].string(1), Some(&b"fgh"[..]));
    assert_eq!(view.blocks[0].columns[0].string(2), None);
    assert_eq!(view.blocks[0].columns[0].number(0), None);
    assert!(ResultView::parse(&strings([8, 5]), &[Width::Bytes]).is_err());
    assert!(ResultView::parse(&strings([5, 9]), &[Width::Bytes]).is_err());
}
