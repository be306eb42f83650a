// SPDX-License-Identifier: Apache-2.0
//! Decompresses the pages of a chunk, and checks them against the command.
//!
//! Headers are validated: sizes are within the chunk, rows add up to those of the unit, a
//! dictionary occurs once and before its indexes, and encodings are those that the footer lists.
//! Bodies are checked where they are decoded. Of a page of which only the levels are read, the
//! encoding of values is not checked.

use bytes::Bytes;
use nearscan_command::{Chunk, Codec, Encoding, PhysicalType, Status};

use crate::{
    buffers::Buffers,
    codecs::{Decompressor, length_of},
    decode::levels::Levels,
    header::{DataPage2, PageHeader, PageKind},
};

/// The pages of one chunk, in order.
#[derive(Debug)]
pub(crate) struct Pages {
    chunk: Chunk,
    bytes: Bytes,
    /// Offset in bytes of the next page header.
    at: usize,
    /// Offset in bytes of the body of the page that was read last.
    body_at: usize,
    /// Pages before it.
    index: u32,
    /// Rows of the unit that are left.
    rows_left: u64,
    has_dictionary: bool,
    decompressor: Decompressor,
    buffers: Buffers,
}

/// A page whose body is still as it is stored.
#[derive(Debug)]
pub(crate) struct RawPage {
    header: PageHeader,
    body: Bytes,
    /// 0 for a dictionary.
    pub(crate) rows: usize,
}

impl RawPage {
    /// Whether its values are codes of a dictionary.
    pub(crate) fn has_codes(&self) -> bool {
        let encoding = match &self.header.kind {
            PageKind::Data { encoding, .. } => *encoding,
            PageKind::Data2(data) => data.encoding,
            PageKind::Index | PageKind::Dictionary { .. } => return false,
        };
        matches!(parse_encoding(encoding), Ok(Encoding::PlainDictionary | Encoding::RleDictionary))
    }
}

/// A page to decode.
#[derive(Debug)]
pub(crate) enum Page {
    /// A dictionary of plain entries.
    Dictionary { bytes: Bytes, entries: usize },
    /// Values, of at least one row.
    Data(DataPage),
}

/// A page of values.
#[derive(Debug)]
pub(crate) struct DataPage {
    pub(crate) rows: usize,
    pub(crate) levels: Levels,
    /// The number of null rows, if the header states it.
    pub(crate) nulls: Option<usize>,
    pub(crate) encoding: Encoding,
    pub(crate) values: Bytes,
}

impl Pages {
    /// The pages in `bytes`, which are the whole chunk.
    pub(crate) fn new(chunk: Chunk, bytes: Bytes, rows: u64, buffers: Buffers) -> Self {
        Self {
            chunk,
            bytes,
            at: 0,
            body_at: 0,
            index: 0,
            rows_left: rows,
            has_dictionary: false,
            decompressor: Decompressor::default(),
            buffers,
        }
    }

    /// The number of the page that was read last, and its first byte after the header.
    pub(crate) const fn place(&self) -> (u32, usize) {
        (self.index.saturating_sub(1), self.body_at)
    }

    /// The memory of pages.
    pub(crate) const fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// The next page that holds something, `None` after the last one.
    ///
    /// # Errors
    /// [`Status::Corrupt`], or [`Status::Encoding`] for what no command allows.
    pub(crate) fn next(&mut self) -> Result<Option<Page>, Status> {
        match self.next_raw()? {
            Some(raw) => self.open(&raw).map(Some),
            None => Ok(None),
        }
    }

    /// The next page that holds something, not yet decompressed, `None` after the last one.
    ///
    /// # Errors
    /// [`Status::Corrupt`] for a header that does not fit the chunk.
    pub(crate) fn next_raw(&mut self) -> Result<Option<RawPage>, Status> {
        while self.at < self.bytes.len() {
            self.index = self.index.saturating_add(1);
            let (header, length) = PageHeader::read(&self.bytes[self.at..])?;
            self.at += length;
            self.body_at = self.at;
            if header.compressed_bytes > self.bytes.len() - self.at {
                return Err(Status::Corrupt);
            }
            let body = self.bytes.slice(self.at..self.at + header.compressed_bytes);
            let rows = match &header.kind {
                PageKind::Index | PageKind::Dictionary { .. } => 0,
                PageKind::Data { rows, .. } => self.claim(*rows)?,
                PageKind::Data2(data) => {
                    check_levels(data, body.len())?;
                    self.claim(data.values)?
                }
            };
            self.at += header.compressed_bytes;
            if rows > 0 || matches!(header.kind, PageKind::Dictionary { .. }) {
                return Ok(Some(RawPage { header, body, rows }));
            }
        }
        Ok(None)
    }

    /// Checks the headers of the pages that are left, and that all rows are in pages; gives the
    /// number of those pages.
    ///
    /// # Errors
    /// [`Status::Corrupt`]
    pub(crate) fn check_rest(&mut self) -> Result<usize, Status> {
        let mut pages = 0;
        while self.next_raw()?.is_some() {
            pages += 1;
        }
        if self.rows_left == 0 { Ok(pages) } else { Err(Status::Corrupt) }
    }

    /// Decompresses a page.
    ///
    /// # Errors
    /// [`Status::Corrupt`], or [`Status::Encoding`] for what no command allows.
    pub(crate) fn open(&mut self, raw: &RawPage) -> Result<Page, Status> {
        let RawPage { header, body, rows } = raw;
        let (body, rows) = (body.clone(), *rows);
        match &header.kind {
            // No page of rows.
            PageKind::Index => Err(Status::Corrupt),
            PageKind::Dictionary { entries, encoding } => {
                let bytes = self.decompress(body, header.uncompressed_bytes)?;
                self.dictionary(bytes, *entries as usize, *encoding)
            }
            PageKind::Data { encoding, level_encoding, .. } => {
                let encoding = self.admit(*encoding)?;
                let bytes = self.decompress(body, header.uncompressed_bytes)?;
                let (levels, values) = self.levels(&bytes, rows, *level_encoding)?;
                Ok(Page::Data(DataPage { rows, levels, nulls: None, encoding, values }))
            }
            PageKind::Data2(data) => self.data2(data, &body, rows, header.uncompressed_bytes),
        }
    }

    /// The definition levels of a page of values, and the number of nulls if its header has it. A
    /// page of version 2 is not decompressed.
    ///
    /// # Errors
    /// As [`Pages::open`].
    pub(crate) fn open_levels(&mut self, raw: &RawPage) -> Result<(Levels, Option<usize>), Status> {
        match &raw.header.kind {
            PageKind::Index | PageKind::Dictionary { .. } => Err(Status::Corrupt),
            PageKind::Data { .. } if self.chunk.definition_level_max == 0 => {
                Ok((Levels::Required, None))
            }
            PageKind::Data { level_encoding, .. } => {
                let bytes = self.decompress(raw.body.clone(), raw.header.uncompressed_bytes)?;
                Ok((self.levels(&bytes, raw.rows, *level_encoding)?.0, None))
            }
            PageKind::Data2(data) => {
                Ok((self.levels2(data, &raw.body)?, Some(data.nulls as usize)))
            }
        }
    }

    fn dictionary(&mut self, bytes: Bytes, entries: usize, encoding: i64) -> Result<Page, Status> {
        match parse_encoding(encoding)? {
            Encoding::Plain | Encoding::PlainDictionary => {}
            _ => return Err(Status::Encoding),
        }
        let least = self.chunk.physical_type.plain_bytes_min(self.chunk.reading.length);
        let entries_max = match self.chunk.physical_type {
            PhysicalType::Boolean => bytes.len() * 8,
            _ => bytes.len() / usize::try_from(least).unwrap_or(1).max(1),
        };
        if self.has_dictionary || entries > entries_max {
            return Err(Status::Corrupt);
        }
        self.has_dictionary = true;
        Ok(Page::Dictionary { bytes, entries })
    }

    /// Levels and values of a page of version 1.
    fn levels(&self, bytes: &Bytes, rows: usize, encoding: i64) -> Result<(Levels, Bytes), Status> {
        if self.chunk.definition_level_max == 0 {
            return Ok((Levels::Required, bytes.clone()));
        }
        match parse_encoding(encoding)? {
            Encoding::Rle => {
                let length = bytes.first_chunk().ok_or(Status::Corrupt)?;
                let length = u32::from_le_bytes(*length) as usize;
                if length > bytes.len() - 4 {
                    return Err(Status::Corrupt);
                }
                Ok((Levels::runs(bytes.slice(4..4 + length), rows), bytes.slice(4 + length..)))
            }
            Encoding::BitPacked if self.chunk.encodings.contains(Encoding::BitPacked) => {
                let length = rows.div_ceil(8);
                let levels = bytes.get(..length).ok_or(Status::Corrupt)?;
                Ok((Levels::packed(levels), bytes.slice(length..)))
            }
            _ => Err(Status::Encoding),
        }
    }

    /// A page of version 2: levels are before the values and are never compressed.
    fn data2(
        &mut self,
        page: &DataPage2,
        body: &Bytes,
        rows: usize,
        uncompressed_bytes: usize,
    ) -> Result<Page, Status> {
        let level_bytes = page.definition_bytes + page.repetition_bytes;
        let encoding = self.admit(page.encoding)?;
        let levels = self.levels2(page, body)?;
        let values = body.slice(level_bytes..);
        let values = match page.is_compressed {
            true => {
                let bytes = uncompressed_bytes.checked_sub(level_bytes).ok_or(Status::Corrupt)?;
                self.decompress(values, bytes)?
            }
            false => values,
        };
        let nulls = Some(page.nulls as usize);
        Ok(Page::Data(DataPage { rows, levels, nulls, encoding, values }))
    }

    /// The levels of a page of version 2.
    fn levels2(&self, page: &DataPage2, body: &Bytes) -> Result<Levels, Status> {
        match self.chunk.definition_level_max {
            0 if page.nulls > 0 => Err(Status::Corrupt),
            0 => Ok(Levels::Required),
            _ => {
                let bytes = body.slice(..page.definition_bytes + page.repetition_bytes);
                Ok(Levels::runs(bytes, page.values as usize))
            }
        }
    }

    /// Takes `rows` of the rows that are left.
    fn claim(&mut self, rows: u32) -> Result<usize, Status> {
        self.rows_left = self.rows_left.checked_sub(u64::from(rows)).ok_or(Status::Corrupt)?;
        Ok(rows as usize)
    }

    /// The encoding of values, if the command allows it.
    fn admit(&self, encoding: i64) -> Result<Encoding, Status> {
        let encoding = parse_encoding(encoding)?;
        let needs_dictionary =
            matches!(encoding, Encoding::PlainDictionary | Encoding::RleDictionary);
        if !self.chunk.encodings.contains(encoding) || encoding == Encoding::BitPacked {
            return Err(Status::Encoding);
        }
        if needs_dictionary && !self.has_dictionary {
            return Err(Status::Corrupt);
        }
        Ok(encoding)
    }

    /// A body of `length` bytes as its header says; Snappy's own length counts, if there is one.
    fn decompress(&mut self, body: Bytes, length: usize) -> Result<Bytes, Status> {
        if body.is_empty() || self.chunk.codec == Codec::Uncompressed {
            // Some writers write no bytes for a page without values.
            return Ok(body);
        }
        let length = length_of(self.chunk.codec, &body, length, self.chunk.uncompressed_bytes)?;
        let mut out = self.buffers.take(length);
        self.decompressor.decompress(self.chunk.codec, &body, out.bytes_mut())?;
        Ok(out.freeze())
    }
}

/// Checks that a page of version 2 is flat, and its levels are within its body.
fn check_levels(page: &DataPage2, body_bytes: usize) -> Result<(), Status> {
    let level_bytes = page.definition_bytes + page.repetition_bytes;
    let is_flat = page.rows == page.values && page.repetition_bytes == 0;
    if !is_flat || page.nulls > page.values || level_bytes > body_bytes {
        return Err(Status::Corrupt);
    }
    Ok(())
}

/// Parquet's number of an encoding.
fn parse_encoding(number: i64) -> Result<Encoding, Status> {
    let number = u8::try_from(number).map_err(|_| Status::Encoding)?;
    Encoding::of_file(number).ok_or(Status::Encoding)
}

#[cfg(test)]
mod tests {
    use nearscan_command::{Encodings, Reading};

    use super::*;
    use crate::tests::plain_chunk;

    fn chunk(codec: Codec, definition_level_max: u8) -> Chunk {
        let chunk = plain_chunk(PhysicalType::Int32, Reading::PLAIN);
        Chunk { uncompressed_bytes: 300, codec, definition_level_max, ..chunk }
    }

    /// A small number as a header has it.
    fn number(value: usize) -> u8 {
        u8::try_from(value * 2).unwrap()
    }

    /// A page of version 2 with four rows; `fields` are those of its own header.
    fn page2(uncompressed: usize, fields: [usize; 6], flag: &[u8], body: &[u8]) -> Vec<u8> {
        let sizes = [number(uncompressed), 0x15, number(body.len())];
        let mut bytes = [&[0x15, 6, 0x15][..], &sizes, &[0x5c]].concat();
        fields.iter().for_each(|field| bytes.extend([0x15, number(*field)]));
        [&bytes, flag, &[0, 0], body].concat()
    }

    fn next(chunk: Chunk, bytes: &[u8]) -> Result<Option<DataPage>, Status> {
        match Pages::new(chunk, Bytes::copy_from_slice(bytes), 4, Buffers::default()).next()? {
            Some(Page::Data(page)) => Ok(Some(page)),
            Some(Page::Dictionary { .. }) => panic!("a dictionary"),
            None => Ok(None),
        }
    }

    #[test]
    fn levels_of_version_2_are_not_compressed() {
        // Two bytes of levels, then four bytes: as they are, and as LZ4's literals.
        let plain = [8, 1, 1, 2, 3, 4];
        let packed = [8, 1, 0x40, 1, 2, 3, 4];
        let fields = [4, 3, 4, 0, 2, 0];
        let values = |codec, flag: &[u8], body: &[u8]| {
            let page = next(chunk(codec, 1), &page2(6, fields, flag, body)).unwrap().unwrap();
            assert_eq!((page.rows, page.nulls, page.levels.count(4)), (4, Some(3), Ok(4)));
            page.values.to_vec()
        };
        assert_eq!(values(Codec::Uncompressed, &[], &plain), [1, 2, 3, 4]);
        assert_eq!(values(Codec::Lz4Raw, &[], &packed), [1, 2, 3, 4]);
        assert_eq!(values(Codec::Lz4Raw, &[0x11], &packed), [1, 2, 3, 4]);
        assert_eq!(values(Codec::Lz4Raw, &[0x12], &plain), [1, 2, 3, 4]);
    }

    #[test]
    fn inconsistent_lengths_of_version_2_are_corrupt() {
        let body = [8, 1, 1, 2, 3, 4];
        let of = |levels, fields| {
            next(chunk(Codec::Uncompressed, levels), &page2(6, fields, &[], &body)).map(|_| ())
        };
        assert_eq!(of(1, [4, 0, 4, 0, 2, 0]), Ok(()));
        assert_eq!(of(0, [4, 0, 4, 0, 2, 0]), Ok(()));
        for (levels, fields) in [
            (1, [4, 0, 4, 0, 7, 0]),
            (1, [4, 0, 4, 0, 2, 1]),
            (1, [4, 5, 4, 0, 2, 0]),
            (1, [4, 0, 3, 0, 2, 0]),
            (1, [5, 0, 5, 0, 2, 0]),
            (0, [4, 1, 4, 0, 0, 0]),
        ] {
            assert_eq!(of(levels, fields), Err(Status::Corrupt), "{fields:?}");
        }
        assert_eq!(of(1, [4, 0, 4, 7, 2, 0]), Err(Status::Encoding));
        assert_eq!(of(1, [4, 0, 4, 8, 2, 0]), Err(Status::Corrupt));
    }

    #[test]
    fn size_beyond_the_expansion_of_the_codec_is_corrupt() {
        let of = |codec, uncompressed, body: &[u8]| {
            let page = page2(uncompressed, [4, 0, 4, 0, 0, 0], &[], body);
            next(chunk(codec, 0), &page).map(|page| page.unwrap().values.len())
        };
        let body = [0x40, 1, 2, 3, 4];
        assert_eq!(of(Codec::Lz4Raw, 4, &body), Ok(4));
        assert_eq!(of(Codec::Lz4Raw, 5, &body), Err(Status::Corrupt));
        assert_eq!(of(Codec::Lz4Raw, 3, &body), Err(Status::Corrupt));
        assert_eq!(of(Codec::Lz4Raw, 4, &body[..4]), Err(Status::Corrupt));
        // A page without values may be without bytes.
        assert_eq!(of(Codec::Lz4Raw, 0, &[]), Ok(0));
    }

    #[test]
    fn bit_packed_levels_are_read_if_the_command_allows_them() {
        // Four rows of version 1, levels in a bit each: one byte, then a value.
        let header = [0x15, 0, 0x15, 10, 0x15, 10, 0x2c, 0x15, 8, 0x15, 0, 0x15, 8, 0x15, 6, 0, 0];
        let bytes = [&header[..], &[0x90, 1, 2, 3, 4]].concat();
        let page = next(chunk(Codec::Uncompressed, 1), &bytes).unwrap().unwrap();
        assert_eq!((page.levels.count(4), page.values.len()), (Ok(2), 4));
        let without = Encodings::of([Encoding::Plain, Encoding::Rle]);
        let strict = Chunk { encodings: without, ..chunk(Codec::Uncompressed, 1) };
        assert_eq!(next(strict, &bytes).unwrap_err(), Status::Encoding);
        let empty = [&header[..5], &[0], &header[6..]].concat();
        assert_eq!(next(chunk(Codec::Uncompressed, 1), &empty).unwrap_err(), Status::Corrupt);
    }
}
