// SPDX-License-Identifier: Apache-2.0
//! Parses page headers, which are in Thrift's compact protocol.
//!
//! Known fields are read, and others are skipped. No value is trusted: sizes and counts are checked
//! against the chunk where they are used.

use nearscan_command::{Encoding, Status};

/// The header of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageHeader {
    /// The kind of the page.
    pub(crate) kind: PageKind,
    /// Bytes of the body uncompressed.
    pub uncompressed_bytes: usize,
    /// Bytes of the body in the chunk.
    pub compressed_bytes: usize,
}

/// The kind of a page; encodings are Parquet's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// Values, version 1.
    Data { rows: u32, encoding: i64, level_encoding: i64 },
    /// To be skipped.
    Index,
    /// The dictionary.
    Dictionary { entries: u32, encoding: i64 },
    /// Values, version 2.
    Data2(DataPage2),
}

/// The header of a data page of version 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DataPage2 {
    /// Values, nulls included.
    pub(crate) values: u32,
    pub(crate) nulls: u32,
    pub(crate) rows: u32,
    pub(crate) encoding: i64,
    /// Bytes of definition levels, behind those of repetition levels.
    pub(crate) definition_bytes: usize,
    pub(crate) repetition_bytes: usize,
    /// Whether the values, but never the levels, are compressed.
    pub(crate) is_compressed: bool,
}

/// Structs in structs that are skipped; page headers have two.
const DEPTH_MAX: u32 = 8;

mod wire {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
    pub(super) const UUID: u8 = 13;
}

impl PageHeader {
    /// Reads the header at the start of `bytes`; also gives its length.
    ///
    /// # Errors
    /// [`Status::Corrupt`] if it is not a header, [`Status::Encoding`] for an unknown kind of page.
    pub fn read(bytes: &[u8]) -> Result<(Self, usize), Status> {
        let mut input = Input { bytes, at: 0 };
        let mut numbers = [None; 4];
        let mut inner: [Option<Fields>; 9] = [None; 9];
        let mut last = 0;
        while let Some((id, kind)) = input.field(last)? {
            last = id;
            match (id, kind) {
                (1..=3, _) => numbers[index(id)] = Some(input.integer(kind)?),
                (5 | 7 | 8, wire::STRUCT) => inner[index(id)] = Some(input.fields()?),
                _ => input.skip(kind, DEPTH_MAX)?,
            }
        }
        let kind = match numbers[1].ok_or(Status::Corrupt)? {
            0 => data(&inner[5].ok_or(Status::Corrupt)?)?,
            1 => PageKind::Index,
            2 => dictionary(&inner[7].ok_or(Status::Corrupt)?)?,
            3 => data2(&inner[8].ok_or(Status::Corrupt)?)?,
            _ => return Err(Status::Encoding),
        };
        let header = Self {
            kind,
            uncompressed_bytes: size(numbers[2])?,
            compressed_bytes: size(numbers[3])?,
        };
        Ok((header, input.at))
    }
}

impl PageHeader {
    /// Whether the page is a dictionary.
    pub const fn is_dictionary(&self) -> bool {
        matches!(self.kind, PageKind::Dictionary { .. })
    }

    /// Whether the values of the page are codes of a dictionary.
    pub fn has_codes(&self) -> bool {
        let encoding = match self.kind {
            PageKind::Data { encoding, .. } => encoding,
            PageKind::Data2(data) => data.encoding,
            PageKind::Index | PageKind::Dictionary { .. } => return false,
        };
        let encoding = u8::try_from(encoding).ok().and_then(|it| Encoding::from_code(it).ok());
        matches!(encoding, Some(Encoding::PlainDictionary | Encoding::RleDictionary))
    }

    /// Bytes of levels that are before the values and are not compressed.
    pub fn level_bytes(&self) -> usize {
        match self.kind {
            PageKind::Data2(data) => data.definition_bytes.saturating_add(data.repetition_bytes),
            PageKind::Data { .. } | PageKind::Index | PageKind::Dictionary { .. } => 0,
        }
    }

    /// Values of the page, NULLs included; 0 of a page that has none.
    pub const fn values(&self) -> u32 {
        match self.kind {
            PageKind::Data { rows, .. } => rows,
            PageKind::Data2(data) => data.values,
            PageKind::Index | PageKind::Dictionary { .. } => 0,
        }
    }

    /// Entries of the dictionary; 0 of another page.
    pub const fn entries(&self) -> u32 {
        match self.kind {
            PageKind::Dictionary { entries, .. } => entries,
            PageKind::Data { .. } | PageKind::Data2(_) | PageKind::Index => 0,
        }
    }
}

/// The numbers and truth values of a struct, by the number of their field.
type Fields = [Option<i64>; 8];

fn data(fields: &Fields) -> Result<PageKind, Status> {
    Ok(PageKind::Data {
        rows: count(fields[1])?,
        encoding: fields[2].ok_or(Status::Corrupt)?,
        level_encoding: fields[3].ok_or(Status::Corrupt)?,
    })
}

fn dictionary(fields: &Fields) -> Result<PageKind, Status> {
    Ok(PageKind::Dictionary {
        entries: count(fields[1])?,
        encoding: fields[2].ok_or(Status::Corrupt)?,
    })
}

fn data2(fields: &Fields) -> Result<PageKind, Status> {
    Ok(PageKind::Data2(DataPage2 {
        values: count(fields[1])?,
        nulls: count(fields[2])?,
        rows: count(fields[3])?,
        encoding: fields[4].ok_or(Status::Corrupt)?,
        definition_bytes: size(fields[5])?,
        repetition_bytes: size(fields[6])?,
        // Without the field, values are compressed.
        is_compressed: fields[7] != Some(0),
    }))
}

/// A number of 31 bits.
fn count(number: Option<i64>) -> Result<u32, Status> {
    let number = number.and_then(|number| i32::try_from(number).ok()).ok_or(Status::Corrupt)?;
    u32::try_from(number).map_err(|_| Status::Corrupt)
}

fn size(number: Option<i64>) -> Result<usize, Status> {
    count(number).map(|count| count as usize)
}

/// A small field number as an index; what is too large for one is never looked up.
fn index(id: i64) -> usize {
    usize::try_from(id).unwrap_or(0)
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Input<'_> {
    fn byte(&mut self) -> Result<u8, Status> {
        let byte = self.bytes.get(self.at).ok_or(Status::Corrupt)?;
        self.at += 1;
        Ok(*byte)
    }

    fn advance(&mut self, count: u64) -> Result<(), Status> {
        let left = (self.bytes.len() - self.at) as u64;
        if count > left {
            return Err(Status::Corrupt);
        }
        self.at += usize::try_from(count).map_err(|_| Status::Corrupt)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, Status> {
        let (value, length) = varint(&self.bytes[self.at..]).ok_or(Status::Corrupt)?;
        self.at += length;
        Ok(value)
    }

    /// Number and type of the next field, `None` at the end of the struct.
    fn field(&mut self, last: i64) -> Result<Option<(i64, u8)>, Status> {
        let byte = self.byte()?;
        if byte == wire::STOP {
            return Ok(None);
        }
        let id = match byte >> 4 {
            0 => zigzag(self.varint()?),
            step => last.saturating_add(i64::from(step)),
        };
        Ok(Some((id, byte & 0xf)))
    }

    fn integer(&mut self, kind: u8) -> Result<i64, Status> {
        match kind {
            wire::TRUE => Ok(1),
            wire::FALSE => Ok(0),
            wire::I16 | wire::I32 | wire::I64 => Ok(zigzag(self.varint()?)),
            _ => Err(Status::Corrupt),
        }
    }

    /// Reads a struct; of its fields those that are numbers.
    fn fields(&mut self) -> Result<Fields, Status> {
        let mut fields = Fields::default();
        let mut last = 0;
        while let Some((id, kind)) = self.field(last)? {
            last = id;
            let is_number =
                matches!(kind, wire::TRUE | wire::FALSE | wire::I16 | wire::I32 | wire::I64);
            match fields.get_mut(index(id)) {
                Some(field) if is_number => *field = Some(self.integer(kind)?),
                _ => self.skip(kind, DEPTH_MAX)?,
            }
        }
        Ok(fields)
    }

    /// Skips a value. Each step takes a byte at least, so it ends.
    fn skip(&mut self, kind: u8, depth: u32) -> Result<(), Status> {
        let below = depth.checked_sub(1).ok_or(Status::Corrupt)?;
        match kind {
            wire::TRUE | wire::FALSE => Ok(()),
            wire::BYTE => self.advance(1),
            wire::I16 | wire::I32 | wire::I64 => self.varint().map(drop),
            wire::DOUBLE => self.advance(8),
            wire::UUID => self.advance(16),
            wire::BINARY => {
                let length = self.varint()?;
                self.advance(length)
            }
            wire::LIST | wire::SET => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.varint()?,
                    count => u64::from(count),
                };
                (0..count).try_for_each(|_| self.skip_element(head & 0xf, below))
            }
            wire::MAP => {
                let count = self.varint()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.skip_element(kinds >> 4, below)?;
                    self.skip_element(kinds & 0xf, below)
                })
            }
            wire::STRUCT => {
                let mut last = 0;
                while let Some((id, kind)) = self.field(last)? {
                    last = id;
                    self.skip(kind, below)?;
                }
                Ok(())
            }
            _ => Err(Status::Corrupt),
        }
    }

    /// Skips an element of a collection: there a truth value takes a byte.
    fn skip_element(&mut self, kind: u8, depth: u32) -> Result<(), Status> {
        match kind {
            wire::TRUE | wire::FALSE => self.advance(1),
            kind => self.skip(kind, depth),
        }
    }
}

/// A number of seven bits a byte, least significant first, and its length in bytes; `None` when it
/// does not end or has more than 64 bits.
pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (index, byte) in bytes.iter().take(10).enumerate() {
        if index == 9 && *byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

/// Numbers that alternate between signs: 0, -1, 1, -2.
pub(crate) const fn zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data page of 100 rows: 17 bytes uncompressed, 9 in the chunk.
    const DATA: [u8; 18] =
        [0x15, 0, 0x15, 34, 0x15, 18, 0x2c, 0x15, 0xc8, 1, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0];

    #[test]
    fn header_is_read_and_unknown_fields_are_skipped() {
        let kind = PageKind::Data { rows: 100, encoding: 0, level_encoding: 3 };
        let header = PageHeader { kind, uncompressed_bytes: 17, compressed_bytes: 9 };
        assert_eq!(PageHeader::read(&DATA), Ok((header, 18)));
        // Before the end: a list of two truth values, a map, a set of structs, bytes.
        let unknown = [
            &DATA[..17],
            &[0xf9, 0x21, 1, 2],
            &[0x1b, 1, 0x58, 2, 1, b'x'],
            &[0x1a, 0x1c, 0x15, 2, 0],
            &[0x18, 3, 1, 2, 3],
            &[0],
        ];
        let bytes = unknown.concat();
        assert_eq!(PageHeader::read(&bytes), Ok((header, bytes.len())));
    }

    #[test]
    fn header_of_version_2_declares_whether_values_are_compressed() {
        let mut bytes = vec![0x15, 6, 0x15, 20, 0x15, 10, 0x5c, 0x15, 8, 0x15, 2, 0x15, 8, 0x15, 0];
        bytes.extend([0x15, 4, 0x15, 0]);
        let header = |tail: &[u8]| PageHeader::read(&[&bytes[..], tail].concat()).map(|it| it.0);
        let expected = |is_compressed| PageHeader {
            kind: PageKind::Data2(DataPage2 {
                values: 4,
                nulls: 1,
                rows: 4,
                encoding: 0,
                definition_bytes: 2,
                repetition_bytes: 0,
                is_compressed,
            }),
            uncompressed_bytes: 10,
            compressed_bytes: 5,
        };
        assert_eq!(header(&[0, 0]), Ok(expected(true)));
        assert_eq!(header(&[0x11, 0, 0]), Ok(expected(true)));
        assert_eq!(header(&[0x12, 0, 0]), Ok(expected(false)));
    }

    #[test]
    fn invalid_header_is_corrupt() {
        for cut in 0..DATA.len() {
            assert_eq!(PageHeader::read(&DATA[..cut]), Err(Status::Corrupt), "{cut}");
        }
        let changed = |at: usize, byte: u8| {
            let mut bytes = DATA;
            bytes[at] = byte;
            PageHeader::read(&bytes).map(|_| ())
        };
        assert_eq!(changed(3, 1), Err(Status::Corrupt), "a negative size");
        assert_eq!(changed(1, 8), Err(Status::Encoding), "an unknown kind");
        assert_eq!(changed(1, 4), Err(Status::Corrupt), "a dictionary without its header");
        assert_eq!(changed(0, 0x18), Err(Status::Corrupt), "a string for a number");
        // Structs in structs without end, and lists of 2^60 structs.
        assert_eq!(PageHeader::read(&[0xfc; 100]), Err(Status::Corrupt));
        let list = [0xf9, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f];
        assert_eq!(PageHeader::read(&list), Err(Status::Corrupt));
    }

    #[test]
    fn varint_ends_within_64_bits() {
        assert_eq!(varint(&[0xac, 2, 9]), Some((300, 2)));
        assert_eq!(varint(&[0xff; 10]), None);
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(varint(&most), Some((u64::MAX, 10)));
        let more = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert_eq!(varint(&more), None);
        assert_eq!([0, 1, 2, 3, u64::MAX].map(zigzag), [0, -1, 1, -2, i64::MIN]);
    }
}
