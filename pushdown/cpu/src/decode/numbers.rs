// SPDX-License-Identifier: Apache-2.0
//! Decodes the numbers of a page as stored: four and eight bytes sign-extended, big-endian values
//! in full.

use bytes::Bytes;
use nearscan_command::{Chunk, Encoding, PhysicalType, Status};

use super::{bits::unpack, delta::Delta, delta_strings::DeltaStrings, runs::Runs};

/// The representation of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// A bit.
    Bit,
    /// Four bytes, little endian.
    Four,
    /// Eight bytes, little endian.
    Eight,
    /// So many bytes, big endian.
    Fixed(usize),
}

impl Stored {
    /// The representation of the values of a chunk; `None` for strings.
    pub(crate) fn of(chunk: &Chunk) -> Option<Self> {
        match chunk.physical_type {
            PhysicalType::Boolean => Some(Self::Bit),
            PhysicalType::Int32 | PhysicalType::Float => Some(Self::Four),
            PhysicalType::Int64 | PhysicalType::Double => Some(Self::Eight),
            PhysicalType::FixedLenByteArray => Some(Self::Fixed(usize::from(chunk.reading.length))),
            PhysicalType::ByteArray => None,
        }
    }
}

/// The numbers of a page.
#[derive(Debug, Clone)]
pub(crate) enum PageNumbers {
    /// One after the other.
    Plain { bytes: Bytes, at: usize, stored: Stored },
    /// The first bytes of all `values` values, then the second ones, and so on.
    Split { bytes: Bytes, at: usize, values: usize, stored: Stored },
    /// Truth values, a bit each.
    Bits { bytes: Bytes, bit: usize },
    /// Truth values as runs and groups.
    Runs(Runs),
    /// Differences.
    Delta(Delta),
    /// Values of `length` bytes, big endian, each as its difference from the one before; `bytes`
    /// are those of the values that are being read.
    Prefixed { strings: Box<DeltaStrings>, length: usize, bytes: Vec<u8> },
}

impl PageNumbers {
    /// The numbers of a page in any encoding but those of dictionaries. `count` returns their
    /// number; it is called only if that is needed.
    ///
    /// # Errors
    /// [`Status::Encoding`] for an encoding that the type does not have, [`Status::Corrupt`].
    pub(crate) fn open(
        chunk: &Chunk,
        encoding: Encoding,
        bytes: Bytes,
        count: impl FnOnce() -> Result<usize, Status>,
    ) -> Result<Self, Status> {
        let stored = Stored::of(chunk).ok_or(Status::Encoding)?;
        let is_integer = matches!(chunk.physical_type, PhysicalType::Int32 | PhysicalType::Int64);
        match (encoding, stored) {
            (Encoding::Plain, Stored::Bit) => Ok(Self::Bits { bytes, bit: 0 }),
            (Encoding::Plain, _) => Ok(Self::Plain { bytes, at: 0, stored }),
            (Encoding::Rle, Stored::Bit) => truth_runs(&bytes),
            (Encoding::DeltaBinaryPacked, Stored::Four) if is_integer => {
                Delta::of_page(bytes, 32, count()?).map(Self::Delta)
            }
            (Encoding::DeltaBinaryPacked, Stored::Eight) if is_integer => {
                Delta::of_page(bytes, 64, count()?).map(Self::Delta)
            }
            (Encoding::DeltaByteArray, Stored::Fixed(length)) => {
                let strings = Box::new(DeltaStrings::open(bytes, count()?)?);
                Ok(Self::Prefixed { strings, length, bytes: Vec::new() })
            }
            (Encoding::ByteStreamSplit, Stored::Four | Stored::Eight | Stored::Fixed(_)) => {
                let values = count()?;
                // The start of a stream follows from the number of values, so that must be exact.
                match values.checked_mul(stored.bytes()) == Some(bytes.len()) {
                    true => Ok(Self::Split { bytes, at: 0, values, stored }),
                    false => Err(Status::Corrupt),
                }
            }
            _ => Err(Status::Encoding),
        }
    }

    /// Skips `count` values.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer.
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Status> {
        match self {
            Self::Plain { bytes, at, stored } => {
                let end =
                    count.checked_mul(stored.bytes()).and_then(|length| at.checked_add(length));
                *at = end.filter(|end| *end <= bytes.len()).ok_or(Status::Corrupt)?;
            }
            Self::Split { at, values, .. } => {
                *at += count;
                if *at > *values {
                    return Err(Status::Corrupt);
                }
            }
            Self::Bits { bytes, bit } => {
                *bit += count;
                if *bit > bytes.len() * 8 {
                    return Err(Status::Corrupt);
                }
            }
            Self::Runs(runs) => runs.skip(count)?,
            // Each value depends on the one before.
            Self::Delta(delta) => delta.read(count, &mut Vec::with_capacity(count))?,
            Self::Prefixed { strings, .. } => strings.skip(count)?,
        }
        Ok(())
    }

    /// Appends `count` values.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer, [`Status::Overflow`] for a big-endian value that
    /// leaves 64 bits; then those behind it are not appended, but they are taken.
    pub(crate) fn read(&mut self, count: usize, out: &mut Vec<i64>) -> Result<(), Status> {
        match self {
            Self::Plain { bytes, at, stored } => {
                let end =
                    count.checked_mul(stored.bytes()).and_then(|length| at.checked_add(length));
                let end = end.ok_or(Status::Corrupt)?;
                let values = bytes.get(*at..end).ok_or(Status::Corrupt)?;
                *at = end;
                plain(values, *stored, out)?;
            }
            Self::Split { bytes, at, values, stored } => {
                if count > *values - *at {
                    return Err(Status::Corrupt);
                }
                let stream = |index: usize| &bytes[index * *values + *at..][..count];
                split(stream, *stored, count, out)?;
                *at += count;
            }
            Self::Bits { bytes, bit } => {
                if *bit + count > bytes.len() * 8 {
                    return Err(Status::Corrupt);
                }
                unpack(bytes, *bit, 1, count, out, u64::cast_signed);
                *bit += count;
            }
            Self::Runs(runs) => {
                let mut values = Vec::with_capacity(count);
                runs.read(count, &mut values)?;
                if values.iter().any(|value| *value > 1) {
                    return Err(Status::Corrupt);
                }
                out.extend(values.into_iter().map(i64::from));
            }
            Self::Delta(delta) => delta.read(count, out)?,
            Self::Prefixed { strings, length, bytes } => {
                bytes.clear();
                strings.read_fixed(count, *length, bytes)?;
                plain(bytes, Stored::Fixed(*length), out)?;
            }
        }
        Ok(())
    }
}

impl Stored {
    /// Bytes of a value that has whole bytes.
    const fn bytes(self) -> usize {
        match self {
            Self::Bit => 1,
            Self::Four => 4,
            Self::Eight => 8,
            Self::Fixed(length) => length,
        }
    }
}

/// Runs of truth values behind their length; a page of nulls may have no bytes at all.
fn truth_runs(bytes: &Bytes) -> Result<PageNumbers, Status> {
    let runs = match bytes.first_chunk() {
        None if bytes.is_empty() => Bytes::new(),
        None => return Err(Status::Corrupt),
        Some(length) => {
            let length = u32::from_le_bytes(*length) as usize;
            if length > bytes.len() - 4 {
                return Err(Status::Corrupt);
            }
            bytes.slice(4..4 + length)
        }
    };
    Ok(PageNumbers::Runs(Runs::new(runs, 1)))
}

fn plain(bytes: &[u8], stored: Stored, out: &mut Vec<i64>) -> Result<(), Status> {
    match stored {
        Stored::Four => {
            let (values, _) = bytes.as_chunks();
            out.extend(values.iter().map(|value| i64::from(i32::from_le_bytes(*value))));
        }
        Stored::Eight => {
            let (values, _) = bytes.as_chunks();
            out.extend(values.iter().map(|value| i64::from_le_bytes(*value)));
        }
        Stored::Fixed(length @ 1..=8) => short_big_endian(bytes, length, out),
        Stored::Fixed(length) => {
            for value in bytes.chunks_exact(length.max(1)) {
                out.push(big_endian(value).ok_or(Status::Overflow)?);
            }
        }
        Stored::Bit => return Err(Status::Encoding),
    }
    Ok(())
}

/// Appends numbers of `length` bytes, at most 8: the first bytes of a word each, as long as there
/// are whole words.
fn short_big_endian(bytes: &[u8], length: usize, out: &mut Vec<i64>) {
    let shift = 64 - 8 * length;
    let values = bytes.len() / length;
    let whole = (bytes.len() / length).min((bytes.len() + length).saturating_sub(8) / length);
    out.reserve(values);
    out.extend((0..whole).map(|index| {
        let word =
            bytes[index * length..].first_chunk().map_or(0, |word| i64::from_be_bytes(*word));
        word >> shift
    }));
    let rest = bytes[whole * length..].chunks_exact(length);
    out.extend(rest.filter_map(big_endian));
}

/// Joins values from their streams.
fn split<'a>(
    stream: impl Fn(usize) -> &'a [u8],
    stored: Stored,
    count: usize,
    out: &mut Vec<i64>,
) -> Result<(), Status> {
    let start = out.len();
    match stored {
        Stored::Four | Stored::Eight => {
            out.resize(start + count, 0);
            let values = &mut out[start..];
            for index in 0..stored.bytes() {
                for (value, byte) in values.iter_mut().zip(stream(index)) {
                    *value |= i64::from(*byte) << (8 * index);
                }
            }
            if stored == Stored::Four {
                values.iter_mut().for_each(|value| *value = *value << 32 >> 32);
            }
        }
        Stored::Fixed(length) => {
            let mut value = vec![0; length];
            for row in 0..count {
                value.iter_mut().enumerate().for_each(|(index, byte)| *byte = stream(index)[row]);
                out.push(big_endian(&value).ok_or(Status::Overflow)?);
            }
        }
        Stored::Bit => return Err(Status::Encoding),
    }
    Ok(())
}

/// The number of up to 16 bytes in two's complement, if it fits in 64 bits.
pub(crate) fn big_endian(bytes: &[u8]) -> Option<i64> {
    let fill = if bytes.first().is_some_and(|first| *first >= 0x80) { 0xff } else { 0 };
    let (head, low) = bytes.split_at(bytes.len().saturating_sub(8));
    let mut word = [fill; 8];
    word[8 - low.len()..].copy_from_slice(low);
    let number = i64::from_be_bytes(word);
    let fits = head.iter().all(|byte| *byte == fill) && (number < 0) == (fill == 0xff);
    fits.then_some(number)
}

#[cfg(test)]
mod tests {
    use nearscan_command::{ReadAs, Reading};

    use super::*;
    use crate::tests::plain_chunk;

    fn chunk(physical_type: PhysicalType, length: u16) -> Chunk {
        plain_chunk(physical_type, Reading { rule: ReadAs::Signed, bits: 0, length })
    }

    fn read(
        chunk: &Chunk,
        encoding: Encoding,
        bytes: &[u8],
        count: usize,
    ) -> Result<Vec<i64>, Status> {
        let bytes = Bytes::copy_from_slice(bytes);
        let mut numbers = PageNumbers::open(chunk, encoding, bytes, || Ok(count))?;
        let mut out = Vec::new();
        // In two pieces, so that places are kept.
        numbers.read(count / 2, &mut out)?;
        numbers.read(count - count / 2, &mut out)?;
        Ok(out)
    }

    #[test]
    fn plain_numbers_are_sign_extended() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0x80];
        let int32 = chunk(PhysicalType::Int32, 0);
        assert_eq!(read(&int32, Encoding::Plain, &bytes, 2), Ok(vec![-1, -0x7fff_ffff]));
        assert_eq!(read(&int32, Encoding::Plain, &bytes[..7], 2), Err(Status::Corrupt));
        let double = chunk(PhysicalType::Double, 0);
        assert_eq!(read(&double, Encoding::Plain, &bytes, 1), Ok(vec![i64::from_le_bytes(bytes)]));
        let fixed = chunk(PhysicalType::FixedLenByteArray, 3);
        let bytes = [0, 1, 2, 0xff, 0xff, 0xfe];
        assert_eq!(read(&fixed, Encoding::Plain, &bytes, 2), Ok(vec![0x102, -2]));
    }

    #[test]
    fn split_streams_are_joined() {
        let bytes = [0xfe, 1, 0xff, 2, 0xff, 3, 0xff, 4];
        let int32 = chunk(PhysicalType::Int32, 0);
        let split = |chunk: &Chunk, bytes: &[u8], count| {
            read(chunk, Encoding::ByteStreamSplit, bytes, count)
        };
        assert_eq!(split(&int32, &bytes, 2), Ok(vec![-2, 0x0403_0201]));
        assert_eq!(split(&int32, &bytes, 1), Err(Status::Corrupt));
        assert_eq!(split(&int32, &bytes[..7], 2), Err(Status::Corrupt));
        assert_eq!(split(&int32, &[], 0), Ok(vec![]));
        let fixed = chunk(PhysicalType::FixedLenByteArray, 2);
        assert_eq!(split(&fixed, &[0xff, 1, 0xfd, 2], 2), Ok(vec![-3, 0x102]));
        let int64 = chunk(PhysicalType::Int64, 0);
        assert_eq!(split(&int64, &[1, 2, 3, 4, 5, 6, 7, 0x80], 1).unwrap()[0] >> 56, -0x80);
        let truth = chunk(PhysicalType::Boolean, 0);
        assert_eq!(split(&truth, &[1], 1), Err(Status::Encoding));
    }

    #[test]
    fn truth_values_are_bits_or_runs_behind_a_length() {
        let truth = chunk(PhysicalType::Boolean, 0);
        let bits = vec![1, 0, 1, 1, 0, 0, 0, 0, 1];
        assert_eq!(read(&truth, Encoding::Plain, &[0b1101, 1], 9), Ok(bits));
        assert_eq!(read(&truth, Encoding::Plain, &[0b1101, 1], 17), Err(Status::Corrupt));
        let runs = |bytes: &[u8], count| read(&truth, Encoding::Rle, bytes, count);
        assert_eq!(runs(&[2, 0, 0, 0, 8, 1, 77], 4), Ok(vec![1; 4]));
        assert_eq!(runs(&[2, 0, 0, 0, 8, 2], 4), Err(Status::Corrupt));
        assert_eq!(runs(&[3, 0, 0, 0, 8, 1], 4), Err(Status::Corrupt));
        assert_eq!(runs(&[2, 0, 0], 0), Err(Status::Corrupt));
        assert_eq!(runs(&[], 0), Ok(vec![]));
        let int32 = chunk(PhysicalType::Int32, 0);
        assert_eq!(read(&int32, Encoding::Rle, &[2, 0, 0, 0, 8, 1], 4), Err(Status::Encoding));
    }

    #[test]
    fn short_big_endian_numbers_are_those_of_each_alone() {
        let bytes: Vec<u8> = (0..200_u8).map(|n| n.wrapping_mul(83)).collect();
        for length in 1..=8 {
            for count in 0..20 {
                let bytes = &bytes[..count * length];
                let mut out = vec![5];
                short_big_endian(bytes, length, &mut out);
                let alone = bytes.chunks_exact(length).filter_map(big_endian);
                let expected: Vec<i64> = [5].into_iter().chain(alone).collect();
                assert_eq!(out, expected, "{count} of {length} bytes");
            }
        }
    }

    #[test]
    fn only_integers_have_differences() {
        let bytes = [0x80, 1, 4, 1, 5];
        let of = |physical_type, count| {
            read(&chunk(physical_type, 0), Encoding::DeltaBinaryPacked, &bytes, count)
        };
        assert_eq!(of(PhysicalType::Int32, 1), Ok(vec![-3]));
        assert_eq!(of(PhysicalType::Int64, 1), Ok(vec![-3]));
        assert_eq!(of(PhysicalType::Int64, 2), Err(Status::Corrupt));
        assert_eq!(of(PhysicalType::Float, 1), Err(Status::Encoding));
        let int64 = chunk(PhysicalType::Int64, 0);
        assert_eq!(read(&int64, Encoding::DeltaBinaryPacked, &[], 0), Ok(vec![]));
    }

    #[test]
    fn big_endian_number_beyond_64_bits_is_an_overflow() {
        assert_eq!(big_endian(&[0x80]), Some(-128));
        assert_eq!(big_endian(&[0, 0x80]), Some(128));
        let least = [0x80, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(big_endian(&least), Some(i64::MIN));
        assert_eq!(big_endian(&[&[0xff; 8][..], &least].concat()), Some(i64::MIN));
        assert_eq!(big_endian(&[&[0][..], &least].concat()), None);
        assert_eq!(big_endian(&[&[0xff; 7][..], &[0x7f], &[0xff; 8]].concat()), None);
        assert_eq!(big_endian(&[&[0xff][..], &[0x7f; 8]].concat()), None);
        assert_eq!(big_endian(&[&[0; 15][..], &[9]].concat()), Some(9));
        assert_eq!(big_endian(&[&[0; 7][..], &[1], &[0; 8]].concat()), None);
    }
}
