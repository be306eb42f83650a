// SPDX-License-Identifier: Apache-2.0
//! Takes the bytes of an object: its name, then parts, then the word that these were all.
//!
//! # Invariants
//!
//! - A stream that ends before that word was cut off, and puts nothing.
//! - A thread is taken while a part is written, and none while the client is slow.

use arrow_flight::FlightData;
use bytes::Bytes;
use nearscan_store::{Error, Store, Writer};
use tonic::{Status, Streaming};

use super::{Objects, blocking, make_collection};
use crate::{
    convert::objects::condition_of,
    protocol::objects::{Finish, ObjectInfo as InfoMessage, Put},
    results::{self, PART_BYTES_MAX},
    server::read,
};

impl Objects {
    /// Takes an object, and answers what is known of it.
    pub(in crate::server) async fn put(
        &self,
        put: Put,
        mut incoming: Streaming<FlightData>,
    ) -> Result<InfoMessage, Status> {
        let store = self.store.clone();
        let mut writer = blocking(move || begin(&store, &put)).await?;
        let mut length = 0;
        while let Some(message) = incoming.message().await? {
            let part = part_of(&message)?;
            if !part.is_empty() {
                length += part.len() as u64;
                writer = blocking(move || writer.write(&part).map(|()| writer)).await?;
            }
            if !message.app_metadata.is_empty() {
                let finish = read::<Finish>(&message.app_metadata)?;
                if finish.length != Some(length) {
                    let sent = finish.length.unwrap_or(0);
                    let text = format!("{length} bytes came, and {sent} were sent");
                    return Err(Status::data_loss(text));
                }
                let info = blocking(move || writer.commit()).await?;
                return Ok(InfoMessage::from(&info));
            }
        }
        Err(Status::aborted("the stream was cut off"))
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

fn begin(store: &Store, put: &Put) -> Result<Writer, Error> {
    let path = put.name.object_path()?;
    if put.makes_collection {
        make_collection(store, path.collection())?;
    }
    let mut writer = store.writer(&path, condition_of(put.expected))?;
    for (name, value) in &put.attributes {
        writer.attribute(name, value)?;
    }
    Ok(writer)
}
