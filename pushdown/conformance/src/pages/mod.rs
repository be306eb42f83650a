// SPDX-License-Identifier: Apache-2.0
//! Parquet column chunks from literal values.
//!
//! A chunk is made in two moves: [`draft`] lays values out as [`Page`]s with uncompressed bodies,
//! and [`assemble`] compresses them and puts headers before them. Cases of damage change the drafts
//! in between, or the bytes afterwards.

mod layout;
mod runs;
pub mod snappy;
mod thrift;

use std::collections::HashMap;
use std::ops::Range;

use nearscan_command::{Codec, Encoding, Encodings};

use crate::data::{Presence, Values};

pub use layout::{ChunkLayout, HeaderStyle, ValueLayout};
pub use runs::{Runs, encode_runs};

/// What a page is, numbered as in Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// Values, version 1.
    Data,
    /// To be skipped.
    Index,
    /// The dictionary.
    Dictionary,
}

/// A page before it is compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// What it is.
    pub kind: PageKind,
    /// What its header says: rows, or dictionary entries.
    pub value_count: i64,
    /// Encoding of the values, as Parquet's number.
    pub encoding: i64,
    /// Encoding of the definition levels, as Parquet's number.
    pub level_encoding: i64,
    /// Levels and values.
    pub body: Vec<u8>,
    /// What its header says of its size uncompressed, if not the truth.
    pub uncompressed_size: Option<i64>,
    /// What its header says of its size compressed, if not the truth.
    pub compressed_size: Option<i64>,
    /// What stands in the file instead of the compressed body.
    pub compressed: Option<Vec<u8>>,
    /// What else its header has.
    pub style: HeaderStyle,
}

/// A chunk, and where its parts are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenChunk {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Bytes of headers and uncompressed bodies, as the file's footer has it.
    pub uncompressed_bytes: u64,
    /// Encodings that occur.
    pub encodings: Encodings,
    /// Where page headers are.
    pub headers: Vec<Range<usize>>,
    /// Entries of the dictionary; `None` when there is none.
    pub dictionary_entries: Option<u64>,
    /// Whether a data page is not dictionary-encoded.
    pub has_plain_pages: bool,
}

/// Writes a chunk.
pub fn write_chunk(values: &Values, layout: &ChunkLayout) -> WrittenChunk {
    assemble(&draft(values, layout), layout)
}

/// Lays values out as pages.
pub fn draft(values: &Values, layout: &ChunkLayout) -> Vec<Page> {
    let dictionary = Dictionary::of(values, &layout.values);
    let mut pages = Vec::new();
    if let Some(dictionary) = &dictionary {
        pages.push(Page {
            kind: PageKind::Dictionary,
            value_count: signed(dictionary.entries.len()),
            encoding: match layout.values {
                ValueLayout::Dictionary { label: Encoding::PlainDictionary, .. } => {
                    number(Encoding::PlainDictionary)
                }
                _ => number(Encoding::Plain),
            },
            body: dictionary.entries.concat(),
            ..Page::empty(layout)
        });
    }
    let mut at = 0;
    for (index, rows) in layout.page_sizes(values.len()).into_iter().enumerate() {
        if layout.index_pages && index == 1 {
            pages.push(Page { kind: PageKind::Index, body: vec![0xa5; 37], ..Page::empty(layout) });
        }
        let dictionary = dictionary.as_ref().filter(|_| layout.values.is_dictionary(index));
        pages.push(data_page(values, at..at + rows, layout, dictionary));
        at += rows;
    }
    pages
}

/// Compresses pages and puts headers before them.
pub fn assemble(pages: &[Page], layout: &ChunkLayout) -> WrittenChunk {
    let mut chunk = WrittenChunk {
        bytes: Vec::new(),
        uncompressed_bytes: 0,
        encodings: Encodings::SCAN,
        headers: Vec::new(),
        dictionary_entries: None,
        has_plain_pages: false,
    };
    for page in pages {
        let body = match (&page.compressed, layout.codec) {
            (Some(bytes), _) => bytes.clone(),
            // Not written yet: such a chunk is damaged.
            (None, Codec::Uncompressed | Codec::Lz4Raw) => page.body.clone(),
            (None, Codec::Snappy) => snappy::compress(&page.body, layout.snappy),
        };
        let header = thrift::page_header(page, &body);
        let start = chunk.bytes.len();
        chunk.headers.push(start..start + header.len());
        chunk.uncompressed_bytes += (header.len() + page.body.len()) as u64;
        chunk.bytes.extend_from_slice(&header);
        chunk.bytes.extend_from_slice(&body);
        match page.kind {
            PageKind::Dictionary => {
                chunk.dictionary_entries = Some(page.value_count.unsigned_abs());
            }
            PageKind::Data => {
                chunk.has_plain_pages |= page.encoding == number(Encoding::Plain);
            }
            PageKind::Index => {}
        }
    }
    chunk
}

impl Page {
    fn empty(layout: &ChunkLayout) -> Self {
        Self {
            kind: PageKind::Data,
            value_count: 0,
            encoding: number(Encoding::Plain),
            level_encoding: number(Encoding::Rle),
            body: Vec::new(),
            uncompressed_size: None,
            compressed_size: None,
            compressed: None,
            style: layout.header,
        }
    }
}

/// Parquet's number of an encoding.
pub fn number(encoding: Encoding) -> i64 {
    i64::from(encoding.code())
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Distinct values in the order in which they come.
struct Dictionary {
    entries: Vec<Vec<u8>>,
    codes: HashMap<Vec<u8>, u64>,
    width: u8,
}

impl Dictionary {
    fn of(values: &Values, layout: &ValueLayout) -> Option<Self> {
        let ValueLayout::Dictionary { unused_entries, width_min, .. } = *layout else {
            return None;
        };
        let mut entries: Vec<Vec<u8>> = Vec::new();
        let mut codes = HashMap::new();
        for row in 0..values.len() {
            if let Some(plain) = values.plain(row) {
                codes.entry(plain).or_insert_with_key(|plain| {
                    entries.push(plain.clone());
                    entries.len() as u64 - 1
                });
            }
        }
        for index in 0..unused_entries {
            let plain = match values {
                Values::Int32(_) => vec![0x11; 4],
                Values::Int64(_) => vec![0x22; 8],
                Values::Bytes(_) => [&[3, 0, 0, 0][..], &[b'u'; 3]].concat(),
            };
            // In front, so that the codes that are used are large.
            entries.insert(usize::from(index), plain);
        }
        let shift = u64::from(unused_entries);
        codes.values_mut().for_each(|code| *code += shift);
        let most = entries.len().saturating_sub(1) as u64;
        let needed = u8::try_from(64 - most.leading_zeros()).unwrap_or(64);
        Some(Self { entries, codes, width: needed.max(width_min) })
    }
}

fn data_page(
    values: &Values,
    rows: Range<usize>,
    layout: &ChunkLayout,
    dictionary: Option<&Dictionary>,
) -> Page {
    let mut body = Vec::new();
    if layout.presence == Presence::Optional {
        let levels: Vec<u64> = rows.clone().map(|row| u64::from(values.is_valid(row))).collect();
        let encoded = encode_runs(&levels, 1, layout.level_runs);
        let length = u32::try_from(encoded.len()).unwrap_or(u32::MAX);
        body.extend_from_slice(&length.to_le_bytes());
        body.extend_from_slice(&encoded);
    }
    let plain = rows.clone().filter_map(|row| values.plain(row));
    let encoding = match (dictionary, &layout.values) {
        (Some(dictionary), ValueLayout::Dictionary { label, index_runs, .. }) => {
            let codes: Vec<u64> = plain.map(|plain| dictionary.codes[&plain]).collect();
            body.push(dictionary.width);
            body.extend_from_slice(&encode_runs(&codes, dictionary.width, *index_runs));
            *label
        }
        _ => {
            plain.for_each(|plain| body.extend_from_slice(&plain));
            Encoding::Plain
        }
    };
    Page {
        value_count: signed(rows.len()),
        encoding: number(encoding),
        body,
        ..Page::empty(layout)
    }
}
