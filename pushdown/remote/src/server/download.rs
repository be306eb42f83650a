// SPDX-License-Identifier: Apache-2.0
//! Sends objects: it answers Flight's `DoGet` in the place of the service that is generated for
//! Flight, and hands everything else to that.
//!
//! The messages are the same, byte for byte. But the service that is generated copies each message
//! into a buffer of its own to encode it, and here the bytes of an object are passed to the
//! connection in the memory that they were read into.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll, ready},
};

use arrow_flight::{FlightData, Ticket, flight_service_server::FlightServiceServer};
use bytes::{BufMut, Bytes, BytesMut};
use futures::{StreamExt, stream::BoxStream};
use http_body::Frame;
use http_body_util::Full;
use prost::Message;
use tonic::{
    Request, Status, Streaming,
    body::Body,
    codec::{DecodeBuf, Decoder},
    codegen::{BoxFuture, Service as TowerService, http},
    metadata::MetadataMap,
    server::NamedService,
};

use super::{gate::Admitted, objects::Parts, service::Service};
use crate::{
    protocol::{DATA_BODY_KEY, GET_PATH, MESSAGE_BYTES_MAX, MESSAGE_HEAD_BYTES, objects::Read},
    results,
};

/// The service of Flight, but for reads of objects.
#[derive(Debug, Clone)]
pub(super) struct WithDownloads {
    service: Service,
    others: FlightServiceServer<Service>,
}

impl WithDownloads {
    pub(super) fn new(service: Service) -> Self {
        let others = FlightServiceServer::new(service.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        Self { service, others }
    }
}

impl NamedService for WithDownloads {
    const NAME: &'static str = FlightServiceServer::<Service>::NAME;
}

impl TowerService<http::Request<Body>> for WithDownloads {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        if request.uri().path() != GET_PATH {
            return self.others.call(request);
        }
        let this = self.clone();
        Box::pin(this.answer(request))
    }
}

impl WithDownloads {
    async fn answer(
        mut self,
        request: http::Request<Body>,
    ) -> Result<http::Response<Body>, Infallible> {
        let (head, body) = request.into_parts();
        let ticket = match ticket_of(body).await {
            Ok(ticket) => ticket,
            Err(status) => return Ok(status.into_http()),
        };
        if Read::decode(ticket.ticket.clone()).is_ok_and(|read| read.stream.is_some()) {
            // It asks for no object.
            let body = Body::new(Full::new(message_of(&ticket.encode_to_vec())));
            return self.others.call(http::Request::from_parts(head, body)).await;
        }
        let metadata = MetadataMap::from_headers(head.headers);
        let request = Request::from_parts(metadata, head.extensions, ticket);
        Ok(sent(self.service.download(request).await))
    }
}

fn sent(download: Result<(Parts, Admitted), Status>) -> http::Response<Body> {
    match download.map(|(parts, admitted)| Download::new(parts, admitted)) {
        Ok(download) => {
            let mut response = http::Response::new(Body::new(download));
            let kind = http::HeaderValue::from_static("application/grpc");
            response.headers_mut().insert(http::header::CONTENT_TYPE, kind);
            response
        }
        Err(status) => Status::into_http(status),
    }
}

/// The only message that a request has.
async fn ticket_of(body: Body) -> Result<Ticket, Status> {
    let mut messages = Streaming::new_request(Tickets, body, None, Some(MESSAGE_BYTES_MAX));
    let ticket = messages.message().await?;
    ticket.ok_or_else(|| Status::internal("there was no ticket"))
}

struct Tickets;

impl Decoder for Tickets {
    type Item = Ticket;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<Ticket>, Status> {
        let ticket = Ticket::decode(bytes);
        ticket.map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}

/// The messages of an object as a body, and behind them how it ended.
struct Download {
    parts: BoxStream<'static, Result<Bytes, Status>>,
    /// What is sent before the next part.
    waiting: VecDeque<Bytes>,
    has_ended: bool,
    /// The request runs until the body is dropped.
    _admitted: Admitted,
}

impl Download {
    fn new(parts: Parts, admitted: Admitted) -> Self {
        let Parts { head, bytes } = parts;
        let first = results::schema_message().with_app_metadata(head).encode_to_vec();
        let waiting = VecDeque::from([message_of(&first)]);
        Self { parts: bytes, waiting, has_ended: false, _admitted: admitted }
    }

    /// Takes the pieces of the message that carries a part.
    fn take(&mut self, part: Bytes) -> Result<(), Status> {
        let frame = results::Frame::of(part.len());
        let frame = frame.map_err(|error| Status::internal(error.to_string()))?;
        let fields = FlightData { data_header: frame.header.clone(), ..FlightData::default() };
        let fields = fields.encode_to_vec();
        let mut body = BytesMut::with_capacity(16);
        body.put_slice(&DATA_BODY_KEY);
        prost::encode_length_delimiter(frame.body_bytes(), &mut body)
            .map_err(|error| Status::internal(error.to_string()))?;
        let length = fields.len() + body.len() + frame.body_bytes();
        let around = MESSAGE_HEAD_BYTES + fields.len() + body.len() + frame.before.len();
        let mut before = BytesMut::with_capacity(around);
        put_head(&mut before, length);
        before.put_slice(&fields);
        before.put_slice(&body);
        before.put_slice(&frame.before);
        self.waiting.extend([before.freeze(), part, frame.behind]);
        Ok(())
    }
}

/// A message with what is before it.
fn message_of(bytes: &[u8]) -> Bytes {
    let mut message = BytesMut::with_capacity(MESSAGE_HEAD_BYTES + bytes.len());
    put_head(&mut message, bytes.len());
    message.put_slice(bytes);
    message.freeze()
}

/// What is before each message: that it is not compressed, and its length.
fn put_head(message: &mut BytesMut, length: usize) {
    message.put_u8(0);
    message.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
}

impl http_body::Body for Download {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        loop {
            match self.waiting.pop_front() {
                Some(bytes) if bytes.is_empty() => continue,
                Some(bytes) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                None if self.has_ended => return Poll::Ready(None),
                None => {}
            }
            let taken = match ready!(self.parts.poll_next_unpin(cx)) {
                Some(Ok(part)) => self.take(part),
                Some(Err(status)) => Err(status),
                None => Err(Status::ok("")),
            };
            if let Err(status) = taken {
                self.has_ended = true;
                let mut trailers = http::HeaderMap::new();
                status.add_header(&mut trailers)?;
                return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
            }
        }
    }
}
