// SPDX-License-Identifier: Apache-2.0
//! Gives fuzzers the heads of HTTP/1.1: of requests at the server, and of answers at the client.
//!
//! # Panics
//! When what must hold of a head does not.

use std::ops::Range;

use bytes::BytesMut;
use nearscan_store::ObjectInfo;
use prost::Message;
use tonic::{Code, Status};

use crate::{
    client::{Http1Answer, read_head, request_of},
    protocol::{
        http1::HEAD_BYTES_MAX,
        objects::{ObjectInfo as InfoMessage, Read},
    },
    server::{Http1Request, head_of, refusal, take_head},
};

/// Reads requests that come in pieces of so many bytes, as a server does. The heads are the bytes
/// in their order, and what is asked for is asked for again by the client's own request. Whether
/// there is a request.
pub fn requests(bytes: &[u8], piece: usize) -> bool {
    let (mut received, mut heads, mut found) = (Vec::new(), Vec::new(), false);
    for piece in bytes.chunks(piece.max(1)) {
        received.extend_from_slice(piece);
        loop {
            match take_head(&mut received) {
                Ok(Some(head)) => {
                    assert!(head.ends_with(b"\r\n\r\n"), "a head has its end");
                    found |=
                        Http1Request::parse(&head).is_ok_and(|request| is_asked_again(&request));
                    heads.extend(head);
                }
                Ok(None) => break,
                Err(_) => return found,
            }
        }
        let whole = [&heads[..], &received].concat();
        assert!(bytes.starts_with(&whole), "nothing is lost between heads");
        assert!(received.len() < HEAD_BYTES_MAX + piece.len(), "no more is kept");
    }
    found
}

fn is_asked_again(request: &Http1Request) -> bool {
    let read = request.read();
    let range = read.ranges.first().map(|range| range.start..range.end);
    assert!(range.iter().all(|range| !range.is_empty()), "a range has bytes");
    let text = request_of(request.host(), None, read, range.as_ref());
    let again = Http1Request::parse(text.as_bytes()).expect("the client's request is one");
    let asked = |read: &Read| {
        // A partition that is not named is the default one.
        let name = &read.name;
        let name = [name.partition(), &name.collection, &name.name].map(str::to_owned);
        (name, read.version, read.ranges.clone())
    };
    assert_eq!(asked(again.read()), asked(read), "it asks for the same");
    assert_eq!(again.host(), request.host(), "it is for the same server");
    true
}

/// Asks for an object as a client does; the server has to read what is asked for. Whether that is
/// something to ask for over HTTP/1.1.
pub fn asked(bytes: &[u8]) -> bool {
    let Ok(read) = Read::decode(bytes) else { return false };
    let Ok(path) = read.name.object_path() else { return false };
    let range = match &read.ranges[..] {
        [] => None,
        [range] if range.start < range.end => Some(range.start..range.end),
        _ => return false,
    };
    let name = crate::protocol::objects::ObjectName::from(&path);
    let read = Read { name, stream: None, ..read };
    let text = request_of("127.0.0.1:7", Some("t"), &read, range.as_ref());
    let request = Http1Request::parse(text.as_bytes()).expect("the client's request is one");
    assert_eq!(request.read().name.object_path().ok(), Some(path), "it is for the same object");
    assert_eq!((request.read().version, &request.read().ranges), (read.version, &read.ranges));
    true
}

/// Reads an answer that comes in pieces of so many bytes, as a client does. Whether it is one.
pub fn answer(bytes: &[u8], piece: usize) -> bool {
    let mut received = BytesMut::new();
    for (number, part) in bytes.chunks(piece.max(1)).enumerate() {
        received.extend_from_slice(part);
        match read_head(&mut received) {
            None => assert!(received.len() < HEAD_BYTES_MAX, "a head that is too long is none"),
            Some(Http1Answer::Bytes { first, .. }) => {
                let came = bytes.len().min((number + 1) * piece.max(1));
                assert!(bytes[..came].ends_with(&first), "the bytes are those behind the head");
                return true;
            }
            Some(Http1Answer::Refused { status, .. }) => {
                assert_ne!(status.code(), Code::Ok, "what is refused has a reason");
                return true;
            }
            Some(Http1Answer::Closed) => panic!("a head was received"),
            Some(Http1Answer::Unknown) => return false,
        }
    }
    false
}

/// Says of an object what a server does, or refuses it with a text; the client has to understand
/// it. Whether there is something to say.
pub fn answered(bytes: &[u8]) -> bool {
    let Some((code, rest)) = bytes.split_first() else { return false };
    if let Ok(info) = InfoMessage::decode(rest)
        .map_err(drop)
        .and_then(|it| ObjectInfo::try_from(it).map_err(drop))
    {
        let half: Range<u64> = info.length / 2..info.length;
        for range in [0..info.length, half] {
            let mut received = BytesMut::from(head_of(&info, &range).as_bytes());
            let Some(Http1Answer::Bytes { info: found, length, first }) = read_head(&mut received)
            else {
                panic!("it is the answer of a server")
            };
            assert_eq!(ObjectInfo::try_from(found).ok().as_ref(), Some(&info), "it is described");
            assert_eq!((length, first.len()), (range.end - range.start, 0));
        }
        return true;
    }
    let code = Code::from(i32::from(*code) % 17);
    if code == Code::Ok {
        return false;
    }
    let said = Status::new(code, String::from_utf8_lossy(rest));
    let mut received = BytesMut::from(refusal(&said).as_bytes());
    let Some(Http1Answer::Refused { status, is_all }) = read_head(&mut received) else {
        // A head has no more room.
        assert!(3 * rest.len() > HEAD_BYTES_MAX / 2, "it is the answer of a server");
        return false;
    };
    assert_eq!((status.code(), status.message()), (said.code(), said.message()));
    assert!(is_all, "another request may follow");
    true
}
