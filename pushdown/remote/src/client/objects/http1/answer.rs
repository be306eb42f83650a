// SPDX-License-Identifier: Apache-2.0
//! Reads the head of an answer over HTTP/1.1.

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;
use tonic::{
    Code, Status,
    codegen::http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_LENGTH},
};

use crate::protocol::{
    http1::{DESCRIPTION, HEAD_BYTES_MAX, HEADERS_MAX, bytes_of},
    objects::ObjectInfo,
};

/// What a connection has answered.
#[derive(Debug)]
pub(crate) enum Answer {
    Bytes {
        info: ObjectInfo,
        length: u64,
        first: Bytes,
    },
    Refused {
        status: Status,
        /// Nothing else belongs to the answer, so another one may follow.
        is_all: bool,
    },
    /// It was closed before it answered.
    Closed,
    /// Something that is no answer to such a request.
    Unknown,
}

/// The answer that begins with the head that was received; none if more of it is to come.
pub(crate) fn read_head(received: &mut BytesMut) -> Option<Answer> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(received) {
        Ok(httparse::Status::Complete(length)) => {
            let Some(mut answer) = answer_of(&response) else { return Some(Answer::Unknown) };
            received.advance(length);
            match &mut answer {
                Answer::Bytes { first, .. } => *first = std::mem::take(received).freeze(),
                Answer::Refused { is_all, .. } => *is_all &= received.is_empty(),
                Answer::Closed | Answer::Unknown => {}
            }
            Some(answer)
        }
        Ok(httparse::Status::Partial) if received.len() < HEAD_BYTES_MAX => None,
        Ok(httparse::Status::Partial) | Err(_) => Some(Answer::Unknown),
    }
}

/// The answer that a head begins.
fn answer_of(response: &httparse::Response<'_, '_>) -> Option<Answer> {
    let mut headers = HeaderMap::new();
    for header in response.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        headers.insert(name, HeaderValue::from_bytes(header.value).ok()?);
    }
    if let Some(status) = Status::from_header_map(&headers) {
        let is_all = headers.get(CONTENT_LENGTH).is_some_and(|length| length == "0");
        return (status.code() != Code::Ok).then_some(Answer::Refused { status, is_all });
    }
    let description = bytes_of(headers.get(DESCRIPTION)?.as_bytes());
    let info = ObjectInfo::decode(description.as_slice()).ok()?;
    let length = headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()?;
    matches!(response.code, Some(200 | 206)).then_some(Answer::Bytes {
        info,
        length,
        first: Bytes::new(),
    })
}
