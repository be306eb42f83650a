// SPDX-License-Identifier: Apache-2.0
//! Writes page headers in Thrift's compact protocol, by hand.

use super::{
    Flag, HeaderStyle, Page, PageKind,
    varint::{varint, zigzag},
};

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const STRUCT: u8 = 12;

/// The header of a page with this body in the file.
pub(crate) fn page_header(page: &Page, body: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
    let mut header = Struct::default();
    let fields: [&dyn Fn(&mut Struct); 5] = [
        &|header| {
            header.integer(
                1,
                match page.kind {
                    PageKind::Data => 0,
                    PageKind::Index => 1,
                    PageKind::Dictionary => 2,
                    PageKind::DataV2 => 3,
                },
            );
        },
        &|header| {
            header.integer(2, page.uncompressed_size.unwrap_or_else(|| length(page.body.len())));
        },
        &|header| header.integer(3, page.compressed_size.unwrap_or_else(|| length(body.len()))),
        &|header| {
            if page.style == HeaderStyle::Checksum {
                header.integer(4, i64::from(crc32(body).cast_signed()));
            }
        },
        &|header| match page.kind {
            PageKind::Data => header.inner(5, |inner| data_header(inner, page)),
            PageKind::Index => header.inner(6, |_| {}),
            PageKind::Dictionary => header.inner(7, |inner| dictionary_header(inner, page)),
            PageKind::DataV2 => header.inner(8, |inner| second_header(inner, page)),
        },
    ];
    write_fields(&mut header, page.style, &fields);
    if page.style == HeaderStyle::UnknownFields {
        unknown_fields(&mut header);
    }
    header.finish()
}

/// Writes fields in the order that a style wants.
fn write_fields(out: &mut Struct, style: HeaderStyle, fields: &[&dyn Fn(&mut Struct)]) {
    match style {
        HeaderStyle::Backwards => fields.iter().rev().for_each(|field| field(out)),
        HeaderStyle::Bare
        | HeaderStyle::Statistics
        | HeaderStyle::Checksum
        | HeaderStyle::UnknownFields => fields.iter().for_each(|field| field(out)),
    }
}

fn dictionary_header(inner: &mut Struct, page: &Page) {
    let fields: [&dyn Fn(&mut Struct); 3] = [
        &|inner| inner.integer(1, page.value_count),
        &|inner| inner.integer(2, page.encoding),
        &|inner| {
            if page.style == HeaderStyle::Statistics {
                inner.field(3, TRUE);
            }
        },
    ];
    write_fields(inner, page.style, &fields);
}

fn data_header(inner: &mut Struct, page: &Page) {
    let fields: [&dyn Fn(&mut Struct); 5] = [
        &|inner| inner.integer(1, page.value_count),
        &|inner| inner.integer(2, page.encoding),
        &|inner| inner.integer(3, page.level_encoding),
        &|inner| inner.integer(4, 3),
        &|inner| extras(inner, page.style, 5),
    ];
    write_fields(inner, page.style, &fields);
}

fn second_header(inner: &mut Struct, page: &Page) {
    let second = page.second;
    let fields: [&dyn Fn(&mut Struct); 8] = [
        &|inner| inner.integer(1, page.value_count),
        &|inner| inner.integer(2, second.null_count),
        &|inner| inner.integer(3, second.row_count),
        &|inner| inner.integer(4, page.encoding),
        &|inner| inner.integer(5, second.level_bytes),
        &|inner| inner.integer(6, second.repetition_bytes),
        &|inner| match second.flag {
            Flag::Absent => {}
            Flag::Compressed => inner.field(7, TRUE),
            Flag::Uncompressed => inner.field(7, FALSE),
        },
        &|inner| extras(inner, page.style, 8),
    ];
    write_fields(inner, page.style, &fields);
}

/// Writes the optional fields of a data page's header; statistics are field `id`.
fn extras(inner: &mut Struct, style: HeaderStyle, id: i64) {
    match style {
        HeaderStyle::Statistics => inner.inner(id, |statistics| {
            statistics.binary(1, b"old maximum");
            statistics.binary(2, b"");
            statistics.long(3, 7);
            // Long enough for a length of two bytes.
            statistics.binary(5, &[b'z'; 200]);
            statistics.binary(6, b"least");
            statistics.field(7, TRUE);
        }),
        HeaderStyle::UnknownFields => inner.inner(9, |other| other.integer(1, -1)),
        HeaderStyle::Bare | HeaderStyle::Checksum | HeaderStyle::Backwards => {}
    }
}

/// One field of each type that may be in a page header, so that a reader that skips fields must
/// know all of them. Lists, sets and maps occur in none; a drive may refuse them.
fn unknown_fields(header: &mut Struct) {
    header.field(20, TRUE);
    header.field(21, BYTE);
    header.out.push(0x7f);
    header.field(22, I16);
    varint(&mut header.out, 300);
    header.long(23, i64::MIN);
    header.field(24, DOUBLE);
    header.out.extend_from_slice(&1.5f64.to_le_bytes());
    header.binary(25, &[0; 150]);
    // Too far for the short form of a field's number.
    header.inner(1000, |inner| {
        inner.binary(3, b"x");
        inner.inner(4, |innermost| innermost.field(1, TRUE));
    });
}

/// The checksum of gzip and Parquet, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    let byte = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum));
    !bytes.iter().fold(!0, byte)
}

/// A struct being written.
#[derive(Default)]
struct Struct {
    out: Vec<u8>,
    last: i64,
}

impl Struct {
    fn field(&mut self, id: i64, kind: u8) {
        match u8::try_from(id - self.last) {
            Ok(delta @ 1..=15) => self.out.push(delta << 4 | kind),
            _ => {
                self.out.push(kind);
                varint(&mut self.out, zigzag(id));
            }
        }
        self.last = id;
    }

    fn integer(&mut self, id: i64, value: i64) {
        self.field(id, I32);
        varint(&mut self.out, zigzag(value));
    }

    fn long(&mut self, id: i64, value: i64) {
        self.field(id, I64);
        varint(&mut self.out, zigzag(value));
    }

    fn binary(&mut self, id: i64, bytes: &[u8]) {
        self.field(id, BINARY);
        varint(&mut self.out, bytes.len() as u64);
        self.out.extend_from_slice(bytes);
    }

    fn inner(&mut self, id: i64, write: impl FnOnce(&mut Self)) {
        self.field(id, STRUCT);
        let mut inner = Self::default();
        write(&mut inner);
        self.out.extend_from_slice(&inner.finish());
    }

    fn finish(mut self) -> Vec<u8> {
        self.out.push(0);
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{ChunkLayout, Page};

    #[test]
    fn minimal_header_matches_the_protocol() {
        let page = Page { value_count: 100, ..Page::empty(&ChunkLayout::plain()) };
        let expected = [
            0x15, 0, 0x15, 0, 0x15, 0x80, 0x02, 0x2c, 0x15, 0xc8, 1, 0x15, 0, 0x15, 6, 0x15, 6, 0,
            0,
        ];
        assert_eq!(page_header(&page, &[0; 128]), expected);
    }

    #[test]
    fn checksum_equals_that_of_gzip() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
