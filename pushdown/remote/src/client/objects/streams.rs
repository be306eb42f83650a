// SPDX-License-Identifier: Apache-2.0
//! Reads and writes the bytes of objects as streams.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use arrow_flight::{FlightData, FlightDescriptor, Ticket};
use bytes::Bytes;
use http_body_util::Full;
use nearscan_drive::clock::Stopwatch;
use nearscan_store::{Condition, ObjectInfo, ObjectPath};
use prost::Message;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, body::Body};

use super::{ObjectError, Objects, Result, http1::Http1Reading, info_of};
use crate::{
    client::{
        Shared,
        answer::{AnswerMessages, Pieces},
        connection::{Connection, NoAnswer},
    },
    convert::objects::expected_of,
    framing::framed,
    protocol::{
        GET_PATH, PUT,
        objects::{self as messages, Finish, ObjectInfo as InfoMessage, ObjectName, Put, Read},
    },
    results::{self, PART_BYTES_MAX},
};

/// Parts that wait for the connection.
const WAITING_PARTS: usize = 4;

/// The bytes of an object on their way.
#[derive(Debug)]
pub struct Reading {
    info: ObjectInfo,
    connection: Arc<Connection>,
    source: Source,
    /// The first byte, if they are of one range.
    start: u64,
    /// Bytes that have not come.
    missing: u64,
    /// Told how long all of them took.
    shared: Arc<Shared>,
    length: u64,
    watch: Stopwatch,
}

/// Where bytes come from.
#[derive(Debug)]
enum Source {
    Flight {
        messages: AnswerMessages,
        /// What has come of a message and was not taken.
        pieces: Pieces,
    },
    Http1(Http1Reading),
}

impl Source {
    async fn open(
        connection: &Connection,
        read: &Read,
    ) -> std::result::Result<(InfoMessage, Self), Status> {
        if let Some(connections) = connection.http1()
            && let Some((info, reading)) = connections.read(read).await?
        {
            return Ok((info, Self::Http1(reading)));
        }
        Self::open_flight(connection, read).await
    }

    async fn open_flight(
        connection: &Connection,
        read: &Read,
    ) -> std::result::Result<(InfoMessage, Self), Status> {
        let ticket = Ticket { ticket: read.encode_to_vec().into() };
        let body = Body::new(Full::new(framed(&ticket)));
        let mut messages = AnswerMessages::open(connection.transport(), GET_PATH, body).await?;
        let first = messages.message().await?;
        let first = first.ok_or_else(|| Status::internal("there was no answer"))?;
        let info = InfoMessage::decode(first.metadata);
        let info = info.map_err(|error| Status::internal(error.to_string()))?;
        Ok((info, Self::Flight { messages, pieces: Pieces::default() }))
    }

    /// The next bytes; none after the last.
    async fn next(&mut self) -> std::result::Result<Option<Bytes>, Status> {
        match self {
            Self::Http1(reading) => reading.next().await,
            Self::Flight { messages, pieces } => loop {
                if let Some(piece) = pieces.pop() {
                    return Ok(Some(piece));
                }
                let Some(message) = messages.message().await? else { return Ok(None) };
                let values = message.values();
                *pieces = values.map_err(|error| Status::internal(error.to_string()))?;
            },
        }
    }
}

/// An object on its way to the server. It is there once [`ObjectUpload::finish`] says so; dropped
/// before that, it is not.
#[derive(Debug)]
pub struct ObjectUpload {
    outgoing: mpsc::Sender<FlightData>,
    answer: JoinHandle<Result<ObjectInfo>>,
    /// Why the server has refused the object, once that is known.
    refused: Option<ObjectError>,
    /// Bytes that were sent.
    length: u64,
}

impl Objects {
    /// Begins to read ranges of an object, or all of it if there are none. The bytes of each range
    /// follow those of the one before.
    ///
    /// # Errors
    /// `NotFound`, `Conflict` if it has another version than is demanded, `Range` behind its end,
    /// or what keeps the server from answering.
    pub async fn read(
        &self,
        path: &ObjectPath,
        version: Option<u64>,
        ranges: &[Range<u64>],
    ) -> Result<Reading> {
        let of = |range: &Range<u64>| messages::Range { start: range.start, end: range.end };
        let ranges: Vec<_> = ranges.iter().map(of).collect();
        let lengths = ranges.iter().map(|range| range.end.saturating_sub(range.start));
        let all = lengths.fold(0, u64::saturating_add);
        let is_whole = ranges.is_empty();
        let start = ranges.first().map_or(0, |range| range.start);
        let read = Read { name: ObjectName::from(path), version, ranges, stream: None };
        let connection = self.connection()?;
        let watch = Stopwatch::start();
        let (info, source) = connection.unless_lost(Source::open(&connection, &read)).await?;
        let info = info_of(info)?;
        let missing = if is_whole { info.length } else { all };
        let (shared, length) = (Arc::clone(&self.shared), missing);
        if let Source::Http1(reading) = &source
            && reading.missing() != missing
        {
            return Err(ObjectError::nonsense(&"the answer has another length than was asked for"));
        }
        Ok(Reading { info, connection, source, start, missing, shared, length, watch })
    }

    /// Begins to write an object as a whole. Its collection is made if there is none.
    ///
    /// # Errors
    /// If there is no connection; what the server says comes with [`ObjectUpload::finish`].
    pub fn upload(
        &self,
        path: &ObjectPath,
        condition: Condition,
        attributes: BTreeMap<String, Vec<u8>>,
    ) -> Result<ObjectUpload> {
        let (name, expected) = (ObjectName::from(path), expected_of(condition));
        let put = Put { name, expected, makes_collection: true, attributes };
        let connection = self.connection()?;
        let (outgoing, messages) = mpsc::channel(WAITING_PARTS);
        let first = FlightData::new()
            .with_descriptor(FlightDescriptor::new_cmd(PUT))
            .with_app_metadata(put.encode_to_vec());
        drop(outgoing.try_send(first));
        let mut flight = connection.flight();
        let answer = tokio::spawn(async move {
            let request = async {
                let mut answers = flight.do_put(ReceiverStream::new(messages)).await?.into_inner();
                let answer = answers.message().await?;
                answer.ok_or_else(|| Status::internal("there was no answer"))
            };
            let answer = connection.unless_lost(request).await?;
            let info = InfoMessage::decode(answer.app_metadata);
            info_of(info.map_err(|error| ObjectError::nonsense(&error))?)
        });
        Ok(ObjectUpload { outgoing, answer, refused: None, length: 0 })
    }

    /// Writes an object as a whole.
    ///
    /// # Errors
    /// Those of [`ObjectUpload::finish`].
    pub async fn put(
        &self,
        path: &ObjectPath,
        bytes: Bytes,
        condition: Condition,
    ) -> Result<ObjectInfo> {
        let mut upload = self.upload(path, condition, BTreeMap::new())?;
        upload.send(bytes).await?;
        upload.finish().await
    }
}

impl Reading {
    /// The object.
    #[must_use]
    pub fn info(&self) -> &ObjectInfo {
        &self.info
    }

    /// The next bytes; none after the last.
    ///
    /// # Errors
    /// If the connection is lost, or the server cannot read.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        let bytes = match self.connection.unless_lost(self.source.next()).await {
            Err(NoAnswer::Status(status))
                if status.code() == Code::Unavailable
                    && matches!(self.source, Source::Http1(_)) =>
            {
                self.go_on_by_flight().await?;
                self.connection.unless_lost(self.source.next()).await?
            }
            bytes => bytes?,
        };
        let Some(bytes) = bytes else {
            return match self.missing {
                0 => Ok(None),
                missing => Err(ObjectError::nonsense(&format!("{missing} bytes are missing"))),
            };
        };
        let length = bytes.len() as u64;
        if length > self.missing {
            return Err(ObjectError::nonsense(&"there are more bytes than were asked for"));
        }
        self.missing -= length;
        if self.missing == 0 {
            self.shared.meter.observe(self.length, self.watch.elapsed());
        }
        Ok(Some(bytes))
    }
}

impl Reading {
    /// Asks for the bytes that have not come over the connection whose keep-alive watches the
    /// server. They are of one range, since others are not read over HTTP/1.1.
    async fn go_on_by_flight(&mut self) -> Result<()> {
        let start = self.start + (self.length - self.missing);
        let range = messages::Range { start, end: start + self.missing };
        let (name, version) = (ObjectName::from(&self.info.path), Some(self.info.version));
        let read = Read { name, version, ranges: vec![range], stream: None };
        let opening = Source::open_flight(&self.connection, &read);
        (_, self.source) = self.connection.unless_lost(opening).await?;
        Ok(())
    }
}

impl ObjectUpload {
    /// Sends the next bytes.
    ///
    /// # Errors
    /// What the server says if it has refused the object.
    pub async fn send(&mut self, mut bytes: Bytes) -> Result<()> {
        while !bytes.is_empty() {
            let part = bytes.split_to(bytes.len().min(PART_BYTES_MAX));
            self.length += part.len() as u64;
            let message = results::part(&part).map_err(|error| ObjectError::nonsense(&error))?;
            if self.outgoing.send(message).await.is_err() {
                return Err(self.refusal().await);
            }
        }
        Ok(())
    }

    /// Puts the object in its place.
    ///
    /// # Errors
    /// `Conflict` or `Exists` if the condition does not hold, `Exhausted` beyond a quota, or what
    /// keeps the server from answering.
    pub async fn finish(mut self) -> Result<ObjectInfo> {
        let finish = Finish { length: Some(self.length) };
        let last = FlightData::new().with_app_metadata(finish.encode_to_vec());
        if self.outgoing.send(last).await.is_err() {
            return Err(self.refusal().await);
        }
        drop(self.outgoing);
        self.answer.await.unwrap_or_else(|error| Err(ObjectError::nonsense(&error)))
    }

    /// What the server has said although it was not told the end.
    async fn refusal(&mut self) -> ObjectError {
        if let Some(refused) = &self.refused {
            return refused.clone();
        }
        let refused = match (&mut self.answer).await {
            Ok(Err(error)) => error,
            Ok(Ok(_)) => ObjectError::nonsense(&"the object was put before its end"),
            Err(error) => ObjectError::nonsense(&error),
        };
        self.refused.insert(refused).clone()
    }
}
