// SPDX-License-Identifier: Apache-2.0
//! Tests that a link strikes what it is told to, and nothing else.

use std::io::Read;

use super::*;
use crate::parts::PART_BYTES;

/// A frame without content.
const FRAME: [u8; 9] = [0, 0, 0, 4, 1, 0, 0, 0, 0];

/// The first frame of a client.
fn first() -> Vec<u8> {
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &FRAME[..]].concat()
}

/// A link to a server that answers each frame with one.
fn link(fault: Fault, direction: Direction, number: u64, after: After) -> Link {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = listener.local_addr().unwrap();
    drop(thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let mut answers = stream.try_clone().unwrap();
            drop(thread::spawn(move || {
                let mut frames = Frames::of_client(stream);
                while let Ok(Some(_)) = frames.next() {
                    if answers.write_all(&FRAME).is_err() {
                        return;
                    }
                }
            }));
        }
    }));
    let link = Link::open(server).unwrap();
    link.strike(Strike { fault, place: Place { direction, number }, after });
    link
}

fn connect(link: &Link) -> TcpStream {
    let stream = TcpStream::connect(link.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    stream
}

/// Sends frames, and gives how many were answered before there was none.
fn answered(stream: &mut TcpStream, frames: usize) -> (usize, io::Result<usize>) {
    let mut answer = [0; 9];
    drop(stream.write_all(&first()));
    for number in 0..frames {
        match stream.read(&mut answer) {
            Ok(9) => assert_eq!(answer, FRAME),
            ended => return (number, ended),
        }
        drop(stream.write_all(&FRAME));
    }
    (frames, Ok(9))
}

#[test]
fn frame_before_which_it_closes_is_the_chosen_one_and_the_next_connection_works() {
    let link = link(Fault::Closes, Direction::ToServer, 3, After::Recovers);
    let mut stream = connect(&link);
    let (count, ended) = answered(&mut stream, 9);
    assert_eq!(count, 3);
    assert!(matches!(ended, Ok(0)) || ended.is_err_and(|error| error.raw_os_error() == Some(104)));
    assert!(link.has_struck());
    assert_eq!(answered(&mut connect(&link), 5).0, 5);
}

#[test]
fn silent_link_answers_nothing_and_stays_open() {
    let link = link(Fault::FallsSilent, Direction::ToClient, 2, After::Recovers);
    let (count, ended) = answered(&mut connect(&link), 9);
    assert_eq!(count, 2);
    assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert_eq!(answered(&mut connect(&link), 5).0, 5);
}

#[test]
fn link_that_stays_down_takes_no_other_connection() {
    let closed = link(Fault::Closes, Direction::ToClient, 0, After::StaysDown);
    for _ in 0..2 {
        assert_eq!(answered(&mut connect(&closed), 1).0, 0);
    }
    let silent = link(Fault::FallsSilent, Direction::ToServer, 0, After::StaysDown);
    for _ in 0..2 {
        let (count, ended) = answered(&mut connect(&silent), 1);
        assert_eq!((count, ended.unwrap_err().kind()), (0, io::ErrorKind::WouldBlock));
    }
}

#[test]
fn late_frame_arrives_after_its_time() {
    let late = Duration::from_millis(300);
    let link = link(Fault::IsLate(late), Direction::ToClient, 0, After::Recovers);
    let mut stream = connect(&link);
    let (count, ended) = answered(&mut stream, 1);
    assert_eq!((count, ended.unwrap_err().kind()), (0, io::ErrorKind::WouldBlock));
    stream.set_read_timeout(Some(10 * late)).unwrap();
    let mut answer = [0; 9];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, FRAME);
}

#[test]
fn link_without_its_place_passes_all_on() {
    let link = link(Fault::Closes, Direction::ToServer, 100, After::StaysDown);
    assert_eq!(answered(&mut connect(&link), 50).0, 50);
    assert!(!link.has_struck());
}

/// A server that answers each request of HTTP/1.1 with a body of three parts, and of HTTP/2 each
/// frame with one.
fn server_of_both() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            drop(thread::spawn(move || {
                let from = stream.try_clone().unwrap();
                let mut cutter = Cutter::of(from, Direction::ToServer, Wire::Http1).unwrap();
                let answer = match cutter.wire() {
                    Wire::Http1 => [head().as_bytes(), &body()].concat(),
                    Wire::Http2 => FRAME.to_vec(),
                };
                while let Ok(Some(_)) = cutter.next() {
                    if stream.write_all(&answer).is_err() {
                        return;
                    }
                }
            }));
        }
    }));
    address
}

/// A link to such a server that strikes a part of HTTP/1.1.
fn http1_link(fault: Fault, direction: Direction, number: u64, after: After) -> Link {
    let link = Link::open_for(server_of_both(), Wire::Http1).unwrap();
    link.strike(Strike { fault, place: Place { direction, number }, after });
    link
}

fn body() -> Vec<u8> {
    vec![9; 3 * usize::try_from(PART_BYTES).unwrap()]
}

fn head() -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body().len())
}

/// Asks for the body, and gives the bytes that came behind the head.
fn received(link: &Link) -> usize {
    let mut stream = connect(link);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut received = Vec::new();
    while received.len() < head().len() + body().len() {
        let mut buffer = [0; 1 << 16];
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => received.extend_from_slice(&buffer[..count]),
        }
    }
    received.len().saturating_sub(head().len())
}

#[test]
fn part_of_http1_that_is_struck_is_the_chosen_one_and_frames_have_no_number() {
    let part = usize::try_from(PART_BYTES).unwrap();
    for fault in [Fault::Closes, Fault::FallsSilent] {
        for (number, expected) in [(0, 0), (1, 0), (2, part), (3, 2 * part), (100, 3 * part)] {
            let link = http1_link(fault, Direction::ToClient, number, After::Recovers);
            assert_eq!(answered(&mut connect(&link), 20).0, 20);
            assert_eq!(received(&link), expected, "{fault:?} {number}");
            assert_eq!(link.has_struck(), number < 100);
            assert_eq!(received(&link), 3 * part);
            assert_eq!(answered(&mut connect(&link), 5).0, 5);
        }
    }
}

#[test]
fn link_over_which_http1_has_stayed_down_passes_no_frame() {
    let link = http1_link(Fault::Closes, Direction::ToServer, 0, After::StaysDown);
    assert_eq!(answered(&mut connect(&link), 5).0, 5);
    assert_eq!(received(&link), 0);
    assert_eq!(answered(&mut connect(&link), 1).0, 0);
}

#[test]
fn link_for_http2_closes_other_connections() {
    let link = Link::open(server_of_both()).unwrap();
    assert_eq!(answered(&mut connect(&link), 5).0, 5);
    assert_eq!(received(&link), 0);
}
