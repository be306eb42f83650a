// SPDX-License-Identifier: Apache-2.0
//! Implements [`ColumnarWriter`], which writes a result column by column, for drives with columnar
//! values.
//!
//! It takes rows in batches of any size and cuts them into blocks. Values are copied once, from
//! their slices to their place in a pending column; a full block is moved to the payload, or packed
//! into it.

use crate::{
    compact::{ColumnPacker, PlainColumn},
    error::Error,
    layout::{BLOCK_HEADER_BYTES, BlockHeader, RESULT_HEADER_BYTES, Record},
    limits,
    result::ResultHeader,
    types::{BlockForm, Width},
};

/// Bytes of strings in one column of a block, above which the block ends early: ends are 32 bits
/// wide.
const BLOCK_STRING_BYTES_MAX: usize = 1 << 26;

/// Bytes of the end of a string.
const END_BYTES: usize = 4;

/// The values of some rows of one column.
#[derive(Debug, Clone, Copy)]
pub enum Cells<'a> {
    /// Numbers of up to 64 bits, `[rows]`.
    Narrow(&'a [i64]),
    /// Numbers, `[rows]`.
    Wide(&'a [i128]),
    /// Truth values, `[rows]`.
    Truth(&'a [bool]),
    /// Byte strings, `[rows]`.
    Strings(&'a [&'a [u8]]),
    /// The same number in every row.
    Constant(i128),
    /// NULL in every row.
    Null,
}

/// Some rows of one column.
#[derive(Debug, Clone, Copy)]
pub struct CellColumn<'a> {
    /// The values; what is in null rows does not matter.
    pub cells: Cells<'a>,
    /// `[rows]`, true where a row is not null; `None` when none is (or [`Cells::Null`] says it
    /// all).
    pub validity: Option<&'a [bool]>,
}

/// Writes a result from columns.
#[derive(Debug)]
pub struct ColumnarWriter {
    columns: Vec<Pending>,
    /// Rows in the pending block.
    pending_rows: usize,
    /// Room for the header, then whole blocks.
    out: Vec<u8>,
    /// Bytes that `out` would have if it were plain.
    plain_bytes: usize,
    form: BlockForm,
    rows_out: u64,
    blocks: u64,
}

/// One column of the block that is being filled.
#[derive(Debug)]
struct Pending {
    width: Width,
    validity: Vec<bool>,
    /// Values, or ends of strings.
    values: Vec<u8>,
    strings: Vec<u8>,
    /// Of compact blocks.
    packer: ColumnPacker,
}

impl ColumnarWriter {
    /// A writer of rows with these widths, in blocks of this form.
    pub fn new(widths: &[Width], form: BlockForm) -> Self {
        let pending = |width: &Width| Pending {
            width: *width,
            validity: Vec::new(),
            values: Vec::new(),
            strings: Vec::new(),
            packer: ColumnPacker::new(),
        };
        Self {
            columns: widths.iter().map(pending).collect(),
            pending_rows: 0,
            out: vec![0; RESULT_HEADER_BYTES as usize],
            plain_bytes: RESULT_HEADER_BYTES as usize,
            form,
            rows_out: 0,
            blocks: 0,
        }
    }

    /// Bytes of the result so far, the header included; of a compact one those that it expands to,
    /// or its own if these are more. They are what has to fit in the room that a command gives.
    pub fn bytes(&self) -> u64 {
        let header = if self.pending_rows > 0 { BLOCK_HEADER_BYTES as usize } else { 0 };
        let pending = header + self.columns.iter().map(Pending::plain_bytes).sum::<usize>();
        (self.out.len().max(self.plain_bytes) + pending) as u64
    }

    /// Adds `rows` rows.
    ///
    /// # Errors
    /// [`Error::Width`] when a number does not fit its column, [`Error::Inconsistent`] when cells
    /// are not of the kind that their column holds or are too few. The writer must not be used
    /// then.
    pub fn push(&mut self, rows: usize, columns: &[CellColumn<'_>]) -> Result<(), Error> {
        if columns.len() != self.columns.len()
            || !columns.iter().zip(&self.columns).all(|(new, old)| new.fits(rows, old.width))
        {
            return Err(Error::Inconsistent {
                what: "columns of cells are not those of the output",
            });
        }
        let mut start = 0;
        while start < rows {
            let room = limits::BLOCK_ROWS_MAX as usize - self.pending_rows;
            let end = self.end_of_piece(columns, start, rows.min(start + room));
            for (index, (new, old)) in columns.iter().zip(&mut self.columns).enumerate() {
                old.append(new, start..end).map_err(|OutOfRange| Error::Width {
                    column: u32::try_from(index).unwrap_or(u32::MAX),
                })?;
            }
            self.pending_rows += end - start;
            self.rows_out += (end - start) as u64;
            let is_large =
                self.columns.iter().any(|column| column.strings.len() >= BLOCK_STRING_BYTES_MAX);
            if self.pending_rows == limits::BLOCK_ROWS_MAX as usize || is_large {
                self.flush();
            }
            start = end;
        }
        Ok(())
    }

    /// The largest end up to `end` with which no column gets too many bytes; at least one row.
    fn end_of_piece(&self, columns: &[CellColumn<'_>], start: usize, end: usize) -> usize {
        let mut end = end;
        for (new, old) in columns.iter().zip(&self.columns) {
            if let Cells::Strings(strings) = new.cells {
                let mut bytes = old.strings.len();
                let fitting = strings[start..end].iter().take_while(|string| {
                    bytes += string.len();
                    bytes <= BLOCK_STRING_BYTES_MAX
                });
                end = start + fitting.count().max(1);
            }
        }
        end
    }

    fn flush(&mut self) {
        if self.pending_rows == 0 {
            return;
        }
        let start = self.out.len();
        self.out.resize(start + BLOCK_HEADER_BYTES as usize, 0);
        self.plain_bytes += BLOCK_HEADER_BYTES as usize;
        for column in &mut self.columns {
            self.plain_bytes += column.plain_bytes();
            match self.form {
                BlockForm::Plain => column.flush(&mut self.out),
                BlockForm::Compact => column.flush_packed(&mut self.out),
            }
        }
        let mut header = Vec::with_capacity(BLOCK_HEADER_BYTES as usize);
        BlockHeader {
            rows: u32::try_from(self.pending_rows).unwrap_or(u32::MAX),
            bytes: u32::try_from(self.out.len() - start).unwrap_or(u32::MAX),
            form: self.form.code().into(),
        }
        .encode(&mut header);
        self.out[start..start + header.len()].copy_from_slice(&header);
        self.pending_rows = 0;
        self.blocks += 1;
    }

    /// The whole result: `header` with size, rows and checksum of the payload filled in, then the
    /// payload.
    pub fn finish(mut self, header: ResultHeader) -> Vec<u8> {
        self.flush();
        let payload = &self.out[RESULT_HEADER_BYTES as usize..];
        let mut counters = header.counters;
        counters.payload_words = payload.len() as u64 / 8;
        counters.blocks = self.blocks;
        let header = ResultHeader {
            rows_out: self.rows_out,
            payload_bytes: payload.len() as u64,
            payload_checksum: crc32c::crc32c(payload),
            counters,
            ..header
        };
        self.out[..RESULT_HEADER_BYTES as usize].copy_from_slice(&header.encode());
        self.out
    }
}

impl CellColumn<'_> {
    /// Whether there are cells for `rows` rows, of a kind that a column of `width` holds.
    fn fits(&self, rows: usize, width: Width) -> bool {
        let is_number = width.is_numeric() || width == Width::Bool;
        let is_right = match self.cells {
            Cells::Narrow(values) => is_number && values.len() >= rows,
            Cells::Wide(values) => is_number && values.len() >= rows,
            Cells::Truth(values) => width == Width::Bool && values.len() >= rows,
            Cells::Strings(values) => width == Width::Bytes && values.len() >= rows,
            Cells::Constant(_) => is_number,
            Cells::Null => true,
        };
        is_right && self.validity.is_none_or(|validity| validity.len() >= rows)
    }
}

/// A number does not fit its column.
struct OutOfRange;

impl Pending {
    /// Bytes that [`Self::flush`] appends.
    fn plain_bytes(&self) -> usize {
        let parts = [self.values.len(), self.strings.len()];
        let validity = self.validity.len().div_ceil(64) * 8;
        validity + parts.into_iter().map(|part| part.next_multiple_of(8)).sum::<usize>()
    }

    fn append(
        &mut self,
        new: &CellColumn<'_>,
        rows: std::ops::Range<usize>,
    ) -> Result<(), OutOfRange> {
        let count = rows.len();
        let validity = new.validity.map(|validity| &validity[rows.clone()]);
        match (new.cells, validity) {
            (Cells::Null, _) => self.validity.resize(self.validity.len() + count, false),
            (_, None) => self.validity.resize(self.validity.len() + count, true),
            (_, Some(validity)) => self.validity.extend_from_slice(validity),
        }
        match new.cells {
            Cells::Narrow(values) => self.integers(&values[rows], validity),
            Cells::Wide(values) => self.integers(&values[rows], validity),
            Cells::Constant(value) => self.integers(&vec![value; count], validity),
            Cells::Truth(values) => {
                let bytes = values[rows].iter().enumerate();
                self.values.extend(bytes.map(|(row, value)| u8::from(*value && at(validity, row))));
                Ok(())
            }
            Cells::Strings(values) => {
                self.strings(&values[rows], validity);
                Ok(())
            }
            Cells::Null => {
                match self.width.bytes() {
                    Some(bytes) => {
                        self.values.resize(self.values.len() + count * bytes as usize, 0);
                    }
                    None => {
                        let end = self.end_of_strings().to_le_bytes();
                        self.values.extend(std::iter::repeat_n(end, count).flatten());
                    }
                }
                Ok(())
            }
        }
    }

    fn end_of_strings(&self) -> u32 {
        u32::try_from(self.strings.len()).unwrap_or(u32::MAX)
    }

    /// Appends strings, to memory for the ends and the bytes of all of them.
    fn strings(&mut self, values: &[&[u8]], validity: Option<&[bool]>) {
        let mut end = self.strings.len();
        let bytes_max: usize = values.iter().map(|value| value.len()).sum();
        self.strings.resize(end + bytes_max, 0);
        let start = self.values.len();
        self.values.resize(start + values.len() * END_BYTES, 0);
        let (ends, _) = self.values[start..].as_chunks_mut::<END_BYTES>();
        for (row, (value, place)) in values.iter().zip(ends).enumerate() {
            if at(validity, row) {
                copy(value, &mut self.strings[end..end + value.len()]);
                end += value.len();
            }
            *place = u32::try_from(end).unwrap_or(u32::MAX).to_le_bytes();
        }
        self.strings.truncate(end);
    }

    /// Appends numbers in the width of the column. Those of 64 bits, of which nearly every column
    /// is made, make no detour over 128.
    fn integers<T>(&mut self, values: &[T], validity: Option<&[bool]>) -> Result<(), OutOfRange>
    where
        T: Copy + Default + Into<i128> + TryInto<i64> + TryInto<i32>,
    {
        match self.width {
            Width::W128 => {
                self.numbers(values, validity, |value| (value.into().to_le_bytes(), true))
            }
            Width::W64 => self.numbers(values, validity, |value| {
                let number: Option<i64> = value.try_into().ok();
                (number.unwrap_or_default().to_le_bytes(), number.is_some())
            }),
            Width::W32 => self.numbers(values, validity, |value| {
                let number: Option<i32> = value.try_into().ok();
                (number.unwrap_or_default().to_le_bytes(), number.is_some())
            }),
            width @ (Width::Bool | Width::Bytes) => self.numbers(values, validity, |value| {
                let value: i128 = value.into();
                ([value.to_le_bytes()[0]], width.fits(value))
            }),
        }
    }

    /// Appends numbers as `encode` writes them, which says too whether one fits its width. Null
    /// rows hold zero. The loop does not stop at a number that does not fit, so that the compiler
    /// can vectorize it.
    fn numbers<T: Copy + Default, const BYTES: usize>(
        &mut self,
        values: &[T],
        validity: Option<&[bool]>,
        encode: impl Fn(T) -> ([u8; BYTES], bool),
    ) -> Result<(), OutOfRange> {
        let start = self.values.len();
        self.values.resize(start + values.len() * BYTES, 0);
        let (places, _) = self.values[start..].as_chunks_mut::<BYTES>();
        let mut all_fit = true;
        let mut put = |place: &mut [u8; BYTES], value: T| {
            let (bytes, fits) = encode(value);
            *place = bytes;
            all_fit &= fits;
        };
        match validity {
            None => places.iter_mut().zip(values).for_each(|(place, value)| put(place, *value)),
            Some(validity) => {
                for ((place, value), is_valid) in places.iter_mut().zip(values).zip(validity) {
                    put(place, if *is_valid { *value } else { T::default() });
                }
            }
        }
        if all_fit { Ok(()) } else { Err(OutOfRange) }
    }

    /// Moves everything to `out`, each part padded to 8 bytes.
    fn flush(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.validity.len().div_ceil(64) * 8, 0);
        let packed =
            |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
        let (bytes, rest) = self.validity.as_chunks::<8>();
        for (bits, byte) in bytes.iter().zip(&mut out[start..]) {
            *byte = packed(bits);
        }
        if !rest.is_empty() {
            out[start + bytes.len()] = packed(rest);
        }
        self.validity.clear();
        out.append(&mut self.values);
        out.resize(out.len().next_multiple_of(8), 0);
        out.append(&mut self.strings);
        out.resize(out.len().next_multiple_of(8), 0);
    }

    /// Packs everything into `out`, each part padded to 8 bytes.
    fn flush_packed(&mut self, out: &mut Vec<u8>) {
        let column = PlainColumn {
            width: self.width,
            validity: &self.validity,
            values: &self.values,
            strings: &self.strings,
        };
        self.packer.write(&column, out);
        self.validity.clear();
        self.values.clear();
        self.strings.clear();
    }
}

/// Whether `row` is valid.
fn at(validity: Option<&[bool]>, row: usize) -> bool {
    validity.is_none_or(|validity| validity[row])
}

/// Copies a string to a place of its length. Most are short: a call would take longer than the
/// copy.
#[inline]
fn copy(from: &[u8], to: &mut [u8]) {
    /// Copies the first and the last bytes, which overlap unless they are all.
    fn ends<const BYTES: usize>(from: &[u8], to: &mut [u8]) -> Option<()> {
        *to.first_chunk_mut::<BYTES>()? = *from.first_chunk()?;
        *to.last_chunk_mut::<BYTES>()? = *from.last_chunk()?;
        Some(())
    }
    let copied = match from.len() {
        0 => Some(()),
        1..4 => ends::<1>(from, to).and_then(|()| match from.len() {
            3 => to.get_mut(1).zip(from.get(1)).map(|(to, from)| *to = *from),
            _ => Some(()),
        }),
        4..8 => ends::<4>(from, to),
        8..=16 => ends::<8>(from, to),
        17..=32 => ends::<16>(from, to),
        _ => None,
    };
    if copied.is_none() {
        to.copy_from_slice(from);
    }
}
