// SPDX-License-Identifier: Apache-2.0
//! Decodes stored bytes to numbers, and the encodings of split streams and differences.

use nearscan_command::{Chunk, PhysicalType, ReadAs, Value};

use crate::reader::{Damaged, Input, Result};

/// The value that stored bytes represent.
pub(crate) fn number_of(stored: &[u8], chunk: &Chunk) -> Result<Value> {
    let little = stored.iter().rev().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
    let big = stored.iter().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
    let signed = |number: u128| {
        let shift = 128 - 8 * u32::try_from(stored.len()).unwrap();
        (number << shift).cast_signed() >> shift
    };
    let reading = chunk.reading;
    let number = match (reading.rule, chunk.physical_type) {
        (_, PhysicalType::Boolean) | (ReadAs::Unsigned, _) => little.cast_signed(),
        (ReadAs::Signed, _) => signed(little),
        (ReadAs::BigEndian, _) => signed(big),
        (ReadAs::FloatOrder, PhysicalType::Float) => place(widened(u32::try_from(little).unwrap())),
        (ReadAs::FloatOrder, _) => place(u64::try_from(little).unwrap()),
    };
    let fits = match (reading.bits, reading.rule) {
        (0, _) => true,
        (bits, ReadAs::Unsigned) => (0..1 << bits).contains(&number),
        (bits, _) => (-(1 << (bits - 1))..1 << (bits - 1)).contains(&number),
    };
    if fits { Ok(Value::Number(number)) } else { Err(Damaged) }
}

/// The bits of an 8-byte number in the order of the numbers, zero for positive zero.
fn place(bits: u64) -> i128 {
    let magnitude = i128::from(bits & (u64::MAX >> 1));
    if bits >> 63 == 0 { magnitude } else { -1 - magnitude }
}

/// The bits of a 4-byte number, exponent and fraction made longer.
fn widened(bits: u32) -> u64 {
    let sign = u64::from(bits >> 31) << 63;
    let (exponent, fraction) = (u64::from(bits >> 23 & 0xff), u64::from(bits & 0x007f_ffff));
    let rest = match (exponent, fraction) {
        (0, 0) => 0,
        (0xff, _) => 0x7ff << 52 | fraction << 29,
        (0, _) => {
            // The highest one becomes the hidden one.
            let up = u64::from(fraction.leading_zeros() - 40);
            (897 - up) << 52 | (fraction << up & 0x007f_ffff) << 29
        }
        _ => (exponent + 896) << 52 | fraction << 29,
    };
    sign | rest
}

/// `count` numbers of `bytes` each, stored as differences; there must be exactly as many.
pub(crate) fn delta(input: &mut Input<'_>, count: usize, bytes: usize) -> Result<Vec<Vec<u8>>> {
    let block = input.varint()?;
    let miniblocks = input.varint()?;
    let total = input.varint()?;
    let mut number = input.zigzag()?;
    let is_block = (128..1 << 31).contains(&block) && block % 128 == 0;
    if !is_block || !(1..=block).contains(&miniblocks) || block % (miniblocks * 32) != 0 {
        return Err(Damaged);
    }
    if total != count as u64 {
        return Err(Damaged);
    }
    let stored = |number: i64| number.to_le_bytes()[..bytes].to_vec();
    let mut numbers = Vec::new();
    if count > 0 {
        numbers.push(stored(number));
    }
    while numbers.len() < count {
        let least = input.zigzag()?;
        let widths = input.take(usize::try_from(miniblocks).map_err(|_| Damaged)?)?;
        for width in widths {
            let values = usize::try_from(block / miniblocks).unwrap().min(count - numbers.len());
            if values == 0 {
                break;
            }
            let width = usize::from(*width);
            if width > 8 * bytes {
                return Err(Damaged);
            }
            let whole = usize::try_from(block / miniblocks).unwrap() * width / 8;
            let needed = (values * width).div_ceil(8);
            // The last one may be cut.
            let packed = input.take(whole.min(input.0.len()).max(needed))?;
            for index in 0..values {
                let bits = (0..width).map(|bit| index * width + bit).enumerate();
                let above = bits.fold(0u64, |above, (bit, at)| {
                    above | u64::from(packed[at / 8] >> (at % 8) & 1) << bit
                });
                number = number.wrapping_add(least).wrapping_add(above.cast_signed());
                numbers.push(stored(number));
            }
        }
    }
    Ok(numbers)
}

/// `count` values of `bytes` each, whose first bytes are first, then the second ones.
pub(crate) fn split(streams: &[u8], count: usize, bytes: usize) -> Result<Vec<Vec<u8>>> {
    if streams.len() != count * bytes {
        return Err(Damaged);
    }
    let value = |index| (0..bytes).map(|byte| streams[byte * count + index]).collect();
    Ok((0..count).map(value).collect())
}
