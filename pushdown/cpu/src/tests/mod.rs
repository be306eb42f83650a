// SPDX-License-Identifier: Apache-2.0
//! Tests reading of whole chunks: written by another program, and corrupt.

mod damage;
mod differences;
mod written;

use bytes::Bytes;
use nearscan_command::{Chunk, Codec, Encodings, PhysicalType, Reading, Value};

use crate::{buffers::Buffers, chunk::ChunkReader, error::Stop, values::is_set, vector::Vector};

/// A chunk of no bytes, without NULL or compression.
pub(crate) fn plain_chunk(physical_type: PhysicalType, reading: Reading) -> Chunk {
    Chunk {
        input: 0,
        offset: 0,
        length: 0,
        uncompressed_bytes: 0,
        physical_type,
        definition_level_max: 0,
        codec: Codec::Uncompressed,
        encodings: Encodings::ALL,
        dictionary_bytes: 0,
        reading,
    }
}

/// The values of a chunk, read in batches of `batch_rows`.
fn read(chunk: &Chunk, bytes: &Bytes, rows: usize, batch_rows: usize) -> Result<Vec<Value>, Stop> {
    let mut reader = ChunkReader::open(0, chunk, bytes.clone(), rows as u64, Buffers::default());
    let mut values = Vec::new();
    while values.len() < rows {
        let batch = batch_rows.min(rows - values.len());
        let vector = reader.read(batch)?;
        values.extend((0..batch).map(|row| value(&vector, row)));
    }
    reader.finish()?;
    Ok(values)
}

fn value(vector: &Vector, row: usize) -> Value {
    if !is_set(vector.validity_bits(), row) {
        return Value::Null;
    }
    match (vector.numbers(), vector.strings()) {
        (Some(numbers), None) => Value::Number(numbers.get(row).unwrap()),
        (None, Some(strings)) => Value::Bytes(strings.get(row).to_vec()),
        _ => panic!("numbers or strings"),
    }
}
