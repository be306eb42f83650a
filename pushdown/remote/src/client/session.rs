// SPDX-License-Identifier: Apache-2.0
//! Implements [`RemoteSession`], the work of one query, which is one exchange with the server.

use std::{sync::Arc, time::Duration};

use arrow_flight::{FlightData, FlightDescriptor};
use bytes::Bytes;
use futures::StreamExt;
use http_body::Frame;
use http_body_util::StreamBody;
use nearscan_command::ResultHeader;
use nearscan_drive::{
    Budget, CancelOutcome, CancelWord, Lease, Refusal, Session, SessionSpec, Submission, Ticket,
    Work,
};
use prost::Message;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, body::Body};

use super::{
    Shared,
    answer::AnswerMessages,
    command::{Awaited, cancel_message, message_of},
    connection::{Connection, reason_of},
    file_of, untag_files,
    waiting::{Commands, Expected},
};
use crate::{
    convert::id_bytes,
    framing::framed,
    protocol::{self, EXCHANGE_PATH, Event, FromServer, Open, Request, SESSION, Submit},
};
use receive::Receiver;

mod receive;

/// The work of one query on a remote drive.
#[derive(Debug)]
pub(super) struct RemoteSession {
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    handle: Handle,
    epoch: u64,
    commands: Commands,
    outgoing: mpsc::Sender<FlightData>,
}

/// Opens a session.
pub(super) async fn open(
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    handle: Handle,
    spec: SessionSpec,
) -> Result<RemoteSession, Refusal> {
    let limit = shared.options.call_timeout;
    let opening = try_open(shared, &connection, handle, spec);
    let opened = match tokio::time::timeout(limit, opening).await {
        Ok(opened) => opened.map_err(|status| reason_of(&status)),
        Err(_elapsed) => Err(format!("no answer within {limit:?}")),
    };
    opened.map_err(|reason| {
        connection.suspect.notify_one();
        Refusal::Gone { reason }
    })
}

async fn try_open(
    shared: Arc<Shared>,
    connection: &Arc<Connection>,
    handle: Handle,
    spec: SessionSpec,
) -> Result<RemoteSession, Status> {
    // Each command is submitted once and cancelled at most twice.
    let room = shared.capabilities.in_flight_max.saturating_mul(3).saturating_add(1);
    let (outgoing, messages) = mpsc::channel(usize::try_from(room).unwrap_or(1 << 16));
    let open = Open {
        instance: connection.instance.clone(),
        query_id: id_bytes(spec.query_id),
        tenant: spec.tenant,
    };
    let descriptor = FlightDescriptor::new_cmd(SESSION);
    let first = message_of(Request::Open(open)).with_descriptor(descriptor);
    let closed = |_| Status::internal("the exchange is closed");
    outgoing.try_send(first).map_err(closed)?;
    let messages =
        ReceiverStream::new(messages).map(|message| Ok::<_, Status>(Frame::data(framed(&message))));
    let body = Body::new(StreamBody::new(messages));
    let mut incoming = AnswerMessages::open(connection.transport(), EXCHANGE_PATH, body).await?;
    let epoch = loop {
        let message = incoming.message().await?;
        let message = message.ok_or_else(|| Status::internal("the session was not opened"))?;
        match read(&message.metadata)? {
            Some(Event::Opened(opened)) => break connection.epoch_of(opened.epoch),
            // The schema, or what a newer server says.
            None => {}
            Some(Event::Ended(_)) => {
                return Err(Status::internal("a command ended before it began"));
            }
        }
    };
    let commands = Commands::default();
    drop(tokio::spawn(receive_all(
        Arc::clone(connection),
        incoming,
        Receiver::new(commands.clone(), spec.budget),
        epoch,
    )));
    let connection = Arc::clone(connection);
    Ok(RemoteSession { shared, connection, handle, epoch, commands, outgoing })
}

/// Reads what a message of the server says beside the bytes that it carries.
fn read(metadata: &Bytes) -> Result<Option<Event>, Status> {
    let said = FromServer::decode(metadata.clone());
    said.map(|said| said.event).map_err(|error| Status::internal(error.to_string()))
}

/// Takes what the server says until one side ends the session, the connection is lost, or the drive
/// is in another epoch.
async fn receive_all(
    connection: Arc<Connection>,
    mut incoming: AnswerMessages,
    mut receiver: Receiver,
    epoch: u64,
) {
    let (mut lost, mut epochs) = (connection.losses(), connection.epochs());
    let reason = loop {
        tokio::select! {
            message = incoming.message() => match message {
                Ok(Some(message)) => {
                    if let Err(reason) = receiver.take(message) {
                        break format!("the server's answer makes no sense: {reason}");
                    }
                }
                Ok(None) => break "the server ended the session".to_owned(),
                Err(status) => {
                    connection.suspect.notify_one();
                    break reason_of(&status);
                }
            },
            reason = lost.wait_for(Option::is_some) => {
                let reason = reason.ok().and_then(|reason| reason.clone());
                break reason.unwrap_or_else(|| "the connection was lost".to_owned());
            }
            _ = epochs.wait_for(|now| *now != epoch) => break "it was reset".to_owned(),
        }
    };
    receiver.end_with(reason);
}

impl RemoteSession {
    /// Encodes work for the server.
    fn encode(&self, mut work: Work) -> Result<protocol::Work, Refusal> {
        if !untag_files(&mut work, self.connection.generation) {
            let reason = "its files were located on another connection".to_owned();
            return Err(Refusal::Gone { reason });
        }
        Ok(match work {
            Work::Scan(command) => protocol::Work::Scan(command.encode()?.into()),
            Work::Merge(command) => protocol::Work::Merge(command.encode()?.into()),
        })
    }
}

impl Session for RemoteSession {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The server leases when the command gets there; until then the client keeps account.
    fn lease(&self, bytes: u64) -> Result<Lease, Refusal> {
        self.shared.lease(bytes)
    }

    fn submit(&self, submission: Submission) -> Result<Ticket, Refusal> {
        let Submission { mut work, lease, timeout } = submission;
        drop(self.shared.connection()?);
        let needed_bytes = work.device_bytes();
        if self.shared.capabilities.memory_bytes > 0 && lease.bytes() < needed_bytes {
            return Err(Refusal::LowMemory { needed_bytes });
        }
        let envelope = *work.envelope();
        let output = match &work {
            Work::Scan(command) => &command.output,
            Work::Merge(command) => &command.output,
        };
        let bytes_max = output.bytes_max().max(ResultHeader::BYTES);
        let timeout = timeout.min(Duration::from_nanos(envelope.deadline_ns));
        let file_ids = work.inputs_mut().filter_map(|input| file_of(input)).collect();
        let submit = Submit {
            lease_bytes: lease.bytes(),
            timeout_ns: u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX),
            work: Some(self.encode(work)?),
        };
        let place = self.shared.enter().ok_or(Refusal::Busy)?;
        let (command_id, attempt) = (envelope.command_id, envelope.attempt);
        let (sender, arrived) = oneshot::channel();
        self.commands.add(command_id, Expected { bytes_max, arrived: sender })?;
        if let Err(error) = self.outgoing.try_send(message_of(Request::Submit(submit))) {
            self.commands.forget(command_id);
            return Err(match error {
                mpsc::error::TrySendError::Full(_) => Refusal::Busy,
                mpsc::error::TrySendError::Closed(_) => {
                    Refusal::Gone { reason: self.commands.end() }
                }
            });
        }
        let (ticket, reply) = Ticket::new(&envelope, CancelWord::default());
        let awaited = Awaited {
            command_id,
            attempt,
            reply,
            arrived,
            outgoing: self.outgoing.clone(),
            commands: self.commands.clone(),
            connection: Arc::clone(&self.connection),
            file_ids,
            patience: timeout.saturating_add(self.shared.options.deadline_grace),
            lease,
            place,
        };
        drop(self.handle.spawn(awaited.attend()));
        Ok(ticket)
    }

    fn cancel(&self, command_id: u128) -> CancelOutcome {
        if !self.commands.lock().by_id.contains_key(&command_id) {
            return CancelOutcome::Unknown;
        }
        match self.outgoing.try_send(cancel_message(command_id)) {
            Ok(()) => CancelOutcome::Acknowledged,
            // The session is ending: its completions come, without any rows.
            Err(_) => CancelOutcome::Lost,
        }
    }
}

/// The memory pool that the bytes of results are charged to.
type Account = Arc<dyn Budget>;
