// SPDX-License-Identifier: Apache-2.0
//! Chunks that the parquet crate wrote.

use std::sync::Arc;

use bytes::Bytes;
use nearscan_command::{
    Chunk, Codec, Encodings, PhysicalType, ReadAs, Reading, Value, float_order, widened_float,
};
use parquet::{
    basic::{Compression, Encoding, Repetition, Type},
    data_type::{
        BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
        FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
    },
    file::{
        metadata::ColumnChunkMetaData,
        properties::{WriterProperties, WriterVersion},
        writer::SerializedFileWriter,
    },
    schema::types::Type as SchemaType,
};

use super::read;

pub(super) const ROWS: usize = 3000;

/// Row `row` is null.
pub(super) const fn is_null(row: usize) -> bool {
    row % 7 == 3 || (row > 800 && row < 1100)
}

/// Every choice of a writer that is read; encodings are those of values without a dictionary.
pub(super) fn properties(encodings: &[Encoding]) -> Vec<WriterProperties> {
    let mut all = Vec::new();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for codec in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW] {
            let builder = || {
                WriterProperties::builder()
                    .set_writer_version(version)
                    .set_compression(codec)
                    .set_data_page_row_count_limit(1000)
                    .set_write_batch_size(100)
            };
            for encoding in encodings {
                let builder = || builder().set_encoding(*encoding);
                all.push(builder().set_dictionary_enabled(false).build());
                // A dictionary that is given up on the way.
                all.push(builder().set_dictionary_page_size_limit(300).build());
            }
            all.push(builder().build());
        }
    }
    all
}

/// Writes one column, and gives the chunk and the bytes of the file.
fn write<T: DataType>(
    properties: &WriterProperties,
    is_nullable: bool,
    length: u16,
    values: &[T::T],
) -> (ColumnChunkMetaData, Bytes) {
    let repetition = if is_nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let column = SchemaType::primitive_type_builder("a", T::get_physical_type())
        .with_repetition(repetition)
        .with_length(i32::from(length))
        .build();
    let schema = SchemaType::group_type_builder("schema")
        .with_fields(vec![Arc::new(column.unwrap())])
        .build();
    let mut file = Vec::new();
    let properties = Arc::new(properties.clone());
    let mut writer =
        SerializedFileWriter::new(&mut file, Arc::new(schema.unwrap()), properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let levels: Vec<i16> = (0..ROWS).map(|row| i16::from(!is_null(row))).collect();
    let rows = 0..ROWS;
    let kept: Vec<T::T> =
        rows.filter(|row| !is_nullable || !is_null(*row)).map(|row| values[row].clone()).collect();
    let levels = is_nullable.then_some(levels.as_slice());
    column.typed::<T>().write_batch(&kept, levels, None).unwrap();
    column.close().unwrap();
    let group = group.close().unwrap();
    writer.close().unwrap();
    (group.column(0).clone(), Bytes::from(file))
}

/// Writes one column, and gives its chunk and the bytes of that.
pub(super) fn chunk<T: DataType>(
    properties: &WriterProperties,
    is_nullable: bool,
    reading: Reading,
    values: &[T::T],
) -> (Chunk, Bytes) {
    let (column, file) = write::<T>(properties, is_nullable, reading.length, values);
    let (start, length) = column.byte_range();
    let chunk = Chunk {
        input: 0,
        offset: 0,
        length,
        uncompressed_bytes: column.uncompressed_size().cast_unsigned(),
        physical_type: stored(T::get_physical_type()),
        definition_level_max: u8::from(is_nullable),
        codec: match column.compression() {
            Compression::SNAPPY => Codec::Snappy,
            Compression::LZ4_RAW => Codec::Lz4Raw,
            _ => Codec::Uncompressed,
        },
        encodings: Encodings::HOST,
        dictionary_bytes: 0,
        reading,
    };
    let start = usize::try_from(start).unwrap();
    (chunk, file.slice(start..start + usize::try_from(length).unwrap()))
}

/// Checks that what the crate writes of `values` is read as `expected`.
fn check<T: DataType>(
    reading: Reading,
    encodings: &[Encoding],
    value: impl Fn(usize) -> (T::T, Value),
) {
    let (values, expected): (Vec<T::T>, Vec<Value>) = (0..ROWS).map(value).unzip();
    for properties in properties(encodings) {
        for is_nullable in [false, true] {
            let (chunk, bytes) = chunk::<T>(&properties, is_nullable, reading, &values);
            let found = read(&chunk, &bytes, ROWS, 512).unwrap();
            for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let expected = if is_nullable && is_null(row) { &Value::Null } else { expected };
                assert_eq!(found, expected, "row {row} of {chunk:?}");
            }
        }
    }
}

fn stored(physical_type: Type) -> PhysicalType {
    match physical_type {
        Type::BOOLEAN => PhysicalType::Boolean,
        Type::INT32 => PhysicalType::Int32,
        Type::INT64 => PhysicalType::Int64,
        Type::FLOAT => PhysicalType::Float,
        Type::DOUBLE => PhysicalType::Double,
        Type::BYTE_ARRAY => PhysicalType::ByteArray,
        Type::FIXED_LEN_BYTE_ARRAY => PhysicalType::FixedLenByteArray,
        Type::INT96 => panic!("no command has it"),
    }
}

/// Numbers that repeat, grow and jump.
fn number(row: usize) -> i64 {
    let row = i64::try_from(row).unwrap();
    match row % 600 {
        0..200 => row % 5,
        200..400 => row * 1_000_003,
        _ => row.wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(17),
    }
}

const INTEGERS: [Encoding; 3] =
    [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT];

#[test]
fn integers_are_read() {
    check::<Int64Type>(Reading::PLAIN, &INTEGERS, |row| {
        (number(row), Value::Number(number(row).into()))
    });
    check::<Int32Type>(Reading::PLAIN, &INTEGERS, |row| {
        let value = (number(row) >> 32) as i32;
        (value, Value::Number(value.into()))
    });
    let unsigned = Reading { rule: ReadAs::Unsigned, ..Reading::PLAIN };
    check::<Int64Type>(unsigned, &INTEGERS, |row| {
        (number(row), Value::Number(number(row).cast_unsigned().into()))
    });
}

#[test]
fn floats_are_read() {
    let floats = Reading { rule: ReadAs::FloatOrder, ..Reading::PLAIN };
    let encodings = [Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT];
    check::<DoubleType>(floats, &encodings, |row| {
        let value = f64::from_bits(number(row).cast_unsigned());
        (value, Value::Number(float_order(value).into()))
    });
    check::<FloatType>(floats, &encodings, |row| {
        let value = f32::from_bits((number(row).cast_unsigned() >> 32) as u32);
        (value, Value::Number(float_order(widened_float(value)).into()))
    });
}

#[test]
fn truth_values_are_read() {
    check::<BoolType>(Reading::PLAIN, &[Encoding::PLAIN, Encoding::RLE], |row| {
        let value = number(row) % 3 == 0;
        (value, Value::Number(value.into()))
    });
}

const STRINGS: [Encoding; 3] =
    [Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY];

#[test]
fn byte_strings_are_read() {
    check::<ByteArrayType>(Reading::PLAIN, &STRINGS, |row| {
        let value = (number(row) % 1000).to_string().into_bytes();
        (ByteArray::from(value.clone()), Value::Bytes(value))
    });
}

#[test]
fn decimals_are_read() {
    for length in [3, 8, 16] {
        let reading = Reading { rule: ReadAs::BigEndian, bits: 0, length };
        let encodings = [Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT, Encoding::DELTA_BYTE_ARRAY];
        check::<FixedLenByteArrayType>(reading, &encodings, |row| {
            let value = i128::from(number(row) >> (64 - u32::from(length).min(8) * 8));
            let bytes = value.to_be_bytes()[16 - usize::from(length)..].to_vec();
            (FixedLenByteArray::from(bytes), Value::Number(value))
        });
    }
}
