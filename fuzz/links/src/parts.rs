// SPDX-License-Identifier: Apache-2.0
//! Cuts the bytes of an HTTP/1.1 connection into heads and parts of bodies.

use std::io::{self, BufRead, BufReader, Read};

/// Bytes of a part of a body; the last one may be shorter.
pub(crate) const PART_BYTES: u64 = 256 << 10;

/// Bytes of a head, at most.
const HEAD_BYTES_MAX: u64 = 64 << 10;

/// Reads heads, and behind each the parts of its body.
#[derive(Debug)]
pub(crate) struct Parts<R> {
    from: BufReader<R>,
    /// Bytes of the body that are to come.
    left: u64,
}

impl<R: Read> Parts<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from: BufReader::new(from), left: 0 }
    }

    /// The bytes of the next head, or of the next part of a body; none at the end.
    ///
    /// # Errors
    /// An error of the connection, its end within a part, or a head that is too long or says no
    /// length that can be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.left > 0 {
            let length = self.left.min(PART_BYTES);
            let mut part = vec![0; usize::try_from(length).unwrap_or_default()];
            self.from.read_exact(&mut part)?;
            self.left -= length;
            return Ok(Some(part));
        }
        let head = self.head()?;
        if let Some(head) = &head {
            self.left = length_of(head)?;
        }
        Ok(head)
    }

    fn head(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let left = HEAD_BYTES_MAX.saturating_sub(head.len() as u64);
            match (&mut self.from).take(left).read_until(b'\n', &mut head)? {
                0 if head.is_empty() => return Ok(None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => {}
            }
        }
        Ok(Some(head))
    }
}

/// Bytes of the body behind a head; 0 if it says none.
fn length_of(head: &[u8]) -> io::Result<u64> {
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "a body of no known length");
    length.map_or(Ok(0), |length| length.trim().parse().map_err(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_is_cut_into_heads_and_parts_of_bodies() {
        let length = PART_BYTES + 5;
        let body = vec![7; usize::try_from(length).unwrap()];
        let long = format!("HTTP/1.1 200 OK\r\ncontent-LENGTH: {length}\r\n\r\n");
        let none = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let all = [long.as_bytes(), &body, none.as_bytes(), request.as_bytes(), &[]].concat();
        let mut parts = Parts::new(&all[..]);
        let (first, last) = body.split_at(body.len() - 5);
        for expected in [long.as_bytes(), first, last, none.as_bytes(), request.as_bytes()] {
            assert_eq!(parts.next().unwrap().as_deref(), Some(expected));
        }
        assert_eq!(parts.next().unwrap(), None);
    }

    #[test]
    fn head_or_body_that_is_cut_off_and_head_without_end_are_errors() {
        let cut = |text: &str| {
            let mut parts = Parts::new(text.as_bytes());
            std::iter::from_fn(|| parts.next().transpose()).any(|part| part.is_err())
        };
        assert!(cut("HTTP/1.1 200 OK\r\n"));
        assert!(cut("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"));
        assert!(cut("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"));
        let endless = "x".repeat(usize::try_from(HEAD_BYTES_MAX).unwrap() + 1);
        assert!(cut(&endless));
    }
}
