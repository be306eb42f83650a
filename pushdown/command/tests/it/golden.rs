// SPDX-License-Identifier: Apache-2.0
//! Tests known commands and a known result, byte for byte.
//!
//! The files of `tests/golden` define version 1 of the format for readers without this crate:
//! kernels, stored commands, drives of another build. A difference means that such a reader breaks.
//! So a changed file needs a new format version ([`FORMAT_MAJOR`], or [`FORMAT_MINOR`] when only
//! optional sections were added), and a line in the change log.
//!
//! A file holds what is known of one version: behind a line with its name and a colon, the bytes of
//! each command, fragment and result.
//!
//! With the version raised, `NEARSCAN_BLESS=1 cargo test -p nearscan-command golden` writes a new
//! file. The version is its name, so the old ones stay beside it, and what they hold must still
//! read as the same commands.
//!
//! [`FORMAT_MAJOR`]: nearscan_command::layout::FORMAT_MAJOR
//! [`FORMAT_MINOR`]: nearscan_command::layout::FORMAT_MINOR

use std::{
    collections::BTreeMap,
    fmt::Write,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use nearscan_command::{
    Aggregate, Chunk, Codec, Column, Command, Counters, Detail, Encoding, Encodings, Envelope,
    Extent, Fragment, Function, InputRef, Key, MergeCommand, MergePart, Op, Operand, Output,
    OutputRef, PhysicalType, Program, Reading, ResultHeader, ResultView, ResultWriter, RowColumn,
    Status, Step, StringTest, TestOp, Unit, Value, ValueKind, Version, Width, doc,
    layout::{FORMAT_MAJOR, FORMAT_MINOR},
};

use crate::{compact, key_filters, merges, shapes};

pub(crate) fn q6() -> Command {
    doc::example().unwrap()
}

pub(crate) const VERSION: Version =
    Version { size_bytes: 5_000_000, stamp: 1_700_000_000_123_456_789 };

pub(crate) fn chunk(physical_type: PhysicalType, offset: u64, length: u64) -> Chunk {
    Chunk {
        input: 0,
        offset,
        length,
        uncompressed_bytes: length * 2,
        physical_type,
        definition_level_max: 1,
        codec: Codec::Snappy,
        encodings: Encodings::SCAN,
        dictionary_bytes: 0,
        reading: Reading::PLAIN,
    }
}

pub(crate) fn envelope() -> Envelope {
    Envelope {
        command_id: 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff,
        query_id: 0xffee_ddcc_bbaa_9988_7766_5544_3322_1100,
        attempt: 3,
        epoch: 4,
        tenant: 5,
        priority: 6,
        deadline_ns: 7_000_000_000,
        steps_max: 8_000_000,
    }
}

/// Group keys, sums, and AVG as a sum and a count; one slot with a filter.
pub(crate) fn q1() -> Command {
    let [quantity, price, discount, shipdate] = [2, 3, 4, 5].map(Operand::Column);
    let sum = |operand| Aggregate::new(Function::Sum, operand, Width::W128);
    let count = |operand| Aggregate::new(Function::Count, operand, Width::W64);
    let fragment = Fragment {
        columns: vec![
            Column::new("l_returnflag", ValueKind::Bytes),
            Column::new("l_linestatus", ValueKind::Bytes),
            Column::new("l_quantity", ValueKind::Integer),
            Column::new("l_extendedprice", ValueKind::Integer),
            Column::new("l_discount", ValueKind::Integer),
            Column::new("l_shipdate", ValueKind::Integer),
        ],
        predicate: Program::new([Step::compare(Op::LessOrEqual, shipdate, Operand::Literal(0))]),
        projection: Program::new([
            Step::arithmetic(Op::Subtract, Width::W64, Operand::Literal(1), discount),
            Step::arithmetic(Op::Multiply, Width::W128, price, Operand::Step(0)),
            Step::unary(Op::IsNotNull, discount),
        ]),
        literals: vec![10_471, 100],
        tests: vec![],
        key_filters: vec![],
        output: Output::States {
            keys: vec![Key::column(0), Key::column(1)],
            aggregates: vec![
                sum(quantity),
                sum(price),
                sum(Operand::Step(1)),
                sum(quantity),
                count(quantity),
                Aggregate {
                    filter: Operand::Step(2),
                    ..Aggregate::new(Function::Min, discount, Width::W64)
                },
                Aggregate::count_rows(),
            ],
        },
    };
    let chunks = [
        chunk(PhysicalType::ByteArray, 0, 1000),
        chunk(PhysicalType::ByteArray, 1000, 1000),
        chunk(PhysicalType::Int64, 2000, 10_000),
        chunk(PhysicalType::Int64, 12_000, 90_000),
        chunk(PhysicalType::Int64, 102_000, 8_000),
        chunk(PhysicalType::Int32, 110_000, 20_000),
    ];
    let unit = Unit {
        rows: 100_000,
        inputs: vec![InputRef::FileRange {
            file_id: 42,
            version: VERSION,
            offset: 4096,
            length: 130_000,
        }],
        chunks: chunks.into(),
    };
    Command::bind(&fragment, unit, envelope()).unwrap()
}

/// Rows out, with string tests of every kind.
pub(crate) fn strings() -> Command {
    let test = |column, op, strings: &[&str]| StringTest {
        column,
        op,
        strings: strings.iter().map(|text| text.as_bytes().to_vec()).collect(),
    };
    let fragment = Fragment {
        columns: vec![
            Column::new("l_shipmode", ValueKind::Bytes),
            Column::new("l_comment", ValueKind::Bytes),
            Column::new("l_orderkey", ValueKind::Integer),
        ],
        predicate: Program::new([
            Step::test(0),
            Step::test(1),
            Step::compare(Op::Or, Operand::Step(0), Operand::Step(1)),
            Step::in_literals(Operand::Column(2), 0, 2),
            Step::unary(Op::Not, Operand::Step(3)),
            Step::compare(Op::And, Operand::Step(2), Operand::Step(4)),
        ]),
        projection: Program::new([Step::test(2), Step::test(3), Step::test(4)]),
        literals: vec![1, -7, i128::MAX],
        tests: vec![
            test(0, TestOp::In, &["MAIL", "SHIP", ""]),
            test(1, TestOp::Less, &["carefully"]),
            test(1, TestOp::LessOrEqual, &["deposits"]),
            test(1, TestOp::Greater, &["even"]),
            test(1, TestOp::GreaterOrEqual, &["final"]),
        ],
        key_filters: vec![],
        output: Output::Rows {
            columns: vec![
                RowColumn { operand: Operand::Column(2), width: Width::W64 },
                RowColumn { operand: Operand::Column(1), width: Width::Bytes },
                RowColumn { operand: Operand::Step(0), width: Width::Bool },
                RowColumn { operand: Operand::Null, width: Width::W32 },
            ],
            limit: Some(10),
            top: None,
        },
    };
    let unit = Unit {
        rows: 5000,
        inputs: vec![InputRef::FileRange {
            file_id: 7,
            version: VERSION,
            offset: 0,
            length: 300_000,
        }],
        chunks: vec![
            chunk(PhysicalType::ByteArray, 0, 5_000),
            chunk(PhysicalType::ByteArray, 5_000, 200_000),
            chunk(PhysicalType::Int64, 205_000, 40_000),
        ],
    };
    Command::bind(&fragment, unit, envelope()).unwrap()
}

/// One input of every kind, and an output that is not the host.
pub(crate) fn inputs() -> Command {
    let names = ["device", "file", "object", "nvme", "output"];
    let fragment = Fragment {
        columns: names.map(|name| Column::new(name, ValueKind::Integer)).into(),
        predicate: Program::default(),
        projection: Program::default(),
        literals: vec![],
        tests: vec![],
        key_filters: vec![],
        output: Output::Rows { columns: vec![], limit: None, top: None },
    };
    let (offset, length) = (512, 65_536);
    let extent = |block_first, block_count| Extent { block_first, block_count };
    let inputs = vec![
        InputRef::DeviceRange { lease: 1, offset, length },
        InputRef::FileRange { file_id: 2, version: VERSION, offset, length },
        InputRef::ObjectRange { partition: 0x10000, object: 3, version: VERSION, offset, length },
        InputRef::NvmeExtents {
            namespace: 1,
            block_shift: 12,
            extents: vec![extent(1000, 8), extent(4000, 9)],
            skip: offset,
            length,
            version: VERSION,
        },
        InputRef::Output { command_id: 0x1234_5678_9abc_def0_0fed_cba9_8765_4321, port: 2 },
    ];
    let chunks = (0..5)
        .map(|input| Chunk {
            input,
            codec: Codec::Uncompressed,
            encodings: Encodings::of([Encoding::Plain]),
            ..chunk(PhysicalType::Int32, 100, 4096)
        })
        .collect();
    let unit = Unit { rows: 1024, inputs, chunks };
    let mut command = Command::bind(&fragment, unit, Envelope::default()).unwrap();
    command.output = OutputRef::DeviceRange { lease: 9, offset: 8192, bytes_max: 1 << 20 };
    command
}

pub(crate) fn header() -> ResultHeader {
    ResultHeader {
        detail: Some(Detail { column: 1, page: 2, offset: 3 }),
        rows_in: 5000,
        rows_kept: 3,
        continuation_row: 5000,
        counters: Counters {
            filter_iterations: 4,
            project_iterations: 5,
            aggregate_iterations: 6,
            write_iterations: 7,
            decode_iterations_lane_max: 8,
            dictionary_iterations_lane_max: 9,
            lines_read: 10,
            pages: 11,
            bytes_decompressed: 12,
            snappy_tokens: 13,
            snappy_tokens_lane_max: 14,
            values_decoded: 15,
            decode_steps_lane_max: 16,
            dictionary_entries: 17,
            dictionary_reads: 18,
            rows_filtered: 19,
            rows_projected: 20,
            rows_aggregated: 21,
            string_words: 22,
            key_words: 23,
            page_iterations_lane_max: 24,
            memory_read_iterations: 25,
            memory_reads: 29,
            dictionary_pairs: 30,
            loader_iterations_max: 31,
            loader_words: 32,
            memory_write_iterations: 26,
            memory_waits: 27,
            memory_writes: 28,
            ..Counters::default()
        },
        ..ResultHeader::failed(&envelope(), Status::Ok)
    }
}

pub(crate) fn result() -> Vec<u8> {
    let widths = vec![Width::Bool, Width::W32, Width::W64, Width::W128, Width::Bytes];
    let mut writer = ResultWriter::new(widths);
    let number = Value::Number;
    let rows = [
        vec![number(1), number(-2), number(3), number(-4), Value::Bytes(b"five".to_vec())],
        vec![Value::Null, Value::Null, Value::Null, Value::Null, Value::Null],
        vec![
            number(0),
            number(i32::MIN.into()),
            number(i64::MAX.into()),
            number(i128::MIN),
            Value::Bytes(vec![]),
        ],
    ];
    for row in rows {
        writer.push(row).unwrap();
    }
    writer.finish(header())
}

/// Sixteen bytes a line, with their offset; a run of lines of zeros is one `*`.
fn dump(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut is_hidden = false;
    for (index, line) in bytes.chunks(16).enumerate() {
        let is_zero = line == [0; 16];
        if is_zero && is_hidden {
            continue;
        }
        is_hidden = is_zero;
        if is_zero {
            out.push_str("*\n");
            continue;
        }
        write!(out, "{:04x}", index * 16).unwrap();
        for byte in line {
            write!(out, " {byte:02x}").unwrap();
        }
        out.push('\n');
    }
    writeln!(out, "{:04x}", bytes.len()).unwrap();
    out
}

/// The bytes that [`dump`] wrote as text.
fn undump(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for line in text.lines().filter(|line| *line != "*") {
        let mut words = line.split(' ');
        let at = usize::from_str_radix(words.next().unwrap(), 16).unwrap();
        out.resize(at, 0);
        out.extend(words.map(|word| u8::from_str_radix(word, 16).unwrap()));
    }
    out
}

fn file(version: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    folder.join(format!("{version}.hex"))
}

/// The dumps in the file of a version, by their names.
fn dumps(version: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(file(version)).unwrap_or_default();
    let mut dumps: BTreeMap<String, String> = BTreeMap::new();
    let mut name = "";
    for line in text.lines() {
        match line.strip_suffix(':') {
            Some(heading) => name = heading,
            None => dumps.entry(name.to_owned()).or_default().extend([line, "\n"]),
        }
    }
    dumps
}

/// The bytes that an earlier version of this crate wrote.
fn stored(name: &str, version: &str) -> Vec<u8> {
    undump(&dumps(version)[name])
}

/// Puts a dump into the file of a version.
fn bless(name: &str, version: &str, dump: &str) {
    let mut dumps = dumps(version);
    dumps.insert(name.to_owned(), dump.to_owned());
    let text: String = dumps.iter().map(|(name, dump)| format!("{name}:\n{dump}")).collect();
    std::fs::write(file(version), text).unwrap();
}

fn check(name: &str, bytes: &[u8]) {
    // Tests share the file that some of them may write.
    static FILE: Mutex<()> = Mutex::new(());
    let _one_at_a_time = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let version = format!("{FORMAT_MAJOR}.{FORMAT_MINOR}");
    let dump = dump(bytes);
    // A test's own switch, not a setting of the program.
    if std::env::var_os("NEARSCAN_BLESS").is_some() {
        bless(name, &version, &dump);
    }
    let expected = dumps(&version).remove(name).unwrap_or_default();
    for (line, (found, expected)) in dump.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of {name}, {version}: {WARNING}", line + 1);
    }
    assert_eq!(dump.len(), expected.len(), "{name}, {version}: {WARNING}");
}

const WARNING: &str = "the bytes changed, so readers of this format version break; raise the \
    version before you bless the file (see golden.rs)";

#[test]
fn golden_q6() {
    check("q6", &q6().encode().unwrap());
}

#[test]
fn golden_q1() {
    check("q1", &q1().encode().unwrap());
}

#[test]
fn golden_strings() {
    check("strings", &strings().encode().unwrap());
}

#[test]
fn golden_inputs() {
    check("inputs", &inputs().encode().unwrap());
}

#[test]
fn golden_fragment() {
    check("fragment", &strings().fragment.encode().unwrap());
}

#[test]
fn golden_result() {
    check("result", &result());
}

#[test]
fn golden_compact_result() {
    check("result-compact", &compact::result());
}

#[test]
fn golden_compact_rows() {
    check("shapes-rows-compact", &shapes::rows().compact().encode().unwrap());
}

#[test]
fn golden_shapes_states() {
    check("shapes-states", &shapes::states().encode().unwrap());
}

#[test]
fn golden_shapes_rows() {
    check("shapes-rows", &shapes::rows().encode().unwrap());
}

#[test]
fn golden_key_filters() {
    check("key-filters", &key_filters::command().encode().unwrap());
    check("key-filters-fragment", &key_filters::command().fragment.encode().unwrap());
}

#[test]
fn golden_merge() {
    check("merge", &merges::merge().encode().unwrap());
}

#[test]
fn golden_merge_for_a_kernel() {
    let command = merges::merge();
    let output = OutputRef::DeviceRange { lease: 1, offset: 12_288, bytes_max: 4096 };
    let bytes = |part| command.encode_for_kernel(&merges::ranges(3), &output, part).unwrap();
    check("merge-kernel", &bytes(MergePart::WHOLE));
    check("merge-part", &bytes(MergePart { part: 2, parts: 5 }));
}

#[test]
fn merge_of_version_1_2_keeps_its_meaning() {
    assert_eq!(MergeCommand::decode(&stored("merge", "1.2")), Ok(merges::merge()));
}

#[test]
fn commands_of_earlier_versions_keep_their_meaning() {
    let commands = [
        ("q6", q6()),
        ("q1", q1()),
        ("strings", strings()),
        ("inputs", inputs()),
        ("shapes-states", shapes::states()),
        ("shapes-rows", shapes::rows()),
    ];
    for version in ["1.1", "1.2", "1.3", "1.4", "1.5"] {
        for (name, command) in &commands {
            let read = Command::decode(&stored(name, version));
            assert_eq!(read.as_ref(), Ok(command), "{name} {version}");
        }
        assert_eq!(Fragment::decode(&stored("fragment", version)), Ok(strings().fragment));
    }
    for version in ["1.2", "1.3", "1.4", "1.5"] {
        assert_eq!(MergeCommand::decode(&stored("merge", version)), Ok(merges::merge()));
    }
}

#[test]
fn commands_of_version_1_0_keep_their_meaning() {
    let commands = [("q6", q6()), ("q1", q1()), ("strings", strings()), ("inputs", inputs())];
    for (name, command) in commands {
        let old = Command::decode(&stored(name, "1.0")).unwrap();
        // The output bytes of states are chosen when a command is bound, and were more for a single
        // row.
        let output = match &command.fragment.output {
            Output::States { .. } => old.output,
            Output::Rows { .. } => command.output,
        };
        assert_eq!(old, Command { output, ..command }, "{name}");
    }
    assert_eq!(Fragment::decode(&stored("fragment", "1.0")), Ok(strings().fragment));
}

#[test]
fn result_of_version_1_0_keeps_its_meaning() {
    let widths = [Width::Bool, Width::W32, Width::W64, Width::W128, Width::Bytes];
    let (old, new) = (stored("result", "1.0"), result());
    let [old, new] = [&old, &new].map(|bytes| ResultView::parse(bytes, &widths).unwrap());
    // Version 1.0 has no counters of iterations, of scratch, nor of key filters.
    let counters = Counters {
        filter_iterations: 0,
        project_iterations: 0,
        aggregate_iterations: 0,
        write_iterations: 0,
        decode_iterations_lane_max: 0,
        dictionary_iterations_lane_max: 0,
        key_words: 0,
        page_iterations_lane_max: 0,
        memory_read_iterations: 0,
        memory_reads: 0,
        dictionary_pairs: 0,
        loader_iterations_max: 0,
        loader_words: 0,
        memory_write_iterations: 0,
        memory_waits: 0,
        memory_writes: 0,
        ..new.header.counters
    };
    assert_eq!(old.header, ResultHeader { counters, ..new.header });
    assert_eq!(old.blocks.len(), 1);
    let cells = |view: &ResultView<'_>, row| {
        let columns = view.blocks[0].columns.iter();
        let cell =
            columns.map(|column| (column.number(row), column.string(row).map(<[u8]>::to_vec)));
        cell.collect::<Vec<_>>()
    };
    for row in 0..3 {
        assert_eq!(cells(&old, row), cells(&new, row), "{row}");
    }
}

#[test]
fn result_of_version_1_5_has_no_counters_of_loaders() {
    let [old, new] =
        [stored("result", "1.5"), result()].map(|bytes| ResultHeader::decode(&bytes).unwrap());
    let counters = Counters { loader_iterations_max: 0, loader_words: 0, ..new.counters };
    assert_eq!(old, ResultHeader { counters, ..new });
}
