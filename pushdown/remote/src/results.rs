// SPDX-License-Identifier: Apache-2.0
//! Encodes results as Arrow record batches of one column of bytes.
//!
//! A result keeps the form that its drive gave it, checksums included, since the check of a
//! completion is the client's. So the batches do not have the columns of the query: each has one
//! row, the next bytes of the result, at most [`PART_BYTES_MAX`]. Any Flight client can read that.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use arrow_array::{BinaryArray, RecordBatch, cast::AsArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_flight::{FlightData, SchemaAsIpc, utils::flight_data_to_arrow_batch};
use arrow_ipc::{
    root_as_message,
    writer::{DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions},
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use bytes::Bytes;

/// Bytes of a result in one message: enough to hide what a message costs, and little enough that
/// a few of them wait in memory for each session.
pub(crate) const PART_BYTES_MAX: usize = 1 << 20;

static SCHEMA: LazyLock<SchemaRef> =
    LazyLock::new(|| Arc::new(Schema::new(vec![Field::new("result", DataType::Binary, false)])));

/// The first message of an exchange, which says of what columns the batches are.
pub(crate) fn schema_message() -> FlightData {
    SchemaAsIpc::new(&SCHEMA, &IpcWriteOptions::default()).into()
}

/// The messages that carry a result: at least one.
pub(crate) fn parts(
    result: &Bytes,
) -> impl Iterator<Item = Result<FlightData, ArrowError>> + use<> {
    let count = result.len().div_ceil(PART_BYTES_MAX).max(1);
    let result = result.clone();
    (0..count).map(move |index| {
        let start = index * PART_BYTES_MAX;
        let end = result.len().min(start + PART_BYTES_MAX);
        part(result.slice(start..end))
    })
}

/// The message that carries a part.
pub(crate) fn part(bytes: Bytes) -> Result<FlightData, ArrowError> {
    let offsets = OffsetBuffer::<i32>::from_lengths([bytes.len()]);
    let column = BinaryArray::try_new(offsets, Buffer::from(bytes), None)?;
    let batch = RecordBatch::try_new(Arc::clone(&SCHEMA), vec![Arc::new(column)])?;
    let (_, encoded) = IpcDataGenerator::default().encode(
        &batch,
        &mut DictionaryTracker::new(false),
        &IpcWriteOptions::default(),
        &mut IpcWriteContext::default(),
    )?;
    Ok(encoded.into())
}

/// The bytes that a message carries, without a copy; none when it carries no batch.
pub(crate) fn values(message: &FlightData) -> Result<Bytes, ArrowError> {
    if message.data_header.is_empty() {
        return Ok(Bytes::new());
    }
    check_buffers(message)?;
    let batch = flight_data_to_arrow_batch(message, Arc::clone(&SCHEMA), &HashMap::new())?;
    let column = batch.columns().first().and_then(|column| column.as_binary_opt::<i32>());
    let Some(column) = column else { return Ok(Bytes::new()) };
    let (first, last) = (column.value_offsets().first(), column.value_offsets().last());
    let place = |offset: Option<&i32>| offset.and_then(|offset| usize::try_from(*offset).ok());
    let (first, last) = (place(first).unwrap_or(0), place(last).unwrap_or(0));
    let values = column.values().slice_with_length(first, last.saturating_sub(first));
    Ok(Bytes::from_owner(Values(values)))
}

/// A buffer whose bytes others share.
struct Values(Buffer);

impl AsRef<[u8]> for Values {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Checks that the buffers of a batch are within its body, which the reader assumes.
fn check_buffers(message: &FlightData) -> Result<(), ArrowError> {
    let wrong = |what: &str| ArrowError::IpcError(what.to_owned());
    let header = root_as_message(&message.data_header)
        .map_err(|error| ArrowError::IpcError(error.to_string()))?;
    let batch = header.header_as_record_batch().ok_or_else(|| wrong("it is not a record batch"))?;
    if batch.compression().is_some() {
        return Err(wrong("results are not compressed"));
    }
    let buffers = batch.buffers().ok_or_else(|| wrong("it has no buffers"))?;
    let is_inside = |buffer: &arrow_ipc::Buffer| {
        let range = u64::try_from(buffer.offset()).ok().zip(u64::try_from(buffer.length()).ok());
        let end = range.and_then(|(offset, length)| offset.checked_add(length));
        end.is_some_and(|end| end <= message.data_body.len() as u64)
    };
    match buffers.iter().all(is_inside) {
        true => Ok(()),
        false => Err(wrong("a buffer is outside of its message")),
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn damaged_part_is_error() {
        let message = part(Bytes::from_static(b"abc")).unwrap();
        let cut = FlightData { data_body: message.data_body.slice(..4), ..message.clone() };
        assert!(values(&cut).is_err());
        let nothing = FlightData { data_body: Bytes::new(), ..message.clone() };
        assert!(values(&nothing).is_err());
        assert!(values(&schema_message()).is_err());
        let noise = FlightData { data_header: Bytes::from_static(&[7; 40]), ..message };
        assert!(values(&noise).is_err());
        assert!(values(&FlightData::default()).is_ok());
    }
}
