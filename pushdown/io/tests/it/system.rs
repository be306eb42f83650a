// SPDX-License-Identifier: Apache-2.0
//! Tests the calls for files that are served to others: cached reads and sends.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    os::{fd::AsFd, unix::net::UnixStream},
};

use nearscan_io::{is_cached, read_cached, send_file};

fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

#[test]
fn cached_bytes_are_read_up_to_the_end_of_the_file() {
    let file = file_of(b"0123456789");
    let mut buffer = [b'-'; 6];
    // They were written right now; a file system that cannot tell what is cached gives nothing.
    let read = read_cached(&file, 7, &mut buffer);
    assert!([(0, *b"------"), (3, *b"789---")].contains(&(read, buffer)), "{read} {buffer:?}");
    assert_eq!(read_cached(&file, 10, &mut buffer), 0);
    assert!(!is_cached(&file, &(0..1 << 40)));
}

#[test]
fn file_is_sent_from_an_offset_until_the_socket_is_full() {
    let bytes: Vec<u8> = (0..4 << 20).map(|at: u32| at.to_le_bytes()[1]).collect();
    let file = file_of(&bytes);
    let (near, mut far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    assert_eq!(send_file(&file, 5, 100, near.as_fd()).unwrap(), 100);
    let mut sent = 105;
    let full = loop {
        match send_file(&file, sent as u64, bytes.len(), near.as_fd()) {
            Ok(count) => sent += count,
            Err(error) => break error,
        }
        assert!(sent < bytes.len(), "the socket holds the whole file");
    };
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    let mut received = vec![0; sent - 5];
    far.read_exact(&mut received).unwrap();
    assert!(received == bytes[5..sent]);
    assert_eq!(send_file(&file, bytes.len() as u64, 1, near.as_fd()).unwrap(), 0);
}
