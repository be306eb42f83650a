// SPDX-License-Identifier: Apache-2.0
//! Tests reads of objects over HTTP/1.1, as any client of it makes them.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    num::NonZeroU64,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use nearscan_drive::clock::{self, Stopwatch};
use nearscan_remote::{
    Http1Patience, LinkLimit, Options, RemoteDrive, Security, ServerOptions,
    access::{Access, Scope},
    audit::Audit,
};
use nearscan_store::{Condition, Quota};
use rstest::rstest;

use crate::{
    bench::{Way, eventually, options, wait},
    objects::{WithObjects, noise, object, read_all},
};

/// The end of a header and of the head that it is the last of.
const END: &[u8] = b"\r\n\r\n";

/// A connection, and what was received over it.
struct Connection(BufReader<TcpStream>);

struct Answer {
    status: String,
    head: String,
    body: Vec<u8>,
}

impl Connection {
    fn open(server: &WithObjects) -> Self {
        let address = server.served.address.to_string();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(nearscan_conformance::sample::PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    fn ask(&mut self, path: &str, headers: &str) -> Answer {
        let text = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n");
        self.send(&text)
    }

    fn send(&mut self, text: &str) -> Answer {
        self.send_bytes(text.as_bytes())
    }

    fn send_bytes(&mut self, bytes: &[u8]) -> Answer {
        self.0.get_mut().write_all(bytes).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.0.read_line(&mut head).unwrap() > 0, "it was closed after {head:?}");
        }
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        self.0.read_exact(&mut body).unwrap();
        let status = head.lines().next().unwrap().to_owned();
        Answer { status, head, body }
    }

    fn is_closed(&mut self) -> bool {
        match self.0.read(&mut [0]) {
            Ok(read) => read == 0,
            // Not that nothing came in time.
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

fn with_object(bytes: &Bytes, options: ServerOptions) -> WithObjects {
    let server = WithObjects::with(Way::Tcp, options);
    server.store.create_collection(object("a").collection(), Quota::default()).unwrap();
    server.store.put(&object("a/b c"), bytes, Condition::Always).unwrap();
    server
}

#[test]
fn object_is_read_whole_and_in_part_over_one_connection() {
    let bytes = noise((3 << 20) + 17);
    let server = with_object(&bytes, ServerOptions::default());
    let version = server.store.info(&object("a/b c")).unwrap().version;
    let mut connection = Connection::open(&server);
    let whole = connection.ask("/objects/default/c/a%2Fb%20c", "");
    assert_eq!(whole.status, "HTTP/1.1 200 OK");
    assert!(whole.head.contains(&format!("\r\nETag: \"{version}\"\r\n")), "{}", whole.head);
    assert!(whole.body == bytes);
    let headers = format!("If-Match: \"{version}\"\r\nRange: bytes=1048570-2097160\r\n");
    let part = connection.ask("/objects/default/c/a/b%20c", &headers);
    assert_eq!(part.status, "HTTP/1.1 206 Partial Content");
    let place = format!("\r\nContent-Range: bytes 1048570-2097160/{}\r\n", bytes.len());
    assert!(part.head.contains(&place), "{}", part.head);
    assert!(part.body == bytes[1_048_570..=2_097_160]);
}

#[test]
fn empty_object_is_read() {
    let server = with_object(&Bytes::new(), ServerOptions::default());
    let answer = Connection::open(&server).ask("/objects/default/c/a/b%20c", "");
    assert_eq!((answer.status.as_str(), answer.body.len()), ("HTTP/1.1 200 OK", 0));
}

#[rstest]
#[case::object("/objects/default/c/b", "", "404 Not Found", "5")]
#[case::version(
    "/objects/default/c/a/b%20c",
    "If-Match: \"1234567\"\r\n",
    "412 Precondition",
    "10"
)]
#[case::range("/objects/default/c/a/b%20c", "Range: bytes=5-10\r\n", "416 Range", "11")]
fn refusal_leaves_the_connection_open(
    #[case] path: &str,
    #[case] headers: &str,
    #[case] status: &str,
    #[case] of_grpc: &str,
) {
    let server = with_object(&noise(10), ServerOptions::default());
    let mut connection = Connection::open(&server);
    let refused = connection.ask(path, headers);
    assert!(refused.status.starts_with(&format!("HTTP/1.1 {status}")), "{}", refused.status);
    assert!(refused.head.contains(&format!("\r\ngrpc-status: {of_grpc}\r\n")), "{}", refused.head);
    assert!(connection.ask("/objects/default/c/a/b%20c", "").body == noise(10));
}

#[test]
fn request_that_is_not_understood_closes_the_connection() {
    let server = with_object(&noise(10), ServerOptions::default());
    for text in [
        "GET / HTTP/1.1\r\n\r\n",
        "GET /objects/default/c/a HTTP/1.1\r\nContent-Length: 3\r\n\r\n",
        "GET /objects/default/c/a HTTP/1.0\r\n\r\n",
    ] {
        let mut connection = Connection::open(&server);
        let answer = connection.send(text);
        assert_eq!(answer.status, "HTTP/1.1 400 Bad Request", "{text}");
        assert!(connection.is_closed(), "{text}");
    }
    let mut connection = Connection::open(&server);
    let head = format!("GET /{} HTTP/1.1\r\n", "x".repeat(64 << 10));
    drop(connection.0.get_mut().write_all(head.as_bytes()));
    assert!(connection.is_closed());
    let mut connection = Connection::open(&server);
    let answer = connection.ask("/objects/default/c/a/b%20c", "Connection: close\r\n");
    assert!(answer.body == noise(10));
    assert!(connection.is_closed());
}

#[test]
fn web_page_with_a_name_of_its_own_reads_nothing_and_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit");
    let audit = Some(Arc::new(Audit::open(&log).unwrap()));
    let server = with_object(&noise(10), ServerOptions { audit, ..ServerOptions::default() });
    let text = "GET /objects/default/c/a/b%20c HTTP/1.1\r\nHost: example.com\r\n\r\n";
    let answer = Connection::open(&server).send(text);
    assert_eq!((answer.status.as_str(), answer.body.len()), ("HTTP/1.1 403 Forbidden", 0));
    let log = std::fs::read_to_string(log).unwrap();
    let [line] = &log.lines().collect::<Vec<_>>()[..] else { panic!("{log}") };
    for part in ["\"peer\":\"127.0.0.1:", "\"nearscan.get\"", "\"denied\"", "example.com"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn client_has_to_say_who_it_is_and_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.toml");
    let granted = |name: &str, scopes: &[Scope]| {
        Access::grant(&file, name, scopes.iter().copied().collect()).unwrap().reveal()
    };
    let (reader, writer) = (granted("reader", &[Scope::Read]), granted("writer", &[Scope::Write]));
    let log = folder.path().join("audit");
    let bytes = noise(2 << 20);
    let options_of_server = ServerOptions {
        access: Arc::new(Access::read(&file).unwrap()),
        audit: Some(Arc::new(Audit::open(&log).unwrap())),
        ..ServerOptions::default()
    };
    let server = with_object(&bytes, options_of_server);
    let mut connection = Connection::open(&server);
    let path = "/objects/default/c/a/b%20c";
    assert_eq!(connection.ask(path, "").status, "HTTP/1.1 401 Unauthorized");
    let with = |token: &str| format!("Authorization: Bearer {token}\r\n");
    assert_eq!(connection.ask(path, &with("nsd_0")).status, "HTTP/1.1 401 Unauthorized");
    let garbage = [&b"GET /objects/default/c/a HTTP/1.1\r\nAuthorization: "[..], &[0xe4], END];
    let garbage = connection.send_bytes(&garbage.concat());
    assert_eq!(garbage.status, "HTTP/1.1 401 Unauthorized");
    assert_eq!(connection.ask(path, &with(&writer)).status, "HTTP/1.1 403 Forbidden");
    // Who is known may use any name of the server.
    let text = format!("GET {path} HTTP/1.1\r\nHost: example.com\r\n{}\r\n", with(&reader));
    assert!(connection.send(&text).body == bytes);
    let system = connection.ask("/objects/_system/c/a", &with(&reader));
    assert_eq!(system.status, "HTTP/1.1 403 Forbidden");
    let security = Security { token: Some(reader), ..Security::default() };
    let drive =
        RemoteDrive::connect(&server.served.address, Options { security, ..options() }).unwrap();
    assert!(wait(read_all(&drive, &object("a/b c"))) == bytes);
    let log = std::fs::read_to_string(log).unwrap();
    let denied =
        log.lines().filter(|line| line.contains("nearscan.get") && line.contains("denied"));
    assert_eq!(denied.count(), 5, "{log}");
    assert!(!log.contains("nsd_"), "{log}");
}

/// Patience for the tests: far more than an answer takes.
const SHORT: Http1Patience =
    Http1Patience { request: Duration::from_millis(400), taking: Duration::from_millis(400) };

#[rstest]
#[case::nothing("")]
#[case::part_of_a_head("GET /objects/default/c/a HTTP/1.1\r\n")]
fn connection_without_a_whole_request_is_closed(#[case] begun: &str) {
    let options = ServerOptions { http1_patience: SHORT, ..ServerOptions::default() };
    let server = with_object(&noise(10), options);
    let mut connection = Connection::open(&server);
    connection.0.get_mut().write_all(begun.as_bytes()).unwrap();
    assert!(connection.is_closed());
    let mut used = Connection::open(&server);
    assert!(used.ask("/objects/default/c/a/b%20c", "").body == noise(10));
    used.0.get_mut().write_all(begun.as_bytes()).unwrap();
    assert!(used.is_closed());
}

#[test]
fn head_that_comes_in_drops_is_waited_for_no_longer_than_another() {
    let options = ServerOptions { http1_patience: SHORT, ..ServerOptions::default() };
    let server = with_object(&noise(10), options);
    let mut connection = Connection::open(&server);
    let watch = Stopwatch::start();
    // Each drop comes in time for itself.
    let mut drops = b"GET /objects/default/c/a HTTP/1.1\r\n".iter().cycle();
    while connection.0.get_mut().write_all(&[*drops.next().unwrap()]).is_ok() {
        assert!(watch.elapsed() < nearscan_conformance::sample::PATIENCE, "it is never closed");
        clock::pause(SHORT.request / 8);
    }
}

#[test]
fn client_that_takes_nothing_loses_its_place() {
    let access = Arc::new(Access::anyone());
    let options = ServerOptions {
        http1_patience: SHORT,
        access: Arc::clone(&access),
        ..ServerOptions::default()
    };
    let server = with_object(&noise(64 << 20), options);
    let mut connection = Connection::open(&server);
    let request = b"GET /objects/default/c/a/b%20c HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    connection.0.get_mut().write_all(request).unwrap();
    let mut head = String::new();
    connection.0.read_line(&mut head).unwrap();
    assert_eq!(head, "HTTP/1.1 200 OK\r\n");
    let client = access.authenticate(None, None).unwrap();
    assert!(client.enter(u64::MAX).is_err(), "the request holds its bytes");
    eventually("its place is free", || client.enter(u64::MAX).is_ok());
}

/// It passes all connections on, as servers of before do.
#[test]
fn server_with_a_limit_is_read_by_flight() {
    let bytes = noise(2 << 20);
    let link = LinkLimit { bytes_per_s: NonZeroU64::new(1 << 30), latency: Duration::ZERO };
    let server = with_object(&bytes, ServerOptions { link, ..ServerOptions::default() });
    let drive = server.connect();
    assert!(wait(read_all(&drive, &object("a/b c"))) == bytes);
    let mut stream = TcpStream::connect(server.served.address.to_string()).unwrap();
    let text = b"GET /objects/default/c/a/b%20c HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    stream.write_all(text).unwrap();
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
}
