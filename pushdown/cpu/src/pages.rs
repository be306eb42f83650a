// SPDX-License-Identifier: Apache-2.0
//! Pages of a chunk, checked before the parquet crate decodes them.
//!
//! The crate trusts more than a drive may: it panics on indexes without a dictionary, sets aside as
//! many dictionary entries as a header claims, stops silently at an empty page, and reads a
//! deprecated level encoding that no command allows. What a page says is held against the chunk
//! here.

use bytes::Bytes;
use nearscan_command::{Chunk, Codec, Encoding as Allowed, PhysicalType};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// A page reader that passes on only what adds up.
pub(crate) struct CheckedPages<P> {
    inner: P,
    chunk: Chunk,
    /// Rows that no page has claimed yet.
    rows_left: u64,
    has_dictionary: bool,
    decoder: snap::raw::Decoder,
}

impl<P: PageReader> CheckedPages<P> {
    /// Pages of `inner`, which does not decompress them.
    pub(crate) fn new(inner: P, chunk: Chunk, rows: u64) -> Self {
        Self {
            inner,
            chunk,
            rows_left: rows,
            has_dictionary: false,
            decoder: snap::raw::Decoder::new(),
        }
    }

    /// The page with its bytes decompressed.
    fn decompress(&mut self, page: Page) -> Result<Page> {
        if self.chunk.codec == Codec::Uncompressed {
            return Ok(page);
        }
        Ok(match page {
            Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                statistics,
            } => Page::DataPage {
                buf: self.decompress_bytes(&buf)?,
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                statistics,
            },
            Page::DictionaryPage { buf, num_values, encoding, is_sorted } => {
                let buf = self.decompress_bytes(&buf)?;
                Page::DictionaryPage { buf, num_values, encoding, is_sorted }
            }
            other @ Page::DataPageV2 { .. } => other,
        })
    }

    fn decompress_bytes(&mut self, bytes: &[u8]) -> Result<Bytes> {
        if bytes.is_empty() {
            // Some writers leave nothing of a page without values.
            return Ok(Bytes::new());
        }
        let length =
            snap::raw::decompress_len(bytes).map_err(|error| corrupt(&error.to_string()))?;
        if length as u64 > self.chunk.uncompressed_bytes {
            return Err(corrupt("a page larger than its chunk"));
        }
        let out =
            self.decoder.decompress_vec(bytes).map_err(|error| corrupt(&error.to_string()))?;
        Ok(Bytes::from(out))
    }

    /// Whether the page is to be decoded; an empty one is not.
    fn admit(&mut self, page: &Page) -> Result<bool> {
        match page {
            Page::DataPage { num_values, encoding, def_level_encoding, .. } => {
                if self.chunk.definition_level_max > 0 && *def_level_encoding != Encoding::RLE {
                    return Err(unread("levels", *def_level_encoding));
                }
                self.admit_encoding(*encoding)?;
                let rows = u64::from(*num_values);
                self.rows_left = self
                    .rows_left
                    .checked_sub(rows)
                    .ok_or_else(|| corrupt("more values than rows"))?;
                Ok(rows > 0)
            }
            Page::DataPageV2 { .. } => Err(ParquetError::NYI("data pages of version 2".to_owned())),
            Page::DictionaryPage { buf, num_values, encoding, .. } => {
                if !matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
                    return Err(unread("a dictionary", *encoding));
                }
                let entry_bytes_min = match self.chunk.physical_type {
                    PhysicalType::Int32 | PhysicalType::ByteArray => 4,
                    PhysicalType::Int64 => 8,
                };
                if self.has_dictionary
                    || u64::from(*num_values) * entry_bytes_min > buf.len() as u64
                {
                    return Err(corrupt("a dictionary that cannot be"));
                }
                self.has_dictionary = true;
                Ok(true)
            }
        }
    }

    /// The page with an end on which decoding plain strings fails instead of panicking.
    ///
    /// # Errors
    /// When levels or dictionary entries are cut off.
    fn guard(&self, page: Page) -> Result<Page> {
        if self.chunk.physical_type != PhysicalType::ByteArray {
            return Ok(page);
        }
        match page {
            Page::DataPage {
                buf,
                num_values,
                encoding: encoding @ Encoding::PLAIN,
                def_level_encoding,
                rep_level_encoding,
                statistics,
            } => {
                let start = match self.chunk.definition_level_max {
                    0 => 0,
                    _ => string_end(&buf, 0).ok_or_else(|| corrupt("levels are cut off"))?,
                };
                Ok(Page::DataPage {
                    buf: with_strings_only(buf, start, num_values),
                    num_values,
                    encoding,
                    def_level_encoding,
                    rep_level_encoding,
                    statistics,
                })
            }
            Page::DictionaryPage { buf, num_values, encoding, is_sorted } => {
                if whole_strings(&buf, 0, num_values).0 < num_values {
                    return Err(corrupt("dictionary entries are cut off"));
                }
                Ok(Page::DictionaryPage { buf, num_values, encoding, is_sorted })
            }
            other => Ok(other),
        }
    }

    fn admit_encoding(&self, encoding: Encoding) -> Result<()> {
        let (allowed, needs_dictionary) = match encoding {
            Encoding::PLAIN => (Allowed::Plain, false),
            Encoding::PLAIN_DICTIONARY => (Allowed::PlainDictionary, true),
            Encoding::RLE_DICTIONARY => (Allowed::RleDictionary, true),
            other => return Err(unread("values", other)),
        };
        if !self.chunk.encodings.contains(allowed) {
            return Err(unread("values", encoding));
        }
        if needs_dictionary && !self.has_dictionary {
            return Err(corrupt("indexes before their dictionary"));
        }
        Ok(())
    }
}

/// Where the string at `start` ends; its length stands before it. Levels have the same form.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let length = bytes.get(start..)?.first_chunk::<4>()?;
    let end = start.checked_add(4)?.checked_add(u32::from_le_bytes(*length) as usize)?;
    (end <= bytes.len()).then_some(end)
}

/// How many whole strings there are from `start`, up to `count_max`, and where the last one ends.
fn whole_strings(bytes: &[u8], start: usize, count_max: u32) -> (u32, usize) {
    let (mut count, mut at) = (0, start);
    while count < count_max
        && let Some(end) = string_end(bytes, at)
    {
        (count, at) = (count + 1, end);
    }
    (count, at)
}

/// The page as it is when it holds a string for each row. Else some rows are null, or strings are
/// missing; the bytes are cut behind the last whole string and a length is put there that no page
/// has, on which the crate gives an error.
fn with_strings_only(bytes: Bytes, start: usize, rows: u32) -> Bytes {
    let (count, end) = whole_strings(&bytes, start, rows);
    if count == rows {
        return bytes;
    }
    Bytes::from([&bytes[..end], &[0xff; 4]].concat())
}

fn unread(part: &str, encoding: Encoding) -> ParquetError {
    ParquetError::NYI(format!("{part} in encoding {encoding}"))
}

fn corrupt(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

impl<P: PageReader> Iterator for CheckedPages<P> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl<P: PageReader> PageReader for CheckedPages<P> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        while let Some(page) = self.inner.get_next_page()? {
            let page = self.decompress(page)?;
            if self.admit(&page)? {
                return self.guard(page).map(Some);
            }
        }
        Ok(None)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        // A page that is skipped is not counted.
        Err(corrupt("pages are not skipped"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_cut_behind_the_last_whole_one() {
        let bytes = Bytes::from_static(b"\x02\0\0\0ab\0\0\0\0\x03\0\0\0xy");
        assert_eq!(whole_strings(&bytes, 0, 9), (2, 10));
        assert_eq!(whole_strings(&bytes, 0, 1), (1, 6));
        assert_eq!(with_strings_only(bytes.clone(), 0, 2), bytes);
        let guarded = with_strings_only(bytes.clone(), 0, 3);
        assert_eq!(guarded[..10], bytes[..10]);
        assert_eq!(guarded[10..], [0xff; 4]);
        assert_eq!(whole_strings(&[0xff; 3], 0, 1), (0, 0));
    }
}
