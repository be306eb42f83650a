// SPDX-License-Identifier: Apache-2.0
//! Encodes batches as an application wants them: as pieces of one Arrow IPC stream, or as lines of
//! JSON.

use bytes::Bytes;
use nearscan::arrow::{
    array::RecordBatch, datatypes::SchemaRef, error::ArrowError, ipc::writer::StreamWriter,
    json::LineDelimitedWriter,
};
use nearscan_applications::{Encoding, MESSAGE_BYTES_MAX, Refusal};

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

    /// Encodes a batch, in several pieces if one is longer than an application takes.
    pub(crate) fn pieces(&mut self, batch: &RecordBatch) -> Result<Vec<Bytes>, Refusal> {
        let mut waiting = vec![batch.clone()];
        let mut pieces = Vec::new();
        while let Some(batch) = waiting.pop() {
            // What is encoded is seldom much longer than what is in memory; if it is, in halves.
            let is_long = batch.get_array_memory_size() > MESSAGE_BYTES_MAX / 4;
            if is_long && batch.num_rows() > 1 {
                let half = batch.num_rows() / 2;
                waiting.push(batch.slice(half, batch.num_rows() - half));
                waiting.push(batch.slice(0, half));
                continue;
            }
            pieces.push(self.piece(&batch)?);
        }
        Ok(pieces)
    }

    fn piece(&mut self, batch: &RecordBatch) -> Result<Bytes, Refusal> {
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
