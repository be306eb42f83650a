// SPDX-License-Identifier: Apache-2.0
//! Commands from the project's own encoder through the kernel to the project's own reader.
//!
//! The computation of the kernel is the business of its test bench; here the two sides of the
//! format meet.

use std::sync::atomic::AtomicU32;

use nearscan_command::{
    Aggregate, Chunk, Codec, Column, Command, Encodings, Envelope, Fragment, Function, InputRef,
    Merge, MergeCommand, MergePart, Op, Operand, Output, PhysicalType, Program, Reading,
    ResultView, RowColumn, SortKey, Status, Step, StringTest, TestOp, Unit, ValueKind, Width,
};
use nearscan_models::{Depths, Memories, merge as merge_kernel, scan, zeroed_lines};

/// A data page of version 1, plain and without levels: header and values.
fn plain_page(value_count: u8, values: &[u8]) -> Vec<u8> {
    let bytes = zigzag(values.len());
    // Thrift, compact: type, sizes, then the struct of a data page: count, encoding, levels.
    let mut page = vec![0x15, 0x00, 0x15];
    page.extend(&bytes);
    page.push(0x15);
    page.extend(&bytes);
    page.extend([0x2c, 0x15, 2 * value_count, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00]);
    page.extend(values);
    page
}

fn zigzag(value: usize) -> Vec<u8> {
    let mut rest = value * 2;
    let mut out = Vec::new();
    while rest >= 0x80 {
        out.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
        rest >>= 7;
    }
    out.push(u8::try_from(rest).unwrap());
    out
}

fn numbers(values: &[i64]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    plain_page(u8::try_from(values.len()).unwrap(), &bytes)
}

fn strings(values: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        bytes.extend(u32::try_from(value.len()).unwrap().to_le_bytes());
        bytes.extend(value.as_bytes());
    }
    plain_page(u8::try_from(values.len()).unwrap(), &bytes)
}

/// Binds `fragment` to `chunks`, which lie behind each other in one range of device memory.
fn bind(fragment: &Fragment, rows: u64, chunks: &[(PhysicalType, Vec<u8>)]) -> (Command, Vec<u8>) {
    let mut input = Vec::new();
    let mut described = Vec::new();
    for (physical_type, bytes) in chunks {
        described.push(Chunk {
            input: 0,
            offset: input.len() as u64,
            length: bytes.len() as u64,
            uncompressed_bytes: bytes.len() as u64,
            physical_type: *physical_type,
            definition_level_max: 0,
            codec: Codec::Uncompressed,
            encodings: Encodings::SCAN,
            dictionary_bytes: 0,
            reading: Reading::PLAIN,
        });
        input.extend(bytes);
    }
    let range = InputRef::DeviceRange { lease: 0, offset: 0, length: input.len() as u64 };
    let unit = Unit { rows, inputs: vec![range], chunks: described };
    let envelope = Envelope { command_id: 77, attempt: 2, epoch: 9, ..Envelope::default() };
    (Command::bind(fragment, unit, envelope).unwrap(), input)
}

/// Runs the command with FIFOs of both depths; gives the bytes of the output, which must agree.
fn run(command: &Command, input: &[u8]) -> Vec<u8> {
    let bytes = command.encode().unwrap();
    let mut lines = zeroed_lines(input.len());
    bytemuck::cast_slice_mut::<_, u8>(&mut lines)[..input.len()].copy_from_slice(input);
    let [roomy, declared] = [Depths::Roomy, Depths::Declared].map(|depths| {
        let mut output = vec![0; usize::try_from(command.output.bytes_max() / 8).unwrap()];
        let mut scratch = vec![0; usize::try_from(command.scratch_bytes() / 8).unwrap()];
        let mut memories = Memories { input: &lines, output: &mut output, scratch: &mut scratch };
        scan(&bytes, &mut memories, &AtomicU32::new(0), depths).unwrap();
        bytemuck::cast_slice::<u64, u8>(&output).to_vec()
    });
    assert_eq!(roomy, declared);
    roomy
}

#[test]
fn sums_of_a_filtered_column_come_back() {
    let fragment = Fragment {
        columns: vec![
            Column::new("price", ValueKind::Integer),
            Column::new("quantity", ValueKind::Integer),
        ],
        predicate: Program::new([Step::compare(Op::Less, Operand::Column(1), Operand::Literal(0))]),
        projection: Program::new([Step::arithmetic(
            Op::Multiply,
            Width::W128,
            Operand::Column(0),
            Operand::Column(1),
        )]),
        literals: vec![24],
        tests: vec![],
        key_filters: vec![],
        output: Output::States {
            keys: vec![],
            aggregates: vec![
                Aggregate::new(Function::Sum, Operand::Step(0), Width::W128),
                Aggregate::count_rows(),
            ],
        },
    };
    // The two largest products have 63 bits, and their sum has more.
    let price = [1000, i64::MAX / 20, -7, 50, 1, i64::MAX / 3, 3, 4, 5];
    let quantity = [1, 20, 23, 24, 25, 3, 2, 1, 99];
    let chunks =
        [(PhysicalType::Int64, numbers(&price)), (PhysicalType::Int64, numbers(&quantity))];
    let (command, input) = bind(&fragment, 9, &chunks);
    let output = run(&command, &input);

    let result = ResultView::parse(&output, &fragment.output_widths()).unwrap();
    assert_eq!(result.header.status, Status::Ok);
    assert_eq!((result.header.command_id, result.header.attempt, result.header.epoch), (77, 2, 9));
    assert_eq!((result.header.rows_in, result.header.rows_kept, result.header.rows_out), (9, 6, 1));
    let [block] = result.blocks.as_slice() else { panic!("one block") };
    let kept = price.iter().zip(&quantity).filter(|(_, quantity)| **quantity < 24);
    let sum = kept.map(|(price, quantity)| i128::from(*price) * i128::from(*quantity)).sum();
    assert_eq!(block.columns[0].number(0), Some(sum));
    assert_eq!(block.columns[1].number(0), Some(6));
}

#[test]
fn rows_with_strings_come_back() {
    let fragment = Fragment {
        columns: vec![
            Column::new("mode", ValueKind::Bytes),
            Column::new("key", ValueKind::Integer),
        ],
        predicate: Program::new([Step::test(0)]),
        projection: Program::default(),
        literals: vec![],
        tests: vec![StringTest {
            column: 0,
            op: TestOp::In,
            strings: vec![b"MAIL".to_vec(), b"".to_vec()],
        }],
        key_filters: vec![],
        output: Output::Rows {
            columns: vec![
                RowColumn { operand: Operand::Column(0), width: Width::Bytes },
                RowColumn { operand: Operand::Column(1), width: Width::W32 },
                RowColumn { operand: Operand::Null, width: Width::W64 },
            ],
            limit: Some(3),
            top: None,
        },
    };
    let mode = strings(&["MAIL", "SHIP", "", "MAIL", "MAI", "MAIL"]);
    let chunks =
        [(PhysicalType::ByteArray, mode), (PhysicalType::Int64, numbers(&[-1, 2, -3, 4, 5, 6]))];
    let (command, input) = bind(&fragment, 6, &chunks);
    let output = run(&command, &input);

    let result = ResultView::parse(&output, &fragment.output_widths()).unwrap();
    assert_eq!(result.header.status, Status::Ok);
    assert_eq!((result.header.rows_kept, result.header.rows_out), (4, 3));
    let [block] = result.blocks.as_slice() else { panic!("one block") };
    let shown: Vec<_> = (0..3)
        .map(|row| (block.columns[0].string(row).unwrap(), block.columns[1].number(row).unwrap()))
        .collect();
    assert_eq!(shown, [(&b"MAIL"[..], -1), (&b""[..], -3), (&b"MAIL"[..], 4)]);
    assert!((0..3).all(|row| !block.columns[2].is_valid(row)));
}

/// Results of scans side by side in device memory, and where each lies.
fn side_by_side(results: &[Vec<u8>]) -> (Vec<u8>, Vec<InputRef>) {
    let mut memory = Vec::new();
    let mut inputs = Vec::new();
    for result in results {
        let (offset, length) = (memory.len() as u64, result.len() as u64);
        inputs.push(InputRef::DeviceRange { lease: 0, offset, length });
        memory.extend(result);
        memory.resize(memory.len().next_multiple_of(64), 0);
    }
    (memory, inputs)
}

#[test]
fn results_of_scans_are_merged_where_they_lie() {
    let fragment = Fragment {
        columns: vec![
            Column::new("mode", ValueKind::Bytes),
            Column::new("key", ValueKind::Integer),
        ],
        predicate: Program::default(),
        projection: Program::default(),
        literals: vec![],
        tests: vec![],
        key_filters: vec![],
        output: Output::Rows {
            columns: vec![
                RowColumn { operand: Operand::Column(0), width: Width::Bytes },
                RowColumn { operand: Operand::Column(1), width: Width::W32 },
            ],
            limit: None,
            top: None,
        },
    };
    let units = [(["c", "b", "b"], [1, 2, 2]), (["d", "b", "a"], [3, 2, 4])];
    let mut scans = Vec::new();
    let mut results = Vec::new();
    for (mode, key) in units {
        let chunks =
            [(PhysicalType::ByteArray, strings(&mode)), (PhysicalType::Int64, numbers(&key))];
        let (command, input) = bind(&fragment, 3, &chunks);
        results.push(run(&command, &input));
        scans.push(command);
    }
    let keys = [(0, true), (1, false)];
    let keys = keys.map(|(column, descending)| SortKey { column, descending, nulls_first: false });
    let merge = Merge { keys: keys.into(), distinct: true };
    let envelope = Envelope { command_id: 88, attempt: 1, epoch: 9, ..Envelope::default() };
    let command = MergeCommand::bind(scans, merge, envelope).unwrap();
    let (memory, inputs) = side_by_side(&results);
    let mut lines = zeroed_lines(memory.len());
    bytemuck::cast_slice_mut::<_, u8>(&mut lines)[..memory.len()].copy_from_slice(&memory);
    let bytes = command.encode_for_kernel(&inputs, &command.output, MergePart::WHOLE).unwrap();
    let mut output = vec![0; usize::try_from(command.output.bytes_max() / 8).unwrap()];
    merge_kernel(&bytes, &lines, &mut output, &AtomicU32::new(0)).unwrap();

    let result = ResultView::parse(bytemuck::cast_slice(&output), &command.output_widths());
    let result = result.unwrap();
    assert_eq!(result.header.status, Status::Ok);
    assert_eq!((result.header.command_id, result.header.attempt, result.header.epoch), (88, 1, 9));
    assert_eq!((result.header.rows_in, result.header.rows_kept, result.header.rows_out), (6, 6, 4));
    let [block] = result.blocks.as_slice() else { panic!("one block") };
    let shown: Vec<_> = (0..4)
        .map(|row| (block.columns[0].string(row).unwrap(), block.columns[1].number(row).unwrap()))
        .collect();
    assert_eq!(shown, [(&b"d"[..], 3), (&b"c"[..], 1), (&b"b"[..], 2), (&b"a"[..], 4)]);
}

#[test]
fn failure_says_where() {
    let fragment = Fragment {
        columns: vec![
            Column::new("good", ValueKind::Integer),
            Column::new("bad", ValueKind::Integer),
        ],
        predicate: Program::default(),
        projection: Program::default(),
        literals: vec![],
        tests: vec![],
        key_filters: vec![],
        output: Output::Rows { columns: vec![], limit: None, top: None },
    };
    let mut second = numbers(&[1, 2]);
    second.extend(numbers(&[3, 4, 5]));
    let length = second.len();
    second.truncate(length - 1);
    let chunks = [(PhysicalType::Int64, numbers(&[1, 2, 3, 4, 5])), (PhysicalType::Int64, second)];
    let (command, input) = bind(&fragment, 5, &chunks);
    let output = run(&command, &input);

    let result = ResultView::parse(&output, &fragment.output_widths()).unwrap();
    assert_eq!(result.header.status, Status::Corrupt);
    let detail = result.header.detail.unwrap();
    assert_eq!((detail.column, detail.page, detail.offset), (1, 1, length as u64 - 1));
    assert!(result.blocks.is_empty());
}
