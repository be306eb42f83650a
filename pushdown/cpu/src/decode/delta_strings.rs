// SPDX-License-Identifier: Apache-2.0
//! Decodes DELTA_BYTE_ARRAY: byte strings, each as its difference from the one before.
//!
//! ```text
//! lengths of prefixes | lengths of suffixes | all suffixes
//! ```
//!
//! A prefix is what a string has in common with the one before. Lengths are those of [`Delta`], and
//! are decoded as strings are read: the suffixes are found without. A string that is read is put
//! together in a buffer of its batch, where the one before it is; of those that are skipped only
//! the last one is put together.

use bytes::Bytes;
use nearscan_command::Status;

use super::{
    delta::Delta,
    delta_lengths::{LENGTH_BITS, SKIPPED_MAX, end_of},
};
use crate::{
    buffers::Buffers,
    string_batch::{ROOM_SLACK, StringBatch, StringBytes},
    values::View,
};

/// The byte strings of a page, each as its difference from the one before.
#[derive(Debug, Clone)]
pub(crate) struct DeltaStrings {
    prefixes: Delta,
    suffixes: Delta,
    /// The suffixes end with it.
    bytes: Bytes,
    /// The next suffix.
    at: usize,
    /// The string before the next one.
    last: Vec<u8>,
    /// Lengths of the strings that are being read.
    lengths: Lengths,
}

#[derive(Debug, Clone, Default)]
struct Lengths {
    /// As they are stored.
    prefixes: Vec<i64>,
    suffixes: Vec<i64>,
    /// The same, checked.
    parts: Vec<Parts>,
}

/// The bytes of both parts of a string, at most 2^31 each.
#[derive(Debug, Clone, Copy)]
struct Parts {
    prefix: u32,
    suffix: u32,
}

impl DeltaStrings {
    /// The `count` strings of a page.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when the lengths are not those of so many strings.
    pub(crate) fn open(bytes: Bytes, count: usize) -> Result<Self, Status> {
        let prefixes = Delta::of_page(bytes.clone(), LENGTH_BITS, count)?;
        let bytes = bytes.slice(prefixes.end()?.min(bytes.len())..);
        let suffixes = Delta::of_page(bytes.clone(), LENGTH_BITS, count)?;
        let at = suffixes.end()?.min(bytes.len());
        let (last, lengths) = (Vec::new(), Lengths::default());
        Ok(Self { prefixes, suffixes, bytes, at, last, lengths })
    }

    /// Skips `count` strings.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer.
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Status> {
        let mut left = count;
        while left > 0 {
            let piece = left.min(SKIPPED_MAX);
            let next = self.next_lengths(piece)?;
            self.pass(next);
            left -= piece;
        }
        Ok(())
    }

    /// Appends `count` strings, in memory of `pool`.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer, or one has more in common with the one before than
    /// that is long; [`Status::Encoding`] if they repeat too many bytes.
    pub(crate) fn read(
        &mut self,
        count: usize,
        out: &mut StringBatch,
        pool: &Buffers,
    ) -> Result<(), Status> {
        let next = self.next_lengths(count)?;
        let room = out.room(next.bytes, pool)?;
        room.views.reserve(count);
        let View { buffer, mut start, .. } = room.first;
        self.join(room.bytes, |length| {
            room.views.push(View { buffer, start, length });
            start += length;
        });
        self.at = next.end;
        Ok(())
    }

    /// Appends `count` strings of `length` bytes each, one after the other.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer, or they have other lengths.
    pub(crate) fn read_fixed(
        &mut self,
        count: usize,
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Status> {
        let next = self.next_lengths(count)?;
        let is_fixed = |parts: &Parts| (parts.prefix + parts.suffix) as usize == length;
        if !self.lengths.parts.iter().all(is_fixed) {
            return Err(Status::Corrupt);
        }
        let start = out.len();
        out.resize(start + next.bytes.all + ROOM_SLACK, 0);
        self.join(&mut out[start..], |_| {});
        out.truncate(start + next.bytes.all);
        self.at = next.end;
        Ok(())
    }

    /// Takes the lengths of the next `count` strings, and checks them.
    fn next_lengths(&mut self, count: usize) -> Result<Next, Status> {
        let Lengths { prefixes, suffixes, parts } = &mut self.lengths;
        prefixes.clear();
        suffixes.clear();
        parts.clear();
        self.prefixes.read(count, prefixes)?;
        self.suffixes.read(count, suffixes)?;
        let (mut end, mut last, mut repeated) = (self.at, self.last.len(), 0_usize);
        let part = |length: i64| u32::try_from(length).map_err(|_| Status::Corrupt);
        for (prefix, suffix) in prefixes.iter().zip(suffixes) {
            end = end_of(end, *suffix, &self.bytes)?;
            let (prefix, suffix) = (part(*prefix)?, part(*suffix)?);
            if prefix as usize > last {
                return Err(Status::Corrupt);
            }
            parts.push(Parts { prefix, suffix });
            last = (prefix + suffix) as usize;
            repeated = repeated.saturating_add(prefix as usize);
        }
        let all = repeated.saturating_add(end - self.at);
        Ok(Next { bytes: StringBytes { all, repeated }, end, last })
    }

    /// Puts the strings whose lengths were taken together in `out`, which is [`ROOM_SLACK`] bytes
    /// longer than they are; `each` gets the length of each.
    fn join(&mut self, out: &mut [u8], mut each: impl FnMut(u32)) {
        let (mut before, mut at, mut suffix_at) = (None, 0, self.at);
        for parts in &self.lengths.parts {
            let (prefix, suffix) = (parts.prefix as usize, parts.suffix as usize);
            let start = at;
            match before {
                Some(before) => repeat(out, before, start, prefix),
                None => out[..prefix].copy_from_slice(&self.last[..prefix]),
            }
            copy(&self.bytes, suffix_at, &mut out[start + prefix..], suffix);
            suffix_at += suffix;
            at = start + prefix + suffix;
            before = Some(start);
            each(parts.prefix + parts.suffix);
        }
        if let Some(before) = before {
            self.last.clear();
            self.last.extend_from_slice(&out[before..at]);
        }
    }

    /// Takes the strings whose lengths were taken, from the last one back to the one that has the
    /// first bytes of the last one in it.
    fn pass(&mut self, next: Next) {
        // What the last string has from the one that is `last` now stays in its place.
        self.last.resize(next.last, 0);
        let (mut missing, mut end) = (next.last, next.end);
        for parts in self.lengths.parts.iter().rev() {
            let (prefix, suffix) = (parts.prefix as usize, parts.suffix as usize);
            let start = end - suffix;
            if prefix < missing {
                let length = missing - prefix;
                self.last[prefix..missing].copy_from_slice(&self.bytes[start..][..length]);
                missing = prefix;
            }
            if missing == 0 {
                break;
            }
            end = start;
        }
        self.at = next.end;
    }
}

/// What follows from the lengths of some strings.
#[derive(Debug, Clone, Copy)]
struct Next {
    bytes: StringBytes,
    /// The end of their suffixes.
    end: usize,
    /// The length of the last string.
    last: usize,
}

/// Copies `length` bytes from `from` to `to`, which is behind them; there are [`ROOM_SLACK`] bytes
/// behind both, of which those behind `to` are overwritten.
#[inline]
fn repeat(bytes: &mut [u8], from: usize, to: usize, length: usize) {
    if length <= ROOM_SLACK
        && let Some(short) = bytes[from..].first_chunk::<ROOM_SLACK>().copied()
        && let Some(place) = bytes[to..].first_chunk_mut()
    {
        *place = short;
    } else {
        bytes.copy_within(from..from + length, to);
    }
}

/// Copies `length` bytes from `from` to the start of `out`; there are [`ROOM_SLACK`] bytes behind
/// them, which are overwritten.
#[inline]
fn copy(bytes: &[u8], from: usize, out: &mut [u8], length: usize) {
    if length <= ROOM_SLACK
        && let Some(short) = bytes[from..].first_chunk::<ROOM_SLACK>()
        && let Some(place) = out.first_chunk_mut()
    {
        *place = *short;
    } else {
        out[..length].copy_from_slice(&bytes[from..from + length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::delta_lengths::tests::{lengths, texts};

    fn of_prefixes(prefixes: &[i32], suffixes: &[i32], behind: &[u8]) -> Bytes {
        Bytes::from([lengths(prefixes), lengths(suffixes), behind.to_vec()].concat())
    }

    /// Reads and skips as `pieces` say, and gives the strings that were read.
    fn read(bytes: Bytes, count: usize, pieces: &[Piece]) -> Result<Vec<String>, Status> {
        let mut strings = DeltaStrings::open(bytes, count)?;
        let (mut batch, pool) = (StringBatch::default(), Buffers::default());
        for piece in pieces {
            match piece {
                Read(count) => strings.read(*count, &mut batch, &pool)?,
                Skip(count) => strings.skip(*count)?,
            }
        }
        Ok(texts(batch))
    }

    enum Piece {
        Read(usize),
        Skip(usize),
    }
    use Piece::{Read, Skip};

    #[test]
    fn page_of_nulls_may_have_no_bytes() {
        assert!(DeltaStrings::open(Bytes::new(), 0).is_ok());
        assert!(DeltaStrings::open(of_prefixes(&[], &[], b""), 0).is_ok());
        assert!(DeltaStrings::open(Bytes::new(), 1).is_err());
        assert!(DeltaStrings::open(of_prefixes(&[0], &[], b"x"), 1).is_err());
    }

    #[test]
    fn prefix_is_also_of_a_string_that_was_skipped() {
        let bytes = || of_prefixes(&[0, 2, 5, 1, 0, 3], &[5, 3, 0, 2, 4, 0], b"axisticlebybare");
        let all = ["axist", "axicl", "axicl", "aeb", "ybar", "yba"];
        assert_eq!(read(bytes(), 6, &[Read(6)]), Ok(all.map(str::to_owned).into()));
        assert_eq!(read(bytes(), 6, &[Read(2), Read(0), Read(4)]).unwrap(), all);
        for skipped in 0..6 {
            let pieces = [Skip(skipped), Read(1), Skip(5 - skipped)];
            assert_eq!(read(bytes(), 6, &pieces).unwrap(), all[skipped..=skipped]);
            let pieces = [Read(1), Skip(skipped), Read(5 - skipped)];
            assert_eq!(read(bytes(), 6, &pieces).unwrap()[1..], all[1 + skipped..]);
        }
        assert_eq!(read(bytes(), 6, &[Read(3), Skip(4)]), Err(Status::Corrupt));
    }

    #[test]
    fn strings_of_any_length_are_put_together() {
        // Lengths around that of a short copy, with the last suffix at the end of the page.
        let text: String = ('a'..='z').cycle().take(150).collect();
        let lengths: Vec<usize> = (0..150).chain((0..150).rev()).chain([33, 32, 31]).collect();
        let (mut prefixes, mut suffixes, mut behind) = (vec![], vec![], vec![]);
        let mut before = 0;
        for (row, length) in lengths.iter().enumerate() {
            let prefix = before.min(*length).saturating_sub(row % 3);
            prefixes.push(i32::try_from(prefix).unwrap());
            suffixes.push(i32::try_from(length - prefix).unwrap());
            behind.extend_from_slice(&text.as_bytes()[prefix..*length]);
            before = *length;
        }
        let bytes = || of_prefixes(&prefixes, &suffixes, &behind);
        let expected: Vec<&str> = lengths.iter().map(|length| &text[..*length]).collect();
        let count = lengths.len();
        assert_eq!(read(bytes(), count, &[Read(count)]).unwrap(), expected);
        let pieces = [Read(100), Skip(77), Read(count - 177)];
        let kept = [&expected[..100], &expected[177..]].concat();
        assert_eq!(read(bytes(), count, &pieces).unwrap(), kept);
    }

    #[test]
    fn prefix_of_more_than_the_string_before_is_corrupt() {
        let wrong: [(&[i32], &[i32]); 5] = [
            (&[1, 0], &[1, 1]),
            (&[0, 3], &[2, 0]),
            (&[0, -1], &[2, 1]),
            (&[0, 1], &[2, -1]),
            (&[0, 1], &[2, 3]),
        ];
        for (prefixes, suffixes) in wrong {
            let bytes = || of_prefixes(prefixes, suffixes, b"four");
            for piece in [Read(2), Skip(2)] {
                assert_eq!(read(bytes(), 2, &[piece]), Err(Status::Corrupt), "{prefixes:?}");
            }
        }
        let bytes = of_prefixes(&[0, 2], &[2, 2], b"four");
        assert_eq!(read(bytes, 2, &[Read(2)]).unwrap(), ["fo", "four"]);
    }

    #[test]
    fn few_bytes_that_stand_for_many_are_not_expanded() {
        let long = 1 << 20;
        let count = 100;
        let prefixes: Vec<i32> = [0].into_iter().chain([long; 99]).collect();
        let suffixes: Vec<i32> = [long].into_iter().chain([0; 99]).collect();
        let text = vec![b'x'; usize::try_from(long).unwrap()];
        let bytes = || of_prefixes(&prefixes, &suffixes, &text);
        assert_eq!(read(bytes(), count, &[Read(count)]), Err(Status::Encoding));
        // Also not in pieces, as long as they are of one batch.
        let pieces: Vec<Piece> = (0..count).map(|_| Read(1)).collect();
        assert_eq!(read(bytes(), count, &pieces), Err(Status::Encoding));
        assert_eq!(read(bytes(), count, &[Read(10), Skip(90)]).map(|it| it.len()), Ok(10));
    }

    #[test]
    fn fixed_lengths_are_checked() {
        let fixed = |prefixes: &[i32], suffixes: &[i32], behind: &[u8]| {
            let mut out = vec![7];
            let mut strings = DeltaStrings::open(of_prefixes(prefixes, suffixes, behind), 2)?;
            strings.read_fixed(2, 3, &mut out).map(|()| out)
        };
        assert_eq!(fixed(&[0, 2], &[3, 1], b"abcd"), Ok(b"\x07abcabd".to_vec()));
        assert_eq!(fixed(&[0, 2], &[3, 2], b"abcde"), Err(Status::Corrupt));
        assert_eq!(fixed(&[0, 2], &[2, 1], b"abcd"), Err(Status::Corrupt));
    }
}
