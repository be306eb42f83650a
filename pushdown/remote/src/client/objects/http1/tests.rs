// SPDX-License-Identifier: Apache-2.0
//! Tests reads over HTTP/1.1 against servers that answer as they are told to.

use nearscan_drive::clock;
use prost::Message;
use rstest::rstest;
use tokio::{net::TcpListener, task::JoinHandle};
use tonic::Code;

use super::*;
use crate::protocol::{
    http1::text_of,
    objects::{ObjectName, Range as Asked},
};

/// A server that answers connection after connection with these bytes, one for each request,
/// and closes a connection behind its last answer. Gives the requests.
async fn serving(script: Vec<Vec<Vec<u8>>>) -> (Arc<Http1Connections>, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = tokio::spawn(async move {
        let mut requests = Vec::new();
        for answers in script {
            let (mut stream, _) = listener.accept().await.unwrap();
            for answer in answers {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await.unwrap());
                }
                requests.push(String::from_utf8(request).unwrap());
                stream.write_all(&answer).await.unwrap();
            }
        }
        requests
    });
    (Arc::new(connections_to(address, Duration::from_secs(10))), server)
}

fn connections_to(address: String, silence_max: Duration) -> Http1Connections {
    let (token, connect_timeout) = (Some("t".to_owned()), Duration::from_secs(10));
    Http1Connections::new(Http1Options { address, token, connect_timeout, silence_max })
}

fn name() -> ObjectName {
    let (collection, name) = ("c".to_owned(), "o p".to_owned());
    ObjectName { collection, name, ..ObjectName::default() }
}

fn whole() -> Read {
    Read { name: name(), version: None, ranges: Vec::new(), stream: None }
}

fn found(length: usize, bytes: &[u8]) -> Vec<u8> {
    let info = ObjectInfo { name: name(), length: length as u64, ..ObjectInfo::default() };
    let description = text_of(&info.encode_to_vec());
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nNearscan-Object: {description}\r\n\r\n"
    );
    [head.as_bytes(), bytes].concat()
}

fn refused() -> Vec<u8> {
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\ngrpc-status: 5\r\n\r\n".to_vec()
}

async fn read_all(connections: &Arc<Http1Connections>, read: &Read) -> Result<Vec<u8>, Status> {
    let (info, mut reading) = connections.read(read).await?.expect("it answers");
    assert_eq!(info.name, name());
    let mut all = Vec::new();
    while let Some(bytes) = reading.next().await? {
        all.extend_from_slice(&bytes);
    }
    Ok(all)
}

#[tokio::test]
async fn connection_is_used_again_and_another_one_made_once_it_is_closed() {
    let long = vec![7; 5 * BUFFER_BYTES + 1];
    let first = vec![found(3, b"abc"), refused(), found(long.len(), &long)];
    let (connections, server) = serving(vec![first, vec![found(0, b"")]]).await;
    assert_eq!(read_all(&connections, &whole()).await.unwrap(), b"abc");
    let error = read_all(&connections, &whole()).await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    let ranges = vec![Asked { start: 5, end: 5 + long.len() as u64 }];
    let part = Read { version: Some(8), ranges, ..whole() };
    assert!(read_all(&connections, &part).await.unwrap() == long);
    assert_eq!(read_all(&connections, &whole()).await.unwrap(), b"");
    let requests = server.await.unwrap();
    assert!(requests[0].starts_with("GET /objects/default/c/o%20p HTTP/1.1\r\nHost: 127.0.0.1:"));
    assert!(requests[0].contains("\r\nAuthorization: Bearer t\r\n"), "{requests:?}");
    let of_part = "\r\nIf-Match: \"8\"\r\nRange: bytes=5-1310725\r\n\r\n";
    assert!(requests[2].ends_with(of_part), "{requests:?}");
}

#[rstest]
#[case::nothing(b"")]
#[case::another_protocol(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00")]
#[case::a_server_of_something_else(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")]
#[case::half_an_answer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n")]
#[tokio::test]
async fn server_that_does_not_answer_is_asked_once(#[case] answer: &[u8]) {
    let (connections, server) = serving(vec![vec![answer.to_vec()]]).await;
    assert!(connections.read(&whole()).await.unwrap().is_none());
    assert!(connections.read(&whole()).await.unwrap().is_none());
    assert_eq!(server.await.unwrap().len(), 1);
}

#[rstest]
#[case::short(found(5, b"abc"), Code::Unavailable)]
#[case::long(found(2, b"abc"), Code::Internal)]
#[tokio::test]
async fn answer_of_another_length_is_an_error(#[case] answer: Vec<u8>, #[case] code: Code) {
    let (connections, _server) = serving(vec![vec![answer]]).await;
    assert_eq!(read_all(&connections, &whole()).await.unwrap_err().code(), code);
    assert_eq!(connections.idle().len(), 0);
}

#[tokio::test]
async fn short_ranges_several_ones_and_too_many_reads_are_for_grpc() {
    let answers = (0..CONNECTIONS_MAX).map(|_| vec![found(1, b"")]).collect();
    let (connections, _server) = serving(answers).await;
    let short = Asked { start: 0, end: RANGE_BYTES_MIN - 1 };
    let long = Asked { start: 0, end: RANGE_BYTES_MIN };
    for ranges in [vec![short], vec![long, long]] {
        let read = Read { ranges, ..whole() };
        assert!(connections.read(&read).await.unwrap().is_none());
    }
    let mut readings = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        readings.push(connections.read(&whole()).await.unwrap().unwrap());
    }
    assert!(connections.read(&whole()).await.unwrap().is_none());
    assert!(!connections.is_refused.load(Ordering::Relaxed));
}

#[tokio::test]
async fn refusal_with_a_body_ends_its_connection() {
    let refused = b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\ngrpc-status: 5\r\n\r\nabc";
    let (connections, _server) = serving(vec![vec![refused.to_vec()]]).await;
    let error = read_all(&connections, &whole()).await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert_eq!(connections.idle().len(), 0);
}

#[tokio::test]
async fn connection_that_was_idle_for_too_long_is_closed_and_not_used_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut connections = connections_to(address, Duration::from_secs(10));
    let (ours, (mut theirs, _)) =
        (connections.connect().await.unwrap(), listener.accept().await.unwrap());
    connections.put_idle(ours);
    connections.close_idle();
    let ours = connections.take_idle().unwrap();
    connections.put_idle(ours);
    connections.idle_max = Duration::from_millis(1);
    clock::pause(2 * connections.idle_max);
    assert!(connections.take_idle().is_none());
    assert_eq!(theirs.read(&mut [0]).await.unwrap(), 0);
}

#[rstest]
#[case::head(b"")]
#[case::bytes_behind_it(b"abc")]
#[tokio::test]
async fn silent_server_is_waited_for_no_longer_than_stated(#[case] bytes: &[u8]) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let connections = Arc::new(connections_to(address, Duration::from_millis(50)));
    let answer = if bytes.is_empty() { Vec::new() } else { found(9, bytes) };
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&answer).await.unwrap();
        stream
    });
    match connections.read(&whole()).await.unwrap() {
        None => assert!(bytes.is_empty()),
        Some((_, mut reading)) => {
            assert_eq!(reading.next().await.unwrap().unwrap(), bytes);
            assert_eq!(reading.next().await.unwrap_err().code(), Code::Unavailable);
        }
    }
    drop(server.await.unwrap());
}
