// SPDX-License-Identifier: Apache-2.0
//! Decodes DELTA_LENGTH_BYTE_ARRAY: byte strings whose lengths are differences.
//!
//! ```text
//! lengths | bytes of all strings
//! ```
//!
//! Lengths are those of [`Delta`], and are decoded as strings are read: the bytes behind them are
//! found without. Nothing is copied.

use bytes::Bytes;
use nearscan_command::Status;

use super::delta::Delta;
use crate::{string_batch::StringBatch, values::View};

/// Bits of a length.
pub(super) const LENGTH_BITS: u32 = 32;

/// Strings that are skipped at a time: their lengths stay in the first cache.
pub(super) const SKIPPED_MAX: usize = 1024;

/// The byte strings of a page, one after the other, with their lengths apart.
#[derive(Debug, Clone)]
pub(crate) struct DeltaLengths {
    bytes: Bytes,
    /// The next string.
    at: usize,
    delta: Delta,
    /// Lengths of the strings that are being read.
    lengths: Vec<i64>,
}

impl DeltaLengths {
    /// The `count` strings of a page.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when the lengths are not those of so many strings.
    pub(crate) fn open(bytes: Bytes, count: usize) -> Result<Self, Status> {
        let delta = Delta::of_page(bytes.clone(), LENGTH_BITS, count)?;
        let at = delta.end()?.min(bytes.len());
        Ok(Self { bytes, at, delta, lengths: Vec::new() })
    }

    /// Skips `count` strings.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer.
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Status> {
        let mut left = count;
        while left > 0 {
            let piece = left.min(SKIPPED_MAX);
            self.next_lengths(piece)?;
            for length in &self.lengths {
                self.at = end_of(self.at, *length, &self.bytes)?;
            }
            left -= piece;
        }
        Ok(())
    }

    /// Appends `count` strings.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer.
    pub(crate) fn read(&mut self, count: usize, out: &mut StringBatch) -> Result<(), Status> {
        self.next_lengths(count)?;
        let (buffer, views) = out.page(&self.bytes)?;
        views.reserve(count);
        let part = |bytes: usize| u32::try_from(bytes).map_err(|_| Status::Corrupt);
        for length in &self.lengths {
            let end = end_of(self.at, *length, &self.bytes)?;
            views.push(View { buffer, start: part(self.at)?, length: part(end - self.at)? });
            self.at = end;
        }
        Ok(())
    }

    fn next_lengths(&mut self, count: usize) -> Result<(), Status> {
        self.lengths.clear();
        self.delta.read(count, &mut self.lengths)
    }
}

/// The end of `length` bytes from `start` on.
///
/// # Errors
/// [`Status::Corrupt`] if they are not there.
pub(super) fn end_of(start: usize, length: i64, bytes: &Bytes) -> Result<usize, Status> {
    let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
    end.filter(|end| *end <= bytes.len()).ok_or(Status::Corrupt)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::values::Strings;

    /// Differences of 32 bits each.
    pub(crate) fn lengths(values: &[i32]) -> Vec<u8> {
        let mut bytes = vec![0x80, 1, 4];
        let mut number = |mut number: u32| {
            while number > 0x7f {
                bytes.push((number & 0x7f) as u8 | 0x80);
                number >>= 7;
            }
            bytes.push((number & 0x7f) as u8);
        };
        number(u32::try_from(values.len()).unwrap());
        let first = values.first().copied().unwrap_or(0);
        number((first << 1 ^ first >> 31).cast_unsigned());
        let differences: Vec<i32> =
            values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        for block in differences.chunks(128) {
            bytes.extend([0, 32, 32, 32, 32]);
            for miniblock in block.chunks(32) {
                bytes.extend(miniblock.iter().flat_map(|it| it.to_le_bytes()));
                bytes.resize(bytes.len() + (32 - miniblock.len()) * 4, 0);
            }
        }
        bytes
    }

    /// The strings of a batch.
    pub(crate) fn texts(batch: StringBatch) -> Vec<String> {
        let (buffers, views) = batch.finish();
        let strings = Strings { buffers, views, validity: None };
        let text = |row| String::from_utf8(strings.get(row).to_vec()).unwrap();
        (0..strings.views.len()).map(text).collect()
    }

    fn of_lengths(values: &[i32], behind: &[u8]) -> Bytes {
        Bytes::from([lengths(values), behind.to_vec()].concat())
    }

    #[test]
    fn strings_lie_behind_their_lengths() {
        let bytes = of_lengths(&[5, 0, 3, 1], b"helloyesx and more");
        let mut strings = DeltaLengths::open(bytes.clone(), 4).unwrap();
        let mut batch = StringBatch::default();
        strings.read(1, &mut batch).unwrap();
        strings.skip(1).unwrap();
        strings.read(2, &mut batch).unwrap();
        assert_eq!(texts(batch), ["hello", "yes", "x"]);
        assert_eq!(strings.skip(1), Err(Status::Corrupt));
        // Nothing was copied.
        let mut batch = StringBatch::default();
        DeltaLengths::open(bytes.clone(), 4).unwrap().read(4, &mut batch).unwrap();
        let (buffers, _) = batch.finish();
        assert_eq!(buffers[0].as_ptr(), bytes.as_ptr());
        assert_eq!(DeltaLengths::open(bytes, 5).map(|_| ()), Err(Status::Corrupt));
    }

    #[test]
    fn lengths_that_are_negative_or_too_long_are_corrupt() {
        for lengths in [[2, 3], [2, -1], [i32::MAX, i32::MAX], [i32::MIN, 0]] {
            let bytes = of_lengths(&lengths, b"four");
            let open = || DeltaLengths::open(bytes.clone(), 2).unwrap();
            assert_eq!(open().read(2, &mut StringBatch::default()), Err(Status::Corrupt));
            assert_eq!(open().skip(2), Err(Status::Corrupt), "{lengths:?}");
        }
    }

    #[test]
    fn page_of_nulls_may_have_no_bytes() {
        assert!(DeltaLengths::open(Bytes::new(), 0).is_ok());
        assert!(DeltaLengths::open(lengths(&[]).into(), 0).is_ok());
        assert!(DeltaLengths::open(Bytes::new(), 1).is_err());
    }
}
