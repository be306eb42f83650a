// SPDX-License-Identifier: Apache-2.0
//! Implements the target `heads`: the heads of HTTP/1.1 that clients and servers of drives send.

use nearscan_remote::fuzz::{heads as of_http1, seeds as seeds_of_protocol};

/// Requests as they reach a server.
const REQUESTS: [&str; 3] = [
    "GET /objects/default/c/a%2Fb%20c HTTP/1.1\r\nHost: 127.0.0.1:7\r\nIf-Match: \"7\"\r\n\
     Range: bytes=3-9\r\nAuthorization: Bearer t\r\n\r\nGET /objects/d/c/a HTTP/1.1\r\n\r\n",
    "GET /objects/d/c/%C3%A4/b HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n",
    "GET / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
];

/// Answers as they reach a client.
const ANSWERS: [&str; 3] = [
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nNearscan-Object: \
     %0A%0F%0A%07default%12%01c%1A%01o%10%05%18%07\r\n\r\nabc",
    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\ngrpc-status: 5\r\n\
     grpc-message: no%20object\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
];

/// Reads heads: the first byte says whose, and the second one in pieces of how many bytes they
/// come. Or makes one of a message, which the other side has to understand. Whether that is a
/// request or an answer.
///
/// # Panics
/// When what must hold of a head does not.
pub fn heads(bytes: &[u8]) -> bool {
    let Some((way, bytes)) = bytes.split_first() else { return false };
    let in_pieces = |read: fn(&[u8], usize) -> bool| {
        bytes.split_first().is_some_and(|(piece, bytes)| read(bytes, usize::from(*piece)))
    };
    match way % 4 {
        0 => in_pieces(of_http1::requests),
        1 => in_pieces(of_http1::answer),
        2 => of_http1::asked(bytes),
        _ => of_http1::answered(bytes),
    }
}

/// Inputs to begin a corpus with.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let with = |way: u8, piece: u8| move |text: &&str| [&[way, piece], text.as_bytes()].concat();
    let mut inputs: Vec<Vec<u8>> =
        REQUESTS.iter().map(with(0, 255)).chain(ANSWERS.iter().map(with(1, 255))).collect();
    inputs.extend(REQUESTS[..1].iter().map(with(0, 1)));
    for (name, message) in seeds_of_protocol() {
        match name {
            "Read" => inputs.push([&[2], &message[..]].concat()),
            "ObjectInfo" => inputs.push([&[3, 0], &message[..]].concat()),
            _ => {}
        }
    }
    inputs.push([&[3, 5], &b"there is no object\r\n\xc3\xa4"[..]].concat());
    inputs
}
