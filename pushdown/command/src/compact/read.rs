// SPDX-License-Identifier: Apache-2.0
//! Expands the columns of compact blocks into the parts that a plain block has.

use crate::{
    compact::bits::{ends_in_zeros, packed_bytes, unpack},
    error::Error,
    layout::{COMPACT_COLUMN_BYTES, CompactColumnRecord, compact},
    limits,
    types::{Packing, Width},
    wire::read,
};

/// Bytes of the end of a string.
const END_BYTES: usize = 4;

/// The parts of a column as a plain block has them, without padding.
#[derive(Debug, Default)]
pub(crate) struct Expanded {
    /// One bit a row, `[ceil(rows / 64) * 8]` bytes.
    pub(crate) validity: Vec<u8>,
    /// `[rows, width.bytes()]`; of byte strings `[rows]` u32 ends.
    pub(crate) values: Vec<u8>,
    /// The bytes of byte strings.
    pub(crate) bytes: Vec<u8>,
}

/// Expands the blocks of one result, in their order.
pub(crate) struct ColumnsReader<'a> {
    /// Strings that codes of each column refer to.
    known: Vec<Vec<&'a [u8]>>,
    /// Bytes that expanded columns may still take.
    room: u64,
}

/// The packed values of a column that is expanded.
struct Packed<'a> {
    record: CompactColumnRecord,
    rows: usize,
    /// Of the rows, if one is null.
    validity: Option<&'a [u8]>,
    rest: Parts<'a>,
}

/// What is left of a block, part by part.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    /// The next part, without its padding.
    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let padded = length.next_multiple_of(8);
        let Some((part, rest)) = self.0.split_at_checked(padded) else {
            return Err(Error::Truncated {
                part: "compact column",
                needed: padded as u64,
                available: self.0.len() as u64,
            });
        };
        let (part, padding) = part.split_at(length);
        if padding.iter().any(|byte| *byte != 0) {
            return Err(Error::Inconsistent {
                what: "the padding of a compact column is not zero",
            });
        }
        self.0 = rest;
        Ok(part)
    }

    /// The next `count` packed numbers.
    fn numbers(&mut self, bits: u8, count: usize) -> Result<Vec<u64>, Error> {
        let packed = self.take(packed_bytes(count, bits))?;
        match ends_in_zeros(packed, bits, count) {
            true => Ok(unpack(packed, bits, count)),
            false => Err(Error::Inconsistent { what: "the padding of packed numbers is not zero" }),
        }
    }
}

impl<'a> ColumnsReader<'a> {
    /// A reader of blocks of so many columns, whose expanded columns take at most `room` bytes.
    pub(crate) fn new(columns: usize, room: u64) -> Self {
        Self { known: vec![Vec::new(); columns], room }
    }

    /// Expands column `index`, which stands at the start of `rest`, and moves `rest` behind it.
    ///
    /// # Errors
    /// Whatever is wrong with its bytes, and [`Error::Limit`] when it takes too much room.
    pub(crate) fn column(
        &mut self,
        index: usize,
        width: Width,
        rows: usize,
        rest: &mut &'a [u8],
    ) -> Result<Expanded, Error> {
        let record: CompactColumnRecord = read(rest, 0, "compact column")?;
        let packing = Packing::from_code(record.packing)?;
        for (what, bits, limit) in [
            ("bits of a packed number", record.bits, 64),
            ("bits of a packed length", record.length_bits, 32),
        ] {
            if u64::from(bits) > limit {
                return Err(Error::Limit { what, actual: bits.into(), limit });
            }
        }
        if record.flags & !compact::NULLS != 0 {
            let value = record.flags.into();
            return Err(Error::UnknownCode { what: "flags of a compact column", value });
        }
        let is_of_strings = matches!(packing, Packing::Lengths | Packing::Codes);
        if is_of_strings != (width == Width::Bytes) {
            return Err(Error::Inconsistent {
                what: "the packing of a column is of another width",
            });
        }
        let mut parts = Parts(rest);
        parts.take(COMPACT_COLUMN_BYTES as usize)?;
        let has_nulls = record.flags & compact::NULLS != 0;
        let validity = match has_nulls {
            true => Some(parts.take(rows.div_ceil(64) * 8)?),
            false => None,
        };
        let fixed = width.bytes().map_or(END_BYTES, |bytes| bytes as usize);
        self.charge((rows.div_ceil(64) * 8 + rows * fixed) as u64)?;
        let mut packed = Packed { record, rows, validity, rest: parts };
        let (values, bytes) = match packing {
            Packing::Plain => (packed.rest.take(rows * fixed)?.to_vec(), Vec::new()),
            Packing::Differences => (packed.numbers(width)?, Vec::new()),
            Packing::Lengths => self.lengths(&mut packed)?,
            Packing::Codes => self.codes(index, &mut packed)?,
        };
        *rest = packed.rest.0;
        let validity = packed.validity.map_or_else(|| all_valid(rows), <[u8]>::to_vec);
        Ok(Expanded { validity, values, bytes })
    }

    fn charge(&mut self, bytes: u64) -> Result<(), Error> {
        let Some(room) = self.room.checked_sub(bytes) else {
            let (actual, limit) = (bytes, self.room);
            return Err(Error::Limit { what: "bytes of an expanded column", actual, limit });
        };
        self.room = room;
        Ok(())
    }

    /// Ends and bytes of strings whose lengths are given.
    fn lengths(&mut self, packed: &mut Packed<'a>) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let mut lengths = packed.rest.numbers(packed.record.bits, packed.rows)?;
        let most = lengths.iter().copied().max().unwrap_or(0);
        let base = packed.record.base;
        if base.checked_add(most).is_none_or(|most| most > u32::MAX.into()) {
            return Err(Error::Inconsistent { what: "a string is longer than 32 bits say" });
        }
        for (row, length) in lengths.iter_mut().enumerate() {
            *length = if packed.is_valid(row) { base + *length } else { 0 };
        }
        let bytes = lengths.iter().sum();
        self.charge(bytes)?;
        let bytes = packed.rest.take(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        Ok((ends_of(lengths.into_iter())?, bytes.to_vec()))
    }

    /// Ends and bytes of strings that codes stand for.
    fn codes(
        &mut self,
        index: usize,
        packed: &mut Packed<'a>,
    ) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let Packed { record, rows, .. } = *packed;
        let codes = packed.rest.numbers(record.bits, rows)?;
        let count = record.strings as usize;
        if count > rows || record.base != 0 {
            return Err(Error::Inconsistent {
                what: "codes have more strings than rows, or a base",
            });
        }
        let known = self.known.get(index).map_or(0, Vec::len);
        crate::program::limit("strings of codes", known + count, limits::CODED_STRINGS_MAX)?;
        let lengths = packed.rest.numbers(record.length_bits, count)?;
        let bytes = lengths.iter().copied().fold(0, u64::saturating_add);
        let mut bytes = packed.rest.take(bounded(bytes)?)?;
        let Some(known) = self.known.get_mut(index) else {
            return Err(Error::Inconsistent { what: "a block has more columns than its result" });
        };
        for length in lengths {
            // They add up to what was taken.
            let (string, rest) = bytes.split_at(bounded(length)?);
            known.push(string);
            bytes = rest;
        }
        let mut strings = Vec::with_capacity(rows);
        for (row, code) in codes.into_iter().enumerate() {
            let string = known.get(usize::try_from(code).unwrap_or(usize::MAX)).copied();
            strings.push(match (packed.is_valid(row), string) {
                (false, _) => &[],
                (true, Some(string)) => string,
                (true, None) => {
                    let count = known.len() as u64;
                    return Err(Error::Index { what: "string of a code", index: code, count });
                }
            });
        }
        let lengths = || strings.iter().map(|string| string.len() as u64);
        self.charge(lengths().sum())?;
        Ok((ends_of(lengths())?, strings.concat()))
    }
}

/// A length that a block of 32 bits can hold.
fn bounded(length: u64) -> Result<usize, Error> {
    let length = u32::try_from(length).map_err(|_| Error::Limit {
        what: "bytes of strings in a block",
        actual: length,
        limit: u32::MAX.into(),
    })?;
    Ok(length as usize)
}

/// The ends of strings of these lengths.
fn ends_of(lengths: impl ExactSizeIterator<Item = u64>) -> Result<Vec<u8>, Error> {
    let mut out = vec![0; lengths.len() * END_BYTES];
    let (places, _) = out.as_chunks_mut::<END_BYTES>();
    let mut end = 0u64;
    for (place, length) in places.iter_mut().zip(lengths) {
        end = end.saturating_add(length);
        *place = u32::try_from(end).unwrap_or(u32::MAX).to_le_bytes();
    }
    bounded(end)?;
    Ok(out)
}

/// The validity of rows of which none is null.
fn all_valid(rows: usize) -> Vec<u8> {
    let mut validity = vec![0; rows.div_ceil(64) * 8];
    validity[..rows / 8].fill(u8::MAX);
    if !rows.is_multiple_of(8) {
        validity[rows / 8] = (1 << (rows % 8)) - 1;
    }
    validity
}

impl Packed<'_> {
    fn is_valid(&self, row: usize) -> bool {
        let is_set = |byte: &u8| byte >> (row % 8) & 1 == 1;
        self.validity.is_none_or(|validity| validity.get(row / 8).is_some_and(is_set))
    }

    /// The numbers of a column of `width`, little endian; null rows hold zero.
    fn numbers(&mut self, width: Width) -> Result<Vec<u8>, Error> {
        let differences = self.rest.numbers(self.record.bits, self.rows)?;
        let base = self.record.base.cast_signed();
        let most = differences.iter().copied().max().unwrap_or(0);
        let last = i128::from(base) + i128::from(most);
        if !width.fits(base.into()) || !width.fits(last) {
            return Err(Error::Inconsistent { what: "a packed number does not fit its column" });
        }
        // All are between two that fit, so nothing is cut off.
        let mut values = match width {
            Width::W64 => self.each(&differences, |difference| {
                base.wrapping_add_unsigned(difference).to_le_bytes()
            }),
            Width::W32 => self.each(&differences, |difference| {
                let [a, b, c, d, ..] = base.wrapping_add_unsigned(difference).to_le_bytes();
                [a, b, c, d]
            }),
            Width::W128 => self.each(&differences, |difference| {
                (i128::from(base) + i128::from(difference)).to_le_bytes()
            }),
            Width::Bool | Width::Bytes => self.each(&differences, |difference| {
                let [a, ..] = base.wrapping_add_unsigned(difference).to_le_bytes();
                [a]
            }),
        };
        if self.validity.is_some() {
            let bytes = width.bytes().unwrap_or(1) as usize;
            for (row, value) in values.chunks_exact_mut(bytes).enumerate() {
                if !self.is_valid(row) {
                    value.fill(0);
                }
            }
        }
        Ok(values)
    }

    /// A loop without a branch, for the compiler to vectorize.
    fn each<const BYTES: usize>(
        &self,
        differences: &[u64],
        value: impl Fn(u64) -> [u8; BYTES],
    ) -> Vec<u8> {
        let mut values = vec![0; self.rows * BYTES];
        let (places, _) = values.as_chunks_mut::<BYTES>();
        for (place, difference) in places.iter_mut().zip(differences) {
            *place = value(*difference);
        }
        values
    }
}
