// SPDX-License-Identifier: Apache-2.0
//! Tests compact blocks: what is packed expands to the same rows, and damage is detected.

use nearscan_command::{
    BlockForm, CellColumn, Cells, ColumnarWriter, Command, Error, ResultHeader, ResultView, Row,
    Value, Width,
    layout::{BLOCK_HEADER_BYTES, COMPACT_COLUMN_BYTES},
    limits,
};
use proptest::prelude::*;
use rstest::rstest;

use crate::{
    golden,
    malformed::{fix_checksum, sealed},
    merges, results, shapes,
};

/// A column whose numbers are near each other, or whose strings repeat.
fn value(width: Width, kind: u8) -> BoxedStrategy<Value> {
    let near = |base: i128, most: i128| (0..=most).prop_map(move |n| Value::Number(base + n));
    match (width, kind) {
        (Width::W32, 0) => near(i32::MAX.into(), 0).boxed(),
        (Width::W32, 1) => near(8035, 2500).boxed(),
        (Width::W64, 0) => near(i64::MIN.into(), 1 << 33).boxed(),
        (Width::W64, 1) => near(90_000, 10_000_000).boxed(),
        (Width::W128, 0) => near((i64::MAX - 5).into(), u64::MAX.into()).boxed(),
        (Width::W128, 1) => near(-1 << 90, 3).boxed(),
        (Width::Bytes, 0) => {
            proptest::sample::select(vec!["AIR", "", "MAIL", "REG AIR", "TRUCK", "RAIL"])
                .prop_map(|text| Value::Bytes(text.into()))
                .boxed()
        }
        (Width::Bytes, 1) => {
            (0u32..3000).prop_map(|n| Value::Bytes(format!("Customer#{n:09}").into_bytes())).boxed()
        }
        _ => results::value(width),
    }
}

fn table() -> impl Strategy<Value = (Vec<Width>, Vec<Row>)> {
    let width = proptest::sample::select(Width::ALL).prop_map(|(width, _)| width);
    let column = (width, 0u8..3, 0u32..3);
    (proptest::collection::vec(column, 0..6), 0usize..2500).prop_flat_map(|(columns, count)| {
        let row: Vec<_> = columns
            .iter()
            .map(|(width, kind, nulls)| {
                prop_oneof![*nulls => Just(Value::Null), 5 => value(*width, *kind)]
            })
            .collect();
        let widths: Vec<Width> = columns.iter().map(|(width, ..)| *width).collect();
        (Just(widths), proptest::collection::vec(row, count))
    })
}

fn compact(widths: &[Width], rows: &[Row]) -> Vec<u8> {
    results::written_by_columns(widths, rows, 700, BlockForm::Compact)
}

/// A known result: a column of each width, with and without codes.
pub(crate) fn result() -> Vec<u8> {
    let widths = Width::ALL.iter().map(|(width, _)| *width);
    let widths: Vec<Width> = widths.chain([Width::W128, Width::Bytes]).collect();
    let text = |text: &str| Value::Bytes(text.into());
    let row = |n: i128| match n % 10 {
        7 => vec![Value::Null; 7],
        _ => vec![
            Value::Number(n % 2),
            Value::Number(n % 41 - 20),
            Value::Number(n * 1_000_003),
            Value::Number(i128::from(i64::MIN) + n % 3),
            text(if n % 3 == 0 { "AIR" } else { "" }),
            Value::Number(n << 70),
            text(&n.to_string()),
        ],
    };
    compact(&widths, &(0..40).map(row).collect::<Vec<_>>())
}

fn payload_bytes(bytes: &[u8]) -> u64 {
    ResultHeader::decode(bytes).unwrap().payload_bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn compact_rows_are_the_plain_rows((widths, rows) in table()) {
        let bytes = compact(&widths, &rows);
        let view = ResultView::parse(&bytes, &widths).unwrap();
        prop_assert_eq!(view.header.rows_out, rows.len() as u64);
        prop_assert_eq!(view.header.counters.payload_words * 8, view.header.payload_bytes);
        let plain = results::written(&widths, &rows);
        let plain = ResultView::parse(&plain, &widths).unwrap();
        // Part by part: what null rows hold, too.
        for (compact, plain) in view.blocks.iter().zip(&plain.blocks) {
            for (compact, plain) in compact.columns.iter().zip(&plain.columns) {
                prop_assert_eq!(&compact.validity, &plain.validity);
                prop_assert_eq!(&compact.values, &plain.values);
                prop_assert_eq!(&compact.bytes, &plain.bytes);
            }
        }
        // In the worst case each column of each block costs its record.
        let records = view.blocks.len() * widths.len() * COMPACT_COLUMN_BYTES as usize;
        prop_assert!(view.header.payload_bytes <= plain.header.payload_bytes + records as u64);
    }

    #[test]
    fn damaged_compact_payloads_do_not_panic(
        (widths, rows) in table(),
        noise in proptest::collection::vec((any::<u32>(), any::<u8>()), 1..6),
    ) {
        let good = compact(&widths, &rows);
        let (header, payload) = good.split_at(usize::try_from(ResultHeader::BYTES).unwrap());
        let rows_out = ResultHeader::decode(header).unwrap().rows_out;
        let mut payload = payload.to_vec();
        for (at, byte) in noise {
            if let Some(at) = (at as usize).checked_rem(payload.len()) {
                payload[at] = byte;
            }
        }
        if let Ok(view) = ResultView::parse(&sealed(&payload, rows_out), &widths) {
            prop_assert_eq!(results::rows_of(&view).len() as u64, rows_out);
        }
    }
}

#[rstest]
#[case::equal(Width::W64, (0..1024).map(|_| Value::Number(-7)).collect(), 0)]
#[case::dates(Width::W32, (0..1024).map(|n| Value::Number(8035 + n * 5 % 2526)).collect(), 12)]
#[case::full_range(
    Width::W64,
    (0..1024).map(|n| Value::Number(if n % 2 == 0 { i64::MIN } else { i64::MAX }.into())).collect(),
    64
)]
#[case::truth(Width::Bool, (0..1024).map(|n| Value::Number(n % 2)).collect(), 1)]
#[case::one_length(
    Width::Bytes,
    (0..1024).map(|n| Value::Bytes(format!("{n:015}").into_bytes())).collect(),
    15 * 8
)]
#[case::coded(
    Width::Bytes,
    (0..1024).map(|n| Value::Bytes(["A", "N", "R"][n % 3].into())).collect(),
    2
)]
fn packed_bits_of_a_row(#[case] width: Width, #[case] values: Vec<Value>, #[case] bits: u64) {
    let rows: Vec<Row> = values.into_iter().map(|value| vec![value]).collect();
    let bytes = payload_bytes(&compact(&[width], &rows));
    let fixed = u64::from(BLOCK_HEADER_BYTES + COMPACT_COLUMN_BYTES);
    let packed = rows.len() as u64 * bits / 8;
    // Strings that are new have a word of lengths and one of bytes.
    let new = if width == Width::Bytes && bits < 8 { 16 } else { 0 };
    assert_eq!(bytes, fixed + packed + new);
}

#[test]
fn strings_are_sent_once_a_result() {
    let text = |n: usize| Value::Bytes(format!("a rather long name, number {n}").into_bytes());
    // The second block uses strings of the first one, and one more.
    let rows: Vec<Row> =
        (0..2048).map(|n| vec![text(if n < 2000 { n % 40 } else { 40 })]).collect();
    let bytes = compact(&[Width::Bytes], &rows);
    let view = ResultView::parse(&bytes, &[Width::Bytes]).unwrap();
    assert_eq!(results::rows_of(&view), rows);
    assert!(view.header.payload_bytes < 2048 + 41 * 32);
}

#[test]
fn strings_beyond_the_limit_of_codes_have_lengths() {
    let rows: Vec<Row> = (0..3 * u64::from(limits::CODED_STRINGS_MAX))
        .map(|n| vec![Value::Bytes(format!("name {}", n / 2).into_bytes())])
        .collect();
    let bytes = compact(&[Width::Bytes], &rows);
    let view = ResultView::parse(&bytes, &[Width::Bytes]).unwrap();
    assert_eq!(results::rows_of(&view), rows);
}

#[test]
fn compact_command_survives_a_round_trip() {
    let command = shapes::rows().compact();
    assert_eq!(command.form, BlockForm::Compact);
    assert_eq!(Command::decode(&command.encode().unwrap()), Ok(command));
    assert_eq!(shapes::states().compact(), shapes::states());
}

#[test]
fn states_are_not_compact() {
    let mut command = shapes::states();
    command.form = BlockForm::Compact;
    let states = Err(Error::Inconsistent { what: "states are not compact" });
    assert_eq!(Command::decode(&command.encode().unwrap()), states);
}

#[test]
fn merged_scans_are_not_compact() {
    let merge = merges::merge();
    let scans = merge.scans.into_iter().map(Command::compact).collect();
    let error = nearscan_command::MergeCommand::bind(scans, merge.merge, golden::envelope());
    assert_eq!(
        error,
        Err(Error::Inconsistent { what: "a scan that is merged gives plain blocks" })
    );
}

/// A block of two rows of one column: its record, then what follows.
fn block(record: [u8; 16], parts: &[Vec<u8>]) -> Vec<u8> {
    let mut body = record.to_vec();
    for part in parts {
        body.extend_from_slice(part);
        body.resize(body.len().next_multiple_of(8), 0);
    }
    let bytes = u32::try_from(body.len()).unwrap() + BLOCK_HEADER_BYTES;
    let header = [2, bytes, 1, 0].map(u32::to_le_bytes).concat();
    sealed(&[header, body].concat(), 2)
}

fn parts(parts: &[&[u8]]) -> Vec<Vec<u8>> {
    parts.iter().map(|part| part.to_vec()).collect()
}

/// The bytes of a [`nearscan_command::layout::CompactColumnRecord`].
fn record(packing: u8, bits: u8, flags: u8, strings: u32, base: i64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&[packing, bits, if packing == 3 { 3 } else { 0 }, flags]);
    bytes[4..8].copy_from_slice(&strings.to_le_bytes());
    bytes[8..].copy_from_slice(&base.to_le_bytes());
    bytes
}

#[rstest]
#[case::numbers(Width::W32, record(1, 4, 0, 0, -3), parts(&[&[0x21]]))]
#[case::nulls(Width::W64, record(1, 4, 1, 0, -3), parts(&[&[0b10, 0, 0, 0, 0, 0, 0, 0], &[0x20]]))]
#[case::plain(Width::W128, record(0, 0, 0, 0, 0), parts(&[&[7; 32]]))]
#[case::lengths(Width::Bytes, record(2, 1, 0, 0, 2), parts(&[&[0b10], b"abcde"]))]
#[case::codes(Width::Bytes, record(3, 1, 0, 2, 0), parts(&[&[0b10], &[0b010_010], b"abcd"]))]
fn block_without_damage_is_read(
    #[case] width: Width,
    #[case] record: [u8; 16],
    #[case] parts: Vec<Vec<u8>>,
) {
    let bytes = block(record, &parts);
    let rows = results::rows_of(&ResultView::parse(&bytes, &[width]).unwrap());
    let number = |n: i128| Value::Number(n);
    let text = |text: &str| Value::Bytes(text.into());
    let expected = match (width, record[0]) {
        (Width::W32, _) => [number(-2), number(-1)],
        (Width::W64, _) => [Value::Null, number(-1)],
        (Width::W128, _) => {
            [number(i128::from_le_bytes([7; 16])), number(i128::from_le_bytes([7; 16]))]
        }
        (_, 2) => [text("ab"), text("cde")],
        _ => [text("ab"), text("cd")],
    };
    assert_eq!(rows, expected.map(|value| vec![value]));
}

#[rstest]
#[case::beyond_its_width(Width::W32, record(1, 1, 0, 0, i32::MAX.into()), parts(&[&[0b10]]))]
#[case::base_beyond_its_width(Width::W32, record(1, 0, 0, 0, 1 << 31), parts(&[]))]
#[case::beyond_64_bits(Width::W64, record(1, 64, 0, 0, i64::MAX), parts(&[&[0xff; 16]]))]
#[case::truth_of_two(Width::Bool, record(1, 0, 0, 0, 2), parts(&[]))]
#[case::too_many_bits(Width::W64, record(1, 65, 0, 0, 0), parts(&[&[0; 17]]))]
#[case::unknown_packing(Width::W64, record(4, 0, 0, 0, 0), parts(&[]))]
#[case::unknown_flags(Width::W64, record(1, 0, 2, 0, 0), parts(&[]))]
#[case::numbers_of_strings(Width::Bytes, record(1, 0, 0, 0, 0), parts(&[]))]
#[case::plain_strings(Width::Bytes, record(0, 0, 0, 0, 0), parts(&[&[0; 8]]))]
#[case::lengths_of_numbers(Width::W64, record(2, 0, 0, 0, 0), parts(&[]))]
#[case::codes_of_numbers(Width::W64, record(3, 0, 0, 0, 0), parts(&[]))]
#[case::cut_short(Width::W64, record(1, 64, 0, 0, 0), parts(&[&[0; 8]]))]
#[case::too_long(Width::W64, record(1, 1, 0, 0, 0), parts(&[&[0; 16]]))]
#[case::bits_behind_the_last(Width::W64, record(1, 1, 0, 0, 0), parts(&[&[0b100]]))]
#[case::bytes_behind_the_last(Width::W64, record(1, 1, 0, 0, 0), parts(&[&[0, 1]]))]
#[case::strings_cut_short(Width::Bytes, record(2, 0, 0, 0, 5), parts(&[b"abcdefgh"]))]
#[case::negative_length(Width::Bytes, record(2, 0, 0, 0, -1), parts(&[]))]
#[case::lengths_beyond_32_bits(Width::Bytes, record(2, 1, 0, 0, u32::MAX.into()), parts(&[&[1]]))]
#[case::unknown_code(Width::Bytes, record(3, 2, 0, 2, 0), parts(&[&[8], &[0b010_010], b"abcd"]))]
#[case::more_strings_than_rows(Width::Bytes, record(3, 0, 0, 3, 0), parts(&[&[0; 2]]))]
#[case::more_strings_than_there_are(Width::Bytes, record(3, 0, 0, u32::MAX, 0), parts(&[]))]
#[case::codes_with_a_base(Width::Bytes, record(3, 0, 0, 1, 1), parts(&[&[0]]))]
#[case::code_without_strings(Width::Bytes, record(3, 0, 0, 0, 0), parts(&[]))]
fn damaged_block_is_refused(
    #[case] width: Width,
    #[case] record: [u8; 16],
    #[case] parts: Vec<Vec<u8>>,
) {
    let bytes = block(record, &parts);
    let error = ResultView::parse(&bytes, &[width]).map(|view| results::rows_of(&view));
    let error = error.expect_err("a damaged block was read");
    assert!(!matches!(error, Error::Checksum { .. }), "{error}");
}

#[test]
fn block_of_an_unknown_form_is_refused() {
    let block = [1u32, 16, 2, 0].map(u32::to_le_bytes).concat();
    let unknown = Error::UnknownCode { what: "form of blocks", value: 2 };
    assert_eq!(ResultView::parse(&sealed(&block, 1), &[]).err(), Some(unknown));
}

#[test]
fn command_of_an_unknown_form_is_refused() {
    let command = shapes::rows().compact();
    let mut bytes = command.encode().unwrap();
    let plain = Command { form: BlockForm::Plain, ..command }.encode().unwrap();
    // Beside the checksum, the form alone differs.
    let at = (16..bytes.len()).find(|at| bytes[*at] != plain[*at]).unwrap();
    bytes[at] = 2;
    fix_checksum(&mut bytes);
    let unknown = Error::UnknownCode { what: "form of blocks", value: 2 };
    assert_eq!(Command::decode(&bytes), Err(unknown));
}

/// The example of `docs/command-format.md`, byte for byte.
#[test]
fn example_of_the_page_is_what_the_writer_writes() {
    let page = include_str!("../../../../docs/command-format.md");
    let (_, example) = page.split_once("in a block of 80 bytes:").unwrap();
    let example = example.split("```").nth(1).unwrap();
    let bytes = example.lines().flat_map(|line| {
        let byte = |text: &str| u8::from_str_radix(text, 16).ok().filter(|_| text.len() == 2);
        line.split(' ').map_while(byte).collect::<Vec<_>>()
    });
    let air = || Value::Bytes(b"AIR".to_vec());
    let rows = [Value::Number(8044), Value::Null, Value::Number(8035)].map(|day| vec![day, air()]);
    let written = compact(&[Width::W32, Width::Bytes], &rows);
    let payload = &written[usize::try_from(ResultHeader::BYTES).unwrap()..];
    assert_eq!(payload, bytes.collect::<Vec<_>>());
}

/// A long string, and blocks of codes that all stand for it: half a MiB that would be 300 MiB.
#[test]
fn expanded_result_has_a_limit() {
    let text = vec![b'x'; 1 << 19];
    let mut writer = ColumnarWriter::new(&[Width::Bytes], BlockForm::Compact);
    let strings: Vec<&[u8]> = vec![&text; 600];
    for rows in strings.chunks(60) {
        writer.push(60, &[CellColumn { cells: Cells::Strings(rows), validity: None }]).unwrap();
    }
    assert!(writer.bytes() > 300 << 20);
    let bytes = writer.finish(golden::header());
    assert!(bytes.len() < 1 << 20);
    let error = ResultView::parse(&bytes, &[Width::Bytes]).unwrap_err();
    assert!(matches!(error, Error::Limit { what: "bytes of an expanded column", .. }), "{error}");
}

/// Two blocks of equal numbers, of no bits each.
fn equal_numbers() -> (Vec<u8>, u64) {
    let rows: Vec<Row> = vec![vec![Value::Number(7)]; 1400];
    let widths = [Width::W64];
    let plain = payload_bytes(&results::written_by_columns(&widths, &rows, 700, BlockForm::Plain));
    (compact(&widths, &rows), plain - 2 * u64::from(BLOCK_HEADER_BYTES))
}

#[test]
fn rows_take_no_more_room_than_they_have_when_plain() {
    let (bytes, plain) = equal_numbers();
    let parse = |room| ResultView::parse_within(&bytes, &[Width::W64], room);
    assert_eq!(parse(plain).unwrap().header.rows_out, 1400);
    let error = parse(plain - 1).unwrap_err();
    assert!(matches!(error, Error::Limit { what: "bytes of an expanded column", .. }), "{error}");
}

#[test]
fn block_with_more_rows_than_announced_is_refused_before_it_is_expanded() {
    let (bytes, _) = equal_numbers();
    let (header, payload) = bytes.split_at(usize::try_from(ResultHeader::BYTES).unwrap());
    let header = ResultHeader { rows_out: 699, ..ResultHeader::decode(header).unwrap() };
    let bytes = [header.encode(), payload.to_vec()].concat();
    let error = ResultView::parse_within(&bytes, &[Width::W64], 0).unwrap_err();
    assert!(matches!(error, Error::Inconsistent { .. }), "{error}");
}
