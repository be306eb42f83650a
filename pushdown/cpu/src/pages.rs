// SPDX-License-Identifier: Apache-2.0
//! The pages of a chunk, decompressed and held against what the command says of it.
//!
//! Headers are claims: sizes end within the chunk, rows add up to those of the unit, a dictionary
//! comes once and before its indexes, encodings are those that the footer lists. Bodies are looked
//! at where they are decoded.

use bytes::Bytes;
use nearscan_command::{Chunk, Codec, Encoding, PhysicalType, Status};

use crate::decode::levels::Levels;
use crate::header::{DataPage2, PageHeader, PageKind};

/// The pages of one chunk, in order.
pub(crate) struct Pages {
    chunk: Chunk,
    bytes: Bytes,
    /// Where the next header starts.
    at: usize,
    /// Pages before it.
    index: u32,
    /// Rows that no page has claimed yet.
    rows_left: u64,
    has_dictionary: bool,
    snappy: snap::raw::Decoder,
}

/// What there is to decode.
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
    /// How many rows the header says are null.
    pub(crate) nulls: Option<usize>,
    pub(crate) encoding: Encoding,
    pub(crate) values: Bytes,
}

impl Pages {
    /// The pages in `bytes`, which are the whole chunk.
    pub(crate) fn new(chunk: Chunk, bytes: Bytes, rows: u64) -> Self {
        let snappy = snap::raw::Decoder::new();
        Self { chunk, bytes, at: 0, index: 0, rows_left: rows, has_dictionary: false, snappy }
    }

    /// The number of the page that was read last, and its first byte behind the header.
    pub(crate) const fn place(&self) -> (u32, usize) {
        (self.index.saturating_sub(1), self.at)
    }

    /// The next page that holds something, `None` behind the last one.
    ///
    /// # Errors
    /// [`Status::Corrupt`], or [`Status::Encoding`] for what no command allows.
    pub(crate) fn next(&mut self) -> Result<Option<Page>, Status> {
        while self.at < self.bytes.len() {
            self.index = self.index.saturating_add(1);
            let (header, length) = PageHeader::read(&self.bytes[self.at..])?;
            self.at += length;
            if header.compressed_bytes > self.bytes.len() - self.at {
                return Err(Status::Corrupt);
            }
            let body = self.bytes.slice(self.at..self.at + header.compressed_bytes);
            let page = self.page(&header, body)?;
            self.at += header.compressed_bytes;
            if page.is_some() {
                return Ok(page);
            }
        }
        Ok(None)
    }

    fn page(&mut self, header: &PageHeader, body: Bytes) -> Result<Option<Page>, Status> {
        match header.kind {
            PageKind::Index => Ok(None),
            PageKind::Dictionary { entries, encoding } => {
                let bytes = self.decompress(body, header.uncompressed_bytes)?;
                self.dictionary(bytes, entries as usize, encoding).map(Some)
            }
            PageKind::Data { rows, encoding, level_encoding } => {
                let rows = self.claim(rows)?;
                if rows == 0 {
                    return Ok(None);
                }
                let encoding = self.admit(encoding)?;
                let bytes = self.decompress(body, header.uncompressed_bytes)?;
                let (levels, values) = self.levels(&bytes, rows, level_encoding)?;
                let page = DataPage { rows, levels, nulls: None, encoding, values };
                Ok(Some(Page::Data(page)))
            }
            PageKind::Data2(data) => self.data2(&data, &body, header.uncompressed_bytes),
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
                Ok((Levels::runs(bytes.slice(4..4 + length)), bytes.slice(4 + length..)))
            }
            Encoding::BitPacked if self.chunk.encodings.contains(Encoding::BitPacked) => {
                let length = rows.div_ceil(8);
                let levels = bytes.get(..length).ok_or(Status::Corrupt)?;
                Ok((Levels::packed(levels), bytes.slice(length..)))
            }
            _ => Err(Status::Encoding),
        }
    }

    /// A page of version 2: levels lie before the values and are never compressed.
    fn data2(
        &mut self,
        page: &DataPage2,
        body: &Bytes,
        uncompressed_bytes: usize,
    ) -> Result<Option<Page>, Status> {
        let level_bytes = page.definition_bytes + page.repetition_bytes;
        let is_flat = page.rows == page.values && page.repetition_bytes == 0;
        if !is_flat || page.nulls > page.values || level_bytes > body.len() {
            return Err(Status::Corrupt);
        }
        let rows = self.claim(page.values)?;
        if rows == 0 {
            return Ok(None);
        }
        let encoding = self.admit(page.encoding)?;
        let levels = match self.chunk.definition_level_max {
            0 if page.nulls > 0 => return Err(Status::Corrupt),
            0 => Levels::Required,
            _ => Levels::runs(body.slice(..level_bytes)),
        };
        let values = body.slice(level_bytes..);
        let values = match page.is_compressed {
            true => {
                let bytes = uncompressed_bytes.checked_sub(level_bytes).ok_or(Status::Corrupt)?;
                self.decompress(values, bytes)?
            }
            false => values,
        };
        let nulls = Some(page.nulls as usize);
        Ok(Some(Page::Data(DataPage { rows, levels, nulls, encoding, values })))
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
            // Some writers leave nothing of a page without values.
            return Ok(body);
        }
        match self.chunk.codec {
            Codec::Uncompressed => Ok(body),
            Codec::Snappy => {
                let length = snap::raw::decompress_len(&body).map_err(|_| Status::Corrupt)?;
                self.justify(length, body.len(), SNAPPY_EXPANSION_MAX)?;
                let out = self.snappy.decompress_vec(&body).map_err(|_| Status::Corrupt)?;
                Ok(Bytes::from(out))
            }
            Codec::Lz4Raw => {
                self.justify(length, body.len(), LZ4_EXPANSION_MAX)?;
                let mut out = vec![0; length];
                match lz4_flex::block::decompress_into(&body, &mut out) {
                    Ok(written) if written == length => Ok(Bytes::from(out)),
                    Ok(_) | Err(_) => Err(Status::Corrupt),
                }
            }
        }
    }

    /// Checks that `compressed` bytes, and this chunk, can become `length` bytes.
    fn justify(
        &self,
        length: usize,
        compressed: usize,
        expansion_max: usize,
    ) -> Result<(), Status> {
        let is_possible =
            length as u64 <= self.chunk.uncompressed_bytes && length / expansion_max <= compressed;
        if is_possible { Ok(()) } else { Err(Status::Corrupt) }
    }
}

/// The shortest copy of Snappy that says most: 64 bytes in 3.
const SNAPPY_EXPANSION_MAX: usize = 22;

/// A byte of LZ4 lengthens a copy by 255 at most.
const LZ4_EXPANSION_MAX: usize = 255;

/// Parquet's number of an encoding.
fn parse_encoding(number: i64) -> Result<Encoding, Status> {
    let number = u8::try_from(number).map_err(|_| Status::Encoding)?;
    Encoding::from_code(number).map_err(|_| Status::Encoding)
}
