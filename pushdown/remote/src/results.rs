// SPDX-License-Identifier: Apache-2.0
//! Encodes results as Arrow record batches of one column of bytes.
//!
//! A result keeps the form that its drive gave it, checksums included, since the check of a
//! completion is the client's. So the batches do not have the columns of the query: each has one
//! row, the next bytes of the result, at most [`PART_BYTES_MAX`]. Any Flight client can read that.
//!
//! ```text
//! header (flatbuffers): one row; the places of offsets and values in the body
//! body:   offsets 0 and n, padded to 64 bytes | n bytes of values | padding to 64 bytes
//! ```
//!
//! Header and body are made and read here, not by the writer and the reader of Arrow, because the
//! values need not be in one piece then, and are never copied.

use std::{
    ops::Range,
    sync::{Arc, LazyLock},
};

use arrow_flight::{FlightData, SchemaAsIpc};
use arrow_ipc::{
    FieldNode, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder, root_as_message,
    writer::IpcWriteOptions,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use bytes::{BufMut, Bytes, BytesMut};
use flatbuffers::FlatBufferBuilder;

/// Bytes of a result in one message: enough to hide what a message costs, and little enough that
/// a few of them wait in memory for each session.
pub(crate) const PART_BYTES_MAX: usize = 1 << 20;

/// Bytes to which buffers in the body of a message are aligned, as Arrow recommends.
const ALIGNMENT: usize = 64;

/// Bytes of an offset.
pub(crate) const OFFSET_BYTES: usize = 4;

static SCHEMA: LazyLock<SchemaRef> =
    LazyLock::new(|| Arc::new(Schema::new(vec![Field::new("result", DataType::Binary, false)])));

/// The first message of an exchange, which says of what columns the batches are.
pub(crate) fn schema_message() -> FlightData {
    SchemaAsIpc::new(&SCHEMA, &IpcWriteOptions::default()).into()
}

/// The parts of a result: at least one.
pub(crate) fn cut(result: &Bytes) -> impl Iterator<Item = Bytes> + use<> {
    let count = result.len().div_ceil(PART_BYTES_MAX).max(1);
    let result = result.clone();
    (0..count).map(move |index| {
        let start = index * PART_BYTES_MAX;
        let end = result.len().min(start + PART_BYTES_MAX);
        result.slice(start..end)
    })
}

/// The messages that carry a result, with copies of its bytes: at least one.
pub(crate) fn parts(
    result: &Bytes,
) -> impl Iterator<Item = Result<FlightData, ArrowError>> + use<> {
    cut(result).map(|bytes| part(&bytes))
}

/// The message that carries a part.
pub(crate) fn part(bytes: &[u8]) -> Result<FlightData, ArrowError> {
    let frame = Frame::of(bytes.len())?;
    let mut body = BytesMut::with_capacity(frame.body_bytes());
    body.put_slice(&frame.before);
    body.put_slice(bytes);
    body.put_slice(&frame.behind);
    Ok(FlightData { data_header: frame.header, data_body: body.freeze(), ..FlightData::default() })
}

/// What is around the values of a message.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// The header of the message.
    pub(crate) header: Bytes,
    /// Bytes of the values.
    length: usize,
    /// What comes before the values in the body.
    pub(crate) before: [u8; ALIGNMENT],
    /// What comes behind them.
    pub(crate) behind: Bytes,
}

impl Frame {
    /// The frame of so many bytes.
    pub(crate) fn of(length: usize) -> Result<Self, ArrowError> {
        static PADDING: [u8; ALIGNMENT] = [0; ALIGNMENT];
        let too_long = |_| ArrowError::IpcError(format!("a part of {length} bytes is too long"));
        let last_offset = i32::try_from(length).map_err(too_long)?;
        let mut before = [0; ALIGNMENT];
        before[OFFSET_BYTES..2 * OFFSET_BYTES].copy_from_slice(&last_offset.to_le_bytes());
        let padding = length.next_multiple_of(ALIGNMENT) - length;
        let behind = Bytes::from_static(&PADDING[..padding]);
        Ok(Self { header: header_of(i64::from(last_offset)), length, before, behind })
    }

    /// Bytes of the body.
    pub(crate) fn body_bytes(&self) -> usize {
        self.before.len() + self.length + self.behind.len()
    }
}

/// The header of the message of so many bytes of values.
#[expect(clippy::cast_possible_wrap, reason = "both constants are far below 2^63")]
fn header_of(length: i64) -> Bytes {
    const AROUND: i64 = ALIGNMENT as i64;
    let mut builder = FlatBufferBuilder::new();
    let nodes = builder.create_vector(&[FieldNode::new(1, 0)]);
    let buffers = builder.create_vector(&[
        // All values are valid.
        arrow_ipc::Buffer::new(0, 0),
        arrow_ipc::Buffer::new(0, 2 * OFFSET_BYTES as i64),
        arrow_ipc::Buffer::new(AROUND, length),
    ]);
    let mut batch = RecordBatchBuilder::new(&mut builder);
    batch.add_length(1);
    batch.add_nodes(nodes);
    batch.add_buffers(buffers);
    let batch = batch.finish().as_union_value();
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::RecordBatch);
    message.add_bodyLength(AROUND + (length + AROUND - 1) / AROUND * AROUND);
    message.add_header(batch);
    let message = message.finish();
    builder.finish(message, None);
    Bytes::copy_from_slice(builder.finished_data())
}

/// The bytes that a message carries, without a copy; none when it carries no batch.
pub(crate) fn values(message: &FlightData) -> Result<Bytes, ArrowError> {
    if message.data_header.is_empty() {
        return Ok(Bytes::new());
    }
    let body = &message.data_body;
    let place = place_of(&message.data_header, body.len(), |at| {
        let mut offset = [0; OFFSET_BYTES];
        offset.copy_from_slice(&body[at..at + OFFSET_BYTES]);
        offset
    });
    Ok(body.slice(place?))
}

/// The place of the values in the body of a message. `offset_at` gives the bytes of an offset; they
/// are all within the body.
pub(crate) fn place_of(
    header: &[u8],
    body_bytes: usize,
    offset_at: impl Fn(usize) -> [u8; OFFSET_BYTES],
) -> Result<Range<usize>, ArrowError> {
    let wrong = |what: &str| ArrowError::IpcError(what.to_owned());
    let message = root_as_message(header).map_err(|error| wrong(&error.to_string()))?;
    let batch = message.header_as_record_batch();
    let batch = batch.ok_or_else(|| wrong("it is not a record batch"))?;
    if batch.compression().is_some() {
        return Err(wrong("results are not compressed"));
    }
    let buffers = batch.buffers().ok_or_else(|| wrong("it has no buffers"))?;
    if buffers.len() != 3 {
        return Err(wrong("it is not one column of bytes"));
    }
    let place = |index: usize| {
        let buffer = buffers.get(index);
        let start = usize::try_from(buffer.offset()).ok();
        let range = start.zip(usize::try_from(buffer.length()).ok());
        let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
        let range = range.filter(|range| range.end <= body_bytes);
        range.ok_or_else(|| wrong("a buffer is outside of its message"))
    };
    let (_, offsets, values) = (place(0)?, place(1)?, place(2)?);
    let rows = usize::try_from(batch.length()).map_err(|_| wrong("it has no number of rows"))?;
    if rows == 0 {
        return Ok(0..0);
    }
    let last = rows.checked_mul(OFFSET_BYTES).and_then(|behind| behind.checked_add(offsets.start));
    let last = last.filter(|last| last.saturating_add(OFFSET_BYTES) <= offsets.end);
    let last = last.ok_or_else(|| wrong("there are too few offsets"))?;
    let offset = |at: usize| usize::try_from(i32::from_le_bytes(offset_at(at))).ok();
    match offset(offsets.start).zip(offset(last)) {
        Some((first, end)) if first <= end && end <= values.len() => {
            Ok(values.start + first..values.start + end)
        }
        _ => Err(wrong("an offset is outside of the values")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow_array::{BinaryArray, RecordBatch, cast::AsArray};
    use arrow_flight::utils::flight_data_to_arrow_batch;
    use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteContext};
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, 1)]
    #[case(1, 1)]
    #[case(PART_BYTES_MAX, 1)]
    #[case(PART_BYTES_MAX + 1, 2)]
    #[case(3 * PART_BYTES_MAX + 5, 4)]
    fn result_is_reassembled_from_its_parts(#[case] length: usize, #[case] count: usize) {
        let bytes: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let messages: Vec<FlightData> =
            parts(&Bytes::from(bytes.clone())).collect::<Result<_, _>>().unwrap();
        assert_eq!(messages.len(), count);
        let mut back = Vec::new();
        for message in &messages {
            back.extend_from_slice(&values(message).unwrap());
        }
        assert!(back == bytes);
    }

    #[rstest]
    #[case(0)]
    #[case(3)]
    #[case(64)]
    #[case(100_000)]
    fn part_is_a_batch_to_the_reader_of_arrow(#[case] length: usize) {
        let bytes: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let message = part(&bytes).unwrap();
        assert_eq!(message.data_body.len() % 64, 0);
        let batch = flight_data_to_arrow_batch(&message, Arc::clone(&SCHEMA), &HashMap::new());
        let batch = batch.unwrap();
        assert_eq!(batch.num_rows(), 1);
        assert!(batch.column(0).as_binary::<i32>().value(0) == bytes);
    }

    #[rstest]
    #[case(&["abc"], b"abc")]
    #[case(&["ab", "", "cdef"], b"abcdef")]
    #[case(&[], b"")]
    fn batch_of_the_writer_of_arrow_is_read(#[case] rows: &[&str], #[case] expected: &[u8]) {
        let column = BinaryArray::from_iter_values(rows);
        let batch = RecordBatch::try_new(Arc::clone(&SCHEMA), vec![Arc::new(column)]).unwrap();
        let (_, encoded) = IpcDataGenerator::default()
            .encode(
                &batch,
                &mut DictionaryTracker::new(false),
                &IpcWriteOptions::default(),
                &mut IpcWriteContext::default(),
            )
            .unwrap();
        assert_eq!(values(&encoded.into()).unwrap(), expected);
    }

    #[test]
    fn damaged_part_is_error() {
        let message = part(b"abc").unwrap();
        let cut = FlightData { data_body: message.data_body.slice(..4), ..message.clone() };
        assert!(values(&cut).is_err());
        let nothing = FlightData { data_body: Bytes::new(), ..message.clone() };
        assert!(values(&nothing).is_err());
        assert!(values(&schema_message()).is_err());
        let noise = FlightData { data_header: Bytes::from_static(&[7; 40]), ..message.clone() };
        assert!(values(&noise).is_err());
        for (place, byte) in [(0, 4), (3, 0x80), (4, 4), (7, 0x80)] {
            let mut body = message.data_body.to_vec();
            body[place] = byte;
            let offsets = FlightData { data_body: body.into(), ..message.clone() };
            assert!(values(&offsets).is_err(), "byte {place} of the offsets is {byte}");
        }
        assert!(values(&FlightData::default()).is_ok());
    }
}
