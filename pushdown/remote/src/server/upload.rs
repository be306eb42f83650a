// SPDX-License-Identifier: Apache-2.0
//! Reads the streams of clients: their first words, and the bytes that end with a [`Finish`].
//!
//! # Invariants
//!
//! - Bytes are all there only once the client has said so: a stream that ends before that word was
//!   cut off, and is an error.
//! - No more of a stream is in memory than one message.

use std::time::Duration;

use arrow_flight::FlightData;
use bytes::Bytes;
use tonic::{Status, Streaming};

use super::read;
use crate::{
    protocol::objects::Finish,
    results::{self, PART_BYTES_MAX},
};

/// The time that each message that opens a stream may take.
const FIRST_MESSAGE: Duration = Duration::from_secs(10);

/// Messages that may say nothing before the one that opens a stream: the libraries of Flight send a
/// descriptor and a schema first.
const SILENT_MESSAGES_MAX: u32 = 2;

/// The descriptor of a stream, and the first words of its client.
pub(super) async fn first(incoming: &mut Streaming<FlightData>) -> Result<(String, Bytes), Status> {
    let mut said = next(incoming).await?;
    let descriptor = said.flight_descriptor.take().unwrap_or_default();
    for _ in 0..SILENT_MESSAGES_MAX {
        if said.app_metadata.is_empty() {
            said = next(incoming).await?;
        }
    }
    Ok((String::from_utf8_lossy(&descriptor.cmd).into_owned(), said.app_metadata))
}

/// The next of the messages that open a stream.
async fn next(incoming: &mut Streaming<FlightData>) -> Result<FlightData, Status> {
    let late = |_elapsed| Status::deadline_exceeded("the stream was not begun");
    let message = tokio::time::timeout(FIRST_MESSAGE, incoming.message()).await.map_err(late)??;
    message.ok_or_else(|| Status::invalid_argument("a stream begins with its terms"))
}

/// The bytes that a client uploads: those of a stream behind its first words.
#[derive(Debug)]
pub(super) struct Upload {
    stream: Streaming<FlightData>,
    /// Bytes that came.
    length: u64,
    /// The client has said that these were all.
    is_finished: bool,
}

impl Upload {
    pub(super) fn new(stream: Streaming<FlightData>) -> Self {
        Self { stream, length: 0, is_finished: false }
    }

    /// The next bytes; none once all have come.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        while !self.is_finished {
            let message = self.stream.message().await?;
            let message = message.ok_or_else(|| Status::aborted("the stream was cut off"))?;
            let part = part_of(&message)?;
            self.length += part.len() as u64;
            if !message.app_metadata.is_empty() {
                let finish = read::<Finish>(&message.app_metadata)?;
                if finish.length != Some(self.length) {
                    let (came, sent) = (self.length, finish.length.unwrap_or(0));
                    let text = format!("{came} bytes came, and {sent} were sent");
                    return Err(Status::data_loss(text));
                }
                self.is_finished = true;
            }
            if !part.is_empty() {
                return Ok(Some(part));
            }
        }
        Ok(None)
    }
}

/// The bytes of a message.
fn part_of(message: &FlightData) -> Result<Bytes, Status> {
    let wrong = |text: String| Status::invalid_argument(text);
    let part = results::values(message).map_err(|error| wrong(error.to_string()))?;
    match part.len() > PART_BYTES_MAX {
        true => Err(wrong(format!("{} bytes, the limit is {PART_BYTES_MAX}", part.len()))),
        false => Ok(part),
    }
}
