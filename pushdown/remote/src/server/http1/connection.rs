// SPDX-License-Identifier: Apache-2.0
//! Answers the requests of one connection over HTTP/1.1, one after the other.

use std::{io, ops::Range, os::fd::AsFd};

use nearscan_store::{ObjectInfo, Reader};
use prost::Message;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, Interest},
    net::TcpStream,
    time::timeout,
};
use tonic::{Code, Status, codegen::http::HeaderMap};

use super::{Http1Patience, request::Request};
use crate::{
    protocol::{
        http1::{DESCRIPTION, HEAD_BYTES_MAX, text_of},
        objects::ObjectInfo as InfoMessage,
    },
    server::{
        objects::{Opened, blocking},
        service::Service,
    },
};

/// Bytes that are known to be in the page cache before they are sent.
const PIECE_BYTES: u64 = 1 << 20;

/// A connection.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    /// Bytes that were received and belong to no request yet.
    pub(super) received: Vec<u8>,
    pub(super) patience: Http1Patience,
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

impl Connection {
    /// Answers requests until the client wants no more, or there is none for too long.
    pub(super) async fn serve(mut self, service: &Service) -> io::Result<()> {
        loop {
            let head = timeout(self.patience.request, self.read_head()).await??;
            let Some(head) = head else { return Ok(()) };
            let (answered, is_last) = match Request::parse(&head) {
                Ok(request) => {
                    let is_last = request.is_last;
                    (self.answer(service, request).await, is_last)
                }
                // Where the next one begins is not known.
                Err(status) => (Err(Failed::Refused(status)), true),
            };
            match answered {
                Ok(()) => {}
                Err(Failed::Refused(status)) => self.send(refusal(&status).as_bytes()).await?,
                Err(Failed::Broken(error)) => return Err(error),
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Reads the head of a request, with the empty line at its end; none at the end of the
    /// connection.
    async fn read_head(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(head) = take_head(&mut self.received)? {
                return Ok(Some(head));
            }
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Ok(None);
            }
        }
    }

    async fn answer(&mut self, service: &Service, request: Request) -> Result<(), Failed> {
        let host = request.host().to_owned();
        let opened = service.open_object(request.into_tonic(&self.stream), &host).await?;
        let (Opened { reader, ranges }, admitted) = opened;
        let range = ranges.into_iter().next().unwrap_or(0..0);
        self.send(head_of(reader.info(), &range).as_bytes()).await?;
        self.send_bytes(&reader, range).await?;
        drop(admitted);
        Ok(())
    }

    /// Sends bytes of this process.
    async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let sent = timeout(self.patience.taking, self.stream.write(bytes)).await??;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Sends bytes of an object.
    async fn send_bytes(&mut self, reader: &Reader, range: Range<u64>) -> io::Result<()> {
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min(start + PIECE_BYTES);
            match reader.system_file() {
                Some(file) => {
                    if !nearscan_io::is_cached(file, &(start..end)) {
                        read(reader.clone(), start..end).await?;
                    }
                    self.send_piece(file, start..end).await?;
                }
                None => {
                    let bytes = read(reader.clone(), start..end).await?;
                    self.send(&bytes).await?;
                }
            }
            start = end;
        }
        Ok(())
    }

    async fn send_piece(&self, file: &std::fs::File, mut range: Range<u64>) -> io::Result<()> {
        let stream = &self.stream;
        while range.start < range.end {
            let count = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            let sending = stream.async_io(Interest::WRITABLE, || {
                nearscan_io::send_file(file, range.start, count, stream.as_fd())
            });
            match timeout(self.patience.taking, sending).await?? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                sent => range.start += sent as u64,
            }
        }
        Ok(())
    }
}

/// Reads bytes on a thread that may block.
async fn read(reader: Reader, range: Range<u64>) -> io::Result<bytes::Bytes> {
    blocking(move || reader.read(range)).await.map_err(io::Error::other)
}

/// Takes the head of a request off what was received; none if more of it is to come.
pub(crate) fn take_head(received: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    const END: &[u8] = b"\r\n\r\n";
    if let Some(at) = received.windows(END.len()).position(|window| window == END) {
        let rest = received.split_off(at + END.len());
        return Ok(Some(std::mem::replace(received, rest)));
    }
    match received.len() >= HEAD_BYTES_MAX {
        true => Err(io::Error::new(io::ErrorKind::InvalidData, "its head is too long")),
        false => Ok(None),
    }
}

/// The head of an answer with bytes of an object.
pub(crate) fn head_of(info: &ObjectInfo, range: &Range<u64>) -> String {
    let length = range.end - range.start;
    let (status, place) = match length == info.length {
        true => ("200 OK", String::new()),
        false => {
            let (first, last) = (range.start, range.end.saturating_sub(1));
            let place = format!("Content-Range: bytes {first}-{last}/{}\r\n", info.length);
            ("206 Partial Content", place)
        }
    };
    let (version, description) = (info.version, text_of(&InfoMessage::from(info).encode_to_vec()));
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/octet-stream\r\n\
         X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Content-Length: {length}\r\nAccept-Ranges: bytes\r\n{place}ETag: \"{version}\"\r\n\
         {DESCRIPTION}: {description}\r\n\r\n"
    )
}

/// The answer to a request that is refused.
pub(crate) fn refusal(status: &Status) -> String {
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
