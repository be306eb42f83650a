// SPDX-License-Identifier: Apache-2.0
//! Tests the applications of a server as its clients see them.

use std::{path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use nearscan_applications::{Applications, Delivery, NoTables, Options as ApplicationOptions};
use nearscan_cpu::CpuDrive;
use nearscan_remote::{
    ApplicationError, ApplicationErrorKind as Kind, ObjectErrorKind, Options, RemoteApplications,
    RemoteDrive, Security, ServerOptions, Tls,
    access::{Access, Scope},
    applications::{
        Beginning, EventKind, Filter, Handler, Level, Notice, Package, Replace, State, Watched,
        What,
    },
    audit::Audit,
};
use nearscan_store::{CollectionPath, Condition, ObjectPath, Quota, Store};
use rstest::rstest;
use tokio::runtime::Runtime;

use crate::{
    bench::{Place, Served, Way, options, wait},
    guest::{guest, manifest},
    objects::noise,
};

/// Answers the body of the request.
const ECHO: &str = "(i32.store (i32.const 20) (local.get 2))
    (i32.store (i32.const 24) (local.get 3)) (i32.const 16)";

/// Handles an event, without more.
const TAKE: &str = "(i32.const 16)";

/// Fails, and says `bad`.
const REFUSE: &str = "(i32.store (i32.const 16) (i32.const 1))
    (i32.store (i32.const 20) (i32.const 256)) (i32.store (i32.const 24) (i32.const 3))
    (i32.const 16)";
const BAD: &str = "(data (i32.const 256) \"bad\")";

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
struct WithApplications {
    served: Served,
    store: Store,
    /// Applications run on it.
    _runtime: Runtime,
}

impl WithApplications {
    fn start() -> Self {
        Self::with(ApplicationOptions::default(), ServerOptions::default())
    }

    /// A server that finds no change by polling within the time of a test.
    fn with(applications: ApplicationOptions, options: ServerOptions) -> Self {
        let place = Place::new(Way::Unix);
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

    fn connect(&self) -> RemoteDrive {
        self.served.connect()
    }

    fn connect_with(&self, token: &str) -> RemoteDrive {
        let security = Security { token: Some(token.to_owned()), tls: Tls::Beyond };
        RemoteDrive::connect(&self.served.address, Options { security, ..options() }).unwrap()
    }
}

fn raw() -> CollectionPath {
    CollectionPath::in_default("raw").unwrap()
}

fn package(manifest: String, component: Vec<u8>) -> Package {
    Package { manifest, component: component.into(), signature: None }
}

/// Installs an application and starts it.
async fn add(applications: &RemoteApplications, name: &str, entry: &str, component: Vec<u8>) {
    let package = package(manifest(name, entry, ""), component);
    applications.install(package, Replace::Never).await.unwrap();
    applications.start(name).await.unwrap();
}

/// The answer to a request without arguments.
async fn run(
    applications: &RemoteApplications,
    name: &str,
    body: &'static [u8],
) -> Result<Vec<u8>, ApplicationError> {
    applications.run(name, &[], Bytes::from_static(body)).await
}

fn handler(name: &str, application: &str) -> Handler {
    let filter = Filter {
        kinds: vec![EventKind::Created, EventKind::Written],
        collection: Some("raw".to_owned()),
        suffixes: vec![".csv".to_owned()],
        ..Filter::default()
    };
    Handler { name: name.to_owned(), application: application.to_owned(), filter }
}

/// The next notices, until one is so.
async fn until(
    watching: &mut nearscan_remote::Watching,
    mut is_so: impl FnMut(&Notice) -> bool,
) -> Notice {
    loop {
        match watching.next().await.unwrap().expect("the server goes on") {
            Watched::Notice(notice) if is_so(&notice) => return notice,
            Watched::Notice(_) => {}
            Watched::Missed(count) => panic!("{count} notices are missed"),
        }
    }
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
fn call_ends_when_its_client_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit");
    let audit = Some(Arc::new(Audit::open(&log).unwrap()));
    let options = ApplicationOptions { calls_max: 1, ..ApplicationOptions::default() };
    let server =
        WithApplications::with(options, ServerOptions { audit, ..ServerOptions::default() });
    let drive = server.connect();
    wait(async {
        let applications = drive.applications();
        let limits = "deadline_ms = 300000\nfuel = 1000000000000";
        let slow = guest("command", "(loop (br 0)) (unreachable)", "");
        let slow = package(manifest("slow", "command", limits), slow);
        applications.install(slow, Replace::Never).await.unwrap();
        applications.start("slow").await.unwrap();
        let quick = manifest("quick", "command", "deadline_ms = 1000");
        let quick = package(quick, guest("command", ECHO, ""));
        applications.install(quick, Replace::Never).await.unwrap();
        applications.start("quick").await.unwrap();
        let running = {
            let applications = applications.clone();
            tokio::spawn(async move { run(&applications, "slow", b"").await })
        };
        // It waits for its place as long as its deadline.
        loop {
            match run(&applications, "quick", b"").await {
                Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                Err(error) => {
                    assert_eq!(error.kind, Kind::Busy, "{error}");
                    break;
                }
            }
        }
        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
        assert_eq!(run(&applications, "quick", b"here").await.unwrap(), b"here");
    });
    let log = std::fs::read_to_string(log).unwrap();
    let is_left = |line: &str| line.contains("\"slow\"") && line.contains("the client has left");
    assert!(log.lines().any(is_left), "{log}");
}

#[test]
fn watcher_sees_what_was_and_what_comes() {
    let server = WithApplications::start();
    let drive = server.connect();
    let log = "(import \"nearscan:drive/log@0.1.0\" \"write\" (func $log (param i32 i32 i32)))
        (data (i32.const 256) \"a line\")";
    let body = "(call $log (i32.const 1) (i32.const 256) (i32.const 6)) (unreachable)";
    wait(async {
        let applications = drive.applications();
        add(&applications, "bad", "command", guest("command", body, log)).await;
        let mut watching = applications.watch(0).await.unwrap();
        let installed = until(&mut watching, |_| true).await;
        let expected = What::Installed { version: "1".to_owned() };
        assert_eq!((installed.name.as_str(), installed.what), ("bad", expected));
        let started = until(&mut watching, |_| true).await;
        assert_eq!((started.number, started.what), (2, What::Started));
        let error = run(&applications, "bad", b"").await.unwrap_err();
        assert_eq!(error.kind, Kind::Fault { kind: "trap".to_owned() }, "{error}");
        let line = until(&mut watching, |it| matches!(it.what, What::Logged { .. })).await;
        let expected = What::Logged { level: Level::Warn, line: "a line".to_owned() };
        assert_eq!((line.name.as_str(), line.what), ("bad", expected));
        assert!(line.at_ns > started.at_ns && line.number > started.number);
        let fault = until(&mut watching, |_| true).await;
        let What::Faulted { kind, detail } = fault.what else { panic!("{fault:?}") };
        assert_eq!(kind, "trap");
        assert!(detail.contains("unreachable"), "{detail}");
        let mut later = applications.watch(1).await.unwrap();
        assert_eq!(until(&mut later, |_| true).await.what, What::Started);
    });
}

#[test]
fn slow_watcher_is_told_how_many_notices_it_has_missed() {
    let server = WithApplications::start();
    let drive = server.connect();
    let log = "(import \"nearscan:drive/log@0.1.0\" \"write\" (func $log (param i32 i32 i32)))";
    let body = "(local $left i32) (local.set $left (i32.const 20000))
        (loop $more
          (call $log (i32.const 2) (i32.const 256) (i32.const 1))
          (local.set $left (i32.sub (local.get $left) (i32.const 1)))
          (br_if $more (local.get $left)))
        (i32.const 16)";
    wait(async {
        let applications = drive.applications();
        add(&applications, "chatty", "command", guest("command", body, log)).await;
        let mut watching = applications.watch(0).await.unwrap();
        run(&applications, "chatty", b"").await.unwrap();
        applications.stop("chatty").await.unwrap();
        let (mut seen, mut missed) = (0, 0);
        let last = loop {
            match watching.next().await.unwrap().unwrap() {
                Watched::Missed(count) => missed += count,
                Watched::Notice(Notice { number, what: What::Stopped, .. }) => break number,
                Watched::Notice(_) => seen += 1,
            }
        };
        assert!(last > 20_000, "{last}");
        assert_eq!(seen + missed + 1, last);
        // A thousand are kept.
        let mut late = applications.watch(5).await.unwrap();
        assert_eq!(late.next().await.unwrap(), Some(Watched::Missed(last - 1000 - 5)));
        assert_eq!(until(&mut late, |_| true).await.number, last - 999);
    });
}

#[test]
fn handler_gets_the_events_of_an_object_that_a_client_puts_at_once() {
    let server = WithApplications::start();
    let drive = server.connect();
    wait(async {
        let (applications, objects) = (drive.applications(), drive.objects());
        add(&applications, "take", "handler", guest("handler", TAKE, "")).await;
        applications.register(&handler("h", "take"), Beginning::Now).await.unwrap();
        let mut watching = applications.watch(0).await.unwrap();
        until(&mut watching, |it| it.what == What::Registered).await;
        let path = raw().object("a.csv").unwrap();
        let put = objects.put(&path, noise(9), Condition::Always).await.unwrap();
        let appended = objects.append(&path, noise(1), Condition::Always).await.unwrap();
        for sequence in [put.version, appended.version] {
            let handled = What::Handled { sequence, attempt: 1 };
            assert_eq!(until(&mut watching, |it| it.name == "h").await.what, handled);
        }
        let [(found, position)] = &applications.handlers().await.unwrap()[..] else {
            panic!("there is one handler")
        };
        assert_eq!(found, &handler("h", "take"));
        assert!(*position >= put.version);
        let used = applications.remove("take").await.unwrap_err();
        assert_eq!(used.kind, Kind::InUse, "{used}");
        let again = applications.register(&handler("h", "take"), Beginning::Now).await;
        assert_eq!(again.unwrap_err().kind, Kind::Exists);
        applications.unregister("h").await.unwrap();
        assert_eq!(applications.unregister("h").await.unwrap_err().kind, Kind::NotFound);
        applications.remove("take").await.unwrap();
    });
}

#[test]
fn dead_letter_is_listed_retried_and_cleared() {
    let server = WithApplications::start();
    let drive = server.connect();
    wait(async {
        let (applications, objects) = (drive.applications(), drive.objects());
        add(&applications, "refuse", "handler", guest("handler", REFUSE, BAD)).await;
        applications.register(&handler("h", "refuse"), Beginning::Now).await.unwrap();
        let mut watching = applications.watch(0).await.unwrap();
        let mut versions = Vec::new();
        for name in ["a.csv", "b.csv"] {
            let path = raw().object(name).unwrap();
            let put = objects.put(&path, noise(9), Condition::Always).await.unwrap();
            until(&mut watching, |it| matches!(it.what, What::DeadLetter { .. })).await;
            versions.push(put.version);
        }
        let letters = applications.dead_letters("h").await.unwrap();
        let [first, second] = &letters[..] else { panic!("{letters:?}") };
        let event = &first.event;
        assert_eq!((event.kind, event.of.as_str()), (EventKind::Created, "default/raw"));
        assert_eq!((event.name.as_str(), event.number), ("a.csv", versions[0]));
        assert_eq!((first.attempts, second.event.sequence), (2, versions[1]));
        assert!(first.reason.contains("bad"), "{}", first.reason);
        let failed = applications.retry("h", versions[0]).await.unwrap_err();
        assert_eq!(failed.kind, Kind::Failed { words: "bad".to_owned() }, "{failed}");
        let better = package(manifest("refuse", "handler", ""), guest("handler", TAKE, ""));
        applications.install(better, Replace::Same).await.unwrap();
        applications.retry("h", versions[0]).await.unwrap();
        applications.clear("h", versions[1]).await.unwrap();
        assert!(applications.dead_letters("h").await.unwrap().is_empty());
        let none = applications.retry("h", versions[0]).await.unwrap_err();
        assert_eq!(none.kind, Kind::NotFound, "{none}");
        assert_eq!(applications.clear("h", versions[1]).await.unwrap_err().kind, Kind::NotFound);
    });
}

/// Writes a token of a client that has these scopes.
fn token(file: &Path, name: &str, scopes: &[Scope]) -> String {
    Access::grant(file, name, scopes.iter().copied().collect()).unwrap().reveal()
}

fn is_denied<T: std::fmt::Debug>(answer: Result<T, ApplicationError>) -> bool {
    match answer {
        Err(error) if error.kind == Kind::Denied => true,
        Err(_) | Ok(_) => false,
    }
}

/// Appends to `raw/log`, and answers the two bytes that say how that went.
fn appender() -> Vec<u8> {
    let append = "(import \"nearscan:drive/objects@0.1.0\" \"append\"
        (func $append (param i32 i32 i32 i32 i32 i32 i32 i64 i32)))
      (data (i32.const 256) \"rawlog\")";
    let body = "(call $append (i32.const 256) (i32.const 3) (i32.const 259) (i32.const 3)
        (i32.const 256) (i32.const 1) (i32.const 0) (i64.const 0) (i32.const 1024))
      (i32.store8 (i32.const 512) (i32.load8_u (i32.const 1024)))
      (i32.store8 (i32.const 513) (i32.load8_u (i32.const 1032)))
      (i32.store (i32.const 20) (i32.const 512)) (i32.store (i32.const 24) (i32.const 2))
      (i32.const 16)";
    guest("command", body, append)
}

#[test]
fn client_does_to_applications_what_its_scopes_allow_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.toml");
    let reader = token(&file, "reader", &[Scope::Read]);
    let writer = token(&file, "writer", &[Scope::Read, Scope::Write]);
    let installer = token(&file, "installer", &[Scope::Install]);
    let admin = token(&file, "admin", &Scope::ALL);
    let of_server = ServerOptions {
        access: Arc::new(Access::read(&file).unwrap()),
        audit: Some(Arc::new(Audit::open(&file.with_extension("audit")).unwrap())),
        ..ServerOptions::default()
    };
    let server = WithApplications::with(ApplicationOptions::default(), of_server);
    let log = raw().object("log").unwrap();
    server.store.put(&log, b"", Condition::Always).unwrap();
    let drives = [&reader, &writer, &admin].map(|token| server.connect_with(token));
    let [reader, writer, admin] = drives.each_ref().map(RemoteDrive::applications);
    wait(async {
        let package = package(manifest("append", "command", ""), appender());
        for client in [&reader, &writer] {
            assert!(is_denied(client.install(package.clone(), Replace::Same).await));
        }
        admin.install(package.clone(), Replace::Same).await.unwrap();
        for client in [&reader, &writer] {
            assert!(is_denied(client.start("append").await));
            assert!(is_denied(client.stop("append").await));
            assert!(is_denied(client.remove("append").await));
            let handler = handler("h", "append");
            assert!(is_denied(client.register(&handler, Beginning::Now).await));
            assert!(is_denied(client.unregister("h").await));
            assert!(is_denied(client.retry("h", 1).await));
            assert!(is_denied(client.clear("h", 1).await));
            assert_eq!(client.list().await.unwrap().len(), 1);
            assert!(client.handlers().await.unwrap().is_empty());
            assert!(client.dead_letters("h").await.unwrap().is_empty());
            assert!(client.watch(0).await.unwrap().next().await.unwrap().is_some());
            let mut table = client.table("append", &[]).await.unwrap();
            assert_eq!(table.next().await.unwrap_err().kind, Kind::NotStarted);
        }
        admin.start("append").await.unwrap();
        // An error of the fourth kind: denied.
        assert_eq!(run(&reader, "append", b"").await.unwrap(), [1, 3]);
        assert_eq!(run(&writer, "append", b"").await.unwrap()[0], 0);
        assert_eq!(run(&admin, "append", b"").await.unwrap()[0], 0);
    });
    assert_eq!(server.store.info(&log).unwrap().length, 2);
    let refused = RemoteDrive::connect(
        &server.served.address,
        Options { security: Security { token: Some(installer), tls: Tls::Beyond }, ..options() },
    );
    assert!(refused.unwrap_err().to_string().contains("lacks the scope read"));
    let text = std::fs::read_to_string(file.with_extension("audit")).unwrap();
    let has =
        |parts: &[&str]| text.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(has(&["reader", "nearscan.app.install", "denied", "lacks the scope"]), "{text}");
    assert!(has(&["admin", "nearscan.app.install", "\"append\"", "allowed"]), "{text}");
    assert!(has(&["admin", "nearscan.app.install", "\"append\"", "done"]), "{text}");
    assert!(has(&["admin", "nearscan.app.start", "\"append\"", "done"]), "{text}");
    assert!(has(&["writer", "nearscan.app.run", "\"append\"", "done"]), "{text}");
    assert!(has(&["writer", "nearscan.app.table", "\"append\"", "failed"]), "{text}");
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

fn of_commands(name: &str) -> ObjectPath {
    CollectionPath::new("_system", "commands").unwrap().object(name).unwrap()
}

#[test]
fn request_in_the_command_object_is_answered_in_the_response_object() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.toml");
    let reader = token(&file, "reader", &[Scope::Read]);
    let writer = token(&file, "writer", &[Scope::Read, Scope::Write]);
    let admin = token(&file, "admin", &Scope::ALL);
    let access = Arc::new(Access::read(&file).unwrap());
    let options = ServerOptions { access, ..ServerOptions::default() };
    let server = WithApplications::with(ApplicationOptions::default(), options);
    let drives = [&reader, &writer, &admin].map(|token| server.connect_with(token));
    let [reader, writer, admin] = &drives;
    wait(async {
        add(&admin.applications(), "echo", "command", guest("command", ECHO, "")).await;
        let (command, response) = (of_commands("command"), of_commands("response"));
        let line = Bytes::from("{\"id\":\"7\",\"application\":\"echo\",\"body\":\"hello\"}\n");
        let objects = reader.objects();
        let denied = objects.append(&command, line.clone(), Condition::Always).await.unwrap_err();
        assert_eq!(denied.kind, ObjectErrorKind::Denied, "{denied}");
        assert_eq!(objects.info(&command).await.unwrap_err().kind, ObjectErrorKind::Denied);
        let objects = writer.objects();
        let info = objects.info(&command).await.unwrap();
        let unchanged = Condition::Version(info.version);
        objects.append(&command, line, unchanged).await.unwrap();
        let answer = loop {
            let mut reading = reader.objects().read(&response, None, &[]).await.unwrap();
            if let Some(answer) = reading.next().await.unwrap() {
                break answer;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        assert_eq!(answer, "{\"id\":\"7\",\"status\":\"done\",\"body\":\"hello\"}\n");
        objects.put(&command, Bytes::new(), Condition::Always).await.unwrap();
        let denied = reader.objects().truncate(&response, 0, Condition::Always).await.unwrap_err();
        assert_eq!(denied.kind, ObjectErrorKind::Denied, "{denied}");
        objects.truncate(&response, 0, Condition::Always).await.unwrap();
        let forged = objects.put(&response, noise(1), Condition::Always).await.unwrap_err();
        assert_eq!(forged.kind, ObjectErrorKind::Denied, "{forged}");
        let other = objects.info(&of_commands("answered")).await.unwrap_err();
        assert_eq!(other.kind, ObjectErrorKind::Denied, "{other}");
    });
    assert_eq!(server.store.info(&of_commands("command")).unwrap().length, 0);
}
