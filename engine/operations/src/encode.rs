// SPDX-License-Identifier: Apache-2.0
//! Encodes batches as an application wants them: as pieces of one Arrow IPC stream, or as lines of
//! JSON.

use std::sync::Arc;

use bytes::Bytes;
use nearscan::arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions},
    datatypes::{DataType, SchemaRef},
    error::ArrowError,
    ipc::writer::StreamWriter,
    json::LineDelimitedWriter,
};
use nearscan_applications::{Encoding, MESSAGE_BYTES_MAX, Refusal};

/// Bytes of a part of a batch in memory, at most, if it has several rows: what is encoded is seldom
/// several times as long.
const PART_BYTES: usize = MESSAGE_BYTES_MAX / 4;

/// Cuts a batch into parts that are short enough for an application.
///
/// # Errors
/// If a column cannot be measured.
pub(crate) fn parts(batch: &RecordBatch) -> Result<Vec<RecordBatch>, Refusal> {
    let mut parts = Vec::new();
    let mut waiting = vec![compact(batch)?];
    while let Some(batch) = waiting.pop() {
        if bytes_of(&batch)? <= PART_BYTES || batch.num_rows() < 2 {
            parts.push(batch);
            continue;
        }
        let half = batch.num_rows() / 2;
        waiting.push(compact(&batch.slice(half, batch.num_rows() - half))?);
        waiting.push(compact(&batch.slice(0, half))?);
    }
    Ok(parts)
}

/// The bytes of the rows of a batch, and of no others in the same buffers.
fn bytes_of(batch: &RecordBatch) -> Result<usize, Refusal> {
    let bytes = batch.columns().iter().map(|column| match column.data_type() {
        // The texts are not counted otherwise; no others are kept.
        DataType::Utf8View | DataType::BinaryView => Ok(column.get_array_memory_size()),
        _ => column.to_data().get_slice_memory_size(),
    });
    bytes.sum::<Result<usize, _>>().map_err(|error| failed(&error))
}

/// Drops what no row of a batch points to: a slice of views keeps the texts of all rows, and they
/// would be encoded with it.
fn compact(batch: &RecordBatch) -> Result<RecordBatch, Refusal> {
    let columns = batch.columns().iter().map(|column| -> ArrayRef {
        match column.data_type() {
            DataType::Utf8View => Arc::new(column.as_string_view().gc()),
            DataType::BinaryView => Arc::new(column.as_binary_view().gc()),
            _ => Arc::clone(column),
        }
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns.collect(), &options)
        .map_err(|error| failed(&error))
}

/// Encodes the batches of one result.
pub(crate) enum Encoder {
    Stream(Box<StreamWriter<Vec<u8>>>),
    Lines,
}

fn failed(error: &ArrowError) -> Refusal {
    Refusal::Invalid(format!("the rows cannot be encoded: {error}"))
}

impl Encoder {
    pub(crate) fn new(encoding: Encoding, schema: &SchemaRef) -> Result<Self, Refusal> {
        match encoding {
            Encoding::ArrowStream => {
                let writer = StreamWriter::try_new(Vec::new(), schema);
                Ok(Self::Stream(Box::new(writer.map_err(|error| failed(&error))?)))
            }
            Encoding::JsonLines => Ok(Self::Lines),
        }
    }

    /// Encodes a batch.
    pub(crate) fn piece(&mut self, batch: &RecordBatch) -> Result<Bytes, Refusal> {
        let bytes = match self {
            Self::Stream(writer) => {
                writer.write(batch).map_err(|error| failed(&error))?;
                std::mem::take(writer.get_mut())
            }
            Self::Lines => {
                let mut writer = LineDelimitedWriter::new(Vec::new());
                let written = writer.write(batch).and_then(|()| writer.finish());
                written.map_err(|error| failed(&error))?;
                writer.into_inner()
            }
        };
        Ok(bytes.into())
    }

    /// The last piece; none of lines.
    pub(crate) fn last(self) -> Result<Option<Bytes>, Refusal> {
        match self {
            Self::Stream(mut writer) => {
                writer.finish().map_err(|error| failed(&error))?;
                Ok(Some(std::mem::take(writer.get_mut()).into()))
            }
            Self::Lines => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use nearscan::arrow::array::StringViewArray;

    use super::*;

    #[test]
    fn parts_of_a_long_batch_are_short_and_have_all_rows() {
        let text = "x".repeat(40 << 10);
        let rows = 2000;
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![text.as_str(); rows]));
        let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
        let parts = parts(&batch).unwrap();
        assert!((4..16).contains(&parts.len()), "{}", parts.len());
        assert_eq!(parts.iter().map(RecordBatch::num_rows).sum::<usize>(), rows);
        let mut encoder = Encoder::new(Encoding::ArrowStream, &batch.schema()).unwrap();
        for part in &parts {
            let piece = encoder.piece(part).unwrap();
            assert!(piece.len() <= 2 * PART_BYTES, "{}", piece.len());
        }
    }
}
