// SPDX-License-Identifier: Apache-2.0
//! Implements [`Outgoing`], a message to a client in the pieces that it is sent in: the bytes that
//! it carries stay in the memory that they are in.

use arrow_flight::FlightData;
use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use tonic::Status;

use crate::{
    framing::{framed, put_head},
    protocol::{DATA_BODY_KEY, MESSAGE_HEAD_BYTES},
    results,
};

/// A message to a client.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Its fields, without the bytes that it carries.
    fields: FlightData,
    /// A part of a result or of an object, if it carries one.
    part: Option<Bytes>,
}

impl From<FlightData> for Outgoing {
    fn from(fields: FlightData) -> Self {
        Self { fields, part: None }
    }
}

impl Outgoing {
    /// A message that carries a part of a result or of an object.
    pub(super) fn carrying(part: Bytes, metadata: Bytes) -> Self {
        let fields = FlightData { app_metadata: metadata, ..FlightData::default() };
        Self { fields, part: Some(part) }
    }

    /// The pieces that it is sent in.
    pub(super) fn into_pieces(self) -> Result<[Bytes; 3], Status> {
        let Self { mut fields, part } = self;
        let Some(part) = part else { return Ok([framed(&fields), Bytes::new(), Bytes::new()]) };
        let frame = results::Frame::of(part.len());
        let frame = frame.map_err(|error| Status::internal(error.to_string()))?;
        fields.data_header = frame.header.clone();
        let body_bytes = prost::length_delimiter_len(frame.body_bytes());
        let fields = fields.encode_to_vec();
        let before = fields.len() + DATA_BODY_KEY.len() + body_bytes;
        let mut pieces = BytesMut::with_capacity(MESSAGE_HEAD_BYTES + before + frame.before.len());
        put_head(&mut pieces, before + frame.body_bytes());
        pieces.put_slice(&fields);
        pieces.put_slice(&DATA_BODY_KEY);
        prost::encode_length_delimiter(frame.body_bytes(), &mut pieces)
            .map_err(|error| Status::internal(error.to_string()))?;
        pieces.put_slice(&frame.before);
        Ok([pieces.freeze(), part, frame.behind])
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, "")]
    #[case(1, "metadata")]
    #[case(64, "")]
    #[case(results::PART_BYTES_MAX, "metadata")]
    fn message_that_carries_a_part_is_encoded_as_flight_does_it(
        #[case] length: usize,
        #[case] metadata: &'static str,
    ) {
        let part = Bytes::from(vec![7; length]);
        let copied = results::part(&part).unwrap().with_app_metadata(metadata);
        let pieces = Outgoing::carrying(part.clone(), metadata.into()).into_pieces().unwrap();
        assert!(pieces.concat() == framed(&copied));
        assert_eq!(pieces[1].as_ptr(), part.as_ptr());
    }

    #[test]
    fn message_without_a_part_is_encoded_as_flight_does_it() {
        let fields = results::schema_message().with_app_metadata("metadata");
        let pieces = Outgoing::from(fields.clone()).into_pieces().unwrap();
        assert_eq!(pieces.concat(), framed(&fields));
    }
}
