// SPDX-License-Identifier: Apache-2.0
//! Cuts the bytes of an HTTP/2 connection into frames.

use std::io::{self, Read};

/// What a client sends before its first frame.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of the head of a frame; the first three are the length of the rest.
const HEAD_BYTES: usize = 9;

/// Reads frames.
#[derive(Debug)]
pub(crate) struct Frames<R> {
    from: R,
    /// The preface, if it is to come.
    preface: &'static [u8],
}

impl<R: Read> Frames<R> {
    /// Frames of a client, the first of them with the preface.
    pub(crate) fn of_client(from: R) -> Self {
        Self { from, preface: PREFACE }
    }

    /// Frames of a server.
    pub(crate) fn of_server(from: R) -> Self {
        Self { from, preface: &[] }
    }

    /// The bytes of the next frame; none at the end.
    ///
    /// # Errors
    /// An error of the connection, or its end within a frame.
    pub(crate) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut frame = vec![0; self.preface.len() + HEAD_BYTES];
        // Between two frames the connection may end.
        if self.from.read(&mut frame[..1])? == 0 {
            return Ok(None);
        }
        self.from.read_exact(&mut frame[1..])?;
        if !frame.starts_with(self.preface) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not HTTP/2"));
        }
        let head = &frame[self.preface.len()..];
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        self.preface = &[];
        let begun = frame.len();
        frame.resize(begun + usize::try_from(length).unwrap_or(0), 0);
        self.from.read_exact(&mut frame[begun..])?;
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_is_cut_into_frames_and_the_first_has_the_preface() {
        let settings = [0, 0, 6, 4, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6];
        let empty = [0, 0, 0, 4, 1, 0, 0, 0, 0];
        let all = [&PREFACE[..], &settings, &empty].concat();
        let mut frames = Frames::of_client(&all[..]);
        assert_eq!(frames.next().unwrap().unwrap(), [&PREFACE[..], &settings].concat());
        assert_eq!(frames.next().unwrap().unwrap(), empty);
        assert_eq!(frames.next().unwrap(), None);
        let both = [&settings[..], &empty].concat();
        let mut frames = Frames::of_server(&both[..]);
        assert_eq!(frames.next().unwrap().unwrap(), settings);
        assert_eq!(frames.next().unwrap().unwrap(), empty);
    }

    #[test]
    fn cut_frame_and_other_protocol_are_errors() {
        let cut = [0, 0, 6, 4, 0, 0, 0, 0, 0, 1];
        assert!(Frames::of_server(&cut[..]).next().is_err());
        let other = b"GET / HTTP/1.1\r\nHost: a\r\nAccept: all\r\n\r\n";
        assert!(Frames::of_client(&other[..]).next().is_err());
    }
}
