// SPDX-License-Identifier: Apache-2.0
//! Results: what is written comes back, and what does not add up is noticed.

use nearscan_command::{
    Error, ResultHeader, ResultView, ResultWriter, Row, Status, Value, Width, limits,
};
use proptest::prelude::*;
use rstest::rstest;

use crate::golden;
use crate::malformed::sealed;

fn value(width: Width) -> BoxedStrategy<Value> {
    let some = match width {
        Width::Bool => any::<bool>().prop_map(|b| Value::Number(b.into())).boxed(),
        Width::W32 => any::<i32>().prop_map(|n| Value::Number(n.into())).boxed(),
        Width::W64 => any::<i64>().prop_map(|n| Value::Number(n.into())).boxed(),
        Width::W128 => any::<i128>().prop_map(Value::Number).boxed(),
        Width::Bytes => {
            proptest::collection::vec(any::<u8>(), 0..12).prop_map(Value::Bytes).boxed()
        }
    };
    prop_oneof![1 => Just(Value::Null), 4 => some].boxed()
}

fn widths() -> impl Strategy<Value = Vec<Width>> {
    let width = proptest::sample::select(Width::ALL).prop_map(|(width, _)| width);
    proptest::collection::vec(width, 0..6)
}

fn table() -> impl Strategy<Value = (Vec<Width>, Vec<Row>)> {
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

fn written(widths: &[Width], rows: &[Row]) -> Vec<u8> {
    let mut writer = ResultWriter::new(widths.to_vec());
    for row in rows {
        writer.push(row.clone()).unwrap();
    }
    writer.finish(golden::header())
}

proptest! {
    #[test]
    fn rows_come_back((widths, rows) in table()) {
        let bytes = written(&widths, &rows);
        let view = ResultView::parse(&bytes, &widths).unwrap();
        prop_assert_eq!(view.header.rows_out, rows.len() as u64);
        prop_assert_eq!(view.header.counters.payload_words * 8, view.header.payload_bytes);
        prop_assert_eq!(rows_of(&view), rows);
    }
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
fn a_row_that_does_not_fit_is_refused(#[case] row: Row) {
    let mut writer = ResultWriter::new(vec![Width::W32, Width::Bytes]);
    assert!(matches!(writer.push(row), Err(Error::Inconsistent { .. })));
    assert_eq!(ResultHeader::decode(&writer.finish(golden::header())).unwrap().rows_out, 0);
}

#[test]
fn every_status_comes_back_and_voids_the_payload() {
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
fn a_header_comes_back_with_its_detail_and_counters() {
    let header = golden::header();
    assert_eq!(ResultHeader::decode(&header.encode()), Ok(header));
    assert!(header.detail.is_some());
}

#[test]
fn rows_that_were_announced_and_are_not_there_are_noticed() {
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
fn a_block_that_does_not_add_up_is_refused(#[case] payload: Vec<u8>) {
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
