// SPDX-License-Identifier: Apache-2.0
//! Takes the bytes of an object: its name, then parts, then the word that these were all.
//!
//! # Invariants
//!
//! - A stream that ends before that word was cut off, and puts nothing.

use arrow_flight::FlightData;
use nearscan_store::{ObjectInfo, Store, Writer};
use tokio::sync::mpsc;
use tonic::{Status, Streaming};

use super::{Objects, blocking, make_collection};
use crate::{
    convert::objects::{condition_of, status_of},
    protocol::objects::{Finish, ObjectInfo as InfoMessage, Put},
    results,
    server::read,
};

/// Parts that wait for the disk.
const WAITING_PARTS: usize = 4;

impl Objects {
    /// Takes an object, and answers what is known of it.
    pub(in crate::server) async fn put(
        &self,
        put: Put,
        mut incoming: Streaming<FlightData>,
    ) -> Result<InfoMessage, Status> {
        let store = self.store.clone();
        let writer = blocking(move || begin(&store, &put)).await?;
        let (parts, waiting) = mpsc::channel(WAITING_PARTS);
        let written = tokio::task::spawn_blocking(move || write(writer, waiting));
        let received = loop {
            match incoming.message().await {
                // What the writer has refused, it says in the end.
                Ok(Some(message)) => {
                    if parts.send(message).await.is_err() {
                        break Ok(());
                    }
                }
                Ok(None) => break Ok(()),
                Err(status) => break Err(status),
            }
        };
        drop(parts);
        let written = written.await.map_err(|error| Status::internal(error.to_string()))?;
        received?;
        written.map(|info| InfoMessage::from(&info))
    }
}

fn begin(store: &Store, put: &Put) -> Result<Writer, nearscan_store::Error> {
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

/// Writes parts until the last one.
fn write(mut writer: Writer, mut parts: mpsc::Receiver<FlightData>) -> Result<ObjectInfo, Status> {
    let mut length = 0;
    while let Some(message) = parts.blocking_recv() {
        let mut written = Ok(());
        let taken = results::read_part(&message, |bytes| {
            length += bytes.len() as u64;
            if written.is_ok() {
                written = writer.write(bytes);
            }
        });
        taken.map_err(|error| Status::invalid_argument(error.to_string()))?;
        written.map_err(|error| status_of(&error))?;
        if !message.app_metadata.is_empty() {
            let finish = read::<Finish>(&message.app_metadata)?;
            if finish.length != Some(length) {
                let sent = finish.length.unwrap_or(0);
                let text = format!("{length} bytes came, and {sent} were sent");
                return Err(Status::data_loss(text));
            }
            return writer.commit().map_err(|error| status_of(&error));
        }
    }
    Err(Status::aborted("the stream was cut off"))
}
