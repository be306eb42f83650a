// SPDX-License-Identifier: Apache-2.0
//! Answers reads of objects over HTTP/1.1, which is as fast as a web server is: the bytes go from
//! the page cache to the socket without a copy.
//!
//! Connections that begin with `GET` are taken before gRPC sees them; what is sent over them is in
//! [`crate::protocol::http1`]. They pass the same gate as all other requests. There are none where
//! connections are encrypted or throttled, since the bytes have to pass through this process then,
//! and clients read by gRPC.
//!
//! # Invariants
//!
//! - A thread of the runtime does not wait for a device: what is not in the page cache is read on a
//!   thread that may block, before it is sent. Only pages that are evicted in between are read by
//!   the one that sends. Before Linux 6.5, which tells what is cached, all is read so.
//! - A request counts as running until its last byte was handed to the system.
//! - Where clients need not say who they are, the request names the server by an address, against
//!   DNS rebinding: a web page that got hold of the address through a name of its own cannot ask
//!   for objects. Nor can it embed them (`nosniff`, `Cross-Origin-Resource-Policy`).
//! - A connection on which nothing happens for [`PATIENCE`], or for [`SENDING_PATIENCE`] within an
//!   answer, is closed: a client that is there reads on over another one.

mod request;

use std::{io, ops::Range, os::fd::AsFd, sync::Arc, time::Duration};

use futures::{Stream, StreamExt, stream};
use nearscan_store::Reader;
use prost::Message;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, Interest},
    net::TcpStream,
    sync::mpsc,
    time::timeout,
};
use tonic::{Code, Status, codegen::http::HeaderMap};

use super::{
    Served, Stage,
    objects::{Opened, blocking},
    service::Service,
};
use crate::protocol::{
    http1::{DESCRIPTION, HEAD_BYTES_MAX, text_of},
    objects::ObjectInfo,
};
use request::Request;

/// The longest wait for a request.
const PATIENCE: Duration = Duration::from_secs(60);

/// The longest time in which a client takes none of the bytes that it has asked for. A query may
/// rest for long; but a client that is gone would hold its place for a quarter of an hour.
const SENDING_PATIENCE: Duration = Duration::from_secs(300);

/// Connections that wait for gRPC to take them.
const WAITING_CONNECTIONS: usize = 64;

/// Bytes that are known to be in the page cache before they are sent.
const PIECE_BYTES: u64 = 1 << 20;

/// The first byte of `GET`; connections of gRPC begin with `P`.
const FIRST_BYTE: u8 = b'G';

/// Takes the connections that read objects over HTTP/1.1 and passes on all others.
pub(super) fn without_http1(
    served: Arc<Served>,
    service: Service,
    incoming: impl Stream<Item = io::Result<TcpStream>> + Send + 'static,
) -> impl Stream<Item = io::Result<TcpStream>> {
    let (others, waiting) = mpsc::channel(WAITING_CONNECTIONS);
    let sorting = async move {
        let mut incoming = std::pin::pin!(incoming);
        loop {
            let stream = tokio::select! {
                stream = incoming.next() => stream,
                () = served.reached(Stage::Ending) => None,
                () = others.closed() => None,
            };
            // The listener is closed with the stream.
            let Some(stream) = stream else { return };
            let (served, service, others) = (Arc::clone(&served), service.clone(), others.clone());
            // It ends with its client, or with the server.
            drop(tokio::spawn(async move {
                tokio::select! {
                    () = sort(stream, service, others) => {}
                    () = served.reached(Stage::Ending) => {}
                }
            }));
        }
    };
    // It ends with the server.
    drop(tokio::spawn(sorting));
    stream::unfold(waiting, |mut waiting| async move {
        waiting.recv().await.map(|stream| (stream, waiting))
    })
}

/// Serves a connection, or passes it on.
async fn sort(
    stream: io::Result<TcpStream>,
    service: Service,
    others: mpsc::Sender<io::Result<TcpStream>>,
) {
    let stream = match stream {
        Ok(stream) => stream,
        Err(error) => return drop(others.send(Err(error)).await),
    };
    let mut first = [0];
    match timeout(PATIENCE, stream.peek(&mut first)).await {
        Ok(Ok(1)) if first == [FIRST_BYTE] => {
            if let Err(error) = serve(stream, &service).await {
                tracing::debug!(%error, "a connection over HTTP/1.1 has ended");
            }
        }
        Ok(Ok(_)) => drop(others.send(Ok(stream)).await),
        Ok(Err(_)) | Err(_) => {}
    }
}

/// Answers the requests of a connection, one after the other.
async fn serve(mut stream: TcpStream, service: &Service) -> io::Result<()> {
    let mut received = Vec::new();
    loop {
        let Some(head) = read_head(&mut stream, &mut received).await? else { return Ok(()) };
        let (answered, is_last) = match Request::parse(&head) {
            Ok(request) => {
                let is_last = request.is_last;
                (answer(&mut stream, service, request).await, is_last)
            }
            // Where the next one begins is not known.
            Err(status) => (Err(Failed::Refused(status)), true),
        };
        match answered {
            Ok(()) => {}
            Err(Failed::Refused(status)) => send(&mut stream, refusal(&status).as_bytes()).await?,
            Err(Failed::Broken(error)) => return Err(error),
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Why a request was not answered with bytes.
enum Failed {
    /// It is refused, and nothing was sent yet.
    Refused(Status),
    /// The connection cannot be used any more.
    Broken(io::Error),
}

impl From<Status> for Failed {
    fn from(status: Status) -> Self {
        Self::Refused(status)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

/// Reads the head of a request, with the empty line at its end; none at the end of the connection.
async fn read_head(stream: &mut TcpStream, received: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    const END: &[u8] = b"\r\n\r\n";
    loop {
        if let Some(at) = received.windows(END.len()).position(|window| window == END) {
            let rest = received.split_off(at + END.len());
            return Ok(Some(std::mem::replace(received, rest)));
        }
        if received.len() >= HEAD_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its head is too long"));
        }
        if timeout(PATIENCE, stream.read_buf(received)).await?? == 0 {
            return Ok(None);
        }
    }
}

async fn answer(stream: &mut TcpStream, service: &Service, request: Request) -> Result<(), Failed> {
    if service.is_anonymous() {
        request.check_host()?;
    }
    let (opened, admitted) = service.open_object(request.into_tonic(stream)).await?;
    let Opened { reader, ranges } = opened;
    let range = ranges.into_iter().next().unwrap_or(0..0);
    send(stream, head_of(&reader, &range).as_bytes()).await?;
    send_bytes(stream, &reader, range).await?;
    drop(admitted);
    Ok(())
}

/// The head of an answer with bytes of an object.
fn head_of(reader: &Reader, range: &Range<u64>) -> String {
    let info = reader.info();
    let length = range.end - range.start;
    let (status, place) = match length == info.length {
        true => ("200 OK", String::new()),
        false => {
            let (first, last) = (range.start, range.end.saturating_sub(1));
            let place = format!("Content-Range: bytes {first}-{last}/{}\r\n", info.length);
            ("206 Partial Content", place)
        }
    };
    let (version, description) = (info.version, text_of(&ObjectInfo::from(info).encode_to_vec()));
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/octet-stream\r\n\
         X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Content-Length: {length}\r\nAccept-Ranges: bytes\r\n{place}ETag: \"{version}\"\r\n\
         {DESCRIPTION}: {description}\r\n\r\n"
    )
}

/// The answer to a request that is refused.
fn refusal(status: &Status) -> String {
    let reason = match status.code() {
        Code::InvalidArgument => "400 Bad Request",
        Code::Unauthenticated => "401 Unauthorized",
        Code::PermissionDenied => "403 Forbidden",
        Code::NotFound => "404 Not Found",
        Code::Aborted => "412 Precondition Failed",
        Code::OutOfRange => "416 Range Not Satisfiable",
        Code::ResourceExhausted => "429 Too Many Requests",
        Code::Unimplemented => "501 Not Implemented",
        Code::Unavailable => "503 Service Unavailable",
        _ => "500 Internal Server Error",
    };
    let mut headers = HeaderMap::new();
    if status.add_header(&mut headers).is_err() {
        headers.clear();
    }
    let mut text = format!("HTTP/1.1 {reason}\r\nContent-Length: 0\r\n");
    for (name, value) in &headers {
        text.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap_or_default()));
    }
    text.push_str("\r\n");
    text
}

/// Sends bytes of this process.
async fn send(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let sent = timeout(SENDING_PATIENCE, stream.write(bytes)).await??;
        bytes = &bytes[sent..];
    }
    Ok(())
}

/// Sends bytes of an object.
async fn send_bytes(stream: &mut TcpStream, reader: &Reader, range: Range<u64>) -> io::Result<()> {
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + PIECE_BYTES);
        match reader.system_file() {
            Some(file) => {
                if !nearscan_io::is_cached(file, &(start..end)) {
                    read(reader.clone(), start..end).await?;
                }
                send_piece(stream, file, start..end).await?;
            }
            None => {
                let bytes = read(reader.clone(), start..end).await?;
                send(stream, &bytes).await?;
            }
        }
        start = end;
    }
    Ok(())
}

/// Reads bytes on a thread that may block.
async fn read(reader: Reader, range: Range<u64>) -> io::Result<bytes::Bytes> {
    blocking(move || reader.read(range)).await.map_err(io::Error::other)
}

async fn send_piece(
    stream: &TcpStream,
    file: &std::fs::File,
    mut range: Range<u64>,
) -> io::Result<()> {
    while range.start < range.end {
        let count = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let sending = stream.async_io(Interest::WRITABLE, || {
            nearscan_io::send_file(file, range.start, count, stream.as_fd())
        });
        match timeout(SENDING_PATIENCE, sending).await?? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            sent => range.start += sent as u64,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_has_a_status_of_http_and_one_of_grpc() {
        let text = refusal(&Status::not_found("there is no object c/\u{e4}"));
        assert!(text.starts_with("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"), "{text}");
        assert!(text.contains("\r\ngrpc-status: 5\r\n"), "{text}");
        assert!(
            text.contains("\r\ngrpc-message: there%20is%20no%20object%20c/%C3%A4\r\n"),
            "{text}"
        );
        assert!(text.ends_with("\r\n\r\n"), "{text}");
    }
}
