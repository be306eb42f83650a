// SPDX-License-Identifier: Apache-2.0
//! Reads the blocks of a result, one bit and one row at a time.
//!
//! It defines what plain and compact blocks hold, and shares no code with the reader that hosts
//! use: what both read from a drive's result has to be the same.

use nearscan_command::{BlockForm, Row, Value, Width};

/// Bytes of the header of a result.
const RESULT_HEADER_BYTES: usize = 256;

/// A number of 128 bits at most, whose bits may stand anywhere.
type Bits = Vec<bool>;

/// The bytes of a result, read from front to back.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn bytes(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let part = self.bytes.get(self.at..self.at + count);
        let part = part.ok_or_else(|| format!("no {count} bytes at byte {}", self.at))?;
        self.at += count;
        Ok(part.to_vec())
    }

    /// An unsigned number.
    fn number(&mut self, bytes: usize) -> Result<u64, String> {
        Ok(self.bytes(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A signed number of 128 bits at most.
    fn signed(&mut self, bytes: usize) -> Result<i128, String> {
        let stored = self.bytes(bytes)?;
        let negative = bytes > 1 && stored.last().is_some_and(|last| last & 0x80 != 0);
        let mut whole = [if negative { 0xff } else { 0 }; 16];
        whole[..bytes].copy_from_slice(&stored);
        Ok(i128::from_le_bytes(whole))
    }

    /// Moves behind the padding.
    fn pad(&mut self) -> Result<(), String> {
        while !self.at.is_multiple_of(8) {
            if self.number(1)? != 0 {
                return Err(format!("the padding at byte {} is not zero", self.at - 1));
            }
        }
        Ok(())
    }

    /// `count` numbers of `bits` bits each, and the padding behind them.
    fn packed(&mut self, count: usize, bits: usize) -> Result<Vec<u64>, String> {
        let bytes = self.bytes((count * bits).div_ceil(8))?;
        let all: Bits =
            bytes.iter().flat_map(|byte| (0..8).map(move |n| byte >> n & 1 == 1)).collect();
        let (used, padding) = all.split_at(count * bits);
        if padding.contains(&true) {
            return Err(format!("the padding before byte {} is not zero", self.at));
        }
        self.pad()?;
        let number = |bits: &[bool]| bits.iter().rev().fold(0, |n, bit| n << 1 | u64::from(*bit));
        Ok(match bits {
            0 => vec![0; count],
            _ => used.chunks(bits).map(number).collect(),
        })
    }

    /// Which rows are not null.
    fn validity(&mut self, rows: usize) -> Result<Vec<bool>, String> {
        let bits = self.packed(rows.next_multiple_of(64), 1)?;
        if bits[rows..].contains(&1) {
            return Err("a row behind the last one is valid".to_owned());
        }
        Ok(bits[..rows].iter().map(|bit| *bit == 1).collect())
    }

    fn plain_column(&mut self, rows: usize, width: Width) -> Result<Vec<Value>, String> {
        let validity = self.validity(rows)?;
        if let Some(bytes) = width.bytes() {
            return self.plain_numbers(&validity, bytes as usize);
        }
        let ends: Vec<u64> = (0..rows).map(|_| self.number(4)).collect::<Result<_, _>>()?;
        self.pad()?;
        let mut start = 0;
        let lengths = ends.into_iter().map(|end| {
            let length = end.checked_sub(std::mem::replace(&mut start, end));
            length.ok_or_else(|| "the ends of strings decrease".to_owned())
        });
        let lengths = lengths.collect::<Result<Vec<u64>, _>>()?;
        self.strings(&validity, &lengths)
    }

    fn plain_numbers(&mut self, validity: &[bool], bytes: usize) -> Result<Vec<Value>, String> {
        let mut values = Vec::new();
        for is_valid in validity {
            values.push(match (is_valid, self.signed(bytes)?) {
                (true, number) => Value::Number(number),
                (false, 0) => Value::Null,
                (false, _) => return Err("a null row does not hold zero".to_owned()),
            });
        }
        self.pad()?;
        Ok(values)
    }

    /// Strings one behind the other.
    fn strings(&mut self, validity: &[bool], lengths: &[u64]) -> Result<Vec<Value>, String> {
        let mut values = Vec::new();
        for (is_valid, length) in validity.iter().zip(lengths) {
            values.push(match (is_valid, length) {
                (true, length) => {
                    Value::Bytes(self.bytes(usize::try_from(*length).unwrap_or(usize::MAX))?)
                }
                (false, 0) => Value::Null,
                (false, _) => return Err("a null row has a string".to_owned()),
            });
        }
        self.pad()?;
        Ok(values)
    }

    /// A column of a compact block; `known` are the strings that codes refer to.
    fn compact_column(
        &mut self,
        rows: usize,
        width: Width,
        known: &mut Vec<Vec<u8>>,
    ) -> Result<Vec<Value>, String> {
        let [packing, bits, length_bits, flags] = [(); 4].map(|()| self.number(1));
        let (packing, bits, length_bits, flags) = (packing?, bits?, length_bits?, flags?);
        let strings = self.number(4)?;
        let base = self.number(8)?;
        let validity = match flags {
            0 => vec![true; rows],
            1 => self.validity(rows)?,
            _ => return Err(format!("{flags} are no flags of a column")),
        };
        if flags == 1 && !validity.contains(&false) {
            return Err("there is validity, but no null row".to_owned());
        }
        if packing == 0 {
            let bytes = width.bytes().ok_or("byte strings have no plain packing")?;
            return self.plain_numbers(&validity, bytes as usize);
        }
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let packed = self.packed(rows, count(bits).min(64))?;
        if packed.iter().zip(&validity).any(|(number, is_valid)| !is_valid && *number != 0) {
            return Err("a null row does not hold zero".to_owned());
        }
        match (packing, width) {
            (1, Width::Bytes) => Err("byte strings have no differences".to_owned()),
            (1, _) => {
                let base = i128::from(base.cast_signed());
                let numbers = packed.iter().zip(&validity).map(|(difference, is_valid)| {
                    let number = base + i128::from(*difference);
                    match (is_valid, width.fits(number)) {
                        (false, _) => Ok(Value::Null),
                        (true, true) => Ok(Value::Number(number)),
                        (true, false) => Err(format!("{number} does not fit {width:?}")),
                    }
                });
                numbers.collect()
            }
            (2, Width::Bytes) => {
                let length = |(difference, is_valid): (&u64, &bool)| {
                    if *is_valid { base.wrapping_add(*difference) } else { 0 }
                };
                let lengths: Vec<u64> = packed.iter().zip(&validity).map(length).collect();
                self.strings(&validity, &lengths)
            }
            (3, Width::Bytes) => {
                let lengths = self.packed(count(strings), count(length_bits))?;
                for value in self.strings(&vec![true; lengths.len()], &lengths)? {
                    if let Value::Bytes(string) = value {
                        known.push(string);
                    }
                }
                let string = |(code, is_valid): (&u64, &bool)| match known.get(count(*code)) {
                    _ if !is_valid => Ok(Value::Null),
                    Some(string) => Ok(Value::Bytes(string.clone())),
                    None => Err(format!("code {code} of {} strings", known.len())),
                };
                packed.iter().zip(&validity).map(string).collect()
            }
            _ => Err(format!("{packing} is no packing of {width:?}")),
        }
    }
}

/// Bytes of a block's columns if it is plain.
fn plain_bytes(rows: &[Row], widths: &[Width]) -> usize {
    let column = |(index, width): (usize, &Width)| {
        let strings = rows.iter().map(|row| match &row[index] {
            Value::Bytes(string) => string.len(),
            Value::Null | Value::Number(_) => 0,
        });
        let fixed = width.bytes().unwrap_or(4) as usize * rows.len();
        rows.len().div_ceil(64) * 8
            + fixed.next_multiple_of(8)
            + strings.sum::<usize>().next_multiple_of(8)
    };
    widths.iter().enumerate().map(column).sum()
}

/// The rows of a result whose status is that there are some; `form` is the form that was allowed,
/// and `bytes_max` the room that there was.
///
/// # Errors
/// What of its bytes the format does not allow.
pub(crate) fn rows_of(
    result: &[u8],
    widths: &[Width],
    form: BlockForm,
    bytes_max: u64,
) -> Result<Vec<Row>, String> {
    let mut reader = Reader { bytes: result, at: RESULT_HEADER_BYTES };
    let mut known = vec![Vec::new(); widths.len()];
    let mut all = Vec::new();
    let mut expanded = RESULT_HEADER_BYTES;
    while reader.at < result.len() {
        let start = reader.at;
        let rows = usize::try_from(reader.number(4)?).unwrap_or(usize::MAX);
        let bytes = usize::try_from(reader.number(4)?).unwrap_or(usize::MAX);
        let written = reader.number(8)?;
        if rows == 0 || rows > 1024 || written > u64::from(form.code()) {
            return Err(format!("a block of {rows} rows has form {written}"));
        }
        let mut columns = Vec::new();
        for (width, known) in widths.iter().zip(&mut known) {
            columns.push(match written {
                0 => reader.plain_column(rows, *width)?,
                _ => reader.compact_column(rows, *width, known)?,
            });
        }
        if reader.at != start + bytes {
            return Err(format!("a block of {bytes} bytes ends at its byte {}", reader.at - start));
        }
        let row = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
        let block: Vec<Row> = (0..rows).map(row).collect();
        expanded += 16 + plain_bytes(&block, widths);
        all.extend(block);
    }
    match expanded as u64 > bytes_max.max(RESULT_HEADER_BYTES as u64) {
        true => Err(format!("the result expands to {expanded} bytes, more than its limit")),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of `docs/command-format.md`.
    const EXAMPLE: [u8; 80] = [
        3, 0, 0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, // 3 rows, compact
        1, 4, 0, 1, 0, 0, 0, 0, 0x63, 0x1f, 0, 0, 0, 0, 0, 0, // 4 bits from 8035
        5, 0, 0, 0, 0, 0, 0, 0, // rows 0 and 2
        9, 0, 0, 0, 0, 0, 0, 0, // 9, NULL, 0
        3, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // codes of no bits, a new string
        3, 0, 0, 0, 0, 0, 0, 0, // its length
        0x41, 0x49, 0x52, 0, 0, 0, 0, 0, // AIR
    ];
    const WIDTHS: [Width; 2] = [Width::W32, Width::Bytes];

    fn read(block: &[u8], form: BlockForm, bytes_max: u64) -> Result<Vec<Row>, String> {
        let result = [&[0; RESULT_HEADER_BYTES], block].concat();
        rows_of(&result, &WIDTHS, form, bytes_max)
    }

    #[test]
    fn example_of_the_page_is_read() {
        let air = || Value::Bytes(b"AIR".to_vec());
        let rows = [Value::Number(8044), Value::Null, Value::Number(8035)];
        let rows: Vec<Row> = rows.into_iter().map(|day| vec![day, air()]).collect();
        assert_eq!(read(&EXAMPLE, BlockForm::Compact, 4096), Ok(rows));
    }

    #[test]
    fn compact_block_is_refused_where_it_was_not_allowed() {
        assert!(read(&EXAMPLE, BlockForm::Plain, 4096).is_err());
    }

    #[test]
    fn expanded_rows_have_to_fit() {
        // A header, and of the columns 8 + 16 and 8 + 16 + 16 bytes.
        assert!(read(&EXAMPLE, BlockForm::Compact, 256 + 16 + 24 + 40).is_ok());
        assert!(read(&EXAMPLE, BlockForm::Compact, 256 + 16 + 24 + 39).is_err());
    }

    #[test]
    fn damage_is_refused() {
        // Rows, bytes, packing, flags, validity behind the rows, a null row's number, padding of
        // numbers, a packing of numbers, bits of codes, new strings, their length, their padding.
        let places = [0, 4, 16, 19, 32, 40, 41, 48, 49, 52, 64, 75];
        let bits = [0, 3, 2, 1, 3, 4, 5, 1, 0, 0, 2, 0];
        for (place, bit) in places.into_iter().zip(bits) {
            let mut block = EXAMPLE;
            block[place] ^= 1 << bit;
            assert!(read(&block, BlockForm::Compact, 4096).is_err(), "byte {place}");
        }
    }
}
