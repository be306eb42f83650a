// SPDX-License-Identifier: Apache-2.0
//! Runs one command on the client: waits for its end, its timeout, or its cancellation, whichever
//! is first.

use std::{sync::Arc, time::Duration};

use arrow_flight::FlightData;
use futures::channel::oneshot;
use nearscan_drive::{Completion, DriveTime, Failure, Lease, Measured, Outcome, Traffic};
use prost::Message;
use tokio::sync::mpsc;

use super::{Place, connection::Connection, waiting::Commands};
use crate::{
    convert::id_bytes,
    protocol::{Cancel, Request, ToServer},
};

/// A command that was handed over, with what it holds.
pub(super) struct Awaited {
    pub(super) command_id: u128,
    pub(super) attempt: u32,
    /// The channel that takes its completion.
    pub(super) reply: oneshot::Sender<Completion>,
    /// The channel that its completion comes from.
    pub(super) arrived: tokio::sync::oneshot::Receiver<Completion>,
    pub(super) outgoing: mpsc::Sender<FlightData>,
    pub(super) commands: Commands,
    pub(super) connection: Arc<Connection>,
    /// The files that it reads, by their numbers here.
    pub(super) file_ids: Vec<u64>,
    /// When the client gives it up.
    pub(super) patience: Duration,
    pub(super) lease: Lease,
    pub(super) place: Place,
}

impl Awaited {
    /// Waits for the end of the command and passes it on.
    pub(super) async fn attend(mut self) {
        let mut late = Box::pin(tokio::time::sleep(self.patience));
        let mut is_wanted = true;
        let completion = loop {
            tokio::select! {
                arrived = &mut self.arrived => break match arrived {
                    Ok(completion) => completion,
                    Err(_ended) => self.failed(Failure::Gone { reason: self.commands.end() }),
                },
                () = self.reply.cancellation(), if is_wanted => {
                    is_wanted = false;
                    // It keeps its place until the drive has released it.
                    drop(self.outgoing.send(cancel_message(self.command_id)).await);
                }
                () = &mut late => {
                    drop(self.outgoing.try_send(cancel_message(self.command_id)));
                    self.commands.forget(self.command_id);
                    break self.failed(Failure::Timeout);
                }
            }
        };
        if let Outcome::Failed(Failure::Stale { .. } | Failure::Read { .. }) = completion.outcome {
            // The next unit asks again where they are: the server may have forgotten them.
            self.connection.forget_files(&self.file_ids);
        }
        // Memory and place are released before the completion is sent.
        drop(self.lease);
        drop(self.place);
        drop(self.reply.send(completion));
    }

    fn failed(&self, failure: Failure) -> Completion {
        Completion {
            command_id: self.command_id,
            attempt: self.attempt,
            outcome: Outcome::Failed(failure),
            time: DriveTime::Measured(Measured::default()),
            traffic: Traffic::default(),
        }
    }
}

/// Asks for the end of a command.
pub(super) fn cancel_message(command_id: u128) -> FlightData {
    let cancel = Cancel { command_id: id_bytes(command_id) };
    message_of(Request::Cancel(cancel))
}

pub(super) fn message_of(request: Request) -> FlightData {
    let said = ToServer { request: Some(request) };
    FlightData::new().with_app_metadata(said.encode_to_vec())
}
