// SPDX-License-Identifier: Apache-2.0
//! Runs one session of a client: it runs commands, sends their completions, and cancels the rest
//! when the client is gone.

use std::{collections::HashMap, mem, sync::Arc};

use arrow_flight::FlightData;
use nearscan_drive::{Failure, Outcome};
use prost::Message;
use tokio::{
    sync::{Mutex, Notify, mpsc},
    task::JoinSet,
};
use tonic::{Status, Streaming};

use super::{
    Served, Stage,
    command::{Answer, Running, Taken},
    outgoing::Outgoing,
    read,
};
use crate::{
    convert::id_of,
    protocol::{Cancel, End, Ended, Event, Failed, FromServer, Opened, Request, ToServer},
    results,
};

/// Messages that wait for the connection, each with up to a part of a result.
pub(super) const WAITING_MESSAGES: usize = 4;

/// The messages to a client. The parts of a result follow each other, so the sender of one
/// holds the lock until the last.
type Sending = Mutex<mpsc::Sender<Result<Outgoing, Status>>>;

/// One session.
pub(super) struct Session {
    served: Arc<Served>,
    session: Arc<dyn nearscan_drive::Session>,
    outgoing: mpsc::Sender<Result<Outgoing, Status>>,
    shared: Arc<Sending>,
    /// Each gives its number, if it was taken.
    commands: JoinSet<Option<u128>>,
    cancels: HashMap<u128, Arc<Notify>>,
}

/// The outcome of a session.
enum Way {
    /// The client has nothing more to say and waits for what runs.
    Closed,
    /// The client is gone, or talks nonsense.
    Broken,
    /// The server ends.
    Stopped,
}

impl Session {
    pub(super) fn new(
        served: Arc<Served>,
        session: Arc<dyn nearscan_drive::Session>,
        outgoing: mpsc::Sender<Result<Outgoing, Status>>,
    ) -> Self {
        let shared = Arc::new(Mutex::new(outgoing.clone()));
        let (commands, cancels) = (JoinSet::new(), HashMap::new());
        Self { served, session, outgoing, shared, commands, cancels }
    }

    /// Goes on until the client closes it or is gone. Commands that run then are dropped with
    /// `self`, which cancels them.
    pub(super) async fn run(mut self, mut incoming: Streaming<FlightData>) {
        let opened = Event::Opened(Opened { epoch: self.session.epoch() });
        for message in [results::schema_message(), message_of(opened)] {
            if self.outgoing.send(Ok(message.into())).await.is_err() {
                return;
            }
        }
        let mut way = self.attend(&mut incoming).await;
        if matches!(way, Way::Closed) {
            way = self.finish().await;
        }
        match way {
            Way::Closed | Way::Broken => {}
            Way::Stopped => {
                // If there is no room, the end of the stream says it too.
                let gone = Status::unavailable("the server was shut down");
                drop(self.outgoing.try_send(Err(gone)));
            }
        }
    }

    /// Takes what the client says.
    async fn attend(&mut self, incoming: &mut Streaming<FlightData>) -> Way {
        let served = Arc::clone(&self.served);
        // Those that run, and as many that are refused.
        let tasks_max =
            usize::try_from(self.in_flight_max()).unwrap_or(usize::MAX).saturating_mul(2);
        loop {
            tokio::select! {
                // A client that does not listen is not listened to: answers do not pile up.
                message = incoming.message(), if self.commands.len() < tasks_max => match message {
                    Ok(Some(message)) => {
                        if let Err(status) = self.take(&message) {
                            drop(self.outgoing.try_send(Err(status)));
                            return Way::Broken;
                        }
                    }
                    Ok(None) => return Way::Closed,
                    Err(status) => {
                        tracing::debug!(%status, "a client is gone");
                        return Way::Broken;
                    }
                },
                Some(ended) = self.commands.join_next() => self.forget(ended),
                () = self.outgoing.closed() => return Way::Broken,
                () = served.reached(Stage::Ending) => return Way::Stopped,
            }
        }
    }

    /// Waits for the commands that run.
    async fn finish(&mut self) -> Way {
        let served = Arc::clone(&self.served);
        loop {
            tokio::select! {
                ended = self.commands.join_next() => match ended {
                    Some(ended) => self.forget(ended),
                    None => return Way::Closed,
                },
                () = self.outgoing.closed() => return Way::Broken,
                () = served.reached(Stage::Ending) => return Way::Stopped,
            }
        }
    }

    fn forget(&mut self, ended: Result<Option<u128>, tokio::task::JoinError>) {
        match ended {
            Ok(Some(command_id)) => drop(self.cancels.remove(&command_id)),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "the task of a command panicked"),
        }
    }

    fn take(&mut self, message: &FlightData) -> Result<(), Status> {
        match read::<ToServer>(&message.app_metadata)?.request {
            Some(Request::Submit(submit)) => {
                let taken = Taken::read(submit)?;
                let command_id = taken.command_id();
                let is_full = self.commands.len() as u64 >= u64::from(self.in_flight_max());
                let refusal = match self.served.stage() {
                    Stage::Serving if is_full || self.cancels.contains_key(&command_id) => {
                        Some(Failure::Busy)
                    }
                    Stage::Serving => None,
                    Stage::Draining | Stage::Ending => {
                        Some(Failure::Gone { reason: "the server is shutting down".to_owned() })
                    }
                };
                let shared = Arc::clone(&self.shared);
                if let Some(failure) = refusal {
                    let answer = taken.refused(failure);
                    self.commands.spawn(async move {
                        answer_with(&shared, answer).await;
                        None
                    });
                    return Ok(());
                }
                let cancel = Arc::new(Notify::new());
                self.cancels.insert(command_id, Arc::clone(&cancel));
                let (served, session) = (Arc::clone(&self.served), Arc::clone(&self.session));
                self.commands.spawn(async move {
                    let _running = Running::enter(&served);
                    let answer = taken.run(&served, &*session, &cancel).await;
                    answer_with(&shared, answer).await;
                    Some(command_id)
                });
                Ok(())
            }
            Some(Request::Cancel(Cancel { command_id })) => {
                if let Some(cancel) = self.cancels.get(&id_of(&command_id)) {
                    cancel.notify_one();
                }
                Ok(())
            }
            Some(Request::Open(_)) => Err(Status::invalid_argument("the session is open")),
            // A newer client requests something that it can do without.
            None => Ok(()),
        }
    }

    fn in_flight_max(&self) -> u32 {
        self.served.drive.capabilities().in_flight_max
    }
}

fn message_of(event: Event) -> FlightData {
    let said = FromServer { event: Some(event) };
    FlightData::new().with_app_metadata(said.encode_to_vec())
}

/// Sends the end of a command, and its result.
async fn answer_with(outgoing: &Sending, answer: Answer) {
    let Answer { ended, outcome } = answer;
    let ended = |end| Event::Ended(Box::new(Ended { end: Some(end), ..ended.clone() }));
    let outgoing = outgoing.lock().await;
    match outcome {
        Outcome::Failed(failure) => {
            let message = message_of(ended(End::Failed(Failed::from(&failure))));
            // When the client is gone, the session ends.
            drop(outgoing.send(Ok(message.into())).await);
        }
        Outcome::Finished(bytes) => {
            let head = message_of(ended(End::ResultBytes(bytes.len() as u64)));
            let mut metadata = head.app_metadata;
            for part in results::cut(&bytes) {
                let message = Outgoing::carrying(part, mem::take(&mut metadata));
                if outgoing.send(Ok(message)).await.is_err() {
                    break;
                }
            }
        }
    }
}
