// SPDX-License-Identifier: Apache-2.0
//! Gives fuzzers every message of the protocol, and a server to send any to. It is no part of the
//! interface of this crate, and there only with its feature `fuzz`.
//!
//! # Panics
//! When what must hold of a message does not.

#[cfg(feature = "applications")]
pub mod handlers;
pub mod heads;

use std::{path::Path, sync::Arc, time::Duration};

use arrow_flight::{
    Action, FlightData, FlightDescriptor, Ticket, flight_service_client::FlightServiceClient,
};
use bytes::Bytes;
use futures::stream;
use nearscan_drive::{Capabilities, CostSnapshot, Drive, Failure};
use nearscan_store::{ObjectInfo, Store};
use prost::Message;
use tokio::{
    net::UnixStream,
    runtime::{Builder, Runtime},
    sync::oneshot,
};
use tonic::{
    Code, Status,
    transport::{Channel, Endpoint},
};

use crate::{
    Address, Listener, ServerOptions,
    convert::{objects::change_of, time_of, traffic_of},
    protocol::{
        self, Ask, Event, Failed, FromServer, Health, Hello, Locate, Located, PROTOCOL_MAJOR, PUT,
        Request, SESSION, Snapshot, ToServer, Welcome, action, applications as apps,
        objects::{
            Attributes, Changes, Container, Containers, Copy, Done, Finish, List, ListChanges,
            Listed, ObjectInfo as InfoMessage, ObjectName, Put, Read, Remove, SetAttribute,
            Truncate, Within, Write,
        },
    },
    results, serve,
};

/// What a message must be, whatever its bytes are.
type Check = fn(&[u8]) -> bool;

/// Each message by the name of its type.
pub const MESSAGES: &[(&str, Check)] = &[
    ("Hello", comes_back::<Hello>),
    ("Welcome", |bytes| with(bytes, |it: &Welcome| capabilities(&it.capabilities))),
    ("Ask", comes_back::<Ask>),
    ("Locate", |bytes| with(bytes, |it: &Locate| it.object.iter().for_each(name))),
    ("Located", comes_back::<Located>),
    ("Health", comes_back::<Health>),
    ("Snapshot", |bytes| with(bytes, snapshot)),
    ("Capabilities", |bytes| with(bytes, capabilities)),
    ("ToServer", comes_back::<ToServer>),
    ("FromServer", |bytes| with(bytes, event)),
    ("ObjectName", |bytes| with(bytes, name)),
    ("ObjectInfo", |bytes| with(bytes, info)),
    ("List", |bytes| with(bytes, |it: &List| name(&it.collection))),
    ("Listed", |bytes| with(bytes, |it: &Listed| it.objects.iter().for_each(info))),
    ("Done", comes_back::<Done>),
    ("Remove", comes_back::<Remove>),
    ("Write", comes_back::<Write>),
    ("Truncate", comes_back::<Truncate>),
    ("Copy", comes_back::<Copy>),
    ("Within", comes_back::<Within>),
    ("Attributes", comes_back::<Attributes>),
    ("SetAttribute", comes_back::<SetAttribute>),
    ("Container", comes_back::<Container>),
    ("Containers", comes_back::<Containers>),
    ("ListChanges", comes_back::<ListChanges>),
    ("Changes", |bytes| with(bytes, |it: &Changes| it.changes.iter().for_each(change))),
    ("Read", comes_back::<Read>),
    ("Put", comes_back::<Put>),
    ("Finish", comes_back::<Finish>),
    ("Batch", batch),
    ("Install", comes_back::<apps::Install>),
    ("Run", comes_back::<apps::Run>),
    ("Answered", comes_back::<apps::Answered>),
    ("Call", comes_back::<apps::Call>),
    ("Watch", comes_back::<apps::Watch>),
    ("Schema", comes_back::<apps::Schema>),
    ("Name", comes_back::<apps::Name>),
    ("ListAfter", comes_back::<apps::ListAfter>),
    ("Applications", comes_back::<apps::Applications>),
    ("Register", comes_back::<apps::Register>),
    ("Handlers", comes_back::<apps::Handlers>),
    ("ListDeadLetters", comes_back::<apps::ListDeadLetters>),
    ("DeadLetters", comes_back::<apps::DeadLetters>),
    ("Letter", comes_back::<apps::Letter>),
    ("Noticed", comes_back::<apps::Noticed>),
    ("Refused", comes_back::<apps::Refused>),
];

/// Whether bytes are a message of this type, which then comes back as it was. Its encodings are
/// compared: a number that is none is not equal to itself.
fn comes_back<M: Message + Default>(bytes: &[u8]) -> bool {
    with(bytes, |_: &M| ())
}

/// As [`comes_back`], and calls a function with the message.
fn with<M: Message + Default>(bytes: &[u8], check: impl Fn(&M)) -> bool {
    let Ok(message) = M::decode(bytes) else { return false };
    let encoded = message.encode_to_vec();
    let back = M::decode(&encoded[..]).map(|back| back.encode_to_vec());
    assert_eq!(back.as_ref(), Ok(&encoded), "what was encoded decodes to the same");
    check(&message);
    true
}

fn capabilities(message: &protocol::Capabilities) {
    let known = Capabilities::from(message);
    let back = Capabilities::from(&protocol::Capabilities::from(&known));
    assert_eq!(back, known, "what is known of capabilities is said");
}

fn snapshot(message: &Snapshot) {
    let once = Snapshot::from(&CostSnapshot::from(message));
    let twice = Snapshot::from(&CostSnapshot::from(&once));
    assert_eq!(twice.encode_to_vec(), once.encode_to_vec(), "what is known of rates is said");
}

fn event(message: &FromServer) {
    let Some(Event::Ended(ended)) = &message.event else { return };
    let _traffic = traffic_of(ended);
    let time = time_of(ended.time.as_ref());
    assert_eq!(time_of(Some(&protocol::Time::from(&time))), time, "a time keeps its kind");
    if let Some(protocol::End::Failed(failed)) = &ended.end {
        let failure = Failure::from(failed.clone());
        assert_eq!(Failure::from(Failed::from(&failure)), failure, "a failure keeps its cause");
    }
}

fn name(message: &ObjectName) {
    if let Ok(path) = message.object_path() {
        let back = ObjectName::from(&path).object_path();
        assert_eq!(back.ok(), Some(path), "an object keeps its name");
    }
}

fn info(message: &InfoMessage) {
    if let Ok(info) = ObjectInfo::try_from(message.clone()) {
        let back = ObjectInfo::try_from(InfoMessage::from(&info));
        assert_eq!(back.ok(), Some(info), "an object is described as it is");
    }
}

fn change(message: &protocol::objects::Change) {
    if let Ok(Some(change)) = change_of(message) {
        let back = change_of(&protocol::objects::Change::from(&change));
        assert_eq!(back.ok(), Some(Some(change)), "a change is told as it was");
    }
}

/// A batch of bytes: the length of its header in one byte times four, the header, and the body.
fn batch(bytes: &[u8]) -> bool {
    let Some((length, bytes)) = bytes.split_first() else { return false };
    let (header, body) = bytes.split_at((4 * usize::from(*length)).min(bytes.len()));
    let message = FlightData {
        data_header: Bytes::copy_from_slice(header),
        data_body: Bytes::copy_from_slice(body),
        ..FlightData::default()
    };
    results::values(&message).is_ok_and(|values| {
        assert!(values.len() <= body.len(), "there are more bytes than came");
        !values.is_empty()
    })
}

/// Messages to begin a corpus with: each type, empty where nothing is required of it.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let name = || ObjectName {
        partition: "default".to_owned(),
        collection: "c".to_owned(),
        name: "o".to_owned(),
    };
    let info = || InfoMessage {
        name: name(),
        length: 5,
        version: 7,
        created_ns: 1,
        written_ns: 2,
        hash: Some(vec![3; 16].into()),
    };
    let kernel = || protocol::Capabilities::from(&Capabilities::of_scan_kernel());
    let version = || Hello { protocol_major: 1, protocol_minor: 3, format_major: 1 };
    let container = || Container { name: name(), bytes_max: Some(9), ..Container::default() };
    let open = protocol::Open { query_id: vec![1; 16], ..protocol::Open::default() };
    let cancel = protocol::Cancel { command_id: vec![2; 16] };
    let said = |request| ToServer { request: Some(request) }.encode_to_vec();
    let failed = |cause: protocol::Cause| {
        let path = "c/o".to_owned();
        let failed = Failed { cause: cause.into(), path, ..Failed::default() };
        let end = Some(protocol::End::Failed(failed));
        let time = Some(protocol::Time::MeasuredNs(3));
        let ended = protocol::Ended { command_id: vec![1; 16], time, end, ..Default::default() };
        FromServer { event: Some(Event::Ended(Box::new(ended))) }.encode_to_vec()
    };
    let media = protocol::MediaPoint { request_bytes: 4096, bytes_per_s: 1e9 };
    let rates = protocol::Rates { ns_per_row: 1.5, source: 2, ..protocol::Rates::default() };
    let change =
        protocol::objects::Change { sequence: 1, kind: 2, name: name(), ..Default::default() };
    let attributes = [("a".to_owned(), b"v".to_vec())];
    vec![
        ("Hello", version().encode_to_vec()),
        ("Welcome", Welcome { capabilities: kernel(), ..Welcome::default() }.encode_to_vec()),
        ("Locate", Locate { object: Some(name()), ..Locate::default() }.encode_to_vec()),
        ("Located", Located { file_id: Some(3), ..Located::default() }.encode_to_vec()),
        ("Health", Health { epoch: 2, in_flight: 1 }.encode_to_vec()),
        (
            "Snapshot",
            Snapshot { media: vec![media], scan: vec![rates], ..Snapshot::default() }
                .encode_to_vec(),
        ),
        ("Capabilities", kernel().encode_to_vec()),
        ("ToServer", said(Request::Open(open))),
        ("ToServer", said(Request::Cancel(cancel))),
        ("FromServer", failed(protocol::Cause::Stale)),
        ("FromServer", failed(protocol::Cause::LowMemory)),
        ("ObjectName", name().encode_to_vec()),
        ("ObjectInfo", info().encode_to_vec()),
        ("List", List { collection: name(), limit: 9, ..List::default() }.encode_to_vec()),
        ("Listed", Listed { objects: vec![info()], is_partial: true }.encode_to_vec()),
        ("Remove", Remove { name: name(), expected: Some(7) }.encode_to_vec()),
        ("Write", Write { name: name(), bytes: "abc".into(), ..Write::default() }.encode_to_vec()),
        ("Truncate", Truncate { name: name(), expected: None, length: 1 }.encode_to_vec()),
        ("Copy", Copy { from: name(), to: name(), expected: Some(0) }.encode_to_vec()),
        ("Within", Within::behind(name(), Some("a".to_owned())).encode_to_vec()),
        (
            "Attributes",
            Attributes { attributes: attributes.clone().into(), is_partial: true }.encode_to_vec(),
        ),
        (
            "SetAttribute",
            SetAttribute { of: name(), attribute: "a".to_owned(), value: Some("v".into()) }
                .encode_to_vec(),
        ),
        ("Container", container().encode_to_vec()),
        (
            "Containers",
            Containers { containers: vec![container()], is_partial: false }.encode_to_vec(),
        ),
        ("ListChanges", ListChanges { after: 3, limit: 1 }.encode_to_vec()),
        ("Changes", Changes { changes: vec![change], last: 1 }.encode_to_vec()),
        ("Read", Read { name: name(), version: Some(7), ..Read::default() }.encode_to_vec()),
        (
            "Put",
            Put {
                name: name(),
                expected: None,
                makes_collection: true,
                attributes: attributes.into(),
            }
            .encode_to_vec(),
        ),
        ("Finish", Finish { length: Some(3) }.encode_to_vec()),
    ]
}

/// The number of an action, for [`Probe::act`].
pub fn number_of(action: &str) -> Option<u8> {
    (0..=u8::MAX).find(|number| action_of(*number) == action)
}

/// Time after which a request counts as hung.
const REQUEST_MAX: Duration = Duration::from_secs(20);

/// The name of the threads of a [`Probe`]: what panics on them is the server.
pub const THREADS: &str = "probed server";

/// A server, to which anything can be said.
#[derive(Debug)]
pub struct Probe {
    runtime: Runtime,
    client: FlightServiceClient<Channel>,
    /// The run of the server.
    instance: Bytes,
    _stop: oneshot::Sender<()>,
}

/// Short calls of the protocol, by number.
fn action_of(number: u8) -> &'static str {
    let known = [&action::OF_DRIVES[..], &action::OF_STORES, &action::OF_APPLICATIONS].concat();
    let count = known.len();
    let mut all = known.into_iter().map(|(name, _)| name);
    all.nth(usize::from(number) % count).unwrap_or(action::HEALTH)
}

impl Probe {
    /// Serves a drive and a store on a socket in a folder.
    pub fn start(drive: Arc<dyn Drive>, store: Store, folder: &Path) -> Self {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).thread_name(THREADS).enable_all();
        let runtime = builder.build().expect("a thread");
        let path = folder.join("socket");
        let (stop, stopped) = oneshot::channel::<()>();
        let options = ServerOptions { store: Some(store), ..ServerOptions::default() };
        let (client, instance) = runtime.block_on(async {
            let listener = Listener::bind(&Address::Unix(path.clone())).await.expect("a socket");
            drop(tokio::spawn(serve(drive, listener, options, async { drop(stopped.await) })));
            let endpoint = Endpoint::from_static("http://localhost");
            let connector = tower::service_fn(move |_: tonic::transport::Uri| {
                let path = path.clone();
                async move { UnixStream::connect(path).await.map(hyper_util::rt::TokioIo::new) }
            });
            let channel = endpoint.connect_with_connector(connector).await.expect("a server");
            let mut client = FlightServiceClient::new(channel);
            let hello = Hello {
                protocol_major: PROTOCOL_MAJOR,
                format_major: nearscan_command::layout::FORMAT_MAJOR.into(),
                ..Hello::default()
            };
            let welcome = Action::new(action::CONNECT, hello.encode_to_vec());
            let welcome = client.do_action(welcome).await.expect("an answer").into_inner();
            let welcome = welcome_of(welcome).await;
            (client, welcome.instance)
        });
        Self { runtime, client, instance, _stop: stop }
    }

    /// Waits for a request, which has to end, and not because the server failed.
    fn ends(&self, request: impl Future<Output = Result<(), Status>>) -> bool {
        let ended = async { tokio::time::timeout(REQUEST_MAX, request).await };
        match self.runtime.block_on(ended).expect("a request ends") {
            Ok(()) => true,
            Err(status) => {
                let failed = matches!(status.code(), Code::Internal | Code::Unavailable);
                assert!(!failed, "the server failed: {status}");
                false
            }
        }
    }

    /// Calls an action, by number, with any body. Whether it is answered.
    pub fn act(&self, number: u8, body: &[u8]) -> bool {
        let name = action_of(number);
        let body = match name {
            // It would never be meant otherwise.
            action::LOCATE => Locate::decode(body)
                .map(|it| Locate { instance: self.instance.clone(), ..it }.encode_to_vec()),
            action::SNAPSHOT | action::HEALTH | action::RESET => {
                Ok(Ask { instance: self.instance.clone() }.encode_to_vec())
            }
            _ => Ok(body.to_vec()),
        };
        let body = body.unwrap_or_else(|_| vec![0xff]);
        let mut client = self.client.clone();
        self.ends(async move {
            let mut answers = client.do_action(Action::new(name, body)).await?.into_inner();
            while answers.message().await?.is_some() {}
            Ok(())
        })
    }

    /// Holds a session in which the client says these things. Whether it was opened and ended.
    pub fn exchange(&self, said: &[&[u8]]) -> bool {
        let messages = said.iter().enumerate().map(|(number, said)| {
            let said = match ToServer::decode(*said) {
                Ok(ToServer { request: Some(Request::Open(open)) }) => {
                    let open = protocol::Open { instance: self.instance.clone(), ..open };
                    ToServer { request: Some(Request::Open(open)) }.encode_to_vec()
                }
                _ => said.to_vec(),
            };
            let message = FlightData::new().with_app_metadata(said);
            match number {
                0 => message.with_descriptor(FlightDescriptor::new_cmd(SESSION)),
                _ => message,
            }
        });
        let (mut client, messages) = (self.client.clone(), messages.collect::<Vec<_>>());
        self.ends(async move {
            let mut answers = client.do_exchange(stream::iter(messages)).await?.into_inner();
            while answers.message().await?.is_some() {}
            Ok(())
        })
    }

    /// Reads with any ticket. Whether it is answered.
    pub fn get(&self, ticket: &[u8]) -> bool {
        let (mut client, ticket) = (self.client.clone(), Ticket::new(ticket.to_vec()));
        self.ends(async move {
            let mut answers = client.do_get(ticket).await?.into_inner();
            while answers.message().await?.is_some() {}
            Ok(())
        })
    }

    /// Puts with any first message, and others in which the bytes are. Whether it is done.
    pub fn put(&self, first: &[u8], parts: &[&[u8]], last: &[u8]) -> bool {
        let first = FlightData::new()
            .with_descriptor(FlightDescriptor::new_cmd(PUT))
            .with_app_metadata(first.to_vec());
        let parts = parts.iter().filter_map(|part| results::part(part).ok());
        let last = FlightData::new().with_app_metadata(last.to_vec());
        let messages: Vec<_> = std::iter::once(first).chain(parts).chain([last]).collect();
        let mut client = self.client.clone();
        self.ends(async move {
            let mut answers = client.do_put(stream::iter(messages)).await?.into_inner();
            while answers.message().await?.is_some() {}
            Ok(())
        })
    }
}

/// The answer to the first action.
async fn welcome_of(mut answers: tonic::Streaming<arrow_flight::Result>) -> Welcome {
    let answer = answers.message().await.expect("an answer").expect("one");
    Welcome::decode(answer.body).expect("it is one")
}
