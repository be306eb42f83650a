// SPDX-License-Identifier: Apache-2.0
//! Sends objects and results: it answers Flight's `DoGet` and `DoExchange` in the place of the
//! service that is generated for Flight, and hands everything else to that.
//!
//! The messages are the same, byte for byte. But the service that is generated copies each message
//! into a buffer of its own to encode it, and here the bytes of an object or a result are passed to
//! the connection in the memory that they are in.

use std::{
    collections::VecDeque,
    convert::Infallible,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
};

use arrow_flight::{Ticket, flight_service_server::FlightServiceServer};
use bytes::Bytes;
use futures::{StreamExt, stream};
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

use super::{calls::Answers, gate::Admitted, objects::Parts, outgoing::Outgoing, service::Service};
use crate::{
    framing::framed,
    protocol::{EXCHANGE_PATH, GET_PATH, MESSAGE_BYTES_MAX, objects::Read},
    results,
};

/// The service of Flight, whose answers carry bytes that are not copied.
#[derive(Debug, Clone)]
pub(super) struct Uncopied {
    service: Service,
    others: FlightServiceServer<Service>,
}

impl Uncopied {
    pub(super) fn new(service: Service) -> Self {
        let others = FlightServiceServer::new(service.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        Self { service, others }
    }
}

impl NamedService for Uncopied {
    const NAME: &'static str = FlightServiceServer::<Service>::NAME;
}

impl TowerService<http::Request<Body>> for Uncopied {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        match request.uri().path() {
            GET_PATH => Box::pin(self.clone().get(request)),
            EXCHANGE_PATH => Box::pin(self.clone().exchange(request)),
            _ => self.others.call(request),
        }
    }
}

impl Uncopied {
    async fn get(
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
            let body = Body::new(Full::new(framed(&ticket)));
            return self.others.call(http::Request::from_parts(head, body)).await;
        }
        let downloaded = self.service.download(request_of(head, ticket)).await;
        Ok(sent(downloaded.map(|(parts, admitted)| messages_of(parts, admitted))))
    }

    async fn exchange(
        self,
        request: http::Request<Body>,
    ) -> Result<http::Response<Body>, Infallible> {
        let (head, body) = request.into_parts();
        let incoming = Streaming::new_request(Decodes::of(), body, None, Some(MESSAGE_BYTES_MAX));
        Ok(sent(self.service.exchange(request_of(head, incoming)).await))
    }
}

/// A request as the service takes it.
fn request_of<T>(head: http::request::Parts, message: T) -> Request<T> {
    Request::from_parts(MetadataMap::from_headers(head.headers), head.extensions, message)
}

/// The messages of an object.
fn messages_of(parts: Parts, admitted: Admitted) -> Answers<Outgoing> {
    let Parts { head, bytes } = parts;
    let first = results::schema_message().with_app_metadata(head);
    let parts = bytes.map(|part| part.map(|part| Outgoing::carrying(part, Bytes::new())));
    let messages = stream::iter([Ok(first.into())]).chain(parts);
    messages.map(move |message| admitted.holds(message)).boxed()
}

fn sent(messages: Result<Answers<Outgoing>, Status>) -> http::Response<Body> {
    match messages {
        Ok(messages) => {
            let answer = Answer { messages, waiting: VecDeque::new(), has_ended: false };
            let mut response = http::Response::new(Body::new(answer));
            let kind = http::HeaderValue::from_static("application/grpc");
            response.headers_mut().insert(http::header::CONTENT_TYPE, kind);
            response
        }
        Err(status) => Status::into_http(status),
    }
}

/// The only message that a request has.
async fn ticket_of(body: Body) -> Result<Ticket, Status> {
    let mut messages = Streaming::new_request(Decodes::of(), body, None, Some(MESSAGE_BYTES_MAX));
    let ticket = messages.message().await?;
    ticket.ok_or_else(|| Status::internal("there was no ticket"))
}

/// Decodes messages of one type.
struct Decodes<T>(PhantomData<fn() -> T>);

impl<T> Decodes<T> {
    fn of() -> Self {
        Self(PhantomData)
    }
}

impl<T: Message + Default> Decoder for Decodes<T> {
    type Item = T;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<T>, Status> {
        T::decode(bytes).map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}

/// Messages as a body, and behind them how it ended.
struct Answer {
    messages: Answers<Outgoing>,
    /// What is sent before the next message.
    waiting: VecDeque<Bytes>,
    has_ended: bool,
}

impl http_body::Body for Answer {
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
            let message = match ready!(self.messages.poll_next_unpin(cx)) {
                Some(message) => message.and_then(Outgoing::into_pieces),
                None => Err(Status::ok("")),
            };
            match message {
                Ok(pieces) => self.waiting.extend(pieces),
                Err(status) => {
                    self.has_ended = true;
                    let mut trailers = http::HeaderMap::new();
                    status.add_header(&mut trailers)?;
                    return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                }
            }
        }
    }
}
