// SPDX-License-Identifier: Apache-2.0
//! Reads an object over HTTP/1.1, on a connection of its own: see [`crate::protocol::http1`].
//!
//! There is nothing between the socket and the memory that callers get, so it is faster than gRPC.
//! It is used where the bytes may pass as they are, that is without TLS and without a limit of the
//! link; a server that does not answer it is asked by gRPC from then on.
//!
//! # Invariants
//!
//! - A connection is used again only if all bytes of its last answer came, and was never idle for
//!   longer than [`IDLE_MAX`].
//! - A server is not waited for longer than [`Http1Options::silence_max`]: gRPC may get through.

mod answer;

use std::{
    io,
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use nearscan_drive::clock::Stopwatch;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tonic::Status;

use crate::{
    buffers::{BUFFER_BYTES, Buffers},
    protocol::{
        http1::{HEAD_BYTES_MAX, path_of, text_of_range},
        objects::{ObjectInfo, Read},
    },
};
#[cfg(feature = "fuzz")]
pub(crate) use answer::{Answer, read_head};
#[cfg(not(feature = "fuzz"))]
use answer::{Answer, read_head};

/// Reads at once; others are by gRPC.
const CONNECTIONS_MAX: usize = 16;

/// Bytes of a range from which on it is worth a connection of its own.
const RANGE_BYTES_MIN: u64 = 1 << 20;

/// Bytes below which what was received is copied, and its buffer used again.
const COPIED_BYTES: usize = BUFFER_BYTES / 8;

/// The longest time for which a connection without a request is kept: half of the time after which
/// the server closes it.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// Where connections go, and how long they wait.
#[derive(Debug, Clone)]
pub(in crate::client) struct Http1Options {
    /// Host and port.
    pub(in crate::client) address: String,
    pub(in crate::client) token: Option<String>,
    pub(in crate::client) connect_timeout: Duration,
    /// Longest silence of a server before and within an answer.
    pub(in crate::client) silence_max: Duration,
}

/// The connections to one run of a server.
#[derive(Debug)]
pub(in crate::client) struct Http1Connections {
    options: Http1Options,
    idle: Mutex<Vec<Idle>>,
    idle_max: Duration,
    places: Arc<Semaphore>,
    /// The server has given no such answer.
    is_refused: AtomicBool,
    buffers: Buffers,
}

/// A connection without a request. It belongs to no runtime, since that of the next caller may be
/// another one.
#[derive(Debug)]
struct Idle {
    stream: std::net::TcpStream,
    since: Stopwatch,
}

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

impl Http1Connections {
    pub(in crate::client) fn new(options: Http1Options) -> Self {
        Self {
            options,
            idle: Mutex::default(),
            idle_max: IDLE_MAX,
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
            match self.ask(&mut stream, request.as_bytes()).await {
                Answer::Bytes { info, length, first } => {
                    let stream = Some(stream);
                    let connections = Arc::clone(self);
                    let reading =
                        Http1Reading { stream, first, missing: length, connections, _place: place };
                    return Ok(Some((info, reading)));
                }
                Answer::Refused { status, is_all } => {
                    if is_all {
                        self.put_idle(stream);
                    }
                    return Err(status);
                }
                // The server has closed it while it was idle.
                Answer::Closed if !is_new => {}
                Answer::Closed | Answer::Unknown => {
                    self.is_refused.store(true, Ordering::Relaxed);
                    return Ok(None);
                }
            }
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connections that have been without a request for too long.
    pub(in crate::client) fn close_idle(&self) {
        self.idle().retain(|idle| idle.since.elapsed() < self.idle_max);
    }

    fn take_idle(&self) -> Option<TcpStream> {
        self.close_idle();
        let Idle { stream, .. } = self.idle().pop()?;
        TcpStream::from_std(stream).ok()
    }

    fn put_idle(&self, stream: TcpStream) {
        if let Ok(stream) = stream.into_std() {
            self.idle().push(Idle { stream, since: Stopwatch::start() });
        }
    }

    async fn connect(&self) -> Result<TcpStream, Status> {
        let connecting =
            timeout(self.options.connect_timeout, TcpStream::connect(&self.options.address));
        let connected = connecting.await.map_err(io::Error::from).and_then(|stream| stream);
        let stream = connected.map_err(|error| Status::unavailable(error.to_string()))?;
        stream.set_nodelay(true).map_err(|error| Status::unavailable(error.to_string()))?;
        Ok(stream)
    }

    fn request(&self, stream: &TcpStream, read: &Read, range: Option<&Range<u64>>) -> String {
        // A server that knows no clients listens to addresses, not to names.
        let host = stream.peer_addr().map(|address| address.to_string());
        let host = host.unwrap_or_else(|_| self.options.address.clone());
        request_of(&host, self.options.token.as_deref(), read, range)
    }

    /// Waits for the server, but not for ever: the connection whose keep-alive tells of a server
    /// that is gone is another one.
    async fn in_time<T>(&self, step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        timeout(self.options.silence_max, step).await.map_err(io::Error::from).flatten()
    }

    /// Sends a request, and reads the head of the answer.
    async fn ask(&self, stream: &mut TcpStream, request: &[u8]) -> Answer {
        let mut received = BytesMut::with_capacity(HEAD_BYTES_MAX);
        if self.in_time(stream.write_all(request)).await.is_err() {
            return Answer::Closed;
        }
        loop {
            match self.in_time(stream.read_buf(&mut received)).await {
                Ok(0) | Err(_) if received.is_empty() => return Answer::Closed,
                Ok(0) | Err(_) => return Answer::Unknown,
                Ok(_) => {}
            }
            if let Some(answer) = read_head(&mut received) {
                return answer;
            }
        }
    }
}

/// The head of a request.
pub(crate) fn request_of(
    host: &str,
    token: Option<&str>,
    read: &Read,
    range: Option<&Range<u64>>,
) -> String {
    let mut text = format!("GET {} HTTP/1.1\r\nHost: {host}\r\n", path_of(&read.name));
    if let Some(token) = token {
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
                match self.connections.in_time(stream.read(buffer.as_mut())).await.map_err(lost)? {
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
mod tests;
