// SPDX-License-Identifier: Apache-2.0
//! Encodes the messages of XRT's software emulation: a call and its answer, in the wire format of
//! protocol buffers.
//!
//! ```text
//! call     09 length(8)  15 number(4)   body
//! answer   09 length(8)                 body
//! ```
//!
//! An answer never repeats the number: the runtime reads nine bytes before the body. Every field
//! that it requires must be there, else it ends the process.

use std::io::{self, Read};

/// Bytes of the header of a call.
const CALL_HEADER_BYTES: usize = 14;

/// Bytes of a call's body, at most: the runtime cuts copies into 8 MiB.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// A call: its number and its body.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) number: u32,
    body: Vec<u8>,
}

impl Call {
    /// Reads the next call; waits for it.
    ///
    /// # Errors
    /// When the other side is gone, or what comes is no call.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut header = [0; CALL_HEADER_BYTES];
        from.read_exact(&mut header)?;
        let [0x09, l0, l1, l2, l3, l4, l5, l6, l7, 0x15, n0, n1, n2, n3] = header else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "this is no call"));
        };
        let length = u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7]);
        if length > BODY_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a call is too long"));
        }
        let mut body = vec![0; usize::try_from(length).unwrap_or_default()];
        from.read_exact(&mut body)?;
        Ok(Self { number: u32::from_le_bytes([n0, n1, n2, n3]), body })
    }

    /// The first number in a field; 0 where there is none.
    pub(super) fn number_in(&self, field: u32) -> u64 {
        let found = Fields(&self.body).find_map(|(other, value)| match value {
            Value::Number(number) if other == field => Some(number),
            _ => None,
        });
        found.unwrap_or_default()
    }

    /// The first bytes in a field; none where there are none.
    pub(super) fn bytes_in(&self, field: u32) -> &[u8] {
        let found = Fields(&self.body).find_map(|(other, value)| match value {
            Value::Bytes(bytes) if other == field => Some(bytes),
            _ => None,
        });
        found.unwrap_or_default()
    }

    /// The first text in a field.
    pub(super) fn text_in(&self, field: u32) -> String {
        String::from_utf8_lossy(self.bytes_in(field)).into_owned()
    }
}

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a body; ends at the first byte that makes no sense.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, bytes: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(bytes).ok()?)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Number(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            5 => Value::Number(u32::from_le_bytes(self.take(4)?.try_into().ok()?).into()),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            _ => return None,
        };
        Some((u32::try_from(tag >> 3).ok()?, value))
    }
}

/// The body of an answer while it is written.
#[derive(Debug, Default)]
pub(super) struct Answer(Vec<u8>);

impl Answer {
    /// An answer with a truth in field 1, which is all that most calls want.
    pub(super) fn yes_or_no(is_yes: bool) -> Self {
        Self::default().number(1, u64::from(is_yes))
    }

    /// Adds a number.
    #[must_use]
    pub(super) fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    /// Adds bytes.
    #[must_use]
    pub(super) fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    /// The message, header included.
    pub(super) fn message(&self) -> Vec<u8> {
        let mut message = vec![0x09];
        message.extend((self.0.len() as u64).to_le_bytes());
        message.extend_from_slice(&self.0);
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(body: &[u8]) -> Call {
        let mut bytes = vec![0x09];
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend([0x15, 7, 0, 0, 0]);
        bytes.extend_from_slice(body);
        Call::read(&mut bytes.as_slice()).unwrap()
    }

    #[test]
    fn fields_of_all_kinds_are_found() {
        // 1: 300; 2: "ab"; 3: fixed 8 bytes; 4: fixed 4 bytes.
        let body =
            [0x08, 0xac, 0x02, 0x12, 2, b'a', b'b', 0x19, 1, 0, 0, 0, 0, 0, 0, 1, 0x25, 9, 0, 0, 0];
        let call = call(&body);
        assert_eq!((call.number, call.number_in(1), call.number_in(4)), (7, 300, 9));
        assert_eq!((call.bytes_in(2), call.text_in(2)), (&b"ab"[..], "ab".to_owned()));
        assert_eq!(call.number_in(3), 1 | 1 << 56);
        assert_eq!((call.number_in(9), call.bytes_in(1).len()), (0, 0));
    }

    #[test]
    fn truncated_message_ends_the_fields() {
        assert_eq!(call(&[0x12, 200, 1, 1]).bytes_in(2), b"");
        assert_eq!(call(&[0x08, 0xff, 0xff]).number_in(1), 0);
        assert_eq!(call(&[0x0b, 1]).number_in(1), 0);
    }

    #[test]
    fn invalid_call_is_refused() {
        let mut junk = [0u8; 20].as_slice();
        assert_eq!(Call::read(&mut junk).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let mut long = vec![0x09];
        long.extend(u64::MAX.to_le_bytes());
        long.extend([0x15, 7, 0, 0, 0]);
        let error = Call::read(&mut long.as_slice()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn answer_has_nine_bytes_before_its_body() {
        let message = Answer::yes_or_no(true).bytes(2, b"xy").number(3, 300).message();
        assert_eq!(message[..9], [0x09, 9, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(message[9..], [0x08, 1, 0x12, 2, b'x', b'y', 0x18, 0xac, 0x02]);
    }
}
