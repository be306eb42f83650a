// SPDX-License-Identifier: Apache-2.0
//! Implements an independent Parquet reader, slow and strict, to check the files that the suite
//! writes.

use nearscan_command::{Chunk, Codec, Encoding, PhysicalType, Value};
use nearscan_conformance::pages::{lz4, snappy};

use crate::values::{delta, number_of, split};

/// The bytes are no chunk of this many rows.
#[derive(Debug)]
pub(crate) struct Damaged;

pub(crate) type Result<T> = std::result::Result<T, Damaged>;

/// The values of a whole chunk, which has exactly `rows` of them.
pub(crate) fn read_chunk(bytes: &[u8], chunk: &Chunk, rows: u64) -> Result<Vec<Value>> {
    let mut rest = bytes;
    let mut values = Vec::new();
    let mut dictionary: Option<Vec<Value>> = None;
    while !rest.is_empty() {
        let mut input = Input(rest);
        let header = Header::read(&mut input)?;
        let size = usize::try_from(header.compressed_size).map_err(|_| Damaged)?;
        let body = input.take(size)?;
        rest = input.0;
        if header.kind == 1 {
            continue;
        }
        let body = decompress(body, chunk, &header)?;
        if i64::try_from(body.len()) != Ok(header.uncompressed_size) {
            return Err(Damaged);
        }
        let count = u32::try_from(header.value_count).map_err(|_| Damaged)? as usize;
        match header.kind {
            0 | 3 => {
                if values.len() + count > usize::try_from(rows).unwrap() {
                    return Err(Damaged);
                }
                let page = read_page(&body, count, &header, chunk, dictionary.as_deref())?;
                values.extend(page);
            }
            2 if dictionary.is_none() && matches!(header.encoding, 0 | 2) => {
                dictionary = Some(plain(&mut Input(&body), count, chunk)?);
            }
            _ => return Err(Damaged),
        }
    }
    if values.len() as u64 == rows { Ok(values) } else { Err(Damaged) }
}

fn decompress(body: &[u8], chunk: &Chunk, header: &Header) -> Result<Vec<u8>> {
    let levels = usize::try_from(header.level_bytes).map_err(|_| Damaged)?;
    let (levels, values) = body.split_at_checked(levels).ok_or(Damaged)?;
    let values = match chunk.codec {
        _ if !header.is_compressed => values.to_vec(),
        Codec::Uncompressed => values.to_vec(),
        Codec::Snappy => snappy::decompress(values).ok_or(Damaged)?,
        Codec::Lz4Raw => lz4::decompress(values).ok_or(Damaged)?,
        // No layout has them.
        Codec::Gzip | Codec::Brotli | Codec::Zstd => return Err(Damaged),
    };
    Ok([levels, &values].concat())
}

/// Whether each row of a data page has a value.
fn read_levels(
    input: &mut Input<'_>,
    count: usize,
    header: &Header,
    chunk: &Chunk,
) -> Result<Vec<u64>> {
    let is_second = header.kind == 3;
    let level_bytes = usize::try_from(header.level_bytes).map_err(|_| Damaged)?;
    if chunk.definition_level_max == 0 {
        return if level_bytes == 0 { Ok(vec![1; count]) } else { Err(Damaged) };
    }
    if is_second {
        let bytes = input.take(level_bytes)?;
        let mut levels = Input(bytes);
        let read = hybrid_of(&mut levels, count, 1)?;
        return if levels.0.is_empty() { Ok(read) } else { Err(Damaged) };
    }
    match u8::try_from(header.level_encoding).map(Encoding::from_code) {
        Ok(Ok(encoding @ Encoding::Rle)) if chunk.encodings.contains(encoding) => {
            let length = input.little(4)?;
            hybrid(input.take(usize::try_from(length).map_err(|_| Damaged)?)?, count, 1)
        }
        Ok(Ok(encoding @ Encoding::BitPacked)) if chunk.encodings.contains(encoding) => {
            let bytes = input.take(count.div_ceil(8))?;
            Ok((0..count).map(|row| u64::from(bytes[row / 8] >> (7 - row % 8) & 1)).collect())
        }
        _ => Err(Damaged),
    }
}

fn read_page(
    body: &[u8],
    count: usize,
    header: &Header,
    chunk: &Chunk,
    dictionary: Option<&[Value]>,
) -> Result<Vec<Value>> {
    let mut input = Input(body);
    let levels = read_levels(&mut input, count, header, chunk)?;
    if levels.iter().any(|level| *level > 1) {
        return Err(Damaged);
    }
    let encoding = u8::try_from(header.encoding).map_err(|_| Damaged)?;
    let encoding = Encoding::from_code(encoding).map_err(|_| Damaged)?;
    if !chunk.encodings.contains(encoding) {
        return Err(Damaged);
    }
    let valid = levels.iter().filter(|level| **level == 1).count();
    if header.kind == 3 && i64::try_from(count - valid) != Ok(header.null_count) {
        return Err(Damaged);
    }
    let numbers = |all: Vec<Vec<u8>>| -> Result<Vec<Value>> {
        all.iter().map(|stored| number_of(stored, chunk)).collect()
    };
    let present = match (encoding, chunk.physical_type) {
        (Encoding::Plain, _) => plain(&mut input, valid, chunk)?,
        (Encoding::PlainDictionary | Encoding::RleDictionary, _) => {
            let width = u8::try_from(input.little(1)?).map_err(|_| Damaged)?;
            let dictionary = dictionary.ok_or(Damaged)?;
            let entry = |index: u64| {
                let index = usize::try_from(index).map_err(|_| Damaged)?;
                dictionary.get(index).cloned().ok_or(Damaged)
            };
            hybrid(input.0, valid, width)?.into_iter().map(entry).collect::<Result<_>>()?
        }
        (Encoding::Rle, PhysicalType::Boolean) => {
            let length = usize::try_from(input.little(4)?).map_err(|_| Damaged)?;
            let bytes = input.take(length)?;
            let bits = hybrid(bytes, valid, 1)?;
            if !input.0.is_empty() || bits.iter().any(|bit| *bit > 1) {
                return Err(Damaged);
            }
            numbers(bits.into_iter().map(|bit| vec![u8::from(bit == 1)]).collect())?
        }
        (Encoding::DeltaBinaryPacked, PhysicalType::Int32) => {
            numbers(delta(&mut input, valid, 4)?)?
        }
        (Encoding::DeltaBinaryPacked, PhysicalType::Int64) => {
            numbers(delta(&mut input, valid, 8)?)?
        }
        (Encoding::ByteStreamSplit, ty)
            if !matches!(ty, PhysicalType::Boolean | PhysicalType::ByteArray) =>
        {
            numbers(split(input.0, valid, stored_bytes(chunk))?)?
        }
        _ => return Err(Damaged),
    };
    let mut present = present.into_iter();
    let value = |level| if level == 1 { present.next().unwrap() } else { Value::Null };
    Ok(levels.into_iter().map(value).collect())
}

/// Bytes of a value whose type has as many for each.
fn stored_bytes(chunk: &Chunk) -> usize {
    match chunk.physical_type {
        PhysicalType::Boolean | PhysicalType::ByteArray => 0,
        PhysicalType::Int32 | PhysicalType::Float => 4,
        PhysicalType::Int64 | PhysicalType::Double => 8,
        PhysicalType::FixedLenByteArray => usize::from(chunk.reading.length),
    }
}

fn plain(input: &mut Input<'_>, count: usize, chunk: &Chunk) -> Result<Vec<Value>> {
    if chunk.physical_type == PhysicalType::Boolean {
        let bytes = input.take(count.div_ceil(8))?;
        let bit = |row: usize| number_of(&[bytes[row / 8] >> (row % 8) & 1], chunk);
        return (0..count).map(bit).collect();
    }
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(match chunk.physical_type {
            PhysicalType::ByteArray => {
                let length = usize::try_from(input.little(4)?).map_err(|_| Damaged)?;
                Value::Bytes(input.take(length)?.to_vec())
            }
            _ => number_of(input.take(stored_bytes(chunk))?, chunk)?,
        });
    }
    Ok(values)
}

fn hybrid(bytes: &[u8], count: usize, width: u8) -> Result<Vec<u64>> {
    hybrid_of(&mut Input(bytes), count, width)
}

fn hybrid_of(input: &mut Input<'_>, count: usize, width: u8) -> Result<Vec<u64>> {
    if width > 32 {
        return Err(Damaged);
    }
    let mut out = Vec::new();
    while out.len() < count {
        let header = input.varint()?;
        let left = count - out.len();
        if header & 1 == 0 {
            let value = input.little(usize::from(width.div_ceil(8)))?;
            let length = usize::try_from(header >> 1).map_err(|_| Damaged)?;
            if length == 0 {
                return Err(Damaged);
            }
            out.extend(std::iter::repeat_n(value, length.min(left)));
            continue;
        }
        let values = usize::try_from((header >> 1) * 8).map_err(|_| Damaged)?;
        let bytes = input.take(values / 8 * usize::from(width))?;
        for index in 0..values.min(left) {
            let bits = (0..usize::from(width)).map(|bit| index * usize::from(width) + bit);
            let value = bits.enumerate().fold(0u64, |value, (bit, at)| {
                value | u64::from(bytes[at / 8] >> (at % 8) & 1) << bit
            });
            out.push(value);
        }
    }
    Ok(out)
}

/// Bytes not yet read.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn little(&mut self, count: usize) -> Result<u64> {
        let bytes = self.take(count)?;
        Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    pub(crate) fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.little(1)?;
            value |= (byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Damaged)
    }

    pub(crate) fn zigzag(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

/// The fields of a page header that the tests compare.
#[derive(Debug)]
struct Header {
    kind: i64,
    uncompressed_size: i64,
    compressed_size: i64,
    value_count: i64,
    encoding: i64,
    level_encoding: i64,
    null_count: i64,
    level_bytes: i64,
    is_compressed: bool,
}

impl Header {
    fn read(input: &mut Input<'_>) -> Result<Self> {
        let mut header = Self {
            kind: -1,
            uncompressed_size: -1,
            compressed_size: -1,
            value_count: 0,
            encoding: -1,
            level_encoding: -1,
            null_count: 0,
            level_bytes: 0,
            is_compressed: true,
        };
        let mut part = 0;
        fields(input, &mut |id, kind, input| {
            match (id, kind) {
                (1, 5) => header.kind = input.zigzag()?,
                (2, 5) => header.uncompressed_size = input.zigzag()?,
                (3, 5) => header.compressed_size = input.zigzag()?,
                (5 | 7, 12) => {
                    part = id;
                    header.value_count = -1;
                    fields(input, &mut |id, kind, input| {
                        match (id, kind) {
                            (1, 5) => header.value_count = input.zigzag()?,
                            (2, 5) => header.encoding = input.zigzag()?,
                            (3, 5) => header.level_encoding = input.zigzag()?,
                            _ => skip(kind, input)?,
                        }
                        Ok(())
                    })?;
                }
                (8, 12) => {
                    part = id;
                    header.read_second(input)?;
                }
                _ => skip(kind, input)?,
            }
            Ok(())
        })?;
        match (header.kind, part) {
            (0, 5) | (2, 7) | (3, 8) | (1, _) => Ok(header),
            _ => Err(Damaged),
        }
    }

    fn read_second(&mut self, input: &mut Input<'_>) -> Result<()> {
        let [mut rows, mut repetition] = [-1; 2];
        (self.value_count, self.null_count, self.encoding, self.level_bytes) = (-1, -1, -1, -1);
        fields(input, &mut |id, kind, input| {
            match (id, kind) {
                (1, 5) => self.value_count = input.zigzag()?,
                (2, 5) => self.null_count = input.zigzag()?,
                (3, 5) => rows = input.zigzag()?,
                (4, 5) => self.encoding = input.zigzag()?,
                (5, 5) => self.level_bytes = input.zigzag()?,
                (6, 5) => repetition = input.zigzag()?,
                (7, 1 | 2) => self.is_compressed = kind == 1,
                _ => skip(kind, input)?,
            }
            Ok(())
        })?;
        if rows == self.value_count && repetition == 0 { Ok(()) } else { Err(Damaged) }
    }
}

type Visit<'a> = &'a mut dyn FnMut(i64, u8, &mut Input<'_>) -> Result<()>;

fn fields(input: &mut Input<'_>, visit: Visit<'_>) -> Result<()> {
    let mut id = 0;
    loop {
        let byte = u8::try_from(input.little(1)?).unwrap();
        if byte == 0 {
            return Ok(());
        }
        id = match byte >> 4 {
            0 => input.zigzag()?,
            delta => id + i64::from(delta),
        };
        visit(id, byte & 15, input)?;
    }
}

fn skip(kind: u8, input: &mut Input<'_>) -> Result<()> {
    match kind {
        1 | 2 => {}
        3 => drop(input.take(1)?),
        4..=6 => drop(input.varint()?),
        7 => drop(input.take(8)?),
        8 => {
            let length = input.varint()?;
            input.take(usize::try_from(length).map_err(|_| Damaged)?)?;
        }
        9 | 10 => {
            let head = u8::try_from(input.little(1)?).unwrap();
            let count = if head >> 4 == 15 { input.varint()? } else { u64::from(head >> 4) };
            for _ in 0..count {
                skip_element(head & 15, input)?;
            }
        }
        11 => {
            let count = input.varint()?;
            if count > 0 {
                let kinds = u8::try_from(input.little(1)?).unwrap();
                for _ in 0..count {
                    skip_element(kinds >> 4, input)?;
                    skip_element(kinds & 15, input)?;
                }
            }
        }
        12 => fields(input, &mut |_, kind, input| skip(kind, input))?,
        _ => return Err(Damaged),
    }
    Ok(())
}

/// In a collection a truth value takes a byte.
fn skip_element(kind: u8, input: &mut Input<'_>) -> Result<()> {
    match kind {
        1 | 2 => input.take(1).map(|_| ()),
        other => skip(other, input),
    }
}
