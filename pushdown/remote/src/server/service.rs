// SPDX-License-Identifier: Apache-2.0
//! Implements the Flight service: actions, one exchange for each session and each call of an
//! application, and the streams of objects. Flight's methods for tables are not offered.

use std::{ffi::OsString, os::unix::ffi::OsStringExt, sync::Arc};

use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
    flight_service_server::FlightService,
};
use bytes::Bytes;
use futures::{StreamExt, stream};
use nearscan_command::layout::FORMAT_MAJOR;
use nearscan_drive::{FileRef, Placement, Refusal, SessionSpec};
use nearscan_store::StoreDrive;
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::{
    Served, Stage,
    calls::{self, Answers, STREAM_BYTES},
    gate::{Admitted, Gate, Need, Reach},
    objects::{Objects, Opened, Parts},
    outgoing::Outgoing,
    read,
    session::{Session, WAITING_MESSAGES},
    upload::{Upload, first},
};
use crate::{
    convert::id_of,
    convert::objects::status_of,
    protocol::{
        self, Ask, Capabilities, Health, Hello, Locate, Located, Open, PROTOCOL_MAJOR,
        PROTOCOL_MINOR, PUT, SESSION, Snapshot, ToServer, Welcome, action,
        applications::{INSTALL, RUN},
        objects::{ObjectName, Read},
    },
};

/// The service over one drive.
#[derive(Debug, Clone)]
pub(super) struct Service {
    served: Arc<Served>,
    gate: Gate,
}

impl Service {
    pub(super) fn new(served: Arc<Served>, gate: Gate) -> Self {
        Self { served, gate }
    }

    fn connect(&self, hello: &Hello) -> Result<Welcome, Status> {
        let Hello { protocol_major, protocol_minor, format_major } = *hello;
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
            epoch: self.served.epoch().map_err(refused)?,
            drive_uuid: Bytes::copy_from_slice(identity.uuid.as_bytes()),
            kind: identity.kind.to_owned(),
            model: identity.model.clone(),
            capabilities: Capabilities::from(self.served.drive.capabilities()),
        })
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
        let file = match object {
            Some(_) if self.served.objects.is_none() => {
                let reason = "the server has no objects".to_owned();
                return Ok(Located { file_id: None, reason });
            }
            Some(object) => {
                let path = object.object_path().map_err(|error| status_of(&error))?;
                StoreDrive::file_ref(&path, version)
            }
            None => FileRef::local(OsString::from_vec(path).into(), version),
        };
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

    /// Does what an action asks for, of whatever it is.
    async fn answer(&self, action: &Action, reach: Reach) -> Result<Vec<u8>, Status> {
        let (name, body) = (action.r#type.as_str(), &action.body);
        if action::OF_APPLICATIONS.iter().any(|(known, _)| *known == name) {
            return self.served.applications.act(name, body, reach).await;
        }
        let of_store = match &self.served.objects {
            Some(objects) => objects.act(action).await,
            None => None,
        };
        match of_store {
            Some(answer) => answer,
            None => self.act(action).await,
        }
    }

    async fn act(&self, action: &Action) -> Result<Vec<u8>, Status> {
        let body = &action.body;
        match action.r#type.as_str() {
            action::CONNECT => self.connect(&read(body)?).map(|it| it.encode_to_vec()),
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
        let need = match &ticket {
            Ok(ticket) => Need::of_ticket(ticket, STREAM_BYTES),
            Err(_) => Need::of_ticket(&Read::default(), STREAM_BYTES),
        };
        let admitted = self.gate.admit(&request, need).await?;
        let ticket = ticket?;
        Ok((self.objects()?.get(ticket).await?, admitted))
    }

    /// Begins an exchange: a session, or a call of an application.
    pub(super) async fn exchange(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Result<Answers<Outgoing>, Status> {
        let need = Need::to_read(SESSION, STREAM_BYTES);
        let caller = self.gate.caller(&request, &need).await?;
        let mut incoming = request.into_inner();
        let (descriptor, said) = first(&mut incoming).await?;
        let served = Arc::clone(&self.served);
        match descriptor.as_str() {
            SESSION => {
                let admitted = caller.begin(need).await?;
                let session = self.open(&said)?;
                let (outgoing, messages) = mpsc::channel(WAITING_MESSAGES);
                tokio::spawn(Session::new(served, session, outgoing).run(incoming));
                let messages = ReceiverStream::new(messages);
                Ok(messages.map(move |message| admitted.holds(message)).boxed())
            }
            RUN => calls::run(served, caller, read(&said)?, Upload::new(incoming)).await,
            other => Err(no_such(other, [SESSION, RUN])),
        }
    }

    pub(super) fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served)
    }

    /// Opens an object to be read, as [`Service::download`] does, for a client that calls the
    /// server by the name `host`.
    pub(super) async fn open_object(
        &self,
        request: Request<Read>,
        host: &str,
    ) -> Result<(Opened, Admitted), Status> {
        let need = Need::of_ticket(request.get_ref(), STREAM_BYTES);
        let admitted = self.gate.admit_at(host, &request, need).await?;
        Ok((self.objects()?.open(request.into_inner()).await?, admitted))
    }

    /// Opens the session that the first message of an exchange requests.
    fn open(&self, said: &Bytes) -> Result<Arc<dyn nearscan_drive::Session>, Status> {
        let Some(protocol::Request::Open(Open { instance, query_id, tenant })) =
            read::<ToServer>(said)?.request
        else {
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

/// The answer to a stream that has none of these descriptors.
fn no_such(descriptor: &str, streams: [&str; 2]) -> Status {
    let [one, other] = streams;
    let text = format!("there is no stream {descriptor:?}: it is {one:?} or {other:?}");
    Status::invalid_argument(text)
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
        let (service, action, reach) = (self.clone(), request.into_inner(), admitted.reach());
        let (served, name) = (Arc::clone(&self.served), action.r#type.clone());
        let answer = async move { service.answer(&action, reach).await };
        let body = calls::act(served, &name, admitted, answer).await?.into();
        Ok(Response::new(stream::iter([Ok(arrow_flight::Result { body })]).boxed()))
    }

    async fn list_actions(
        &self,
        request: Request<Empty>,
    ) -> Result<Response<Self::ListActionsStream>, Status> {
        drop(self.gate.admit(&request, Need::to_read("nearscan.actions", 0)).await?);
        let of_store: &[_] = if self.served.objects.is_some() { &action::OF_STORES } else { &[] };
        let of_applications: &[_] = match self.served.applications.are_served() {
            true => &action::OF_APPLICATIONS,
            false => &[],
        };
        let all = action::OF_DRIVES.iter().chain(of_store).chain(of_applications);
        let types = all.map(|(name, description)| {
            let (r#type, description) = ((*name).to_owned(), (*description).to_owned());
            Ok(ActionType { r#type, description })
        });
        Ok(Response::new(stream::iter(types).boxed()))
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        // `uncopied.rs` answers them, by `Service::exchange`.
        Err(Status::internal("exchanges are answered before they come here"))
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

    async fn do_get(
        &self,
        request: Request<Ticket>,
    ) -> Result<Response<Self::DoGetStream>, Status> {
        let mut ticket = read::<Read>(&request.get_ref().ticket)?;
        let need = Need::of_ticket(&ticket, STREAM_BYTES);
        let admitted = self.gate.admit(&request, need).await?;
        match ticket.stream.take() {
            Some(stream) => {
                Ok(Response::new(calls::send(Arc::clone(&self.served), admitted, stream)))
            }
            None => Err(Status::internal("objects are sent before it comes here")),
        }
    }

    async fn do_put(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoPutStream>, Status> {
        // Nobody who is not known has a word listened to.
        let need = Need::to_put(&ObjectName::default(), 0);
        let caller = self.gate.caller(&request, &need).await?;
        let mut incoming = request.into_inner();
        let (descriptor, said) = first(&mut incoming).await?;
        let (served, parts) = (Arc::clone(&self.served), Upload::new(incoming));
        let result = match descriptor.as_str() {
            PUT => {
                let objects = self.objects()?.clone();
                calls::put(served, objects, caller, read(&said)?, parts).await?
            }
            INSTALL => calls::install(served, caller, read(&said)?, parts).await?,
            other => return Err(no_such(other, [PUT, INSTALL])),
        };
        Ok(Response::new(stream::iter([Ok(result)]).boxed()))
    }
}

fn not_offered() -> Status {
    Status::unimplemented("a drive offers actions, exchanges, and objects")
}
