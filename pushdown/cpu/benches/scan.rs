// SPDX-License-Identifier: Apache-2.0
//! Measures how fast one thread reads, decodes, filters and aggregates compressed pages, in rows
//! per second.
//!
//! Row groups are those of TPC-H's `lineitem` in type, number of distinct values and encoding, from
//! seeded numbers; files are in the page cache. Each line ends in a hash of the result. Without
//! `--bench`, as under `cargo test`, a run is tiny, to see that it runs. A word among the arguments
//! picks the lines that start with it.
#![expect(clippy::unwrap_used, reason = "a panic shows where")]
#![expect(clippy::print_stdout, reason = "a bench prints what it measures")]

use std::{
    fs::File,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures::executor::block_on;
use nearscan_command::{
    Aggregate, Chunk, Codec, Column, Command, Encodings, Envelope, Fragment, Function, InputRef,
    Key, Op, Operand, Output, PhysicalType, Program, Reading, RowColumn, Step, StringTest, TestOp,
    Top, Unit, ValueKind, Version, Width,
};
use nearscan_conformance::Random;
use nearscan_cpu::{CpuDrive, Options};
use nearscan_drive::{
    Drive, DriveTime, FileRef, Outcome, Placement, Session, SessionSpec, Submission, Unlimited,
};
use parquet::{
    basic::{Compression, Type},
    data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type},
    file::{
        metadata::RowGroupMetaData, properties::WriterProperties, writer::SerializedFileWriter,
    },
    schema::parser::parse_message_type,
};

const ROWS: usize = 1 << 20;
const ROWS_TINY: usize = 1 << 12;
const RUNS: usize = 15;

const SCHEMA: &str = "message lineitem {
    required int32 shipdate; required int64 quantity; required int64 extendedprice;
    required int64 discount; required int64 tax; required binary returnflag;
    required binary linestatus; required binary comment;
}";
const COLUMNS: [&str; 8] = [
    "shipdate",
    "quantity",
    "extendedprice",
    "discount",
    "tax",
    "returnflag",
    "linestatus",
    "comment",
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_full = arguments.iter().any(|argument| argument == "--bench");
    let mut words = arguments.iter().filter(|argument| !argument.starts_with('-'));
    let prefix = words.next().map_or("", String::as_str);
    let (rows, runs) = if is_full { (ROWS, RUNS) } else { (ROWS_TINY, 1) };
    let lineitem = Lineitem::write(rows);
    let drive = CpuDrive::start(Options::with_threads(1)).unwrap();
    for (name, fragment) in [
        ("q6: three ranges, sum of a product", q6()),
        ("q1: two keys, eight slots", q1()),
        ("like: two pieces of a comment", like()),
        ("top: ten rows by price", top()),
    ] {
        if name.starts_with(prefix) {
            lineitem.measure(&drive, name, &fragment, runs);
        }
    }
}

/// A file of one row group, removed on drop.
struct Lineitem {
    path: PathBuf,
    group: RowGroupMetaData,
}

impl Lineitem {
    fn write(rows: usize) -> Self {
        let path =
            std::env::temp_dir().join(format!("nearscan-scan-{}.parquet", std::process::id()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(None)
            .build();
        let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
        let file = File::create(&path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut random = Random::new(7);
        for name in COLUMNS {
            let mut column = group.next_column().unwrap().unwrap();
            let mut numbers = |first: i64, count: usize| -> Vec<i64> {
                let one = |random: &mut Random| first + i64::try_from(random.below(count)).unwrap();
                (0..rows).map(|_| one(&mut random)).collect()
            };
            match name {
                "shipdate" => {
                    let days: Vec<i32> = numbers(8036, 2526)
                        .into_iter()
                        .map(|day| i32::try_from(day).unwrap())
                        .collect();
                    column.typed::<Int32Type>().write_batch(&days, None, None).unwrap();
                }
                "quantity" | "extendedprice" | "discount" | "tax" => {
                    let values: Vec<i64> = match name {
                        "quantity" => numbers(1, 50).into_iter().map(|value| value * 100).collect(),
                        "extendedprice" => numbers(90_000, 1_000_000),
                        "discount" => numbers(0, 11),
                        _ => numbers(0, 9),
                    };
                    column.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
                }
                _ => {
                    let values: Vec<ByteArray> =
                        (0..rows).map(|_| ByteArray::from(text(name, &mut random))).collect();
                    column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
                }
            }
            column.close().unwrap();
        }
        let group = group.close().unwrap();
        writer.close().unwrap();
        Self { path, group: (*group).clone() }
    }

    fn version(&self) -> Version {
        let metadata = std::fs::metadata(&self.path).unwrap();
        let ns = metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec();
        Version { size_bytes: metadata.len(), stamp: u64::try_from(ns).unwrap() }
    }

    fn unit(&self, drive: &CpuDrive, fragment: &Fragment) -> Unit {
        let file = FileRef::local(self.path.clone(), self.version());
        let Placement::Here { file_id } = drive.locate(&file) else { panic!("the file is gone") };
        let length = file.version.size_bytes;
        let input = InputRef::FileRange { file_id, version: file.version, offset: 0, length };
        let chunk = |column: &Column| {
            let index = COLUMNS.iter().position(|name| *name == column.name).unwrap();
            let column = self.group.column(index);
            let (offset, length) = column.byte_range();
            Chunk {
                input: 0,
                offset,
                length,
                uncompressed_bytes: column.uncompressed_size().cast_unsigned(),
                physical_type: match column.column_type() {
                    Type::INT32 => PhysicalType::Int32,
                    Type::INT64 => PhysicalType::Int64,
                    _ => PhysicalType::ByteArray,
                },
                definition_level_max: 0,
                codec: Codec::Snappy,
                encodings: Encodings::SCAN,
                dictionary_bytes: 0,
                reading: Reading::PLAIN,
            }
        };
        let rows = self.group.num_rows().cast_unsigned();
        Unit { rows, inputs: vec![input], chunks: fragment.columns.iter().map(chunk).collect() }
    }

    /// Runs a command `runs` times and prints the fastest one.
    fn measure(&self, drive: &CpuDrive, name: &str, fragment: &Fragment, runs: usize) {
        let spec = SessionSpec { query_id: 1, tenant: 0, budget: Arc::new(Unlimited) };
        let session = drive.open_session(spec).unwrap();
        let unit = self.unit(drive, fragment);
        let (bytes, rows) = (unit.media_bytes(), unit.rows);
        let mut least_ns = u64::MAX;
        let mut hash = 0;
        for run in 0..runs {
            let envelope = Envelope { command_id: run as u128 + 1, ..Envelope::default() };
            let command = Command::bind(fragment, unit.clone(), envelope).unwrap();
            let (ns, checksum) = run_once(&*session, command);
            least_ns = least_ns.min(ns);
            hash = checksum;
        }
        println!(
            "{name:38} {:6.0} MB/s {:6.1} M rows/s, result {hash:08x}",
            bytes as f64 * 1e3 / least_ns as f64,
            rows as f64 * 1e3 / least_ns as f64,
        );
    }
}

impl Drop for Lineitem {
    fn drop(&mut self) {
        std::fs::remove_file(Path::new(&self.path)).unwrap();
    }
}

/// The time of a command, and the checksum of its result.
fn run_once(session: &dyn Session, command: Command) -> (u64, u32) {
    let lease = session.lease(command.device_bytes()).unwrap();
    let timeout = Duration::from_secs(600);
    let submission = Submission { work: command.clone().into(), lease, timeout };
    let completion = block_on(session.submit(submission).unwrap());
    let DriveTime::Measured(time) = completion.time else { panic!("time is measured") };
    let Outcome::Finished(_) = &completion.outcome else { panic!("{:?}", completion.outcome) };
    (time.ns, completion.check(&command).unwrap().header.payload_checksum)
}

fn text(column: &str, random: &mut Random) -> Vec<u8> {
    let words = ["carefully", "special", "final", "deposits", "requests", "sleep", "above", "the"];
    match column {
        "returnflag" => random.pick(&["A", "N", "R"]).as_bytes().to_vec(),
        "linestatus" => random.pick(&["F", "O"]).as_bytes().to_vec(),
        _ => {
            let mut text = Vec::new();
            for _ in 0..2 + random.below(4) {
                text.extend_from_slice(random.pick(&words).as_bytes());
                text.push(b' ');
            }
            text.extend_from_slice(random.below(1 << 20).to_string().as_bytes());
            text
        }
    }
}

fn column(name: &str) -> Column {
    let is_number = matches!(name, "shipdate" | "quantity" | "extendedprice" | "discount" | "tax");
    Column::new(name, if is_number { ValueKind::Integer } else { ValueKind::Bytes })
}

const fn col(index: u16) -> Operand {
    Operand::Column(index)
}

const fn lit(index: u16) -> Operand {
    Operand::Literal(index)
}

const fn at(index: u16) -> Operand {
    Operand::Step(index)
}

fn sum(operand: Operand) -> Aggregate {
    Aggregate::new(Function::Sum, operand, Width::W128)
}

fn q6() -> Fragment {
    Fragment {
        columns: ["shipdate", "discount", "quantity", "extendedprice"].map(column).to_vec(),
        predicate: Program::new([
            Step::between(col(0), lit(0), lit(1)),
            Step::between(col(1), lit(2), lit(3)),
            Step::compare(Op::Less, col(2), lit(4)),
            Step::compare(Op::And, at(0), at(1)),
            Step::compare(Op::And, at(3), at(2)),
        ]),
        projection: Program::new([Step::arithmetic(Op::Multiply, Width::W64, col(3), col(1))]),
        literals: vec![8766, 9130, 5, 7, 2400],
        tests: vec![],
        key_filters: vec![],
        output: Output::States { keys: vec![], aggregates: vec![sum(at(0))] },
    }
}

fn q1() -> Fragment {
    let names =
        ["shipdate", "quantity", "extendedprice", "discount", "tax", "returnflag", "linestatus"];
    let count = |column| Aggregate::new(Function::Count, col(column), Width::W64);
    Fragment {
        columns: names.map(column).to_vec(),
        predicate: Program::new([Step::compare(Op::LessOrEqual, col(0), lit(0))]),
        projection: Program::new([
            Step::arithmetic(Op::Subtract, Width::W64, lit(1), col(3)),
            Step::arithmetic(Op::Multiply, Width::W64, col(2), at(0)),
            Step::arithmetic(Op::Add, Width::W64, lit(1), col(4)),
            Step::arithmetic(Op::Multiply, Width::W64, at(1), at(2)),
        ]),
        literals: vec![10_471, 100],
        tests: vec![],
        key_filters: vec![],
        output: Output::States {
            keys: vec![Key::column(5), Key::column(6)],
            aggregates: vec![
                sum(col(1)),
                sum(col(2)),
                sum(at(1)),
                sum(at(3)),
                count(1),
                sum(col(3)),
                count(3),
                Aggregate::count_rows(),
            ],
        },
    }
}

fn like() -> Fragment {
    let pattern = [&[0xff][..], b"special", &[0xff], b"requests", &[0xff]].concat();
    Fragment {
        columns: vec![column("comment")],
        predicate: Program::new([Step::test(0)]),
        projection: Program::default(),
        literals: vec![],
        tests: vec![StringTest { column: 0, op: TestOp::Like, strings: vec![pattern] }],
        key_filters: vec![],
        output: Output::States { keys: vec![], aggregates: vec![Aggregate::count_rows()] },
    }
}

fn top() -> Fragment {
    let top = Top { operand: col(1), descending: true, nulls_first: true, count: 10 };
    let shown = |index| RowColumn { operand: col(index), width: Width::W64 };
    Fragment {
        columns: ["shipdate", "extendedprice"].map(column).to_vec(),
        predicate: Program::default(),
        projection: Program::default(),
        literals: vec![],
        tests: vec![],
        key_filters: vec![],
        output: Output::Rows { columns: vec![shown(0), shown(1)], limit: None, top: Some(top) },
    }
}
