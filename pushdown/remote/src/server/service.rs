// SPDX-License-Identifier: Apache-2.0
//! Implements the Flight service: actions, and one exchange for each session. Flight's methods for
//! tables are not offered.

use std::{ffi::OsString, os::unix::ffi::OsStringExt, pin::Pin, sync::Arc, time::Duration};

use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
    flight_service_server::FlightService,
};
use bytes::Bytes;
use futures::{StreamExt, stream};
use nearscan_command::layout::FORMAT_MAJOR;
use nearscan_drive::{FileRef, Placement, Refusal, SessionSpec};
use prost::Message;
use tokio::sync::{Mutex, mpsc};
use tokio_stream::{Stream, wrappers::ReceiverStream};
use tonic::{Request, Response, Status, Streaming};

use super::{
    Served, Stage,
    gate::{Admitted, Gate, Need},
    objects::{Objects, Opened, Parts},
    read,
    session::{Session, WAITING_MESSAGES},
};
use crate::{
    convert::id_of,
    protocol::{
        self, Ask, Capabilities, Health, Hello, Locate, Located, Open, PROTOCOL_MAJOR,
        PROTOCOL_MINOR, PUT, SESSION, Snapshot, ToServer, Welcome, action,
        objects::{ObjectName, Put, Read},
    },
    results::PART_BYTES_MAX,
};

/// The time that each message that opens a session may take.
const FIRST_MESSAGE: Duration = Duration::from_secs(10);

/// Messages that may say nothing before the one that opens a session: the libraries of Flight send
/// a descriptor and a schema first.
const SILENT_MESSAGES_MAX: u32 = 2;

/// What an audit log calls reading an object.
const GET: &str = "nearscan.get";

/// Bytes of a stream that are on their way at once.
const STREAM_BYTES: u64 = (WAITING_MESSAGES * PART_BYTES_MAX) as u64;

/// Epochs that a drive that was started anew may be behind those that its clients have seen.
const EPOCHS_BEHIND_MAX: u64 = 1024;

/// The service over one drive.
#[derive(Debug, Clone)]
pub(super) struct Service {
    served: Arc<Served>,
    gate: Gate,
    /// Held while the epoch is changed.
    epoch: Arc<Mutex<()>>,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Service {
    pub(super) fn new(served: Arc<Served>, gate: Gate) -> Self {
        Self { served, gate, epoch: Arc::default() }
    }

    async fn connect(&self, hello: Hello) -> Result<Welcome, Status> {
        let Hello { protocol_major, protocol_minor, format_major, .. } = hello;
        if protocol_major != PROTOCOL_MAJOR {
            return Err(Status::failed_precondition(format!(
                "the server speaks version {PROTOCOL_MAJOR}.{PROTOCOL_MINOR} of the protocol, \
                 the client {protocol_major}.{protocol_minor}"
            )));
        }
        if format_major != u32::from(FORMAT_MAJOR) {
            return Err(Status::failed_precondition(format!(
                "the server reads version {FORMAT_MAJOR} of the command format, \
                 the client writes {format_major}"
            )));
        }
        let identity = self.served.drive.identity();
        Ok(Welcome {
            protocol_major: PROTOCOL_MAJOR,
            protocol_minor: PROTOCOL_MINOR,
            instance: self.served.instance.clone(),
            epoch: self.epoch_after(&hello).await?,
            drive_uuid: Bytes::copy_from_slice(identity.uuid.as_bytes()),
            kind: identity.kind.to_owned(),
            model: identity.model.clone(),
            capabilities: Capabilities::from(self.served.drive.capabilities()),
        })
    }

    /// The drive's epoch, which is a new one to a client that knew another run of the server.
    async fn epoch_after(&self, hello: &Hello) -> Result<u64, Status> {
        let _one_at_a_time = self.epoch.lock().await;
        let mut epoch = self.served.epoch().map_err(refused)?;
        if hello.instance_before.is_empty() || hello.instance_before == self.served.instance {
            return Ok(epoch);
        }
        if hello.epoch_before.saturating_sub(epoch) > EPOCHS_BEHIND_MAX {
            return Err(Status::failed_precondition(format!(
                "the drive is in epoch {epoch}, the client has seen {}",
                hello.epoch_before
            )));
        }
        while epoch <= hello.epoch_before {
            let next = self.reset().await?;
            if next <= epoch {
                return Err(Status::internal("a reset gave no new epoch"));
            }
            epoch = next;
        }
        Ok(epoch)
    }

    /// Resets the drive, which may take its time.
    async fn reset(&self) -> Result<u64, Status> {
        let drive = Arc::clone(&self.served.drive);
        let reset = tokio::task::spawn_blocking(move || drive.reset());
        reset.await.map_err(|error| Status::internal(error.to_string()))?.map_err(refused)
    }

    async fn locate(&self, locate: Locate) -> Result<Located, Status> {
        let Locate { path, size_bytes, stamp, object, .. } = locate;
        let version = nearscan_command::Version { size_bytes, stamp };
        let drive = Arc::clone(&self.served.drive);
        let nowhere = |reason: &str| Located { file_id: None, reason: reason.to_owned() };
        match (&self.served.objects, object) {
            (Some(objects), Some(object)) => return objects.locate(drive, object, version).await,
            (Some(_), None) => return Ok(nowhere("the server has objects, and no files")),
            (None, Some(_)) => return Ok(nowhere("the server has no objects")),
            (None, None) => {}
        }
        let file = FileRef::local(OsString::from_vec(path).into(), version);
        let located = tokio::task::spawn_blocking(move || drive.locate(&file)).await;
        match located.map_err(|error| Status::internal(error.to_string()))? {
            Placement::Here { file_id } => {
                Ok(Located { file_id: Some(file_id), reason: String::new() })
            }
            Placement::NotHere { reason } => Ok(Located { file_id: None, reason }),
        }
    }

    fn health(&self, epoch: u64) -> Health {
        Health { epoch, in_flight: self.served.drive.in_flight() }
    }

    /// Whether a client means this run of the server.
    fn is_meant(&self, instance: &Bytes) -> Result<(), Status> {
        match *instance == self.served.instance {
            true => Ok(()),
            false => Err(Status::failed_precondition("the server was restarted")),
        }
    }

    async fn act(&self, action: &Action) -> Result<Vec<u8>, Status> {
        let body = &action.body;
        match action.r#type.as_str() {
            action::CONNECT => self.connect(read(body)?).await.map(|it| it.encode_to_vec()),
            action::LOCATE => {
                let locate: Locate = read(body)?;
                self.is_meant(&locate.instance)?;
                self.locate(locate).await.map(|it| it.encode_to_vec())
            }
            action::SNAPSHOT => {
                self.is_meant(&read::<Ask>(body)?.instance)?;
                Ok(Snapshot::from(&self.served.drive.snapshot()).encode_to_vec())
            }
            action::HEALTH => {
                self.is_meant(&read::<Ask>(body)?.instance)?;
                Ok(self.health(self.served.epoch().map_err(refused)?).encode_to_vec())
            }
            action::RESET => {
                self.is_meant(&read::<Ask>(body)?.instance)?;
                let _one_at_a_time = self.epoch.lock().await;
                Ok(self.health(self.reset().await?).encode_to_vec())
            }
            other => Err(Status::unimplemented(format!("there is no action {other:?}"))),
        }
    }

    /// The objects of the server.
    fn objects(&self) -> Result<&Objects, Status> {
        let objects = self.served.objects.as_ref();
        objects.ok_or_else(|| Status::unimplemented("the server has a drive, and no objects"))
    }

    /// Begins to read the object that a ticket asks for. The request runs until what comes with it
    /// is dropped.
    pub(super) async fn download(
        &self,
        request: Request<Ticket>,
    ) -> Result<(Parts, Admitted), Status> {
        // What cannot be read is refused once it is known who says it.
        let ticket = read::<Read>(&request.get_ref().ticket);
        let name = ticket.as_ref().map(|ticket| ticket.name.clone()).unwrap_or_default();
        let admitted = self.gate.admit(&request, Need::to_get(GET, &name, STREAM_BYTES)).await?;
        let ticket = ticket?;
        Ok((self.objects()?.get(ticket).await?, admitted))
    }

    pub(super) fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served)
    }

    /// Whether clients need not say who they are.
    pub(super) fn is_anonymous(&self) -> bool {
        self.gate.access.is_anyone()
    }

    /// Opens an object to be read, as [`Service::download`] does.
    pub(super) async fn open_object(
        &self,
        request: Request<Read>,
    ) -> Result<(Opened, Admitted), Status> {
        let need = Need::to_get(GET, &request.get_ref().name, STREAM_BYTES);
        let admitted = self.gate.admit(&request, need).await?;
        Ok((self.objects()?.open(request.into_inner()).await?, admitted))
    }

    /// Opens the session that the first message of an exchange requests.
    async fn open(
        &self,
        incoming: &mut Streaming<FlightData>,
    ) -> Result<Arc<dyn nearscan_drive::Session>, Status> {
        let said = read::<ToServer>(&first(incoming, SESSION).await?)?.request;
        let Some(protocol::Request::Open(Open { instance, query_id, tenant })) = said else {
            return Err(Status::invalid_argument("a session begins with its terms"));
        };
        self.is_meant(&instance)?;
        if self.served.stage() > Stage::Serving {
            return Err(Status::unavailable("the server is shutting down"));
        }
        let budget = Arc::clone(&self.served.budget);
        let spec = SessionSpec { query_id: id_of(&query_id), tenant, budget };
        self.served.drive.open_session(spec).map_err(refused)
    }
}

/// The first words of a client in a stream whose descriptor has to be `expected`.
async fn first(incoming: &mut Streaming<FlightData>, expected: &str) -> Result<Bytes, Status> {
    let mut said = next(incoming).await?;
    let descriptor = said.flight_descriptor.take().unwrap_or_default();
    if descriptor.cmd != expected {
        return Err(Status::invalid_argument(format!("the only such stream is {expected:?}")));
    }
    for _ in 0..SILENT_MESSAGES_MAX {
        if said.app_metadata.is_empty() {
            said = next(incoming).await?;
        }
    }
    Ok(said.app_metadata)
}

/// The next of the messages that open a stream.
async fn next(incoming: &mut Streaming<FlightData>) -> Result<FlightData, Status> {
    let late = |_elapsed| Status::deadline_exceeded("the stream was not begun");
    let message = tokio::time::timeout(FIRST_MESSAGE, incoming.message()).await.map_err(late)??;
    message.ok_or_else(|| Status::invalid_argument("a stream begins with its terms"))
}

fn refused(refusal: Refusal) -> Status {
    Status::unavailable(refusal.to_string())
}

#[tonic::async_trait]
impl FlightService for Service {
    type HandshakeStream = Answers<HandshakeResponse>;
    type ListFlightsStream = Answers<FlightInfo>;
    type DoGetStream = Answers<FlightData>;
    type DoPutStream = Answers<PutResult>;
    type DoExchangeStream = Answers<FlightData>;
    type DoActionStream = Answers<arrow_flight::Result>;
    type ListActionsStream = Answers<ActionType>;

    async fn do_action(
        &self,
        request: Request<Action>,
    ) -> Result<Response<Self::DoActionStream>, Status> {
        let admitted = self.gate.admit(&request, Need::of_action(request.get_ref())).await?;
        let (service, action) = (self.clone(), request.into_inner());
        let answer = to_its_end(async move {
            let of_store = match &service.served.objects {
                Some(objects) => objects.act(&action).await,
                None => None,
            };
            let answer = match of_store {
                Some(answer) => answer,
                None => service.act(&action).await,
            };
            admitted.ended(&answer).await;
            answer
        })
        .await;
        let body = answer?.into();
        Ok(Response::new(stream::iter([Ok(arrow_flight::Result { body })]).boxed()))
    }

    async fn list_actions(
        &self,
        request: Request<Empty>,
    ) -> Result<Response<Self::ListActionsStream>, Status> {
        drop(self.gate.admit(&request, Need::to_read("nearscan.actions", 0)).await?);
        let of_store: &[_] = if self.served.objects.is_some() { &action::OF_STORES } else { &[] };
        let types = action::OF_DRIVES.iter().chain(of_store).map(|(name, description)| {
            let (r#type, description) = ((*name).to_owned(), (*description).to_owned());
            Ok(ActionType { r#type, description })
        });
        Ok(Response::new(stream::iter(types).boxed()))
    }

    async fn do_exchange(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        let admitted = self.gate.admit(&request, Need::to_read(SESSION, STREAM_BYTES)).await?;
        let mut incoming = request.into_inner();
        let session = self.open(&mut incoming).await?;
        let (outgoing, messages) = mpsc::channel(WAITING_MESSAGES);
        tokio::spawn(Session::new(Arc::clone(&self.served), session, outgoing).run(incoming));
        Ok(Response::new(held(messages, admitted)))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        Err(not_offered())
    }

    async fn list_flights(
        &self,
        _: Request<Criteria>,
    ) -> Result<Response<Self::ListFlightsStream>, Status> {
        Err(not_offered())
    }

    async fn get_flight_info(
        &self,
        _: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        Err(not_offered())
    }

    async fn poll_flight_info(
        &self,
        _: Request<FlightDescriptor>,
    ) -> Result<Response<PollInfo>, Status> {
        Err(not_offered())
    }

    async fn get_schema(
        &self,
        _: Request<FlightDescriptor>,
    ) -> Result<Response<SchemaResult>, Status> {
        Err(not_offered())
    }

    async fn do_get(&self, _: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        Err(Status::internal("it is answered before it comes here"))
    }

    async fn do_put(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoPutStream>, Status> {
        // Whoever may not write at all does not have a word listened to.
        let need = Need::to_put(&ObjectName::default(), 0);
        let caller = self.gate.caller(&request, &need).await?;
        let objects = self.objects()?;
        let mut incoming = request.into_inner();
        let put = read::<Put>(&first(&mut incoming, PUT).await?)?;
        let mut admitted = caller.begin(Need::to_put(&put.name, STREAM_BYTES)).await?;
        let objects = objects.clone();
        let info = to_its_end(async move {
            let info = objects.put(put, incoming).await;
            admitted.moved(info.as_ref().map_or(0, |info| info.length));
            admitted.ended(&info).await;
            info
        })
        .await?;
        let result = PutResult { app_metadata: info.encode_to_vec().into() };
        Ok(Response::new(stream::iter([Ok(result)]).boxed()))
    }
}

/// Waits for a request that goes on to its end, and is recorded, also if its client leaves.
async fn to_its_end<T: Send + 'static>(
    request: impl Future<Output = Result<T, Status>> + Send + 'static,
) -> Result<T, Status> {
    let ended = tokio::spawn(request).await;
    ended.unwrap_or_else(|error| Err(Status::internal(error.to_string())))
}

/// Messages on their way to a client, whose request runs as long as they do.
fn held(
    messages: mpsc::Receiver<Result<FlightData, Status>>,
    admitted: Admitted,
) -> Answers<FlightData> {
    let messages = ReceiverStream::new(messages);
    messages.map(move |message| admitted.holds(message)).boxed()
}

fn not_offered() -> Status {
    Status::unimplemented("a drive offers actions, the exchange of a session, and objects")
}
