// SPDX-License-Identifier: Apache-2.0
//! Receives the messages of objects and results without copying the bytes that they carry.
//!
//! A client that is generated for Flight collects each message in a buffer of its own before it
//! decodes it. Here a message stays in the pieces in which the connection received it, and the
//! bytes that it carries are passed on as parts of these.

use std::{collections::VecDeque, future::poll_fn};

use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use tonic::{
    Status,
    body::Body,
    codegen::{Service, http},
};

use crate::{
    client::transport::Transport,
    protocol::{MESSAGE_BYTES_MAX, MESSAGE_HEAD_BYTES},
    results::{OFFSET_BYTES, place_of},
};

/// Bytes in pieces.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pieces: VecDeque<Bytes>,
    length: usize,
}

/// One message of Flight, as far as it is of interest.
#[derive(Debug, Default)]
pub(super) struct Message {
    header: Bytes,
    pub(super) metadata: Bytes,
    body: Pieces,
}

/// The messages of an answer.
#[derive(Debug)]
pub(super) struct AnswerMessages {
    body: Body,
    received: Pieces,
}

impl Pieces {
    fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.length += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// Takes the first bytes; all if there are fewer.
    fn split(&mut self, length: usize) -> Self {
        let mut taken = Self::default();
        while taken.length < length {
            let Some(mut piece) = self.pieces.pop_front() else { break };
            let rest = piece.split_off(piece.len().min(length - taken.length));
            self.length -= piece.len();
            taken.push(piece);
            if !rest.is_empty() {
                self.pieces.push_front(rest);
            }
        }
        taken
    }

    /// Takes the first piece.
    pub(super) fn pop(&mut self) -> Option<Bytes> {
        let piece = self.pieces.pop_front()?;
        self.length -= piece.len();
        Some(piece)
    }

    /// Number of bytes.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Bytes from an offset on; zeros behind the end.
    fn array_at<const N: usize>(&self, mut offset: usize) -> [u8; N] {
        let mut bytes = [0; N];
        let mut filled = 0;
        for piece in &self.pieces {
            let found = piece.get(offset..).unwrap_or_default();
            offset = offset.saturating_sub(piece.len());
            let count = found.len().min(N - filled);
            bytes[filled..filled + count].copy_from_slice(&found[..count]);
            filled += count;
            if filled == N {
                break;
            }
        }
        bytes
    }
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.length
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |piece| piece)
    }

    fn advance(&mut self, count: usize) {
        drop(self.split(count));
    }
}

impl AnswerMessages {
    /// Calls a method of Flight with a body of messages.
    pub(super) async fn open(
        mut transport: Transport,
        path: &'static str,
        body: Body,
    ) -> Result<Self, Status> {
        let request = http::Request::post(path)
            .version(http::Version::HTTP_2)
            .header(http::header::TE, "trailers")
            .header(http::header::CONTENT_TYPE, "application/grpc")
            .body(body);
        let request = request.map_err(|error| Status::internal(error.to_string()))?;
        let failed = |error: tonic::transport::Error| Status::from_error(error.into());
        let ready = poll_fn(|cx| Service::<http::Request<Body>>::poll_ready(&mut transport, cx));
        ready.await.map_err(failed)?;
        let (head, body) = transport.call(request).await.map_err(failed)?.into_parts();
        if let Some(status) = Status::from_header_map(&head.headers) {
            return Err(status);
        }
        if head.status != http::StatusCode::OK {
            return Err(Status::unavailable(format!("the answer has status {}", head.status)));
        }
        Ok(Self { body: Body::new(body), received: Pieces::default() })
    }

    /// The next message; none after the last.
    pub(super) async fn message(&mut self) -> Result<Option<Message>, Status> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            let Some(frame) = self.body.frame().await else {
                return Err(Status::unavailable("the answer was cut off"));
            };
            let trailers = match frame?.into_data() {
                Ok(bytes) => {
                    self.received.push(bytes);
                    continue;
                }
                Err(other) => other.into_trailers().unwrap_or_default(),
            };
            return match Status::from_header_map(&trailers) {
                Some(status) if status.code() != tonic::Code::Ok => Err(status),
                Some(_) if self.received.len() == 0 => Ok(None),
                _ => Err(Status::internal("the answer ends within a message")),
            };
        }
    }

    /// Takes a message, if it has come as a whole.
    fn take(&mut self) -> Result<Option<Message>, Status> {
        if self.received.len() < MESSAGE_HEAD_BYTES {
            return Ok(None);
        }
        let [compressed, length @ ..] = self.received.array_at::<MESSAGE_HEAD_BYTES>(0);
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if compressed != 0 {
            return Err(Status::internal("messages are not compressed"));
        }
        if length > MESSAGE_BYTES_MAX {
            let text = format!("a message of {length} bytes, the limit is {MESSAGE_BYTES_MAX}");
            return Err(Status::internal(text));
        }
        if self.received.len() < MESSAGE_HEAD_BYTES + length {
            return Ok(None);
        }
        self.received.advance(MESSAGE_HEAD_BYTES);
        Message::of(self.received.split(length))
            .map(Some)
            .ok_or_else(|| Status::internal("a message cannot be read"))
    }
}

impl Message {
    /// Reads the fields of a message.
    fn of(mut message: Pieces) -> Option<Self> {
        let mut fields = Self::default();
        while message.has_remaining() {
            let key = prost::decode_length_delimiter(&mut message).ok()?;
            let length = match key & 7 {
                0 => {
                    prost::decode_length_delimiter(&mut message).ok()?;
                    continue;
                }
                1 => 8,
                2 => prost::decode_length_delimiter(&mut message).ok()?,
                5 => 4,
                _ => return None,
            };
            if length > message.len() {
                return None;
            }
            let mut field = message.split(length);
            match key >> 3 {
                2 => fields.header = field.copy_to_bytes(length),
                3 => fields.metadata = field.copy_to_bytes(length),
                1000 => fields.body = field,
                _ => {}
            }
        }
        Some(fields)
    }

    /// Whether the message carries bytes, or says that there are none.
    pub(super) fn has_values(&self) -> bool {
        !self.header.is_empty()
    }

    /// The bytes that the message carries.
    pub(super) fn values(mut self) -> Result<Pieces, arrow_schema::ArrowError> {
        if !self.has_values() {
            return Ok(Pieces::default());
        }
        let offset_at = |at: usize| self.body.array_at::<OFFSET_BYTES>(at);
        let place = place_of(&self.header, self.body.len(), offset_at)?;
        self.body.advance(place.start);
        Ok(self.body.split(place.len()))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        pin::Pin,
        task::{Context, Poll},
    };

    use arrow_flight::{FlightData, FlightDescriptor};
    use http_body::Frame;
    use proptest::prelude::*;
    use prost::Message as _;
    use rstest::rstest;
    use tonic::Code;

    use super::*;
    use crate::results;

    /// A body of these frames.
    struct Frames(VecDeque<Frame<Bytes>>);

    impl http_body::Body for Frames {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(Ok))
        }
    }

    /// The end of an answer.
    fn ended(code: Code) -> Frame<Bytes> {
        let mut trailers = http::HeaderMap::new();
        Status::new(code, "so it ended").add_header(&mut trailers).unwrap();
        Frame::trailers(trailers)
    }

    fn answer(bytes: &[u8], sizes: &[usize], end: Option<Frame<Bytes>>) -> AnswerMessages {
        let mut bytes = Bytes::copy_from_slice(bytes);
        let mut frames = VecDeque::new();
        for size in sizes.iter().cycle() {
            frames.push_back(Frame::data(bytes.split_to(bytes.len().min(*size))));
            if bytes.is_empty() {
                break;
            }
        }
        frames.extend(end);
        AnswerMessages { body: Body::new(Frames(frames)), received: Pieces::default() }
    }

    fn encoded(messages: &[FlightData]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for message in messages {
            bytes.push(0);
            bytes.extend_from_slice(&u32::try_from(message.encoded_len()).unwrap().to_be_bytes());
            message.encode(&mut bytes).unwrap();
        }
        bytes
    }

    /// All bytes that come, and how it ended.
    fn read(mut answer: AnswerMessages) -> (Vec<u8>, Vec<u8>, Result<(), Status>) {
        let (mut metadata, mut bytes) = (Vec::new(), Vec::new());
        let ended = futures::executor::block_on(async {
            while let Some(message) = answer.message().await? {
                metadata.extend_from_slice(&message.metadata);
                let mut values = message.values().unwrap();
                while let Some(piece) = values.pop() {
                    bytes.extend_from_slice(&piece);
                }
            }
            Ok(())
        });
        (metadata, bytes, ended)
    }

    proptest! {
        #[test]
        fn messages_are_read_however_they_are_cut(
            lengths in prop::collection::vec(0..300_usize, 0..6),
            sizes in prop::collection::vec(1..400_usize, 1..8),
        ) {
            let parts: Vec<Vec<u8>> =
                (7..).zip(&lengths).map(|(at, length)| vec![at; *length]).collect();
            let mut messages = vec![results::schema_message().with_app_metadata(b"head".to_vec())];
            messages[0].data_header = Bytes::new();
            messages.extend(parts.iter().map(|part| results::part(part).unwrap()));
            let (metadata, bytes, end) =
                read(answer(&encoded(&messages), &sizes, Some(ended(Code::Ok))));
            prop_assert!(end.is_ok());
            prop_assert_eq!(metadata, b"head");
            prop_assert_eq!(bytes, parts.concat());
        }
    }

    #[test]
    fn bytes_are_parts_of_what_was_received() {
        let sent = encoded(&[results::part(&[9; 1000]).unwrap()]);
        let mut messages = answer(&sent, &[sent.len()], Some(ended(Code::Ok)));
        futures::executor::block_on(async {
            let message = messages.message().await.unwrap().unwrap();
            let all = message.body.pieces[0].as_ptr_range();
            let piece = message.values().unwrap().pop().unwrap();
            assert_eq!(piece.len(), 1000);
            assert!(all.contains(&piece.as_ptr()));
        });
    }

    #[test]
    fn fields_that_are_not_known_are_skipped() {
        let descriptor = FlightDescriptor::new_cmd("nothing");
        let message = results::part(b"bytes").unwrap().with_descriptor(descriptor);
        let mut fields = message.encode_to_vec();
        // Field 99 of each kind: a number, 8 bytes, 3 bytes, 4 bytes.
        fields.extend_from_slice(&[0x98, 0x06, 0xff, 0x01, 0x99, 0x06, 0, 0, 0, 0, 0, 0, 0, 0]);
        fields.extend_from_slice(&[0x9a, 0x06, 3, b'n', b'e', b'w', 0x9d, 0x06, 0, 0, 0, 0]);
        let mut sent = vec![0];
        sent.extend_from_slice(&u32::try_from(fields.len()).unwrap().to_be_bytes());
        sent.extend_from_slice(&fields);
        let (_, bytes, end) = read(answer(&sent, &[7], Some(ended(Code::Ok))));
        assert!(end.is_ok());
        assert_eq!(bytes, b"bytes");
    }

    #[rstest]
    #[case::compressed(&[1, 0, 0, 0, 0], Code::Internal)]
    #[case::too_long(&[0, 0x7f, 0, 0, 0], Code::Internal)]
    #[case::field_behind_the_end(&[0, 0, 0, 0, 3, 0x12, 9, 1], Code::Internal)]
    #[case::group(&[0, 0, 0, 0, 1, 0x0b], Code::Internal)]
    #[case::within_a_message(&[0, 0, 0, 0, 9, 1], Code::Internal)]
    fn message_that_cannot_be_read_is_an_error(#[case] sent: &[u8], #[case] code: Code) {
        let (_, _, end) = read(answer(sent, &[3], Some(ended(Code::Ok))));
        assert_eq!(end.unwrap_err().code(), code);
    }

    #[test]
    fn end_of_an_answer_is_that_of_its_status() {
        let sent = encoded(&[results::part(b"bytes").unwrap()]);
        let (_, bytes, end) = read(answer(&sent, &[64], Some(ended(Code::Aborted))));
        let status = end.unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::Aborted, "so it ended"));
        assert_eq!(bytes, b"bytes");
        let (_, _, end) = read(answer(&sent, &[64], None));
        assert_eq!(end.unwrap_err().code(), Code::Unavailable);
    }
}
