// SPDX-License-Identifier: Apache-2.0
//! Files on a web server: the same rows as from a local file, clear errors, and nothing asked for
//! that a session may not open.
//!
//! The server is in this process. It knows GET, HEAD and ranges, and nothing else, as those that
//! serve files do. Stores of the clouds are in the tests of the program, which has an environment.

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use nearscan::{Engine, Error, SessionOptions, error::StoreProblem};
use rstest::rstest;

use crate::support::{Data, ROWS, engine, engine_with_drive, failure, rows_of, text};

/// A server of files at `/NAME`, which notes what it is asked for.
struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    files: Mutex<HashMap<String, Vec<u8>>>,
    /// Method, path and range of each request.
    requests: Mutex<Vec<String>>,
    manner: Mutex<Manner>,
}

/// The way in which the server answers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Manner {
    #[default]
    Well,
    /// With whole files, whatever is asked for.
    WithoutRanges,
    /// With this status.
    Status(u16),
    /// Not from the second request of a file's bytes on.
    OnceOnly,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap(), shared: Arc::default() };
        let shared = Arc::clone(&server.shared);
        // It ends with the process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A client that leaves while it is answered is no failure of the test.
                thread::spawn(move || drop(shared.serve(stream)));
            }
        });
        server
    }

    fn with(name: &str, bytes: Vec<u8>) -> Self {
        let server = Self::start();
        server.shared.files.lock().unwrap().insert(format!("/{name}"), bytes);
        server
    }

    fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    fn set(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap() = manner;
    }

    fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let mut stream = stream;
        while let Some(first) = lines.next() {
            let first = first?;
            let mut range = None;
            for line in lines.by_ref() {
                let line = line?;
                match line.to_ascii_lowercase().split_once(": bytes=") {
                    Some(("range", bytes)) => range = Some(bytes.to_owned()),
                    _ if line.is_empty() => break,
                    _ => {}
                }
            }
            let mut words = first.split(' ');
            let (method, path) = (words.next().unwrap(), words.next().unwrap());
            let noted = format!("{method} {path} {}", range.as_deref().unwrap_or("-"));
            self.requests.lock().unwrap().push(noted);
            stream.write_all(&self.answer(method, path, range.as_deref()))?;
        }
        Ok(())
    }

    /// A whole response. Files have no time and no tag.
    fn answer(&self, method: &str, path: &str, range: Option<&str>) -> Vec<u8> {
        let manner = *self.manner.lock().unwrap();
        let of_status = |status: u16| format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
        if let Manner::Status(status) = manner {
            return of_status(status).into();
        }
        let files = self.files.lock().unwrap();
        let bytes = match (method, files.get(path)) {
            ("GET" | "HEAD", Some(bytes)) => bytes,
            ("GET" | "HEAD", None) => return of_status(404).into(),
            _ => return of_status(405).into(),
        };
        if manner == Manner::OnceOnly && method == "GET" {
            let mut gets = self.requests.lock().unwrap().clone();
            gets.retain(|request| request.starts_with("GET"));
            if gets.len() > 1 {
                return of_status(503).into();
            }
        }
        let range = range.filter(|_| manner != Manner::WithoutRanges);
        let (head, part) = match range.map(|range| parse(range, bytes.len())) {
            None => ("200 OK\r\n".to_owned(), &bytes[..]),
            Some((first, last)) => {
                let head = format!("content-range: bytes {first}-{last}/{}\r\n", bytes.len());
                (format!("206 Partial\r\n{head}"), &bytes[first..=last])
            }
        };
        let head = format!("HTTP/1.1 {head}content-length: {}\r\n\r\n", part.len());
        let body = if method == "HEAD" { &[] } else { part };
        [head.as_bytes(), body].concat()
    }
}

/// First and last byte of a range; one without a first is of the end.
fn parse(range: &str, length: usize) -> (usize, usize) {
    let (first, last) = range.split_once('-').unwrap();
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) => (first, length.min(last + 1) - 1),
        (Ok(first), Err(_)) => (first, length - 1),
        (Err(_), Ok(last)) => (length - length.min(last), length - 1),
        (Err(_), Err(_)) => panic!("range {range}"),
    }
}

/// The file of [`Data`] on a server.
async fn served() -> (Data, Server) {
    let data = Data::make().await;
    let server = Server::with("t.parquet", fs::read(data.path("t.parquet")).unwrap());
    (data, server)
}

#[rstest]
#[case("SELECT count(*), sum(k), min(v), max(k) FROM FILE")]
#[case("SELECT v, count(*), sum(k) FROM FILE WHERE k > 700 GROUP BY v ORDER BY v")]
#[case("SELECT * FROM FILE WHERE k % 97 = 5 ORDER BY k DESC")]
#[case("SELECT a.k FROM FILE a JOIN FILE b ON a.k = b.k * 500 ORDER BY a.k")]
#[tokio::test]
async fn rows_are_those_of_the_local_file(#[case] sql: &str) {
    let (data, server) = served().await;
    let engine = engine().await;
    let of = |location: &str| sql.replace("FILE", &format!("'{location}'"));
    let local = rows_of(&engine, &of(&data.path("t.parquet"))).await;
    assert!(!local.is_empty());
    assert_eq!(rows_of(&engine, &of(&server.url("t.parquet"))).await, local);
}

#[tokio::test]
async fn all_ways_to_name_a_file_take_a_url() {
    let (_data, server) = served().await;
    let engine = engine().await;
    let url = server.url("t.parquet");
    engine.register("registered", &url).await.unwrap();
    text(&engine, &format!("CREATE EXTERNAL TABLE e STORED AS PARQUET LOCATION '{url}'")).await;
    for table in ["registered", "e"] {
        let counted = rows_of(&engine, &format!("SELECT count(*) FROM {table}")).await;
        assert_eq!(counted, [ROWS.to_string()]);
    }
    server.shared.files.lock().unwrap().insert("/a b.csv".to_owned(), b"".to_vec());
    server.shared.files.lock().unwrap().insert("/a%20b.csv".to_owned(), b"x,y\n1,2\n".to_vec());
    let rows = rows_of(&engine, &format!("SELECT y FROM '{}'", server.url("a%20b.csv"))).await;
    assert_eq!(rows, ["2"]);
}

/// Only the row group is read that can hold the key.
#[tokio::test]
async fn only_what_is_needed_is_read() {
    let rows = "SELECT value AS k, repeat('x', 100) || value AS s FROM generate_series(1, 200000)";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let options = "OPTIONS ('format.max_row_group_size' '50000', 'format.compression' \
                   'uncompressed', 'format.dictionary_enabled' 'false')";
    let engine = engine().await;
    text(&engine, &format!("COPY ({rows}) TO '{path}' STORED AS PARQUET {options}")).await;
    let bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    let server = Server::with("t.parquet", bytes);
    let sql = format!("SELECT s FROM '{}' WHERE k = 150001", server.url("t.parquet"));
    assert!(rows_of(&engine, &sql).await[0].ends_with("x150001"));
    let of_range = |request: &String| {
        let range = request.strip_prefix("GET /t.parquet ")?;
        let (first, last) = parse(range, length);
        Some(last + 1 - first)
    };
    let read: usize = server.requests().iter().filter_map(of_range).sum();
    assert!(read < length / 2, "{read} of {length}: {:?}", server.requests());
}

#[tokio::test]
async fn drive_does_not_take_it() {
    let (_data, server) = served().await;
    let engine = engine_with_drive("force").await;
    engine.register("t", &server.url("t.parquet")).await.unwrap();
    let result = engine.sql("SELECT sum(k) FROM t WHERE v = 3").await.unwrap();
    let result = result.collect().await.unwrap();
    assert_eq!(result.profile.pushdown().units_drive, 0);
    let plan = text(&engine, "EXPLAIN SELECT sum(k) FROM t WHERE v = 3").await;
    assert!(plan.contains("kept=no_facts"), "{plan}");
}

/// Files of one path and size on two servers that tell no time.
#[tokio::test]
async fn files_of_two_servers_are_not_taken_for_one_another() {
    let data = Data::make().await;
    let engine = engine().await;
    let mut servers = Vec::new();
    for (name, from) in [("one", 1000), ("other", 5000)] {
        let path = data.path(&format!("{name}.parquet"));
        let rows = format!("SELECT value + {from} AS k FROM generate_series(1, 100)");
        let options = "OPTIONS ('format.compression' 'uncompressed')";
        text(&engine, &format!("COPY ({rows}) TO '{path}' {options}")).await;
        servers.push(Server::with("t.parquet", fs::read(path).unwrap()));
    }
    let length = |server: &Server| server.shared.files.lock().unwrap()["/t.parquet"].len();
    assert_eq!(length(&servers[0]), length(&servers[1]));
    for (server, greatest) in servers.iter().zip(["1100", "5100"]) {
        let url = server.url("t.parquet");
        let sql = format!("SELECT max(k) FROM '{url}' WHERE k BETWEEN {greatest} - 5 AND 9999");
        assert_eq!(rows_of(&engine, &sql).await, [greatest]);
    }
}

#[tokio::test]
async fn file_that_is_not_there_is_named() {
    let server = Server::start();
    for name in ["no.parquet", "folder/"] {
        let url = server.url(name);
        let error = failure(&engine().await, &format!("SELECT * FROM '{url}'")).await;
        let url = url.trim_end_matches('/');
        assert!(error.starts_with(&format!("error: file '{url}' not found")), "{error}");
    }
}

#[rstest]
#[case(Manner::Status(403), StoreProblem::Refused)]
#[case(Manner::Status(401), StoreProblem::Refused)]
#[case(Manner::Status(500), StoreProblem::Failed)]
#[case(Manner::WithoutRanges, StoreProblem::Failed)]
#[case(Manner::OnceOnly, StoreProblem::Failed)]
#[tokio::test]
async fn what_a_server_answers_is_no_fault_of_the_file(
    #[case] manner: Manner,
    #[case] expected: StoreProblem,
) {
    let (_data, server) = served().await;
    server.set(manner);
    let engine = engine().await;
    let sql = format!("SELECT sum(k) FROM '{}'", server.url("t.parquet"));
    let run = async { engine.sql(&sql).await?.collect().await };
    let error = run.await.unwrap_err();
    let Error::Store(problem) = &error else { panic!("{}", error.render()) };
    assert_eq!(problem.problem, expected, "{}", error.render());
    assert_eq!(problem.url, server.url("t.parquet"));
}

#[tokio::test]
async fn server_that_is_not_there_is_an_error_within_seconds() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let sql = format!("SELECT * FROM 'http://{free}/t.parquet'");
    let engine = engine().await;
    let error = tokio::time::timeout(Duration::from_secs(30), failure(&engine, &sql)).await;
    let error = error.expect("it ends by itself");
    let first = format!("error: the server of 'http://{free}/t.parquet' does not answer");
    assert!(error.starts_with(&first), "{error}");
    assert!(error.ends_with("hint: check the URL"), "{error}");
}

#[tokio::test]
async fn damaged_file_is_an_error_that_says_so() {
    let (_data, server) = served().await;
    for bytes in server.shared.files.lock().unwrap().values_mut() {
        let end = bytes.len() - 20;
        bytes[end - 30..end].fill(0xff);
    }
    let sql = format!("SELECT sum(k) FROM '{}'", server.url("t.parquet"));
    let error = failure(&engine().await, &sql).await;
    assert!(error.starts_with("error: data cannot be read"), "{error}");
}

/// The footer says that it has more row groups than it has bytes, or the file more bytes than it.
#[rstest]
#[case(|bytes: &mut Vec<u8>| {
    let end = bytes.len();
    // Field 4 of a footer, with its list of structures: 2^28 - 1 of them.
    let footer = [0x15, 4, 0x49, 0xfc, 0xff, 0xff, 0xff, 0x7f];
    bytes.splice(end - 8..end, footer.into_iter().chain([8, 0, 0, 0]).chain(*b"PAR1"));
}, "items in")]
#[case(|bytes: &mut Vec<u8>| {
    let end = bytes.len();
    bytes[end - 8..end - 4].copy_from_slice(&u32::MAX.to_le_bytes());
}, "it declares 4294967295 bytes")]
#[tokio::test]
async fn footer_that_lies_is_refused_before_room_is_made(
    #[case] lie: fn(&mut Vec<u8>),
    #[case] what: &str,
) {
    let (_data, server) = served().await;
    server.shared.files.lock().unwrap().values_mut().for_each(lie);
    let url = server.url("t.parquet");
    let error = failure(&engine().await, &format!("SELECT sum(k) FROM '{url}'")).await;
    assert!(error.starts_with("error: data cannot be read\n"), "{error}");
    assert!(error.contains(&url) && error.contains(what), "{error}");
}

#[tokio::test]
async fn nothing_outside_of_an_allowed_root_is_asked_for() {
    let (_data, server) = served().await;
    let bytes = server.shared.files.lock().unwrap()["/t.parquet"].clone();
    server.shared.files.lock().unwrap().insert("/in/t.parquet".to_owned(), bytes);
    let engine: Engine = engine().await;
    let options = SessionOptions::default().read_only().allowed_root(&server.url("in")).unwrap();
    let session = engine.session_with(options);
    let run = async |url: &str| {
        session.sql(&format!("SELECT count(*) FROM '{url}'")).await?.collect().await
    };
    for name in ["t.parquet", "inner.parquet", "in/../t.parquet", "in/%2e%2e/t.parquet"] {
        let error = run(&server.url(name)).await.unwrap_err();
        assert!(matches!(error, Error::Access(_)), "{name}: {}", error.render());
    }
    let create = format!(
        "CREATE EXTERNAL TABLE e STORED AS PARQUET LOCATION '{}'",
        server.url("in/t.parquet")
    );
    assert!(matches!(session.sql(&create).await, Err(Error::Access(_))));
    assert_eq!(server.requests(), [""; 0]);
    assert_eq!(run(&server.url("in/t.parquet")).await.unwrap().profile.rows, 1);
}
