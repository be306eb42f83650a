// SPDX-License-Identifier: Apache-2.0
//! Writes Parquet column chunks from literal values.
//!
//! A chunk is made in two moves: [`draft`] lays values out as [`Page`]s with uncompressed bodies,
//! and [`assemble`] compresses them and puts headers before them. Cases of damage change the drafts
//! in between, or the bytes afterwards.

mod direct;
mod layout;
pub mod lz4;
mod runs;
pub mod snappy;
mod thrift;
mod varint;

use std::{collections::HashMap, ops::Range};

use nearscan_command::{Codec, Encoding, Encodings};

use crate::values::{Presence, Values};

pub use direct::{Delta, Direct, Tail};
pub use layout::{ChunkLayout, Flag, HeaderStyle, Levels, PageVersion, ValueLayout};
pub use runs::{Runs, encode_runs};

/// The kind of a page, numbered as in Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// Values, version 1.
    Data,
    /// To be skipped.
    Index,
    /// The dictionary.
    Dictionary,
    /// Values, version 2.
    DataV2,
}

/// The fields that only headers of data pages of version 2 have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecondVersion {
    /// Rows that are null.
    pub null_count: i64,
    /// Rows.
    pub row_count: i64,
    /// Bytes of definition levels.
    pub level_bytes: i64,
    /// Bytes of repetition levels.
    pub repetition_bytes: i64,
    /// Whether it says that its values are compressed.
    pub flag: Flag,
}

/// A page before it is compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The kind of the page.
    pub kind: PageKind,
    /// The count in its header: rows, or dictionary entries.
    pub value_count: i64,
    /// Encoding of the values, as Parquet's number.
    pub encoding: i64,
    /// Encoding of the definition levels, as Parquet's number.
    pub level_encoding: i64,
    /// The fields that only headers of version 2 have.
    pub second: SecondVersion,
    /// Levels and values.
    pub body: Vec<u8>,
    /// Bytes of levels in the body.
    pub levels: usize,
    /// The uncompressed size that its header states, if it is wrong.
    pub uncompressed_size: Option<i64>,
    /// The compressed size that its header states, if it is wrong.
    pub compressed_size: Option<i64>,
    /// The bytes in place of the compressed body (in version 2 behind the levels).
    pub compressed: Option<Vec<u8>>,
    /// The optional fields of its header.
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
    /// The ranges of bytes of the page headers.
    pub headers: Vec<Range<usize>>,
    /// Entries of the dictionary; `None` when there is none.
    pub dictionary_entries: Option<u64>,
    /// Bytes of a dictionary page at the start and of its header; 0 when there is none.
    pub dictionary_bytes: u32,
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
            body: direct::plain(&dictionary.entries, values.physical_type()),
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
        dictionary_bytes: 0,
        has_plain_pages: false,
    };
    let mut members: Vec<Encoding> = Vec::new();
    for page in pages {
        let body = page.in_file(layout);
        let header = thrift::page_header(page, &body);
        let start = chunk.bytes.len();
        chunk.headers.push(start..start + header.len());
        chunk.uncompressed_bytes += (header.len() + page.body.len()) as u64;
        chunk.bytes.extend_from_slice(&header);
        chunk.bytes.extend_from_slice(&body);
        match page.kind {
            PageKind::Dictionary => {
                chunk.dictionary_entries = Some(page.value_count.unsigned_abs());
                if start == 0 {
                    chunk.dictionary_bytes = u32::try_from(chunk.bytes.len()).unwrap_or(0);
                }
            }
            PageKind::Data | PageKind::DataV2 => {
                let is_indexed = [Encoding::RleDictionary, Encoding::PlainDictionary]
                    .map(number)
                    .contains(&page.encoding);
                chunk.has_plain_pages |= !is_indexed;
                let named = [page.encoding, page.level_encoding].map(u8::try_from);
                let known = named.into_iter().flatten().map(Encoding::from_code);
                members.extend(known.flatten());
            }
            PageKind::Index => {}
        }
    }
    let used = Encodings::of(members).bits();
    chunk.encodings = Encodings::from_bits(chunk.encodings.bits() | used).unwrap_or_default();
    chunk
}

impl Page {
    fn empty(layout: &ChunkLayout) -> Self {
        Self {
            kind: PageKind::Data,
            value_count: 0,
            encoding: number(Encoding::Plain),
            level_encoding: number(Encoding::Rle),
            second: SecondVersion {
                null_count: 0,
                row_count: 0,
                level_bytes: 0,
                repetition_bytes: 0,
                flag: Flag::Absent,
            },
            body: Vec::new(),
            levels: 0,
            uncompressed_size: None,
            compressed_size: None,
            compressed: None,
            style: layout.header,
        }
    }

    /// The body as it is in the file.
    fn in_file(&self, layout: &ChunkLayout) -> Vec<u8> {
        let is_second = self.kind == PageKind::DataV2;
        let kept = if is_second { self.levels.min(self.body.len()) } else { 0 };
        let (levels, values) = self.body.split_at(kept);
        let codec = match (is_second, self.second.flag) {
            (true, Flag::Uncompressed) => Codec::Uncompressed,
            _ => layout.codec,
        };
        let packed = match (&self.compressed, codec) {
            (Some(bytes), _) => bytes.clone(),
            (None, Codec::Uncompressed) => values.to_vec(),
            (None, Codec::Snappy) => snappy::compress(values, layout.packing),
            (None, Codec::Lz4Raw) => lz4::compress(values, layout.packing),
            (None, Codec::Gzip | Codec::Brotli | Codec::Zstd) => {
                unreachable!("no layout has a codec that the kernel does not read")
            }
        };
        [levels, &packed].concat()
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
            if let Some(stored) = values.stored(row) {
                codes.entry(stored).or_insert_with_key(|stored| {
                    entries.push(stored.clone());
                    entries.len() as u64 - 1
                });
            }
        }
        // A value that is allowed; no row needs to have it.
        let unused = match values {
            Values::Boolean(_) => vec![1],
            Values::Int32(_) | Values::Narrow { .. } => vec![0x11, 0, 0, 0],
            Values::Float(_) => vec![0x11; 4],
            Values::Int64(_) | Values::Unsigned64(_) | Values::Double(_) => vec![0x22; 8],
            Values::Bytes(_) => vec![b'u'; 3],
            Values::Fixed { length, .. } => vec![0; usize::from(*length)],
        };
        // In front, so that the codes that are used are large.
        let shift = u64::from(unused_entries);
        entries.splice(..0, std::iter::repeat_n(unused, usize::from(unused_entries)));
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
    let is_second = matches!(layout.version, PageVersion::Two(_));
    let (mut body, level_encoding) = match layout.presence {
        Presence::Required => (Vec::new(), Encoding::Rle),
        Presence::Optional => {
            let levels: Vec<u64> =
                rows.clone().map(|row| u64::from(values.is_valid(row))).collect();
            encode_levels(&levels, layout.levels, is_second)
        }
    };
    let levels = body.len();
    let stored: Vec<Vec<u8>> = rows.clone().filter_map(|row| values.stored(row)).collect();
    let encoding = match (dictionary, &layout.values) {
        (Some(dictionary), ValueLayout::Dictionary { label, index_runs, .. }) => {
            let codes: Vec<u64> = stored.iter().map(|stored| dictionary.codes[stored]).collect();
            body.push(dictionary.width);
            body.extend_from_slice(&encode_runs(&codes, dictionary.width, *index_runs));
            *label
        }
        _ => {
            let physical_type = values.physical_type();
            let direct = layout.direct.fitting(physical_type);
            body.extend_from_slice(&direct.encode(&stored, physical_type));
            direct.encoding()
        }
    };
    Page {
        kind: if is_second { PageKind::DataV2 } else { PageKind::Data },
        value_count: signed(rows.len()),
        encoding: number(encoding),
        level_encoding: number(level_encoding),
        second: SecondVersion {
            null_count: signed(rows.len() - stored.len()),
            row_count: signed(rows.len()),
            level_bytes: signed(levels),
            repetition_bytes: 0,
            flag: match layout.version {
                PageVersion::One => Flag::Absent,
                PageVersion::Two(flag) => flag,
            },
        },
        body,
        levels,
        ..Page::empty(layout)
    }
}

/// Definition levels as they are in a page, and what version 1 says of them.
fn encode_levels(levels: &[u64], style: Levels, is_second: bool) -> (Vec<u8>, Encoding) {
    let hybrid = |runs| encode_runs(levels, 1, runs);
    match (style, is_second) {
        (Levels::Hybrid(runs), true) => (hybrid(runs), Encoding::Rle),
        (Levels::BitPacked, true) => (hybrid(Runs::Mixed), Encoding::Rle),
        (Levels::Hybrid(runs), false) => {
            let encoded = hybrid(runs);
            let length = u32::try_from(encoded.len()).unwrap_or(u32::MAX);
            ([&length.to_le_bytes()[..], &encoded].concat(), Encoding::Rle)
        }
        (Levels::BitPacked, false) => {
            let byte = |group: &[u64]| {
                let bits = group.iter().enumerate().map(|(at, bit)| bit << (7 - at));
                u8::try_from(bits.sum::<u64>()).unwrap_or(u8::MAX)
            };
            (levels.chunks(8).map(byte).collect(), Encoding::BitPacked)
        }
    }
}
