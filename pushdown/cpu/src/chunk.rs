// SPDX-License-Identifier: Apache-2.0
//! A column chunk as batches of values.

use std::sync::Arc;

use arrow::buffer::BooleanBuffer;
use bytes::Bytes;
use nearscan_command::{Chunk, PhysicalType, Status};
use parquet::basic::{Compression, Repetition, Type};
use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type as SchemaType};

use crate::error::Stop;
use crate::pages::CheckedPages;
use crate::vector::{Numbers, Strings, Vector};

/// Reads a chunk from its first row to its last.
pub(crate) struct ChunkReader {
    /// Which column of the fragment, for details of a status.
    column: usize,
    levels: Vec<i16>,
    values: Values,
}

enum Values {
    Int32(ColumnReaderImpl<Int32Type>),
    Int64(ColumnReaderImpl<Int64Type>),
    Bytes(ColumnReaderImpl<ByteArrayType>),
}

impl ChunkReader {
    /// A reader of `bytes`, which are the whole chunk.
    ///
    /// # Errors
    /// A status that says what is wrong.
    pub(crate) fn open(
        column: usize,
        chunk: &Chunk,
        bytes: Bytes,
        rows: u64,
    ) -> std::result::Result<Self, Stop> {
        let values = open_values(chunk, bytes, rows).map_err(|e| Stop::parquet(column, &e))?;
        Ok(Self { column, levels: Vec::new(), values })
    }

    /// The next `rows` values, `[rows]`.
    ///
    /// # Errors
    /// A status when there are fewer, or they cannot be decoded.
    pub(crate) fn read(&mut self, rows: usize) -> std::result::Result<Vector, Stop> {
        self.levels.clear();
        let levels = &mut self.levels;
        let (read, vector) = match &mut self.values {
            Values::Int32(reader) => {
                let mut values = Vec::with_capacity(rows);
                reader.read_records(rows, Some(levels), None, &mut values).map(
                    |(read, found, _)| {
                        let wide = values.into_iter().map(i64::from).collect();
                        (read, numbers(wide, levels, read, found))
                    },
                )
            }
            Values::Int64(reader) => {
                let mut values = Vec::with_capacity(rows);
                reader
                    .read_records(rows, Some(levels), None, &mut values)
                    .map(|(read, found, _)| (read, numbers(values, levels, read, found)))
            }
            Values::Bytes(reader) => {
                let mut values = Vec::with_capacity(rows);
                reader
                    .read_records(rows, Some(levels), None, &mut values)
                    .map(|(read, found, _)| (read, strings(values, levels, read, found)))
            }
        }
        .map_err(|error| Stop::parquet(self.column, &error))?;
        if read == rows { Ok(vector) } else { Err(Stop::at_column(Status::Corrupt, self.column)) }
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// A status when something is.
    pub(crate) fn finish(mut self) -> std::result::Result<(), Stop> {
        self.levels.clear();
        let levels = Some(&mut self.levels);
        let left = match &mut self.values {
            Values::Int32(reader) => reader.read_records(1, levels, None, &mut Vec::new()),
            Values::Int64(reader) => reader.read_records(1, levels, None, &mut Vec::new()),
            Values::Bytes(reader) => reader.read_records(1, levels, None, &mut Vec::new()),
        };
        match left {
            Ok((0, _, _)) => Ok(()),
            Ok(_) => Err(Stop::at_column(Status::Corrupt, self.column)),
            Err(error) => Err(Stop::parquet(self.column, &error)),
        }
    }
}

fn open_values(chunk: &Chunk, bytes: Bytes, rows: u64) -> Result<Values> {
    let physical_type = match chunk.physical_type {
        PhysicalType::Int32 => Type::INT32,
        PhysicalType::Int64 => Type::INT64,
        PhysicalType::ByteArray => Type::BYTE_ARRAY,
    };
    let repetition = match chunk.definition_level_max {
        0 => Repetition::REQUIRED,
        _ => Repetition::OPTIONAL,
    };
    let primitive = SchemaType::primitive_type_builder("value", physical_type)
        .with_repetition(repetition)
        .build()?;
    let descriptor = Arc::new(ColumnDescriptor::new(
        Arc::new(primitive),
        i16::from(chunk.definition_level_max),
        0,
        ColumnPath::from("value"),
    ));
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    // Whatever the codec: pages are decompressed where they are checked.
    let metadata = ColumnChunkMetaData::builder(Arc::clone(&descriptor))
        .set_compression(Compression::UNCOMPRESSED)
        .set_num_values(signed(rows))
        .set_data_page_offset(0)
        .set_total_compressed_size(signed(bytes.len() as u64))
        .set_total_uncompressed_size(signed(chunk.uncompressed_bytes))
        .build()?;
    let rows_max = usize::try_from(rows).unwrap_or(usize::MAX);
    let pages = SerializedPageReader::new(Arc::new(bytes), &metadata, rows_max, None)?;
    let pages = Box::new(CheckedPages::new(pages, *chunk, rows));
    let reader = get_column_reader(descriptor, pages);
    Ok(match chunk.physical_type {
        PhysicalType::Int32 => Values::Int32(get_typed_column_reader(reader)),
        PhysicalType::Int64 => Values::Int64(get_typed_column_reader(reader)),
        PhysicalType::ByteArray => Values::Bytes(get_typed_column_reader(reader)),
    })
}

/// Which rows are not null, `None` when all are.
fn validity(levels: &[i16], rows: usize, found: usize) -> Option<BooleanBuffer> {
    (found < rows).then(|| BooleanBuffer::collect_bool(rows, |row| levels[row] == 1))
}

fn numbers(values: Vec<i64>, levels: &[i16], rows: usize, found: usize) -> Vector {
    let validity = validity(levels, rows, found);
    let values = match &validity {
        None => values,
        Some(validity) => spread(values, validity, 0),
    };
    Vector::Numbers(Numbers::narrow(values, validity))
}

fn strings(values: Vec<ByteArray>, levels: &[i16], rows: usize, found: usize) -> Vector {
    let validity = validity(levels, rows, found);
    let values = match &validity {
        None => values,
        Some(validity) => spread(values, validity, ByteArray::from(Bytes::new())),
    };
    Vector::Strings(Strings { values, validity })
}

/// Moves values to the rows that are not null; the others get `empty`.
fn spread<T: Clone>(values: Vec<T>, validity: &BooleanBuffer, empty: T) -> Vec<T> {
    let mut out = vec![empty; validity.len()];
    for (row, value) in validity.set_indices().zip(values) {
        out[row] = value;
    }
    out
}
