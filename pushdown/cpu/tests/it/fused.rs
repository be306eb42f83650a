// SPDX-License-Identifier: Apache-2.0
//! Scans files of another writer, and compares the arrays with those that were written.

use std::{ops::Range, slice, sync::Arc};

use arrow::{
    array::{
        Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array,
        Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, RecordBatch,
        StringViewArray, TimestampMicrosecondArray, UInt16Array, UInt64Array,
    },
    compute::{concat_batches, filter_record_batch},
    datatypes::{DataType, Int32Type, Int64Type, Schema},
};
use bytes::Bytes;
use nearscan_command::{
    Chunk, Codec, Column, Encodings, Fragment, Op, Operand, Output, PhysicalType, Program, ReadAs,
    Reading, RowColumn, Status, Step, Width,
};
use nearscan_conformance::Random;
use nearscan_cpu::fused::{JoinKeys, Progress, RowFilter, Scan, ScanError, ScanPlan};
use parquet::{
    arrow::ArrowWriter,
    basic::{BrotliLevel, Compression, Encoding, GzipLevel, Type, ZstdLevel},
    file::{
        metadata::{ParquetMetaData, ParquetMetaDataReader},
        properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion},
    },
};
use rstest::rstest;

const ROWS: usize = 20_000;

/// A column of every type, `number` first; of each value one in seven is NULL.
fn table() -> RecordBatch {
    let mut random = Random::new(3);
    let mut numbers = |below: usize| -> Vec<Option<i64>> {
        let one = |random: &mut Random| i64::try_from(random.below(below)).unwrap();
        (0..ROWS).map(|_| (!random.one_in(7)).then(|| one(&mut random))).collect()
    };
    let number: Vec<i64> = (0..ROWS).map(|row| i64::try_from(row).unwrap()).collect();
    let few = numbers(40);
    let many = numbers(1 << 40);
    let small = |value: &Option<i64>| value.map(|value| i32::try_from(value % 90).unwrap());
    let text = |value: &Option<i64>| {
        value.map(|value| match value % 3 {
            0 => format!("{value}"),
            1 => format!("a longer text with the number {value}"),
            _ => format!("größer als {value}"),
        })
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::new(Int64Array::from(number))),
        ("few", Arc::new(few.iter().map(small).collect::<Int32Array>())),
        (
            "tiny",
            Arc::new(
                few.iter()
                    .map(|it| small(it).map(|it| i8::try_from(it).unwrap()))
                    .collect::<Int8Array>(),
            ),
        ),
        ("day", Arc::new(few.iter().map(small).collect::<Date32Array>())),
        (
            "u16",
            Arc::new(
                few.iter()
                    .map(|it| small(it).map(|it| u16::try_from(it).unwrap()))
                    .collect::<UInt16Array>(),
            ),
        ),
        (
            "u64",
            Arc::new(
                many.iter()
                    .map(|it| it.map(|it| it.cast_unsigned() + (1 << 63)))
                    .collect::<UInt64Array>(),
            ),
        ),
        ("moment", Arc::new(TimestampMicrosecondArray::from(many.clone()))),
        ("price", {
            let prices: Decimal128Array =
                many.iter().map(|it| it.map(|it| i128::from(it % 99_999) - 40)).collect();
            Arc::new(prices.with_precision_and_scale(15, 2).unwrap())
        }),
        ("wide", {
            let wide: Decimal128Array =
                few.iter().map(|it| it.map(|it| i128::from(it) - 20)).collect();
            Arc::new(wide.with_precision_and_scale(30, 4).unwrap())
        }),
        (
            "float",
            Arc::new(many.iter().map(|it| it.map(|it| it as f32 / 7.0)).collect::<Float32Array>()),
        ),
        (
            "double",
            Arc::new(
                many.iter().map(|it| it.map(|it| -(it as f64) / 3.0)).collect::<Float64Array>(),
            ),
        ),
        ("flag", Arc::new(few.iter().map(|it| it.map(|it| it % 3 == 0)).collect::<BooleanArray>())),
        ("text", Arc::new(many.iter().map(text).collect::<StringViewArray>())),
        ("word", Arc::new(few.iter().map(text).collect::<StringViewArray>())),
        (
            "bytes",
            Arc::new(
                few.iter()
                    .map(|it| it.map(|it| vec![0xff, u8::try_from(it).unwrap()]))
                    .collect::<BinaryViewArray>(),
            ),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, name != "number")),
    )
    .unwrap()
}

struct File {
    bytes: Bytes,
    footer: ParquetMetaData,
    table: RecordBatch,
}

impl File {
    fn write(properties: WriterPropertiesBuilder) -> Self {
        let table = table();
        let mut bytes = Vec::new();
        let properties = properties.set_max_row_group_row_count(Some(9000)).build();
        let mut writer =
            ArrowWriter::try_new(&mut bytes, table.schema(), Some(properties)).unwrap();
        writer.write(&table).unwrap();
        writer.close().unwrap();
        let bytes = Bytes::from(bytes);
        let footer = ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap();
        Self { bytes, footer, table }
    }

    /// The chunk of a column in a row group.
    fn chunk(&self, group: usize, name: &str) -> Chunk {
        let schema = self.table.schema();
        let (index, field) = schema.column_with_name(name).unwrap();
        let column = self.footer.row_group(group).column(index);
        let (offset, length) = column.byte_range();
        let physical_type = match column.column_type() {
            Type::BOOLEAN => PhysicalType::Boolean,
            Type::INT32 => PhysicalType::Int32,
            Type::INT64 => PhysicalType::Int64,
            Type::FLOAT => PhysicalType::Float,
            Type::DOUBLE => PhysicalType::Double,
            Type::BYTE_ARRAY => PhysicalType::ByteArray,
            _ => PhysicalType::FixedLenByteArray,
        };
        let (rule, bits) = match field.data_type() {
            DataType::Int8 => (ReadAs::Signed, 8),
            DataType::UInt16 => (ReadAs::Unsigned, 16),
            DataType::UInt64 => (ReadAs::Unsigned, 0),
            DataType::Float32 | DataType::Float64 => (ReadAs::FloatOrder, 0),
            DataType::Decimal128(_, _) if physical_type == PhysicalType::FixedLenByteArray => {
                (ReadAs::BigEndian, 0)
            }
            _ => (ReadAs::Signed, 0),
        };
        let length_of_value = u16::try_from(column.column_descr().type_length().max(0)).unwrap();
        Chunk {
            input: 0,
            offset,
            length,
            uncompressed_bytes: column.uncompressed_size().cast_unsigned(),
            physical_type,
            definition_level_max: u8::try_from(column.column_descr().max_def_level()).unwrap(),
            codec: match column.compression() {
                Compression::UNCOMPRESSED => Codec::Uncompressed,
                Compression::SNAPPY => Codec::Snappy,
                Compression::GZIP(_) => Codec::Gzip,
                Compression::BROTLI(_) => Codec::Brotli,
                Compression::ZSTD(_) => Codec::Zstd,
                _ => Codec::Lz4Raw,
            },
            encodings: Encodings::HOST,
            dictionary_bytes: 0,
            reading: Reading { rule, bits, length: length_of_value },
        }
    }

    fn bytes_of(&self, chunk: Chunk) -> Bytes {
        let start = usize::try_from(chunk.offset).unwrap();
        self.bytes.slice(start..start + usize::try_from(chunk.length).unwrap())
    }

    /// A plan that shows all columns where `predicate` holds.
    fn plan(&self, predicate: Program, literals: Vec<i128>) -> ScanPlan {
        let schema = self.table.schema();
        let column = |name: &String| Column::new(name, self.chunk(0, name).physical_type.kind());
        let shown = |index| RowColumn {
            operand: Operand::Column(u16::try_from(index).unwrap()),
            width: Width::W64,
        };
        let fragment = Fragment {
            columns: schema.fields().iter().map(|field| column(field.name())).collect(),
            predicate,
            projection: Program::default(),
            literals,
            tests: vec![],
            key_filters: vec![],
            output: Output::Rows {
                columns: (0..schema.fields().len()).map(shown).collect(),
                limit: None,
                top: None,
            },
        };
        let types = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        ScanPlan { fragment, types, filters: vec![], keys: vec![] }
    }

    /// The rows of a plan, and the pages that were skipped.
    fn scan(&self, plan: ScanPlan) -> Result<(RecordBatch, u64), ScanError> {
        self.scan_chunks(plan, None, |group, name| self.chunk(group, name))
    }

    /// The same, of these rows of each row group, with chunks that are described in another way.
    fn scan_chunks(
        &self,
        plan: ScanPlan,
        candidates: Option<&[Range<u64>]>,
        chunk: impl Fn(usize, &str) -> Chunk,
    ) -> Result<(RecordBatch, u64), ScanError> {
        let table = self.table.schema();
        let Output::Rows { columns, .. } = &plan.fragment.output else { panic!("no rows") };
        let shown = columns.iter().filter_map(|column| match column.operand {
            Operand::Column(column) => Some(usize::from(column)),
            _ => None,
        });
        let schema = Arc::new(table.project(&shown.collect::<Vec<_>>()).unwrap());
        let mut scan = Scan::new(Arc::new(plan));
        let mut batches = Vec::new();
        for group in 0..self.footer.num_row_groups() {
            let chunks: Vec<Chunk> =
                table.fields().iter().map(|field| chunk(group, field.name())).collect();
            let rows = self.footer.row_group(group).num_rows().cast_unsigned();
            scan.open(rows, chunks.clone(), candidates.map(<[_]>::to_vec));
            loop {
                match scan.advance()? {
                    Progress::NeedsBytes => {
                        for column in scan.needs() {
                            scan.give(column, self.bytes_of(chunks[column]));
                        }
                    }
                    Progress::Batch if scan.rows_ready() > 5000 => {
                        batches.push(batch(&mut scan, &schema)?);
                    }
                    Progress::Batch => {}
                    Progress::Done => break,
                }
            }
        }
        batches.push(batch(&mut scan, &schema)?);
        Ok((concat_batches(&schema, &batches).unwrap(), scan.take_pages_skipped()))
    }
}

fn batch(scan: &mut Scan, schema: &Arc<Schema>) -> Result<RecordBatch, ScanError> {
    let (columns, _) = scan.take_rows()?;
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_data_page_row_count_limit(700)
        .set_write_batch_size(100)
}

/// Strings and wide decimals have an encoding, and no dictionary.
fn strings(encoding: Encoding) -> WriterPropertiesBuilder {
    let of = |properties: WriterPropertiesBuilder, name: &str| {
        properties.set_column_encoding(name.into(), encoding)
    };
    let texts = ["text", "word", "bytes"].into_iter();
    let wide = ["wide"].into_iter().filter(|_| encoding == Encoding::DELTA_BYTE_ARRAY);
    texts.chain(wide).fold(properties().set_dictionary_enabled(false), of)
}

const COLUMN: fn(u16) -> Operand = Operand::Column;

#[rstest]
#[case::dictionary(properties())]
#[case::plain(properties().set_dictionary_enabled(false))]
#[case::fallback(properties().set_dictionary_page_size_limit(2000))]
#[case::second_version(properties().set_writer_version(WriterVersion::PARQUET_2_0)
    .set_column_encoding("text".into(), Encoding::PLAIN))]
#[case::second_version_fallback(properties().set_writer_version(WriterVersion::PARQUET_2_0)
    .set_dictionary_page_size_limit(2000))]
#[case::delta_lengths(strings(Encoding::DELTA_LENGTH_BYTE_ARRAY))]
#[case::delta_strings(strings(Encoding::DELTA_BYTE_ARRAY))]
#[case::uncompressed(properties().set_compression(Compression::UNCOMPRESSED))]
#[case::lz4(properties().set_compression(Compression::LZ4_RAW))]
#[case::zstd(properties().set_compression(Compression::ZSTD(ZstdLevel::default())))]
#[case::gzip(properties().set_compression(Compression::GZIP(GzipLevel::default())))]
#[case::brotli(properties().set_compression(Compression::BROTLI(BrotliLevel::default())))]
fn arrays_are_those_that_were_written(#[case] properties: WriterPropertiesBuilder) {
    let file = File::write(properties);
    let (all, _) = file.scan(file.plan(Program::default(), vec![])).unwrap();
    assert_eq!(all, file.table);
    // few < 5 AND number >= first
    let predicate = || {
        Program::new([
            Step::compare(Op::Less, COLUMN(1), Operand::Literal(0)),
            Step::compare(Op::GreaterOrEqual, COLUMN(0), Operand::Literal(1)),
            Step::compare(Op::And, Operand::Step(0), Operand::Step(1)),
        ])
    };
    let few = file.table.column(1).as_primitive::<Int32Type>();
    let few: Vec<bool> = few.iter().map(|it| it.is_some_and(|it| it < 5)).collect();
    // Of the second row group many rows are left, or few.
    for first in [5000, 17_000] {
        let kept: BooleanArray = (0..ROWS).map(|row| Some(row >= first && few[row])).collect();
        let expected = filter_record_batch(&file.table, &kept).unwrap();
        let literals = vec![5, i128::try_from(first).unwrap()];
        let (some, skipped) = file.scan(file.plan(predicate(), literals)).unwrap();
        assert_eq!(some, expected);
        assert_eq!(skipped > 0, first == 17_000, "{skipped} pages were skipped");
    }
}

#[rstest]
#[case::dictionary(properties())]
#[case::plain(properties().set_dictionary_enabled(false))]
#[case::fallback(properties().set_dictionary_page_size_limit(2000))]
#[case::second_version(properties().set_writer_version(WriterVersion::PARQUET_2_0))]
#[case::zstd(properties().set_compression(Compression::ZSTD(ZstdLevel::default())))]
fn values_of_columns_that_are_only_tested_for_null_are_not_decoded(
    #[case] properties: WriterPropertiesBuilder,
) {
    let file = File::write(properties);
    let (few, text) = (1, 12);
    // number >= first AND few IS NOT NULL AND text IS NULL
    let predicate = || {
        Program::new([
            Step::compare(Op::GreaterOrEqual, COLUMN(0), Operand::Literal(0)),
            Step::unary(Op::IsNotNull, COLUMN(few)),
            Step::unary(Op::IsNull, COLUMN(text)),
            Step::compare(Op::And, Operand::Step(0), Operand::Step(1)),
            Step::compare(Op::And, Operand::Step(3), Operand::Step(2)),
        ])
    };
    let is_valid = |column: u16, row| file.table.column(usize::from(column)).is_valid(row);
    // Whoever decodes a value is told that its encoding is none of the command's.
    let without_encodings = |group, name: &str| {
        let chunk = file.chunk(group, name);
        let encodings = Encodings::of([nearscan_command::Encoding::Rle]);
        if ["few", "text"].contains(&name) { Chunk { encodings, ..chunk } } else { chunk }
    };
    // Of the last batch many rows are asked about, or few.
    for first in [0, 5000, 19_900] {
        let kept = |row| row >= first && is_valid(few, row) && !is_valid(text, row);
        let kept: BooleanArray = (0..ROWS).map(|row| Some(kept(row))).collect();
        let expected = filter_record_batch(&file.table, &kept).unwrap().project(&[0]).unwrap();
        assert!(expected.num_rows() > 0);
        let mut plan = file.plan(predicate(), vec![i128::try_from(first).unwrap()]);
        let Output::Rows { columns, .. } = &mut plan.fragment.output else { panic!("no rows") };
        columns.truncate(1);
        let (rows, _) = file.scan_chunks(plan, None, without_encodings).unwrap();
        assert_eq!(rows, expected);
        // A column that is shown too is decoded.
        let plan = file.plan(predicate(), vec![i128::try_from(first).unwrap()]);
        assert!(file.scan_chunks(plan, None, without_encodings).is_err());
    }
}

/// The row groups have 9,000, 9,000 and 2,000 rows.
#[rstest]
#[case::none(&[])]
#[case::some(&[100..900, 1500..1501, 7000..9000])]
#[case::all(slice::from_ref(&(0..9000)))]
#[case::beyond_the_end(slice::from_ref(&(1999..u64::MAX)))]
fn rows_that_are_no_candidates_are_skipped(
    #[case] candidates: &[Range<u64>],
    #[values(true, false)] has_dictionaries: bool,
) {
    let file = File::write(properties().set_dictionary_enabled(has_dictionaries));
    // few < 5, or no condition.
    let few_below = Step::compare(Op::Less, COLUMN(1), Operand::Literal(0));
    for predicate in [Program::new([few_below]), Program::default()] {
        let few = file.table.column(1).as_primitive::<Int32Type>();
        let is_kept = |row: usize| {
            let in_group = u64::try_from(row % 9000).unwrap();
            candidates.iter().any(|range| range.contains(&in_group))
                && (predicate.is_empty() || few.is_valid(row) && few.value(row) < 5)
        };
        let kept: BooleanArray = (0..ROWS).map(|row| Some(is_kept(row))).collect();
        let expected = filter_record_batch(&file.table, &kept).unwrap();
        let plan = file.plan(predicate, vec![5]);
        let chunk = |group, name: &str| file.chunk(group, name);
        let (rows, skipped) = file.scan_chunks(plan, Some(candidates), chunk).unwrap();
        assert_eq!(rows, expected);
        assert_eq!(skipped > 0, candidates != slice::from_ref(&(0..9000)), "{skipped}");
    }
}

/// Keeps rows whose number divides by some other.
#[derive(Debug)]
struct Divides(i64);

impl RowFilter for Divides {
    fn columns(&self) -> &[usize] {
        &[0]
    }

    fn is_fallible(&self) -> bool {
        true
    }

    fn evaluate(
        &self,
        columns: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<BooleanArray, Box<dyn std::error::Error + Send + Sync>> {
        let numbers = columns[0].as_primitive::<Int64Type>();
        assert_eq!(numbers.len(), rows);
        if numbers.iter().flatten().any(|number| number < 100) {
            return Err("a number below 100".into());
        }
        Ok(numbers.iter().map(|number| Some(number? % self.0 == 0)).collect())
    }
}

#[test]
fn filter_that_can_fail_sees_rows_that_the_predicate_keeps() {
    let file = File::write(properties());
    let from = |least| {
        let predicate =
            Program::new([Step::compare(Op::GreaterOrEqual, COLUMN(0), Operand::Literal(0))]);
        let plan = file.plan(predicate, vec![least]);
        file.scan(ScanPlan { filters: vec![Arc::new(Divides(1000))], ..plan })
    };
    let (rows, _) = from(100).unwrap();
    let kept: BooleanArray = (0..ROWS).map(|row| Some(row >= 100 && row % 1000 == 0)).collect();
    assert_eq!(rows, filter_record_batch(&file.table, &kept).unwrap());
    let error = from(99).unwrap_err();
    assert!(
        matches!(&error, ScanError::Filter(error) if error.to_string() == "a number below 100")
    );
}

#[test]
fn column_that_is_tested_for_null_is_decoded_if_anything_else_needs_it() {
    let file = File::write(properties());
    let hiding = |column: usize, predicate: Program| {
        let mut plan = file.plan(predicate, vec![5]);
        let Output::Rows { columns, .. } = &mut plan.fragment.output else { panic!("no rows") };
        columns.remove(column);
        plan
    };
    let has_number = || Program::new([Step::unary(Op::IsNotNull, COLUMN(0))]);
    let filters: Vec<Arc<dyn RowFilter>> = vec![Arc::new(Divides(1000))];
    let error = file.scan(ScanPlan { filters, ..hiding(0, has_number()) }).unwrap_err();
    assert!(matches!(error, ScanError::Filter(_)), "{error}");
    let keys = Arc::new(JoinKeys::new(1));
    keys.add_scan(Some(0..=20_000));
    keys.begin(0);
    keys.add([5, 7].into_iter());
    keys.end();
    let plan = ScanPlan { keys: vec![(vec![0], keys)], ..hiding(0, has_number()) };
    assert_eq!(file.scan(plan).unwrap().0.num_rows(), 2);
    // few IS NULL OR few < 5
    let predicate = Program::new([
        Step::unary(Op::IsNull, COLUMN(1)),
        Step::compare(Op::Less, COLUMN(1), Operand::Literal(0)),
        Step::compare(Op::Or, Operand::Step(0), Operand::Step(1)),
    ]);
    let few = file.table.column(1).as_primitive::<Int32Type>();
    let kept = few.iter().filter(|it| it.is_none_or(|it| it < 5)).count();
    assert_eq!(file.scan(hiding(1, predicate)).unwrap().0.num_rows(), kept);
}

#[test]
fn rows_whose_key_a_join_lacks_are_dropped_once_its_keys_are_known() {
    let file = File::write(properties());
    let of_scan = |keys: &Arc<JoinKeys>| {
        let plan = file.plan(Program::default(), vec![]);
        file.scan(ScanPlan { keys: vec![(vec![0], Arc::clone(keys))], ..plan }).unwrap().0
    };
    let wanted = || (0..i64::try_from(ROWS).unwrap()).step_by(10);
    for range in [Some(0..=20_000), None] {
        let keys = Arc::new(JoinKeys::new(1));
        keys.add_scan(range);
        keys.begin(0);
        keys.add(wanted());
        assert_eq!(of_scan(&keys), file.table);
        keys.end();
        let rows = of_scan(&keys);
        let numbers = rows.column(0).as_primitive::<Int64Type>();
        let kept: Vec<i64> = numbers.values().iter().copied().collect();
        assert!(wanted().all(|key| kept.binary_search(&key).is_ok()));
        assert!(kept.len() < file.table.num_rows() / 8, "{} rows are kept", kept.len());
    }
}

#[test]
fn text_that_is_not_utf8_is_a_status() {
    let file = File::write(properties());
    let mut plan = file.plan(Program::default(), vec![]);
    let bytes = file.table.schema().index_of("bytes").unwrap();
    plan.types[bytes] = DataType::Utf8View;
    let error = file.scan(plan).unwrap_err();
    assert!(matches!(error, ScanError::Status(Status::Corrupt)), "{error}");
}

#[test]
fn column_chunk_without_a_kept_row_is_not_needed() {
    let file = File::write(properties());
    let predicate = Program::new([Step::compare(Op::Less, COLUMN(0), Operand::Literal(0))]);
    let plan = file.plan(predicate, vec![10]);
    let mut scan = Scan::new(Arc::new(plan));
    let schema = file.table.schema();
    let needed = |group: usize, scan: &mut Scan| {
        let chunks: Vec<Chunk> =
            schema.fields().iter().map(|field| file.chunk(group, field.name())).collect();
        scan.open(file.footer.row_group(group).num_rows().cast_unsigned(), chunks.clone(), None);
        let mut needed = Vec::new();
        while scan.advance().unwrap() != Progress::Done {
            for column in scan.needs() {
                needed.push(column);
                scan.give(column, file.bytes_of(chunks[column]));
            }
        }
        needed
    };
    assert_eq!(needed(0, &mut scan), (0..schema.fields().len()).collect::<Vec<_>>());
    assert_eq!(needed(1, &mut scan), [0]);
    assert_eq!(scan.rows_kept(), 10);
}

/// `few` is one of 40 numbers, `text` has a dictionary of all its values, `number` is never NULL.
#[rstest]
#[case::dictionary(properties())]
#[case::second_version(properties().set_writer_version(WriterVersion::PARQUET_2_0))]
#[case::fallback(properties().set_dictionary_page_size_limit(2000))]
#[case::plain(properties().set_dictionary_enabled(false))]
fn rows_are_those_that_pass_whatever_their_dictionary_has(
    #[case] properties: WriterPropertiesBuilder,
    #[values(-1, 17, 100)] number: i64,
    #[values(Op::Equal, Op::NotEqual, Op::Less)] op: Op,
) {
    let file = File::write(properties);
    let below = Step::compare(Op::Less, COLUMN(0), Operand::Literal(1));
    let few = Step::compare(op, COLUMN(1), Operand::Literal(0));
    let both = Step::compare(Op::And, Operand::Step(0), Operand::Step(1));
    let values = file.table["few"].as_primitive::<Int32Type>();
    let passes = |value: i32| match op {
        Op::Equal => i64::from(value) == number,
        Op::NotEqual => i64::from(value) != number,
        _ => i64::from(value) < number,
    };
    for (predicate, rows) in [
        (Program::new([few]), ROWS),
        (Program::new([few, below, both]), 9500),
        (Program::new([below, few, both]), 9500),
    ] {
        let literals = vec![i128::from(number), 9500];
        let (found, _) = file.scan(file.plan(predicate, literals)).unwrap();
        let row = |row: &usize| values.is_valid(*row) && passes(values.value(*row));
        let expected: Vec<i64> =
            (0..rows).filter(row).map(|row| i64::try_from(row).unwrap()).collect();
        assert_eq!(found["number"].as_primitive::<Int64Type>().values().to_vec(), expected);
    }
}

#[test]
fn pages_of_codes_are_skipped_if_no_entry_of_their_dictionary_passes() {
    let file = File::write(properties());
    let equal = Program::new([Step::compare(Op::Equal, COLUMN(1), Operand::Literal(0))]);
    let (found, skipped) = file.scan(file.plan(equal.clone(), vec![17])).unwrap();
    assert!(found.num_rows() > 0);
    let (found, skipped_all) = file.scan(file.plan(equal, vec![1000])).unwrap();
    assert_eq!(found.num_rows(), 0);
    assert!(skipped_all > skipped, "{skipped_all} {skipped}");
}

#[test]
fn pages_of_codes_are_not_skipped_if_null_passes() {
    let file = File::write(properties());
    let predicate = Program::new([
        Step::compare(Op::Equal, COLUMN(1), Operand::Literal(0)),
        Step::unary(Op::IsNull, COLUMN(1)),
        Step::compare(Op::Or, Operand::Step(0), Operand::Step(1)),
    ]);
    let (found, _) = file.scan(file.plan(predicate, vec![1000])).unwrap();
    assert_eq!(found.num_rows(), file.table["few"].null_count());
}
