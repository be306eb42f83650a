// SPDX-License-Identifier: Apache-2.0
//! Tests the applications of a server as its clients see them.

use std::{sync::Arc, time::Duration};

use arrow_array::{BinaryArray, RecordBatch};
use arrow_flight::{FlightData, FlightDescriptor, utils::batches_to_flight_data};
use bytes::Bytes;
use nearscan_applications::{Applications, Delivery, NoTables, Options as ApplicationOptions};
use nearscan_cpu::CpuDrive;
use nearscan_remote::{
    ApplicationError, ApplicationErrorKind as Kind, Options, RemoteApplications, RemoteDrive,
    Security, ServerOptions, Tls,
    applications::{Beginning, Handler, Package, Replace, State},
};
use nearscan_store::{CollectionPath, Quota, Store};
use rstest::rstest;
use tokio::runtime::Runtime;
use tonic::Code;

use crate::{
    application_events::handler,
    bench::{Place, Served, Way, options, wait},
    guest::{guest, manifest},
    messages::exchange,
    objects::noise,
};

/// Answers the body of the request.
pub(crate) const ECHO: &str = "(i32.store (i32.const 20) (local.get 2))
    (i32.store (i32.const 24) (local.get 3)) (i32.const 16)";

/// Handles an event, without more.
pub(crate) const TAKE: &str = "(i32.const 16)";

/// Fails, and says `bad`.
pub(crate) const REFUSE: &str = "(i32.store (i32.const 16) (i32.const 1))
    (i32.store (i32.const 20) (i32.const 256)) (i32.store (i32.const 24) (i32.const 3))
    (i32.const 16)";
pub(crate) const BAD: &str = "(data (i32.const 256) \"bad\")";

/// Gives its table so many pieces of 64 KiB.
fn pieces(count: u32) -> Vec<u8> {
    let body = format!(
        "(local $left i32) (local.set $left (i32.const {count}))
         (loop $more
           (call $write (i32.const 0) (i32.const 65536) (i32.const 1024))
           (if (i32.load (i32.const 1024)) (then (return (i32.const 16))))
           (local.set $left (i32.sub (local.get $left) (i32.const 1)))
           (br_if $more (local.get $left)))
         (i32.const 16)"
    );
    let write = "(import \"nearscan:drive/output@0.1.0\" \"write\"
        (func $write (param i32 i32 i32)))
      (data (i32.const 36) \"\\00\\02\\00\\00\\06\\00\\00\\00\") (data (i32.const 512) \"schema\")";
    guest("table", &body, write)
}

/// A server of a store with applications.
pub(crate) struct WithApplications {
    pub(crate) served: Served,
    pub(crate) store: Store,
    /// Applications run on it.
    _runtime: Runtime,
}

impl WithApplications {
    pub(crate) fn start() -> Self {
        Self::with(ApplicationOptions::default(), ServerOptions::default())
    }

    /// A server that finds no change by polling within the time of a test.
    pub(crate) fn with(applications: ApplicationOptions, options: ServerOptions) -> Self {
        let place = Place::new(Way::Tcp);
        let store = Store::open(&place.folder.path().join("store")).unwrap();
        store.create_collection(&raw(), Quota::default()).unwrap();
        let runtime = Runtime::new().unwrap();
        let delivery = Delivery {
            attempts_max: 2,
            backoff_first: Duration::from_millis(1),
            look: Duration::from_secs(300),
            ..Delivery::default()
        };
        let applications = ApplicationOptions { delivery, ..applications };
        let opened = Applications::open(&store, Arc::new(NoTables), runtime.handle(), applications);
        let options = ServerOptions {
            store: Some(store.clone()),
            applications: Some(opened.unwrap()),
            grace: Duration::from_secs(1),
            ..options
        };
        let drive = CpuDrive::start(nearscan_cpu::Options::with_threads(1)).unwrap();
        Self { served: Served::with(Arc::new(drive), place, options), store, _runtime: runtime }
    }

    pub(crate) fn connect(&self) -> RemoteDrive {
        self.served.connect()
    }

    pub(crate) fn connect_with(&self, token: &str) -> RemoteDrive {
        let security = Security { token: Some(token.to_owned()), tls: Tls::Beyond };
        RemoteDrive::connect(&self.served.address, Options { security, ..options() }).unwrap()
    }
}

pub(crate) fn raw() -> CollectionPath {
    CollectionPath::in_default("raw").unwrap()
}

pub(crate) fn package(manifest: String, component: Vec<u8>) -> Package {
    Package { manifest, component: component.into(), signature: None }
}

/// Installs an application and starts it.
pub(crate) async fn add(
    applications: &RemoteApplications,
    name: &str,
    entry: &str,
    component: Vec<u8>,
) {
    let package = package(manifest(name, entry, ""), component);
    applications.install(package, Replace::Never).await.unwrap();
    applications.start(name).await.unwrap();
}

/// The answer to a request without arguments.
pub(crate) async fn run(
    applications: &RemoteApplications,
    name: &str,
    body: &'static [u8],
) -> Result<Vec<u8>, ApplicationError> {
    applications.run(name, &[], Bytes::from_static(body)).await
}

#[test]
fn application_is_installed_started_run_stopped_replaced_and_removed() {
    let server = WithApplications::start();
    let drive = server.connect();
    wait(async {
        let applications = drive.applications();
        let component = guest("command", ECHO, "");
        let first = package(manifest("echo", "command", ""), component.clone());
        let made = applications.install(first.clone(), Replace::Never).await.unwrap();
        assert_eq!((made.name.as_str(), made.version.as_str()), ("echo", "1"));
        assert_eq!((made.state, made.is_signed), (State::Installed, false));
        assert_eq!(
            (made.entries.join(" "), made.rights.as_str()),
            ("command".to_owned(), "read, write raw")
        );
        assert_eq!(made.sha256, nearscan_applications::sha256(&component));
        let not_started = run(&applications, "echo", b"").await.unwrap_err();
        assert_eq!(not_started.kind, Kind::NotStarted, "{not_started}");
        assert!(not_started.reason.contains("start it"), "{not_started}");
        applications.start("echo").await.unwrap();
        assert_eq!(run(&applications, "echo", b"hello").await.unwrap(), b"hello");
        assert_eq!(run(&applications, "echo", b"").await.unwrap(), b"");
        let again = applications.install(first, Replace::Never).await.unwrap_err();
        assert_eq!(again.kind, Kind::Exists, "{again}");
        let other = manifest("echo", "command", "").replace("\"1\"", "\"2\"");
        let other = package(other, guest("command", REFUSE, BAD));
        applications.install(other, Replace::Same).await.unwrap();
        let failed = run(&applications, "echo", b"hello").await.unwrap_err();
        assert_eq!(failed.kind, Kind::Failed { words: "bad".to_owned() }, "{failed}");
        assert_eq!(failed.reason, "application echo failed: bad");
        applications.stop("echo").await.unwrap();
        let listed = applications.list().await.unwrap();
        let [listed] = &listed[..] else { panic!("{listed:?}") };
        assert_eq!((listed.version.as_str(), listed.state), ("2", State::Stopped));
        applications.remove("echo").await.unwrap();
        assert_eq!(applications.remove("echo").await.unwrap_err().kind, Kind::NotFound);
        assert!(applications.list().await.unwrap().is_empty());
    });
}

#[rstest]
#[case(8 << 20)]
#[case((1 << 20) + 1)]
fn request_and_answer_of_many_parts_arrive_as_they_were_sent(#[case] length: usize) {
    let server = WithApplications::start();
    let drive = server.connect();
    wait(async {
        let applications = drive.applications();
        add(&applications, "echo", "command", guest("command", ECHO, "")).await;
        let body = noise(length);
        assert!(applications.run("echo", &[], body.clone()).await.unwrap() == body);
    });
}

#[test]
fn list_of_many_applications_goes_on_behind_its_first_page() {
    let server = WithApplications::start();
    let drive = server.connect();
    wait(async {
        let applications = drive.applications();
        let component = guest("command", TAKE, "");
        let names: Vec<String> = (10..60).map(|number| format!("a{number}")).collect();
        for name in &names {
            let long = format!("description = \"{}\"\n", "x".repeat(31 << 10));
            let manifest = long + &manifest(name, "command", "");
            let package = package(manifest, component.clone());
            applications.install(package, Replace::Never).await.unwrap();
        }
        let listed = applications.list().await.unwrap();
        let found: Vec<String> = listed.into_iter().map(|it| it.name).collect();
        assert_eq!(found, names);
    });
}

#[test]
fn table_is_read_to_its_end_and_its_call_is_stopped_when_it_is_left() {
    let options = ApplicationOptions { calls_max: 1, ..ApplicationOptions::default() };
    let server = WithApplications::with(options, ServerOptions::default());
    let drive = server.connect();
    wait(async {
        let applications = drive.applications();
        add(&applications, "short", "table", pieces(40)).await;
        add(&applications, "long", "table", pieces(1_000_000)).await;
        assert_eq!(applications.schema("short", &[]).await.unwrap(), b"schema");
        let mut table = applications.table("short", &[]).await.unwrap();
        let mut length = 0;
        while let Some(piece) = table.next().await.unwrap() {
            length += piece.len();
        }
        assert_eq!(length, 40 << 16);
        let mut table = applications.table("long", &[]).await.unwrap();
        table.next().await.unwrap().unwrap();
        drop(table);
        // There is a place for one call.
        let mut table = applications.table("short", &[]).await.unwrap();
        assert!(table.next().await.unwrap().is_some());
        let mut none = applications.table("none", &[]).await.unwrap();
        assert_eq!(none.next().await.unwrap_err().kind, Kind::NotFound);
    });
}

#[test]
fn server_without_applications_says_so() {
    let drive = CpuDrive::start(nearscan_cpu::Options::with_threads(1)).unwrap();
    let served = Served::start(Arc::new(drive), Way::Unix);
    let drive = served.connect();
    wait(async {
        let applications = drive.applications();
        let error = applications.list().await.unwrap_err();
        assert_eq!(error.kind, Kind::Unsupported);
        assert_eq!(error.reason, "the server has no applications");
        assert_eq!(run(&applications, "a", b"body").await.unwrap_err().kind, Kind::Unsupported);
        let mut table = applications.table("a", &[]).await.unwrap();
        assert_eq!(table.next().await.unwrap_err().kind, Kind::Unsupported);
        let package = package(manifest("a", "command", ""), guest("command", ECHO, ""));
        let error = applications.install(package, Replace::Never).await.unwrap_err();
        assert_eq!(error.kind, Kind::Unsupported, "{error}");
    });
}

#[test]
fn package_or_request_that_is_not_as_it_has_to_be_is_refused_with_the_reason() {
    let server = WithApplications::start();
    let drive = server.connect();
    wait(async {
        let applications = drive.applications();
        let manifest = || manifest("a", "command", "");
        let install = async |manifest: String, component: Bytes| {
            let package = Package { manifest, component, signature: None };
            applications.install(package, Replace::Never).await.unwrap_err()
        };
        let error = install(manifest(), Bytes::from_static(b"\0asm nothing")).await;
        assert_eq!(error.kind, Kind::Invalid, "{error}");
        assert!(error.reason.starts_with("invalid component: "), "{error}");
        let error = install("name = 1".to_owned(), Bytes::from(guest("command", ECHO, ""))).await;
        assert_eq!(error.kind, Kind::Invalid, "{error}");
        assert!(error.reason.starts_with("invalid manifest: "), "{error}");
        let error = install(manifest(), vec![0; (128 << 20) + 1].into()).await;
        assert_eq!(error.kind, Kind::TooLarge, "{error}");
        let unknown = run(&applications, "none", b"").await.unwrap_err();
        assert_eq!(unknown.kind, Kind::NotFound, "{unknown}");
        assert_eq!(unknown.reason, "application none not found");
        add(&applications, "echo", "command", guest("command", ECHO, "")).await;
        let body = Bytes::from(vec![0; (64 << 20) + 1]);
        let error = applications.run("echo", &[], body).await.unwrap_err();
        assert_eq!(error.kind, Kind::TooLarge, "{error}");
        let error = applications.schema("echo", &[]).await.unwrap_err();
        assert_eq!(error.kind, Kind::Invalid, "{error}");
        assert_eq!(error.reason, "application echo has no table");
        let long = Handler { name: "h".repeat(70 << 10), ..handler("", "echo") };
        let error = applications.register(&long, Beginning::Now).await.unwrap_err();
        assert_eq!(error.kind, Kind::TooLarge, "{error}");
        assert_eq!(run(&applications, "echo", b"still").await.unwrap(), b"still");
    });
}

#[test]
fn long_words_of_an_application_are_cut_off() {
    let server = WithApplications::start();
    let drive = server.connect();
    let body = format!("(i32.store8 (i32.const 16) (i32.const 1)) {ECHO}");
    wait(async {
        let applications = drive.applications();
        add(&applications, "complain", "command", guest("command", &body, "")).await;
        let words = Bytes::from("é".repeat(1 << 20));
        let error = applications.run("complain", &[], words).await.unwrap_err();
        let Kind::Failed { words } = &error.kind else { panic!("{error}") };
        assert!(words.len() > 4000 && words.len() <= 4096 && words.ends_with("é..."));
        assert!(error.reason.starts_with("application complain failed: é"));
        assert!(drive.is_connected());
    });
}

#[test]
fn request_beyond_the_memory_of_the_server_is_refused() {
    let options = ServerOptions { host_bytes_max: 1 << 20, ..ServerOptions::default() };
    let server = WithApplications::with(ApplicationOptions::default(), options);
    let drive = server.connect();
    wait(async {
        let applications = drive.applications();
        add(&applications, "echo", "command", guest("command", ECHO, "")).await;
        for _ in 0..3 {
            let body = noise(900 << 10);
            assert!(applications.run("echo", &[], body.clone()).await.unwrap() == body);
        }
        let error = applications.run("echo", &[], noise(2 << 20)).await.unwrap_err();
        assert_eq!(error.kind, Kind::Busy, "{error}");
    });
}

#[rstest]
#[case::beyond_the_limit(
    &[0x81, 0x80, 0x80, 0x20],
    Code::InvalidArgument,
    "the request has 67108865 bytes, the limit is 67108864"
)]
#[case::more_than_announced(&[2], Code::InvalidArgument, "more than the 2 bytes")]
#[case::without_its_end(&[3], Code::Aborted, "cut off")]
fn request_that_is_not_what_was_announced_is_refused(
    #[case] announced: &[u8],
    #[case] code: Code,
    #[case] text: &str,
) {
    let server = WithApplications::start();
    let drive = server.connect();
    wait(add(&drive.applications(), "echo", "command", guest("command", ECHO, "")));
    // Protobuf: the first field is the name, the third one the length.
    let run = [&[0x0a, 4], &b"echo"[..], &[0x18], announced].concat();
    let first = FlightData::new()
        .with_descriptor(FlightDescriptor::new_cmd("nearscan.app.run"))
        .with_app_metadata(run);
    let column = Arc::new(BinaryArray::from_iter_values([b"abc"]));
    let batch = RecordBatch::try_from_iter([("result", column as _)]).unwrap();
    let batches = batches_to_flight_data(&batch.schema(), vec![batch]).unwrap();
    let messages = [first].into_iter().chain(batches.into_iter().skip(1)).collect();
    let uri = format!("http://{}", server.served.address);
    let status = wait(exchange(&uri, messages));
    assert_eq!(status.code(), code, "{status}");
    assert!(status.message().contains(text), "{status}");
}
