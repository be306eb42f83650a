// SPDX-License-Identifier: Apache-2.0
//! Implements keys in bytes, for texts and for whatever is wider than 128 bits.
//!
//! ```text
//! NULL bits | values, each in whole bytes | lengths of the texts, 4 bytes each | texts
//! ```

use std::{ops::Range, sync::Arc};

use arrow::{
    array::{
        Array, ArrayRef, AsArray, BinaryBuilder, BinaryViewBuilder, BooleanArray, StringBuilder,
        StringViewBuilder,
    },
    buffer::{BooleanBuffer, Buffer, NullBuffer},
    datatypes::DataType,
};

use super::{
    AnyKeys, Keys,
    layout::{KeyColumn, KeyLayout, Value},
    words::array,
};
use crate::error::{Error, Result};

/// Bytes of the length of a text.
const LENGTH_BYTES: usize = 4;

/// Keys in bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByteKeys {
    /// Where each key ends, `[keys]`.
    pub(crate) ends: Vec<usize>,
    /// Bits of the hash of each key, `[keys]`.
    pub(crate) hashes: Vec<u32>,
    /// All keys, one after the other.
    pub(crate) bytes: Vec<u8>,
}

impl ByteKeys {
    #[inline]
    fn range(&self, key: usize) -> Range<usize> {
        let start = if key == 0 { 0 } else { self.ends[key - 1] };
        start..self.ends[key]
    }

    #[inline]
    fn key(&self, key: usize) -> &[u8] {
        &self.bytes[self.range(key)]
    }
}

impl Keys for ByteKeys {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn memory_bytes(&self) -> usize {
        self.ends.capacity() * size_of::<usize>()
            + self.hashes.capacity() * size_of::<u32>()
            + self.bytes.capacity()
    }

    fn used_bytes(&self) -> usize {
        size_of_val(&self.ends[..]) + size_of_val(&self.hashes[..]) + self.bytes.len()
    }

    fn clear(&mut self) {
        self.ends.clear();
        self.hashes.clear();
        self.bytes.clear();
    }

    fn push_rows(
        &mut self,
        layout: &KeyLayout,
        columns: &[ArrayRef],
        hashes: &[u64],
    ) -> Result<()> {
        let first = self.ends.len();
        // The high bits choose neither the partition of the output nor that within.
        #[expect(clippy::cast_possible_truncation, reason = "the bits that are wanted")]
        self.hashes.extend(hashes.iter().map(|hash| (*hash ^ hash.rotate_right(32)) as u32));
        let header = Header::of(layout);
        let mut lengths = vec![header.bytes; hashes.len()];
        for (column, array) in layout.columns().iter().zip(columns) {
            if array.data_type() != &column.data_type || array.len() != hashes.len() {
                return Err(Error::Type { found: array.data_type().clone() });
            }
            if let Value::Text(_) = column.value {
                each_text(array, |row, text| lengths[row] += text.len())?;
            }
        }
        let mut end = self.bytes.len();
        self.ends.extend(lengths.iter().map(|length| {
            end += length;
            end
        }));
        self.bytes.resize(end, 0);
        let starts: Vec<usize> =
            (first..self.ends.len()).map(|key| self.range(key).start).collect();
        // Where the next text of each key begins.
        let mut texts: Vec<usize> = starts.iter().map(|start| start + header.bytes).collect();
        for ((column, array), offset) in layout.columns().iter().zip(columns).zip(&header.offsets) {
            match column.value {
                Value::Bits { width, .. } => {
                    put_values(&mut self.bytes, &starts, *offset, width, array);
                }
                Value::Text(_) => put_texts(&mut self.bytes, &starts, *offset, &mut texts, array)?,
            }
            let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
            if let Some(nulls) = nulls {
                let bit = column.null.ok_or(Error::Null)?;
                for (start, is_valid) in starts.iter().zip(nulls.iter()) {
                    self.bytes[start + bit as usize / 8] |= u8::from(!is_valid) << (bit % 8);
                }
            }
        }
        Ok(())
    }

    fn push_key(&mut self, others: &Self, key: usize) {
        self.bytes.extend_from_slice(others.key(key));
        self.ends.push(self.bytes.len());
        self.hashes.push(others.hashes[key]);
    }

    fn push_range(&mut self, others: &Self, range: Range<usize>) {
        range.for_each(|key| self.push_key(others, key));
    }

    fn gather(&self, order: &[u32]) -> Self {
        let bytes = order.iter().map(|place| self.range(*place as usize).len()).sum();
        let mut keys = Self {
            ends: Vec::with_capacity(order.len()),
            hashes: Vec::with_capacity(order.len()),
            bytes: Vec::with_capacity(bytes),
        };
        order.iter().for_each(|place| keys.push_key(self, *place as usize));
        keys
    }

    #[inline]
    fn hash(&self, key: usize) -> u64 {
        u64::from(self.hashes[key]) << 32
    }

    #[inline]
    fn is_same(&self, key: usize, others: &Self, other: usize) -> bool {
        self.hashes[key] == others.hashes[other] && self.key(key) == others.key(other)
    }

    fn to_arrays(&self, layout: &KeyLayout, range: Range<usize>) -> Result<Vec<ArrayRef>> {
        let header = Header::of(layout);
        let starts: Vec<usize> = range.clone().map(|key| self.range(key).start).collect();
        let mut texts: Vec<usize> = starts.iter().map(|start| start + header.bytes).collect();
        let columns = layout.columns().iter().zip(&header.offsets);
        let array_of = |(column, offset): (&KeyColumn, &usize)| {
            let nulls = column.null.map(|bit| {
                let is_valid =
                    |start: &usize| self.bytes[start + bit as usize / 8] >> (bit % 8) & 1 == 0;
                starts.iter().map(is_valid).collect::<NullBuffer>()
            });
            let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
            match column.value {
                Value::Bits { width, .. } => {
                    let buffer = take_values(&self.bytes, &starts, *offset, width);
                    array(&column.data_type, starts.len(), buffer, nulls)
                }
                Value::Text(_) => {
                    let places: Vec<Range<usize>> = starts
                        .iter()
                        .zip(&mut texts)
                        .map(|(start, next)| {
                            let text = *next..*next + length_at(&self.bytes, start + offset);
                            *next = text.end;
                            text
                        })
                        .collect();
                    text_array(&column.data_type, &self.bytes, &places, nulls.as_ref())
                }
            }
        };
        columns.map(array_of).collect()
    }

    fn into_any(self) -> AnyKeys {
        AnyKeys::Bytes(self)
    }

    fn of_any(keys: &AnyKeys) -> Option<&Self> {
        match keys {
            AnyKeys::Bytes(keys) => Some(keys),
            _ => None,
        }
    }
}

/// The places before the texts of a key.
struct Header {
    /// Bytes before the first text.
    bytes: usize,
    /// Where the value, or the length of the text, of each column is.
    offsets: Vec<usize>,
}

impl Header {
    fn of(layout: &KeyLayout) -> Self {
        let mut bytes = layout.nullable().div_ceil(8) as usize;
        let mut offsets = vec![0; layout.columns().len()];
        let is_text = |column: &KeyColumn| matches!(column.value, Value::Text(_));
        for texts in [false, true] {
            let columns = layout.columns().iter().zip(&mut offsets);
            for (column, offset) in columns.filter(|(column, _)| is_text(column) == texts) {
                *offset = bytes;
                bytes += match column.value {
                    Value::Bits { width, .. } => width.div_ceil(8) as usize,
                    Value::Text(_) => LENGTH_BYTES,
                };
            }
        }
        Self { bytes, offsets }
    }
}

/// Calls `visit` with the row and bytes of each text that is not NULL.
fn each_text(array: &ArrayRef, visit: impl FnMut(usize, &[u8])) -> Result<()> {
    fn all<'a, T: AsRef<[u8]> + ?Sized + 'a>(
        texts: impl Iterator<Item = Option<&'a T>>,
        mut visit: impl FnMut(usize, &[u8]),
    ) {
        for (row, text) in texts.enumerate() {
            if let Some(text) = text {
                visit(row, text.as_ref());
            }
        }
    }
    match array.data_type() {
        DataType::Utf8 => all(array.as_string::<i32>().iter(), visit),
        DataType::Utf8View => all(array.as_string_view().iter(), visit),
        DataType::Binary => all(array.as_binary::<i32>().iter(), visit),
        DataType::BinaryView => all(array.as_binary_view().iter(), visit),
        other => return Err(Error::Type { found: other.clone() }),
    }
    Ok(())
}

/// Puts the lengths of texts at an offset of their keys, and the texts where they belong.
fn put_texts(
    bytes: &mut [u8],
    starts: &[usize],
    offset: usize,
    texts: &mut [usize],
    array: &ArrayRef,
) -> Result<()> {
    each_text(array, |row, text| {
        let length = starts[row] + offset;
        // An array's buffer, and so a text, has less than 4 GiB.
        #[expect(clippy::cast_possible_truncation, reason = "see above")]
        bytes[length..length + LENGTH_BYTES].copy_from_slice(&(text.len() as u32).to_le_bytes());
        bytes[texts[row]..texts[row] + text.len()].copy_from_slice(text);
        texts[row] += text.len();
    })
}

fn length_at(bytes: &[u8], place: usize) -> usize {
    let mut length = [0; LENGTH_BYTES];
    length.copy_from_slice(&bytes[place..place + LENGTH_BYTES]);
    u32::from_le_bytes(length) as usize
}

/// Puts values at an offset of their keys; those that are NULL stay 0.
fn put_values(bytes: &mut [u8], starts: &[usize], offset: usize, width: u32, array: &ArrayRef) {
    fn put<const N: usize>(
        bytes: &mut [u8],
        starts: &[usize],
        offset: usize,
        values: impl Iterator<Item = [u8; N]>,
        nulls: Option<&NullBuffer>,
    ) {
        for (row, (start, value)) in starts.iter().zip(values).enumerate() {
            if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                bytes[start + offset..start + offset + N].copy_from_slice(&value);
            }
        }
    }
    let nulls = array.logical_nulls();
    let nulls = nulls.as_ref();
    let data = array.to_data();
    match width {
        1 => {
            let bits = BooleanArray::from(data);
            put(bytes, starts, offset, bits.values().iter().map(|bit| [u8::from(bit)]), nulls);
        }
        8 => put(bytes, starts, offset, data.buffer::<u8>(0).iter().map(|it| [*it]), nulls),
        16 => {
            let values = data.buffer::<u16>(0).iter();
            put(bytes, starts, offset, values.map(|it| it.to_le_bytes()), nulls);
        }
        32 => {
            let values = data.buffer::<u32>(0).iter();
            put(bytes, starts, offset, values.map(|it| it.to_le_bytes()), nulls);
        }
        64 => {
            let values = data.buffer::<u64>(0).iter();
            put(bytes, starts, offset, values.map(|it| it.to_le_bytes()), nulls);
        }
        _ => {
            let values = data.buffer::<i128>(0).iter();
            put(bytes, starts, offset, values.map(|it| it.to_le_bytes()), nulls);
        }
    }
}

/// The buffer of the values at an offset of their keys.
fn take_values(bytes: &[u8], starts: &[usize], offset: usize, width: u32) -> Buffer {
    if width == 1 {
        let bits = starts.iter().map(|start| bytes[start + offset] != 0);
        return bits.collect::<BooleanBuffer>().into_inner();
    }
    let width = width as usize / 8;
    let mut values = Vec::with_capacity(starts.len() * width);
    for start in starts {
        values.extend_from_slice(&bytes[start + offset..start + offset + width]);
    }
    // Copied, because the array's buffer must be aligned for its type.
    Buffer::from_slice_ref(&values)
}

/// An array of the texts at these places.
fn text_array(
    data_type: &DataType,
    bytes: &[u8],
    places: &[Range<usize>],
    nulls: Option<&NullBuffer>,
) -> Result<ArrayRef> {
    let texts = places.iter().enumerate().map(|(row, place)| {
        let is_valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
        is_valid.then(|| &bytes[place.clone()])
    });
    macro_rules! built {
        ($builder:expr, $text:expr) => {{
            let mut builder = $builder;
            for text in texts {
                match text {
                    Some(text) => builder.append_value($text(text)?),
                    None => builder.append_null(),
                }
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    let as_utf8 = |text| std::str::from_utf8(text).map_err(|_| Error::Damaged { what: "no UTF-8" });
    let as_is = |text| Ok::<&[u8], Error>(text);
    Ok(match data_type {
        DataType::Utf8View => built!(StringViewBuilder::with_capacity(places.len()), as_utf8),
        DataType::Utf8 => built!(StringBuilder::new(), as_utf8),
        DataType::BinaryView => built!(BinaryViewBuilder::with_capacity(places.len()), as_is),
        DataType::Binary => built!(BinaryBuilder::new(), as_is),
        other => return Err(Error::Type { found: other.clone() }),
    })
}
