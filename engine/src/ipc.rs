// SPDX-License-Identifier: Apache-2.0
//! Decodes Arrow IPC streams of untrusted bytes.
//!
//! Arrow's decoder does not bound untrusted input: it allocates the uncompressed length that a
//! buffer states, buffers as many bytes as a body is stated to have, and panics on inconsistent
//! offsets. So [`ForeignStream`] reads the header of each message first, and hands a
//! message to the decoder only if it is within the limits, as a whole.
//!
//! # Invariants
//!
//! - No memory is taken for a message beyond [`BODY_BYTES_MAX`] and [`METADATA_BYTES_MAX`], and for
//!   all dictionaries of a stream [`DICTIONARY_BYTES_MAX`].
//! - Whatever the bytes are, the result is batches or an error.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bytes::{Bytes, BytesMut};
use datafusion::arrow::{
    array::{ArrayRef, RecordBatch},
    buffer::Buffer,
    datatypes::SchemaRef,
    error::ArrowError,
    ipc::{
        MessageHeader,
        convert::fb_to_schema,
        reader::{read_dictionary, read_record_batch},
        root_as_message,
    },
};

/// Bytes of the body of a message, at most.
pub const BODY_BYTES_MAX: usize = 64 << 20;

/// Bytes of the metadata of a message, at most.
pub const METADATA_BYTES_MAX: usize = 4 << 20;

/// Bytes of all dictionaries of a stream, at most.
pub const DICTIONARY_BYTES_MAX: usize = 256 << 20;

/// Rows of a batch, and entries of a nested column of it, at most.
const ROWS_MAX: i64 = 1 << 26;

/// What precedes the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// A stream that is being decoded.
#[derive(Debug, Default)]
pub struct ForeignStream {
    schema: Option<SchemaRef>,
    dictionaries: HashMap<i64, ArrayRef>,
    /// Bytes that have come and were not decoded.
    received: BytesMut,
    dictionary_bytes: usize,
    /// The stream has said that it ends.
    has_ended: bool,
}

/// A message that has come as a whole.
enum Next {
    Message { metadata: Bytes, body: Bytes },
    End,
    Incomplete,
}

fn invalid(reason: &str) -> ArrowError {
    ArrowError::IpcError(reason.to_owned())
}

impl ForeignStream {
    /// A stream of which nothing has come.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes of the stream, and returns the batches that they complete.
    ///
    /// # Errors
    /// If the bytes are no Arrow IPC stream, or a message is beyond a limit or compressed. The
    /// stream cannot be used after that.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<RecordBatch>, ArrowError> {
        let mut batches = Vec::new();
        let mut rest = piece;
        // A message is collected, and never more than one beside what has just come.
        loop {
            let wanted = self.wanted()?.saturating_sub(self.received.len());
            let (taken, left) = rest.split_at(wanted.min(rest.len()));
            self.received.extend_from_slice(taken);
            rest = left;
            match self.next()? {
                Next::Message { metadata, body } => batches.extend(self.decode(&metadata, body)?),
                Next::End => return Ok(batches),
                Next::Incomplete if rest.is_empty() => return Ok(batches),
                Next::Incomplete => {}
            }
        }
    }

    /// The schema, once it has come.
    #[must_use]
    pub fn schema(&self) -> Option<SchemaRef> {
        self.schema.clone()
    }

    /// Checks that the stream ends here.
    ///
    /// # Errors
    /// If it ends within a message.
    pub fn finish(&self) -> Result<(), ArrowError> {
        match self.received.is_empty() || self.has_ended {
            true => Ok(()),
            false => Err(invalid("it ends within a message")),
        }
    }

    /// The length of the head of the next message, if it has come: that of what precedes the
    /// metadata, and that of the metadata.
    fn head(&self) -> Result<Option<(usize, usize)>, ArrowError> {
        let (at, bytes) = match self.received.strip_prefix(&CONTINUATION) {
            Some(rest) => (CONTINUATION.len(), rest),
            None => (0, &self.received[..]),
        };
        let Some(length) = bytes.first_chunk() else { return Ok(None) };
        let length = usize::try_from(i32::from_le_bytes(*length));
        let length = length.map_err(|_| invalid("a message has a negative length"))?;
        if length > METADATA_BYTES_MAX {
            return Err(invalid("the metadata of a message are too long"));
        }
        Ok(Some((at + size_of::<i32>(), length)))
    }

    /// Bytes from the start of the next message that are needed to go on.
    fn wanted(&self) -> Result<usize, ArrowError> {
        let Some((head, metadata)) = self.head()? else {
            return Ok(CONTINUATION.len() + size_of::<i32>());
        };
        match self.received.get(head..head + metadata) {
            None => Ok(head + metadata),
            Some(bytes) if metadata > 0 => Ok(head + metadata + self.body_bytes(bytes)?),
            Some(_) => Ok(head),
        }
    }

    /// The length of the body of a message, whose claims are checked.
    fn body_bytes(&self, metadata: &[u8]) -> Result<usize, ArrowError> {
        let message = root_as_message(metadata).map_err(|error| invalid(&error.to_string()))?;
        let length = usize::try_from(message.bodyLength()).unwrap_or(usize::MAX);
        if length > BODY_BYTES_MAX {
            return Err(invalid("the body of a message is too long"));
        }
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => {
                if self.dictionary_bytes.saturating_add(length) > DICTIONARY_BYTES_MAX {
                    return Err(invalid("the dictionaries are too long"));
                }
                message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
            }
            _ => None,
        };
        let Some(batch) = batch else { return Ok(length) };
        if batch.compression().is_some() {
            return Err(invalid("buffers must not be compressed"));
        }
        let mut lengths = batch.nodes().into_iter().flatten().map(|node| node.length());
        if batch.length() > ROWS_MAX || lengths.any(|length| length > ROWS_MAX) {
            return Err(invalid("a batch has too many rows"));
        }
        Ok(length)
    }

    /// Takes the next message, if it has come as a whole.
    fn next(&mut self) -> Result<Next, ArrowError> {
        if self.has_ended {
            self.received.clear();
            return Ok(Next::End);
        }
        let Some((head, metadata)) = self.head()? else { return Ok(Next::Incomplete) };
        if metadata == 0 {
            self.has_ended = true;
            self.received.clear();
            return Ok(Next::End);
        }
        let length = match self.received.get(head..head + metadata) {
            Some(bytes) => head + metadata + self.body_bytes(bytes)?,
            None => return Ok(Next::Incomplete),
        };
        if self.received.len() < length {
            return Ok(Next::Incomplete);
        }
        let mut message = self.received.split_to(length).freeze();
        let body = message.split_off(head + metadata);
        Ok(Next::Message { metadata: message.split_off(head), body })
    }

    /// Decodes one message, which may be a batch.
    fn decode(&mut self, metadata: &[u8], body: Bytes) -> Result<Option<RecordBatch>, ArrowError> {
        let decoded = catch_unwind(AssertUnwindSafe(|| self.decode_message(metadata, body)));
        decoded.map_err(|_| invalid("a message is inconsistent"))?
    }

    fn decode_message(
        &mut self,
        metadata: &[u8],
        body: Bytes,
    ) -> Result<Option<RecordBatch>, ArrowError> {
        let message = root_as_message(metadata).map_err(|error| invalid(&error.to_string()))?;
        let (version, length) = (message.version(), body.len());
        if let Some(schema) = message.header_as_schema() {
            if self.schema.is_some() {
                return Err(invalid("there is a second schema"));
            }
            self.schema = Some(Arc::new(fb_to_schema(schema)));
            return Ok(None);
        }
        let Some(schema) = self.schema.clone() else {
            return Err(invalid("there is a batch before the schema"));
        };
        let body = Buffer::from(body);
        if let Some(batch) = message.header_as_record_batch() {
            let batch = read_record_batch(&body, batch, schema, &self.dictionaries, None, &version);
            return batch.map(Some);
        }
        let Some(dictionary) = message.header_as_dictionary_batch() else {
            return Err(invalid("there is a message of another kind"));
        };
        self.dictionary_bytes = self.dictionary_bytes.saturating_add(length);
        let dictionaries = &mut self.dictionaries;
        read_dictionary(&body, dictionary, &schema, dictionaries, &version).map(|()| None)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::{
        array::{DictionaryArray, Int64Array, NullArray, StringArray},
        datatypes::Int32Type,
        ipc::{
            CompressionType,
            writer::{IpcWriteOptions, StreamWriter},
        },
    };
    use rstest::rstest;

    use super::*;

    fn batch() -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let words: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("c")]));
        let repeated: DictionaryArray<Int32Type> = vec!["x", "y", "x"].into_iter().collect();
        let columns = [("k", numbers), ("word", words), ("kind", Arc::new(repeated) as ArrayRef)];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn encoded(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
        let schema = batches[0].schema();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
        writer.into_inner().unwrap()
    }

    fn read(bytes: &[u8], piece: usize) -> Result<Vec<RecordBatch>, ArrowError> {
        let mut stream = ForeignStream::new();
        let mut batches = Vec::new();
        for piece in bytes.chunks(piece) {
            batches.extend(stream.push(piece)?);
        }
        stream.finish().map(|()| batches)
    }

    #[rstest]
    fn batches_are_those_of_the_writer_however_the_stream_is_cut(
        #[values(1, 7, 64, 1000, usize::MAX)] piece: usize,
    ) {
        let bytes = encoded(&[batch(), batch().slice(0, 0), batch()], IpcWriteOptions::default());
        let found = read(&bytes, piece.min(bytes.len())).unwrap();
        assert_eq!(found, [batch(), batch().slice(0, 0), batch()]);
    }

    #[test]
    fn stream_that_is_cut_off_is_an_error_unless_between_messages() {
        let bytes = encoded(&[batch()], IpcWriteOptions::default());
        let end = bytes.len() - 8;
        assert!(read(&bytes[..end], 100).is_ok());
        for cut in [1, 5, 20, end / 2, end - 1] {
            assert!(read(&bytes[..cut], 100).is_err(), "{cut}");
        }
    }

    #[test]
    fn last_batch_comes_without_an_end_of_the_stream_also_if_it_has_no_bytes() {
        let nothing: ArrayRef = Arc::new(NullArray::new(7));
        let batch = RecordBatch::try_from_iter([("n", nothing)]).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        let mut stream = ForeignStream::new();
        stream.push(&std::mem::take(writer.get_mut())).unwrap();
        assert_eq!(stream.schema(), Some(batch.schema()));
        writer.write(&batch).unwrap();
        assert_eq!(stream.push(writer.get_ref()).unwrap(), [batch]);
    }

    #[test]
    fn compressed_buffers_are_refused_before_they_are_unpacked() {
        let options = IpcWriteOptions::default()
            .try_with_compression(Some(CompressionType::LZ4_FRAME))
            .unwrap();
        let error = read(&encoded(&[batch()], options), 100).unwrap_err();
        assert!(error.to_string().contains("compressed"), "{error}");
    }

    #[test]
    fn batch_of_more_rows_than_the_limit_is_refused() {
        let rows = usize::try_from(ROWS_MAX).unwrap() + 1;
        let nothing: ArrayRef = Arc::new(NullArray::new(rows));
        let batch = RecordBatch::try_from_iter([("n", nothing)]).unwrap();
        let error = read(&encoded(&[batch], IpcWriteOptions::default()), 100).unwrap_err();
        assert!(error.to_string().contains("too many rows"), "{error}");
    }

    #[rstest]
    #[case::negative(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "negative")]
    #[case::long(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], "too long")]
    #[case::text(b"this is no Arrow stream at all", "too long")]
    fn lengths_beyond_the_limits_are_refused(#[case] bytes: &[u8], #[case] reason: &str) {
        let error = read(bytes, 100).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }

    #[test]
    fn no_change_of_a_byte_is_more_than_an_error() {
        let bytes = encoded(&[batch(), batch()], IpcWriteOptions::default());
        for at in 0..bytes.len() {
            for value in [0, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                // Rows or an error, and no panic.
                drop(read(&changed, 64));
            }
        }
    }
}
