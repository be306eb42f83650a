// SPDX-License-Identifier: Apache-2.0
//! Decodes plain byte strings: each follows its length of four bytes.

use bytes::Bytes;
use nearscan_command::Status;

use crate::values::View;

/// The byte strings of a page or a dictionary.
#[derive(Debug, Clone)]
pub(crate) struct PageStrings {
    bytes: Bytes,
    at: usize,
}

impl PageStrings {
    /// The strings in `bytes`.
    pub(crate) const fn new(bytes: Bytes) -> Self {
        Self { bytes, at: 0 }
    }

    /// The bytes that views are of.
    pub(crate) const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Skips `count` strings.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer.
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Status> {
        for _ in 0..count {
            self.next()?;
        }
        Ok(())
    }

    /// Appends `count` strings as places in buffer number `buffer`.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer.
    pub(crate) fn read(
        &mut self,
        count: usize,
        buffer: u32,
        out: &mut Vec<View>,
    ) -> Result<(), Status> {
        out.reserve(count);
        for _ in 0..count {
            let (start, length) = self.next()?;
            out.push(View { buffer, start, length });
        }
        Ok(())
    }

    /// Start and length of the next string.
    fn next(&mut self) -> Result<(u32, u32), Status> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = u32::from_le_bytes(*rest.first_chunk().ok_or(Status::Corrupt)?);
        if length as usize > rest.len() - 4 {
            return Err(Status::Corrupt);
        }
        let start = u32::try_from(self.at + 4).map_err(|_| Status::Corrupt)?;
        self.at += 4 + length as usize;
        Ok((start, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_views_and_a_truncated_one_is_corrupt() {
        let mut strings = PageStrings::new(Bytes::from_static(b"\x02\0\0\0ab\0\0\0\0\x03\0\0\0xy"));
        let mut out = Vec::new();
        strings.read(2, 7, &mut out).unwrap();
        let view = |start, length| View { buffer: 7, start, length };
        assert_eq!(out, [view(4, 2), view(10, 0)]);
        assert_eq!(strings.read(1, 7, &mut out), Err(Status::Corrupt));
        let mut none = PageStrings::new(Bytes::from_static(&[0xff; 3]));
        assert_eq!(none.read(1, 0, &mut out), Err(Status::Corrupt));
        let mut long = PageStrings::new(Bytes::from_static(&[0xff; 9]));
        assert_eq!(long.read(1, 0, &mut out), Err(Status::Corrupt));
        assert_eq!(out.len(), 2);
    }
}
