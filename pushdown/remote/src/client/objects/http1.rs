// SPDX-License-Identifier: Apache-2.0
//! Reads an object over HTTP/1.1, on a connection of its own: see [`crate::protocol::http1`].
//!
//! There is nothing between the socket and the memory that callers get, so it is faster than gRPC.
//! It is used where the bytes may pass as they are, that is without TLS and without a limit of the
//! link; a server that does not answer it is asked by gRPC from then on.

use std::{
    io,
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tonic::{
    Code, Status,
    codegen::http::{HeaderMap, HeaderName, HeaderValue},
};

use crate::{
    buffers::{BUFFER_BYTES, Buffers},
    protocol::{
        http1::{DESCRIPTION, HEAD_BYTES_MAX, HEADERS_MAX, bytes_of, path_of, text_of_range},
        objects::{ObjectInfo, Read},
    },
};

/// Reads at once; others are by gRPC.
const CONNECTIONS_MAX: usize = 16;

/// Bytes of a range from which on it is worth a connection of its own.
const RANGE_BYTES_MIN: u64 = 1 << 20;

/// Bytes below which what was received is copied, and its buffer used again.
const COPIED_BYTES: usize = BUFFER_BYTES / 8;

/// The connections to one run of a server.
#[derive(Debug)]
pub(in crate::client) struct Http1Connections {
    /// Host and port.
    address: String,
    token: Option<String>,
    connect_timeout: Duration,
    /// Connections without a request. They belong to no runtime, since that of the next caller may
    /// be another one.
    idle: Mutex<Vec<std::net::TcpStream>>,
    places: Arc<Semaphore>,
    /// The server has given no such answer.
    is_refused: AtomicBool,
    buffers: Buffers,
}

/// Longest silence of a server within an answer.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The bytes of an answer on their way.
#[derive(Debug)]
pub(super) struct Http1Reading {
    stream: Option<TcpStream>,
    /// Bytes that have come with the head.
    first: Bytes,
    missing: u64,
    connections: Arc<Http1Connections>,
    _place: OwnedSemaphorePermit,
}

/// What a connection has answered.
enum Answer {
    Bytes {
        info: ObjectInfo,
        length: u64,
        first: Bytes,
    },
    Refused(Status),
    /// It was closed before it answered.
    Closed,
    /// Something that is no answer to such a request.
    Unknown,
}

impl Http1Connections {
    pub(in crate::client) fn new(
        address: String,
        token: Option<String>,
        connect_timeout: Duration,
    ) -> Self {
        Self {
            address,
            token,
            connect_timeout,
            idle: Mutex::default(),
            places: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            is_refused: AtomicBool::new(false),
            buffers: Buffers::default(),
        }
    }

    /// Begins to read; nothing if that is to be done by gRPC.
    pub(super) async fn read(
        self: &Arc<Self>,
        read: &Read,
    ) -> Result<Option<(ObjectInfo, Http1Reading)>, Status> {
        let range = match read.ranges.as_slice() {
            [] => None,
            [range] if range.end.saturating_sub(range.start) >= RANGE_BYTES_MIN => {
                Some(range.start..range.end)
            }
            _ => return Ok(None),
        };
        if self.is_refused.load(Ordering::Relaxed) || Handle::try_current().is_err() {
            return Ok(None);
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return Ok(None) };
        loop {
            let (mut stream, is_new) = match self.take_idle() {
                Some(stream) => (stream, false),
                // Perhaps gRPC gets through, over the connection that there is.
                None => match self.connect().await {
                    Ok(stream) => (stream, true),
                    Err(_) => return Ok(None),
                },
            };
            let request = self.request(&stream, read, range.as_ref());
            match ask(&mut stream, request.as_bytes()).await {
                Answer::Bytes { info, length, first } => {
                    let stream = Some(stream);
                    let connections = Arc::clone(self);
                    let reading =
                        Http1Reading { stream, first, missing: length, connections, _place: place };
                    return Ok(Some((info, reading)));
                }
                Answer::Refused(status) => {
                    self.put_idle(stream);
                    return Err(status);
                }
                // The server has closed it while nobody read.
                Answer::Closed if !is_new => {}
                Answer::Closed | Answer::Unknown => {
                    self.is_refused.store(true, Ordering::Relaxed);
                    return Ok(None);
                }
            }
        }
    }

    fn take_idle(&self) -> Option<TcpStream> {
        let stream = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        TcpStream::from_std(stream).ok()
    }

    fn put_idle(&self, stream: TcpStream) {
        if let Ok(stream) = stream.into_std() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
        }
    }

    async fn connect(&self) -> Result<TcpStream, Status> {
        let connecting = timeout(self.connect_timeout, TcpStream::connect(&self.address));
        let connected = connecting.await.map_err(io::Error::from).and_then(|stream| stream);
        let stream = connected.map_err(|error| Status::unavailable(error.to_string()))?;
        stream.set_nodelay(true).map_err(|error| Status::unavailable(error.to_string()))?;
        Ok(stream)
    }

    fn request(&self, stream: &TcpStream, read: &Read, range: Option<&Range<u64>>) -> String {
        let mut text = format!("GET {} HTTP/1.1\r\n", path_of(&read.name));
        // A server that knows no clients listens to addresses, not to names.
        match stream.peer_addr() {
            Ok(address) => text.push_str(&format!("Host: {address}\r\n")),
            Err(_) => text.push_str(&format!("Host: {}\r\n", self.address)),
        }
        if let Some(token) = &self.token {
            text.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        if let Some(version) = read.version {
            text.push_str(&format!("If-Match: \"{version}\"\r\n"));
        }
        if let Some(range) = range {
            text.push_str(&format!("Range: {}\r\n", text_of_range(range)));
        }
        text.push_str("\r\n");
        text
    }
}

/// Waits for bytes, but not for ever: the connection whose keep-alive tells of a server that is
/// gone is another one.
async fn in_time<T>(read: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(SILENCE_MAX, read).await.map_err(io::Error::from).flatten()
}

/// Sends a request, and reads the head of the answer.
async fn ask(stream: &mut TcpStream, request: &[u8]) -> Answer {
    let mut received = BytesMut::with_capacity(HEAD_BYTES_MAX);
    if stream.write_all(request).await.is_err() {
        return Answer::Closed;
    }
    loop {
        match in_time(stream.read_buf(&mut received)).await {
            Ok(0) | Err(_) if received.is_empty() => return Answer::Closed,
            Ok(0) | Err(_) => return Answer::Unknown,
            Ok(_) => {}
        }
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(&received) {
            Ok(httparse::Status::Complete(length)) => {
                let Some(mut answer) = answer_of(&response) else { return Answer::Unknown };
                received.advance(length);
                if let Answer::Bytes { first, .. } = &mut answer {
                    *first = received.freeze();
                }
                return answer;
            }
            Ok(httparse::Status::Partial) if received.len() < HEAD_BYTES_MAX => {}
            Ok(httparse::Status::Partial) | Err(_) => return Answer::Unknown,
        }
    }
}

/// The answer that a head begins.
fn answer_of(response: &httparse::Response<'_, '_>) -> Option<Answer> {
    let mut headers = HeaderMap::new();
    for header in response.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        headers.insert(name, HeaderValue::from_bytes(header.value).ok()?);
    }
    if let Some(status) = Status::from_header_map(&headers) {
        return (status.code() != Code::Ok).then_some(Answer::Refused(status));
    }
    let description = bytes_of(headers.get(DESCRIPTION)?.as_bytes());
    let info = ObjectInfo::decode(description.as_slice()).ok()?;
    let length = headers.get("content-length")?.to_str().ok()?.parse().ok()?;
    matches!(response.code, Some(200 | 206)).then_some(Answer::Bytes {
        info,
        length,
        first: Bytes::new(),
    })
}

impl Http1Reading {
    /// Bytes that have not come.
    pub(super) fn missing(&self) -> u64 {
        self.missing
    }

    /// The next bytes; none after the last.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        let lost = |error: io::Error| Status::unavailable(error.to_string());
        let wanted = usize::try_from(self.missing).unwrap_or(usize::MAX);
        let bytes = match (&mut self.stream, self.first.is_empty()) {
            (_, false) if self.first.len() > wanted => {
                return Err(Status::internal("more bytes have come than were announced"));
            }
            (_, false) => std::mem::take(&mut self.first),
            (Some(stream), true) if wanted > 0 => {
                let mut buffer = self.connections.buffers.take(wanted);
                match in_time(stream.read(buffer.as_mut())).await.map_err(lost)? {
                    0 => return Err(Status::unavailable("the answer was cut off")),
                    count if count < COPIED_BYTES => {
                        Bytes::copy_from_slice(&buffer.as_ref()[..count])
                    }
                    count => buffer.freeze().slice(..count),
                }
            }
            _ => return Ok(None),
        };
        self.missing -= bytes.len() as u64;
        if self.missing == 0
            && let Some(stream) = self.stream.take()
        {
            self.connections.put_idle(stream);
        }
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use tokio::{net::TcpListener, task::JoinHandle};

    use super::*;
    use crate::protocol::{
        http1::text_of,
        objects::{ObjectName, Range as Asked},
    };

    /// A server that answers connection after connection with these bytes, one for each request,
    /// and closes a connection behind its last answer. Gives the requests.
    async fn serving(
        script: Vec<Vec<Vec<u8>>>,
    ) -> (Arc<Http1Connections>, JoinHandle<Vec<String>>) {
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
        let token = Some("t".to_owned());
        let connections = Http1Connections::new(address, token, Duration::from_secs(10));
        (Arc::new(connections), server)
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
        assert!(
            requests[0].starts_with("GET /objects/default/c/o%20p HTTP/1.1\r\nHost: 127.0.0.1:")
        );
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
        assert_eq!(connections.idle.lock().unwrap().len(), 0);
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
}
