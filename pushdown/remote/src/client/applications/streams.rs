// SPDX-License-Identifier: Apache-2.0
//! Installs and calls applications, and reads their tables and notices, by streams.

use std::{iter, sync::Arc};

use arrow_flight::{FlightData, FlightDescriptor, Ticket};
use bytes::Bytes;
use futures::{Stream as Messages, stream};
use prost::Message;
use tonic::{Status, Streaming};

use super::{ApplicationError, RemoteApplications, Result};
use crate::{
    applications::{Application, Package, Replace, Watched},
    client::connection::Connection,
    convert::applications::watched,
    protocol::{
        applications::{
            Answered, Application as ApplicationMessage, BODY_BYTES_MAX, Call, INSTALL, Install,
            Noticed, RUN, Run, Stream, Watch,
        },
        objects::{Finish, Read},
    },
    results::{self, values},
};

/// The table of an application on its way. Dropped before its end, it ends the call.
#[derive(Debug)]
pub struct TableReading {
    connection: Arc<Connection>,
    incoming: Streaming<FlightData>,
}

/// Notices on their way.
#[derive(Debug)]
pub struct Watching {
    connection: Arc<Connection>,
    incoming: Streaming<FlightData>,
}

impl RemoteApplications {
    /// Installs an application: it is there as a whole or not at all.
    ///
    /// # Errors
    /// `Invalid` if the package is not as it has to be, `TooLarge`, `Exists`, or what keeps the
    /// server from answering.
    pub async fn install(&self, package: Package, replace: Replace) -> Result<Application> {
        let Package { manifest, component, signature } = package;
        let install = Install {
            manifest,
            signature: signature.map(Vec::from),
            replaces: replace == Replace::Same,
            length: component.len() as u64,
        };
        let connection = self.connection()?;
        let mut flight = connection.flight();
        let messages = whole(INSTALL, &install, component);
        let request = async move {
            let mut answers = flight.do_put(messages).await?.into_inner();
            answers.message().await?.ok_or_else(unanswered)
        };
        let answer = connection.unless_lost(request).await?;
        let installed = ApplicationMessage::decode(answer.app_metadata);
        Ok(installed.map_err(|error| ApplicationError::nonsense(&error))?.into())
    }

    /// Calls an application with arguments and a body, of at most 64 MiB together. If the future is
    /// dropped, the call is stopped.
    ///
    /// # Errors
    /// `NotFound`, `NotStarted`, `Invalid` if it takes no requests, `Failed` with its words,
    /// `Fault`, `TooLarge`, `Busy`, or what keeps the server from answering.
    pub async fn run(&self, name: &str, arguments: &[String], body: Bytes) -> Result<Vec<u8>> {
        let (name, length) = (name.to_owned(), body.len() as u64);
        let run = Run { name, arguments: arguments.to_vec(), length };
        let connection = self.connection()?;
        let mut flight = connection.flight();
        let messages = whole(RUN, &run, body);
        let request = async move {
            let mut answers = flight.do_exchange(messages).await?.into_inner();
            let head = answers.message().await?.ok_or_else(unanswered)?;
            Ok((head, answers))
        };
        let (head, mut answers) = connection.unless_lost(request).await?;
        let answered = Answered::decode(head.app_metadata);
        let answered = answered.map_err(|error| ApplicationError::nonsense(&error))?;
        let length = answered.length.filter(|length| *length <= BODY_BYTES_MAX);
        let length = length.and_then(|length| usize::try_from(length).ok());
        let missing = || ApplicationError::nonsense(&"the length of the answer");
        let length = length.ok_or_else(missing)?;
        let mut answer = Vec::with_capacity(length);
        while let Some(message) = connection.unless_lost(answers.message()).await? {
            let part = values(&message).map_err(|error| ApplicationError::nonsense(&error))?;
            if answer.len() + part.len() > length {
                return Err(ApplicationError::nonsense(&"there is more than was announced"));
            }
            answer.extend_from_slice(&part);
        }
        match answer.len() == length {
            true => Ok(answer),
            false => Err(ApplicationError::nonsense(&"there is less than was announced")),
        }
    }

    /// Begins to read the table of an application. What is wrong with the call comes with
    /// [`TableReading::next`].
    ///
    /// # Errors
    /// What keeps the server from answering.
    pub async fn table(&self, name: &str, arguments: &[String]) -> Result<TableReading> {
        let call = Call { name: name.to_owned(), arguments: arguments.to_vec() };
        let (connection, incoming) = self.get(Stream::Table(call)).await?;
        Ok(TableReading { connection, incoming })
    }

    /// Watches what the applications do: the notices behind a number that are still kept, then
    /// those to come. 0 stands for all.
    ///
    /// # Errors
    /// What keeps the server from answering.
    pub async fn watch(&self, after: u64) -> Result<Watching> {
        let (connection, incoming) = self.get(Stream::Watch(Watch { after })).await?;
        Ok(Watching { connection, incoming })
    }

    async fn get(&self, stream: Stream) -> Result<(Arc<Connection>, Streaming<FlightData>)> {
        let read = Read { stream: Some(stream), ..Read::default() };
        let connection = self.connection()?;
        let mut flight = connection.flight();
        let ticket = Ticket { ticket: read.encode_to_vec().into() };
        let begun = async move {
            let mut incoming = flight.do_get(ticket).await?.into_inner();
            // The schema.
            incoming.message().await?.ok_or_else(unanswered)?;
            Ok(incoming)
        };
        let incoming = connection.unless_lost(begun).await?;
        Ok((connection, incoming))
    }
}

impl TableReading {
    /// The next bytes of an Arrow IPC stream; none after the last. The bytes are an application's:
    /// anything can be in them.
    ///
    /// # Errors
    /// Those of [`RemoteApplications::run`].
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        while let Some(message) = self.connection.unless_lost(self.incoming.message()).await? {
            let part = values(&message).map_err(|error| ApplicationError::nonsense(&error))?;
            if !part.is_empty() {
                return Ok(Some(part));
            }
        }
        Ok(None)
    }
}

impl Watching {
    /// What happens next; none if the server has no more to tell.
    ///
    /// # Errors
    /// What keeps the server from answering, also that it ends.
    pub async fn next(&mut self) -> Result<Option<Watched>> {
        while let Some(message) = self.connection.unless_lost(self.incoming.message()).await? {
            let noticed = Noticed::decode(message.app_metadata);
            let noticed = noticed.map_err(|error| ApplicationError::nonsense(&error))?;
            if let Some(watched) = watched(noticed) {
                return Ok(Some(watched));
            }
        }
        Ok(None)
    }
}

fn unanswered() -> Status {
    Status::internal("there was no answer")
}

/// The messages of a stream: its terms, the bytes, and the word that these were all.
fn whole(
    descriptor: &'static str,
    terms: &impl Message,
    bytes: Bytes,
) -> impl Messages<Item = FlightData> + Send + 'static {
    let finish = Finish { length: Some(bytes.len() as u64) };
    let first = FlightData::new()
        .with_descriptor(FlightDescriptor::new_cmd(descriptor))
        .with_app_metadata(terms.encode_to_vec());
    let last = FlightData::new().with_app_metadata(finish.encode_to_vec());
    let parts = results::parts(&bytes);
    // A part that cannot be written ends the stream, and so it is cut off.
    let messages = iter::once(Ok(first)).chain(parts).chain(iter::once(Ok(last)));
    stream::iter(messages.map_while(std::result::Result::ok))
}
