// SPDX-License-Identifier: Apache-2.0
//! Packs rows into compact blocks as no drive does: blocks that are not full, differences from less
//! than the least number, more bits than are needed, strings in another order than that of their
//! use.
//!
//! The format allows all of that, so a host has to read it.

use nearscan_command::{Row, Value, Width};

/// Rows of a block.
const BLOCK_ROWS: usize = 1000;

/// The payload of rows with these widths.
pub(crate) fn payload(rows: &[Row], widths: &[Width]) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut known: Vec<Vec<Vec<u8>>> = vec![Vec::new(); widths.len()];
    for block in rows.chunks(BLOCK_ROWS) {
        let mut body = Vec::new();
        for (index, width) in widths.iter().enumerate() {
            let column: Vec<&Value> = block.iter().map(|row| &row[index]).collect();
            match width {
                Width::Bytes if index % 2 == 0 => codes(&column, &mut known[index], &mut body),
                Width::Bytes => lengths(&column, &mut body),
                _ => numbers(&column, *width, &mut body),
            }
        }
        let bytes = u32::try_from(body.len() + 16).unwrap();
        payload.extend(u32::try_from(block.len()).unwrap().to_le_bytes());
        payload.extend(bytes.to_le_bytes());
        payload.extend(1u64.to_le_bytes());
        payload.append(&mut body);
    }
    payload
}

/// CRC-32C, a bit at a time.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    let of_byte = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| match sum & 1 {
            1 => sum >> 1 ^ 0x82f6_3b78,
            _ => sum >> 1,
        })
    };
    !bytes.iter().fold(u32::MAX, of_byte)
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}

fn pack(numbers: &[u64], bits: usize, out: &mut Vec<u8>) {
    let mut all = Vec::new();
    for number in numbers {
        all.extend((0..bits).map(|bit| number >> bit & 1 == 1));
    }
    for byte in all.chunks(8) {
        out.push(byte.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit)));
    }
    pad(out);
}

/// Bits of a number, and one more where there is room.
fn bits_of(most: u64) -> usize {
    (64 - most.leading_zeros() as usize + 1).min(64)
}

/// The record of a column, and its validity if a row is null.
fn start(
    column: &[&Value],
    packing: u8,
    bits: [usize; 2],
    strings: usize,
    base: u64,
    out: &mut Vec<u8>,
) {
    let nulls = column.contains(&&Value::Null);
    let [bits, length_bits] = bits.map(|bits| u8::try_from(bits).unwrap());
    out.extend([packing, bits, length_bits, u8::from(nulls)]);
    out.extend(u32::try_from(strings).unwrap().to_le_bytes());
    out.extend(base.to_le_bytes());
    if nulls {
        let mut validity: Vec<u64> = column.iter().map(|v| u64::from(**v != Value::Null)).collect();
        validity.resize(column.len().next_multiple_of(64), 0);
        pack(&validity, 1, out);
    }
}

fn numbers(column: &[&Value], width: Width, out: &mut Vec<u8>) {
    let number = |value: &&Value| match value {
        Value::Number(number) => Some(*number),
        Value::Null | Value::Bytes(_) => None,
    };
    let valid = || column.iter().filter_map(number);
    let (least, most) = (valid().min().unwrap_or(0), valid().max().unwrap_or(0));
    // Below the least number, if the column has room there.
    let base = least.checked_sub(1).filter(|base| width.fits(*base)).unwrap_or(least);
    let span = most.checked_sub(base).and_then(|span| u64::try_from(span).ok());
    let span = span.unwrap_or(u64::MAX);
    let Some(base) = i64::try_from(base).ok().filter(|_| span < u64::MAX) else {
        start(column, 0, [0, 0], 0, 0, out);
        let bytes = width.bytes().unwrap() as usize;
        for value in column {
            out.extend(&number(value).unwrap_or(0).to_le_bytes()[..bytes]);
        }
        return pad(out);
    };
    let bits = if width == Width::Bool { 1 } else { bits_of(span) };
    start(column, 1, [bits, 0], 0, base.cast_unsigned(), out);
    let difference = |value: &&Value| {
        number(value).map_or(0, |number| u64::try_from(number - i128::from(base)).unwrap())
    };
    pack(&column.iter().map(difference).collect::<Vec<_>>(), bits, out);
}

fn string<'a>(value: &&'a Value) -> &'a [u8] {
    match value {
        Value::Bytes(string) => string,
        Value::Null | Value::Number(_) => &[],
    }
}

fn lengths(column: &[&Value], out: &mut Vec<u8>) {
    let lengths: Vec<u64> = column.iter().map(|value| string(value).len() as u64).collect();
    let bits = bits_of(lengths.iter().copied().max().unwrap_or(0));
    start(column, 2, [bits.min(32), 0], 0, 0, out);
    pack(&lengths, bits.min(32), out);
    column.iter().for_each(|value| out.extend(string(value)));
    pad(out);
}

fn codes(column: &[&Value], known: &mut Vec<Vec<u8>>, out: &mut Vec<u8>) {
    let valid = || column.iter().filter(|value| ***value != Value::Null).map(string);
    let mut new: Vec<Vec<u8>> =
        valid().filter(|text| !known.iter().any(|old| old == text)).map(<[u8]>::to_vec).collect();
    new.sort();
    new.dedup();
    if known.len() + new.len() > 4096 {
        return lengths(column, out);
    }
    known.extend(new.iter().rev().cloned());
    let code = |value: &&Value| match value {
        Value::Bytes(text) => known.iter().position(|old| old == text).unwrap() as u64,
        Value::Null | Value::Number(_) => 0,
    };
    let codes: Vec<u64> = column.iter().map(code).collect();
    let lengths: Vec<u64> = new.iter().rev().map(|text| text.len() as u64).collect();
    let [bits, length_bits] =
        [&codes, &lengths].map(|all| bits_of(all.iter().copied().max().unwrap_or(0)).min(32));
    start(column, 3, [bits, length_bits], new.len(), 0, out);
    pack(&codes, bits, out);
    pack(&lengths, length_bits, out);
    new.iter().rev().for_each(|text| out.extend(text));
    pad(out);
}
