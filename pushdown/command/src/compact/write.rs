// SPDX-License-Identifier: Apache-2.0
//! Packs the columns of a block, for drives that are software.

use std::collections::HashMap;

use crate::{
    compact::bits::{pack, packed_bytes, width_of},
    layout::{COMPACT_COLUMN_BYTES, CompactColumnRecord, Record, compact},
    limits,
    types::{Packing, Width},
};

/// Bytes of the end of a string.
const END_BYTES: usize = 4;

/// A column of a block as it is plain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainColumn<'a> {
    pub(crate) width: Width,
    /// `[rows]`.
    pub(crate) validity: &'a [bool],
    /// `[rows, width.bytes()]`, zero in null rows; of byte strings `[rows]` u32 ends.
    pub(crate) values: &'a [u8],
    /// The bytes of byte strings.
    pub(crate) strings: &'a [u8],
}

/// Packs one column of all blocks of a result, in their order.
#[derive(Debug)]
pub(crate) struct ColumnPacker {
    /// The code of each string that was sent, while codes are worth it.
    codes: Option<HashMap<Vec<u8>, u32>>,
}

/// The codes of the rows of a block, and the strings that they are the first to use.
struct Coded<'a> {
    codes: Vec<u64>,
    new: Vec<&'a [u8]>,
}

impl ColumnPacker {
    pub(crate) fn new() -> Self {
        Self { codes: Some(HashMap::new()) }
    }

    /// Appends a column of a compact block to `out`.
    pub(crate) fn write(&mut self, column: &PlainColumn<'_>, out: &mut Vec<u8>) {
        match column.width {
            Width::Bytes => self.write_strings(column, out),
            Width::Bool => numbers(column, |[byte]: [u8; 1]| byte.into(), out),
            Width::W32 => numbers(column, |bytes| i32::from_le_bytes(bytes).into(), out),
            Width::W64 => numbers(column, |bytes| i64::from_le_bytes(bytes).into(), out),
            Width::W128 => numbers(column, i128::from_le_bytes, out),
        }
    }

    fn write_strings(&mut self, column: &PlainColumn<'_>, out: &mut Vec<u8>) {
        let lengths: Vec<u64> = strings_of(column).map(|string| string.len() as u64).collect();
        let valid = || lengths.iter().zip(column.validity).filter(|(_, is_valid)| **is_valid);
        let base = valid().map(|(length, _)| *length).min().unwrap_or(0);
        let most = valid().map(|(length, _)| *length).max().unwrap_or(0);
        let bits = width_of(most - base);
        let plain = packed_bytes(lengths.len(), bits) + column.strings.len();
        if let Some(coded) = self.code(column, plain) {
            return self.write_codes(column, &coded, out);
        }
        let record = record(Packing::Lengths, bits, base);
        start(column, record, out);
        pack(differences(column, lengths.into_iter(), base), bits, out);
        out.extend_from_slice(column.strings);
        pad(out);
    }

    /// The codes of a block; nothing, from then on, when there are too many strings, or when codes
    /// take more than `bytes`.
    fn code<'a>(&mut self, column: &PlainColumn<'a>, bytes: usize) -> Option<Coded<'a>> {
        let mut known = self.codes.take()?;
        let mut coded = Coded { codes: Vec::with_capacity(column.validity.len()), new: Vec::new() };
        for (string, is_valid) in strings_of(column).zip(column.validity) {
            let code = match known.get(string) {
                _ if !is_valid => 0,
                Some(code) => *code,
                None => {
                    let code = u32::try_from(known.len()).unwrap_or(u32::MAX);
                    if code >= limits::CODED_STRINGS_MAX {
                        return None;
                    }
                    known.insert(string.to_vec(), code);
                    coded.new.push(string);
                    code
                }
            };
            coded.codes.push(code.into());
        }
        let new_bytes = coded.new.iter().map(|string| string.len()).sum::<usize>();
        let codes_bytes = packed_bytes(coded.codes.len(), width_of(known.len() as u64));
        if new_bytes + codes_bytes > bytes {
            return None;
        }
        self.codes = Some(known);
        Some(coded)
    }

    fn write_codes(&self, column: &PlainColumn<'_>, coded: &Coded<'_>, out: &mut Vec<u8>) {
        let known = self.codes.as_ref().map_or(0, HashMap::len) as u64;
        let lengths = || coded.new.iter().map(|string| string.len() as u64);
        let bits = width_of(known.saturating_sub(1));
        let length_bits = width_of(lengths().max().unwrap_or(0));
        let strings = u32::try_from(coded.new.len()).unwrap_or(u32::MAX);
        start(
            column,
            CompactColumnRecord { length_bits, strings, ..record(Packing::Codes, bits, 0) },
            out,
        );
        pack(coded.codes.iter().copied(), bits, out);
        pack(lengths(), length_bits, out);
        coded.new.iter().for_each(|string| out.extend_from_slice(string));
        pad(out);
    }
}

/// The strings of a column, empty where a row is null.
fn strings_of<'a>(column: &PlainColumn<'a>) -> impl Iterator<Item = &'a [u8]> {
    let (ends, _) = column.values.as_chunks::<END_BYTES>();
    let strings = column.strings;
    ends.iter().scan(0, move |start, end| {
        let end = u32::from_le_bytes(*end) as usize;
        Some(&strings[std::mem::replace(start, end)..end])
    })
}

const fn record(packing: Packing, bits: u8, base: u64) -> CompactColumnRecord {
    let packing = packing.code();
    CompactColumnRecord { packing, bits, length_bits: 0, flags: 0, strings: 0, base }
}

/// Appends the record of a column, and its validity if a row is null.
fn start(column: &PlainColumn<'_>, record: CompactColumnRecord, out: &mut Vec<u8>) {
    let has_nulls = column.validity.contains(&false);
    let flags = if has_nulls { compact::NULLS } else { 0 };
    out.reserve(COMPACT_COLUMN_BYTES as usize);
    CompactColumnRecord { flags, ..record }.encode(out);
    if has_nulls {
        pack(column.validity.iter().map(|is_valid| (*is_valid).into()), 1, out);
    }
}

/// Appends a column of numbers. Those of 128 bits whose differences do not fit in 64 stay plain.
fn numbers<const BYTES: usize>(
    column: &PlainColumn<'_>,
    value: impl Fn([u8; BYTES]) -> i128,
    out: &mut Vec<u8>,
) {
    let (places, _) = column.values.as_chunks::<BYTES>();
    let values: Vec<i128> = places.iter().map(|place| value(*place)).collect();
    let valid = || values.iter().zip(column.validity).filter(|(_, is_valid)| **is_valid);
    let base = valid().map(|(value, _)| *value).min().unwrap_or(0);
    let most = valid().map(|(value, _)| *value).max().unwrap_or(0);
    let span = most.checked_sub(base).and_then(|span| u64::try_from(span).ok());
    let (Ok(base), Some(span)) = (i64::try_from(base), span) else {
        start(column, record(Packing::Plain, 0, 0), out);
        out.extend_from_slice(column.values);
        return pad(out);
    };
    let base = base.cast_unsigned();
    let bits = width_of(span);
    start(column, record(Packing::Differences, bits, base), out);
    // What is cut off is equal in both.
    let low = |value: i128| {
        let [a, b, c, d, e, f, g, h, ..] = value.to_le_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    };
    pack(differences(column, values.into_iter().map(low), base), bits, out);
}

/// What numbers are more than `base`; 0 where a row is null.
fn differences<'a>(
    column: &PlainColumn<'a>,
    numbers: impl Iterator<Item = u64> + 'a,
    base: u64,
) -> impl Iterator<Item = u64> + 'a {
    let difference = move |(number, is_valid): (u64, &bool)| match is_valid {
        true => number.wrapping_sub(base),
        false => 0,
    };
    numbers.zip(column.validity).map(difference)
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}
