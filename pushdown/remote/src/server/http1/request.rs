// SPDX-License-Identifier: Apache-2.0
//! Reads the head of a request over HTTP/1.1.

use tokio::net::TcpStream;
use tonic::{
    Status,
    codegen::http::Extensions,
    metadata::{Ascii, MetadataMap, MetadataValue},
    transport::server::Connected,
};

use crate::protocol::{
    http1::{HEADERS_MAX, name_of, range_of, version_of},
    objects::{Range, Read},
};

/// A request for bytes of an object.
#[derive(Debug, PartialEq)]
pub(crate) struct Request {
    read: Read,
    authorization: Option<MetadataValue<Ascii>>,
    host: String,
    /// The client wants the connection to be closed.
    pub(super) is_last: bool,
}

impl Request {
    /// Reads the head of a request.
    pub(crate) fn parse(head: &[u8]) -> Result<Self, Status> {
        let wrong = |text: &str| Status::invalid_argument(text.to_owned());
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(head);
        let parsed = parsed.map_err(|error| wrong(&format!("it is no request: {error}")))?;
        if parsed.is_partial() || request.method != Some("GET") || request.version != Some(1) {
            return Err(wrong("only GET of HTTP/1.1 is answered"));
        }
        let name = name_of(request.path.unwrap_or_default());
        let name = name.ok_or_else(|| wrong("the path is /objects/PARTITION/COLLECTION/NAME"))?;
        let mut read = Read { name, version: None, ranges: Vec::new(), stream: None };
        let (mut authorization, mut host, mut is_last) = (None, String::new(), false);
        for header in request.headers.iter() {
            let value = || std::str::from_utf8(header.value).unwrap_or_default();
            match header.name.to_ascii_lowercase().as_str() {
                "authorization" => {
                    let value = MetadataValue::try_from(header.value);
                    authorization = Some(value.map_err(|_| wrong("the token is not readable"))?);
                }
                "host" => host = value().to_owned(),
                "connection" => is_last = value().eq_ignore_ascii_case("close"),
                "if-match" => {
                    let version = version_of(value());
                    let version = version.ok_or_else(|| wrong("If-Match is one version"))?;
                    read.version = Some(version);
                }
                "range" => {
                    let range = range_of(value());
                    let range = range.ok_or_else(|| wrong("Range is bytes=FIRST-LAST"))?;
                    read.ranges = vec![Range { start: range.start, end: range.end }];
                }
                // A body would be read as the next request.
                "content-length" if value() != "0" => return Err(wrong("it has a body")),
                "transfer-encoding" => return Err(wrong("it has a body")),
                _ => {}
            }
        }
        Ok(Self { read, authorization, host, is_last })
    }

    /// What is read.
    #[cfg(feature = "fuzz")]
    pub(crate) fn read(&self) -> &Read {
        &self.read
    }

    /// What the client calls the server.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The request as the gate and the service know it.
    pub(super) fn into_tonic(self, stream: &TcpStream) -> tonic::Request<Read> {
        let mut metadata = MetadataMap::new();
        if let Some(value) = self.authorization {
            metadata.insert("authorization", value);
        }
        let mut extensions = Extensions::new();
        extensions.insert(stream.connect_info());
        tonic::Request::from_parts(metadata, extensions, self.read)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn request_says_what_is_read_and_by_whom() {
        let head = b"GET /objects/default/c/a%20b HTTP/1.1\r\nHost: h\r\nif-match: \"7\"\r\n\
            RANGE: bytes=3-9\r\nAuthorization: Bearer t\r\n\r\n";
        let Request { read, authorization, host, is_last } = Request::parse(head).unwrap();
        assert_eq!((host.as_str(), is_last), ("h", false));
        assert_eq!((read.name.collection.as_str(), read.name.name.as_str()), ("c", "a b"));
        assert_eq!((read.version, read.ranges), (Some(7), vec![Range { start: 3, end: 10 }]));
        assert_eq!(authorization.unwrap(), "Bearer t");
    }

    #[rstest]
    #[case::method("POST /objects/d/c/a HTTP/1.1\r\n\r\n")]
    #[case::version("GET /objects/d/c/a HTTP/1.0\r\n\r\n")]
    #[case::path("GET / HTTP/1.1\r\n\r\n")]
    #[case::condition("GET /objects/d/c/a HTTP/1.1\r\nIf-Match: *\r\n\r\n")]
    #[case::range("GET /objects/d/c/a HTTP/1.1\r\nRange: bytes=1-\r\n\r\n")]
    #[case::body("GET /objects/d/c/a HTTP/1.1\r\nContent-Length: 5\r\n\r\n")]
    #[case::chunks("GET /objects/d/c/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")]
    #[case::no_request("GET\r\n\r\n")]
    fn other_requests_are_refused(#[case] head: &str) {
        let status = Request::parse(head.as_bytes()).unwrap_err();
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
    }
}
