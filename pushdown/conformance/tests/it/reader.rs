// SPDX-License-Identifier: Apache-2.0
//! A second opinion on what the suite writes: a Parquet reader that is slow, strict and its own.

use nearscan_command::{Chunk, Codec, Encoding, PhysicalType, Value};
use nearscan_conformance::pages::{number, snappy};

/// The bytes are no chunk of this many rows.
#[derive(Debug)]
pub(crate) struct Damaged;

type Result<T> = std::result::Result<T, Damaged>;

/// The values of a whole chunk, which has exactly `rows` of them.
pub(crate) fn read_chunk(bytes: &[u8], chunk: &Chunk, rows: u64) -> Result<Vec<Value>> {
    let mut rest = bytes;
    let mut values = Vec::new();
    let mut dictionary: Option<Vec<Value>> = None;
    while !rest.is_empty() {
        let mut input = Input(rest);
        let header = Header::read(&mut input)?;
        let size = usize::try_from(header.compressed_size).map_err(|_| Damaged)?;
        let body = Input(input.take(size)?);
        rest = input.0;
        let body = match chunk.codec {
            Codec::Uncompressed => body.0.to_vec(),
            Codec::Snappy if header.kind != 1 => snappy::decompress(body.0).ok_or(Damaged)?,
            Codec::Snappy => Vec::new(),
            Codec::Lz4Raw => return Err(Damaged),
        };
        let count = u32::try_from(header.value_count).map_err(|_| Damaged)? as usize;
        match header.kind {
            0 => {
                if values.len() + count > usize::try_from(rows).unwrap() {
                    return Err(Damaged);
                }
                let page = read_page(&body, count, &header, chunk, dictionary.as_deref())?;
                values.extend(page);
            }
            1 => {}
            2 if dictionary.is_none() && matches!(header.encoding, 0 | 2) => {
                let mut input = Input(&body);
                let mut entries = Vec::new();
                for _ in 0..count {
                    entries.push(input.plain(chunk.physical_type)?);
                }
                dictionary = Some(entries);
            }
            _ => return Err(Damaged),
        }
    }
    if values.len() as u64 == rows { Ok(values) } else { Err(Damaged) }
}

fn read_page(
    body: &[u8],
    count: usize,
    header: &Header,
    chunk: &Chunk,
    dictionary: Option<&[Value]>,
) -> Result<Vec<Value>> {
    let mut input = Input(body);
    let levels = if chunk.definition_level_max == 0 {
        vec![1; count]
    } else {
        if header.level_encoding != number(Encoding::Rle) {
            return Err(Damaged);
        }
        let length = input.little(4)?;
        hybrid(input.take(usize::try_from(length).map_err(|_| Damaged)?)?, count, 1)?
    };
    let encoding = u8::try_from(header.encoding).map_err(|_| Damaged)?;
    let encoding = Encoding::from_code(encoding).map_err(|_| Damaged)?;
    if !chunk.encodings.contains(encoding) {
        return Err(Damaged);
    }
    let valid = levels.iter().filter(|level| **level == 1).count();
    let mut present: Vec<Value> = Vec::new();
    match encoding {
        Encoding::Plain => {
            for _ in 0..valid {
                present.push(input.plain(chunk.physical_type)?);
            }
        }
        Encoding::PlainDictionary | Encoding::RleDictionary => {
            let width = u8::try_from(input.little(1)?).map_err(|_| Damaged)?;
            let dictionary = dictionary.ok_or(Damaged)?;
            for index in hybrid(input.0, valid, width)? {
                let index = usize::try_from(index).map_err(|_| Damaged)?;
                present.push(dictionary.get(index).ok_or(Damaged)?.clone());
            }
        }
        Encoding::Rle
        | Encoding::BitPacked
        | Encoding::DeltaBinaryPacked
        | Encoding::ByteStreamSplit => return Err(Damaged),
    }
    let mut present = present.into_iter();
    let value = |level| if level == 1 { present.next().unwrap() } else { Value::Null };
    Ok(levels.into_iter().map(value).collect())
}

fn hybrid(bytes: &[u8], count: usize, width: u8) -> Result<Vec<u64>> {
    if width > 32 {
        return Err(Damaged);
    }
    let mut input = Input(bytes);
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
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn little(&mut self, count: usize) -> Result<u64> {
        let bytes = self.take(count)?;
        Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn varint(&mut self) -> Result<u64> {
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

    fn zigzag(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn plain(&mut self, ty: PhysicalType) -> Result<Value> {
        Ok(match ty {
            PhysicalType::Int32 => {
                let bytes = self.take(4)?.try_into().unwrap();
                Value::Number(i32::from_le_bytes(bytes).into())
            }
            PhysicalType::Int64 => {
                let bytes = self.take(8)?.try_into().unwrap();
                Value::Number(i64::from_le_bytes(bytes).into())
            }
            PhysicalType::ByteArray => {
                let length = usize::try_from(self.little(4)?).map_err(|_| Damaged)?;
                Value::Bytes(self.take(length)?.to_vec())
            }
            PhysicalType::Boolean
            | PhysicalType::Float
            | PhysicalType::Double
            | PhysicalType::FixedLenByteArray => return Err(Damaged),
        })
    }
}

/// What matters of a page header.
#[derive(Debug, Default)]
struct Header {
    kind: i64,
    compressed_size: i64,
    value_count: i64,
    encoding: i64,
    level_encoding: i64,
}

impl Header {
    fn read(input: &mut Input<'_>) -> Result<Self> {
        let mut header = Self { kind: -1, compressed_size: -1, ..Self::default() };
        let mut part = 0;
        fields(input, &mut |id, kind, input| {
            match (id, kind) {
                (1, 5) => header.kind = input.zigzag()?,
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
                _ => skip(kind, input)?,
            }
            Ok(())
        })?;
        match (header.kind, part) {
            (0, 5) | (2, 7) | (1, _) => Ok(header),
            _ => Err(Damaged),
        }
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
