// SPDX-License-Identifier: Apache-2.0
//! Describes how a chunk is written: the choices that writers make.

use nearscan_command::{Codec, Encoding};

use super::{direct::Direct, runs::Runs, snappy::Style};
use crate::{random::Random, values::Presence};

/// Whether values are encoded as dictionary indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueLayout {
    /// They are not: [`ChunkLayout::direct`] says how.
    Plain,
    /// As indexes into a dictionary page.
    Dictionary {
        /// [`Encoding::RleDictionary`] or its old name.
        label: Encoding,
        /// The encoding of indexes.
        index_runs: Runs,
        /// Entries in front of those that are used.
        unused_entries: u16,
        /// Bits of an index, if they need fewer.
        width_min: u8,
        /// Data pages after which the writer gave up and wrote direct ones.
        pages_max: usize,
    },
}

impl ValueLayout {
    /// The layout that writers choose by default.
    pub const DICTIONARY: Self = Self::Dictionary {
        label: Encoding::RleDictionary,
        index_runs: Runs::Mixed,
        unused_entries: 0,
        width_min: 0,
        pages_max: usize::MAX,
    };

    /// Whether data page `page` uses the dictionary.
    pub(crate) const fn is_dictionary(&self, page: usize) -> bool {
        match self {
            Self::Plain => false,
            Self::Dictionary { pages_max, .. } => page < *pages_max,
        }
    }
}

/// The optional fields of a page header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderStyle {
    /// Nothing.
    Bare,
    /// Statistics with minimum, maximum and null count.
    Statistics,
    /// A checksum, which a drive may check.
    Checksum,
    /// Fields that this version of Parquet does not know, of every thrift type.
    UnknownFields,
    /// Nothing, but the last field is first.
    Backwards,
}

impl HeaderStyle {
    pub(crate) const ALL: [Self; 5] =
        [Self::Bare, Self::Statistics, Self::Checksum, Self::UnknownFields, Self::Backwards];
}

/// Which version of a data page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageVersion {
    /// Levels behind a length, compressed together with the values.
    One,
    /// Levels as they are; their length is in the header.
    Two(Flag),
}

/// The way in which a page of version 2 declares whether its values are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// Not at all, which means that they are, if the chunk has a codec.
    Absent,
    /// They are, if the chunk has a codec.
    Compressed,
    /// They are not, whatever the chunk says.
    Uncompressed,
}

impl Flag {
    pub(crate) const ALL: [Self; 3] = [Self::Absent, Self::Compressed, Self::Uncompressed];
}

/// The encoding of definition levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Levels {
    /// As runs and groups.
    Hybrid(Runs),
    /// A bit each, the highest first, as old writers did; in pages of version 1 only, pages of
    /// version 2 get [`Runs::Mixed`].
    BitPacked,
}

/// The layout of a written chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkLayout {
    /// Whether there are definition levels.
    pub presence: Presence,
    /// The compression of pages.
    pub codec: Codec,
    /// The encoding of values.
    pub values: ValueLayout,
    /// The encoding of values in pages that have no dictionary indexes.
    pub direct: Direct,
    /// Version of the data pages.
    pub version: PageVersion,
    /// The encoding of definition levels.
    pub levels: Levels,
    /// Rows of the pages, over and over; 0 is an empty page. Without any there is one page.
    pub page_rows: Vec<usize>,
    /// The optional fields of page headers.
    pub header: HeaderStyle,
    /// The way in which the codec compresses.
    pub packing: Style,
    /// Whether an index page is among the data pages.
    pub index_pages: bool,
}

impl ChunkLayout {
    /// One uncompressed plain page, nullable.
    pub const fn plain() -> Self {
        Self {
            presence: Presence::Optional,
            codec: Codec::Uncompressed,
            values: ValueLayout::Plain,
            direct: Direct::Plain,
            version: PageVersion::One,
            levels: Levels::Hybrid(Runs::Mixed),
            page_rows: Vec::new(),
            header: HeaderStyle::Bare,
            packing: Style::Common,
            index_pages: false,
        }
    }

    /// The default of common writers: a dictionary, Snappy, statistics.
    pub fn common() -> Self {
        Self {
            codec: Codec::Snappy,
            values: ValueLayout::DICTIONARY,
            header: HeaderStyle::Statistics,
            ..Self::plain()
        }
    }

    /// The same without definition levels.
    pub fn required(self) -> Self {
        Self { presence: Presence::Required, ..self }
    }

    /// The same with pages of these sizes.
    pub fn paged(self, page_rows: &[usize]) -> Self {
        Self { page_rows: page_rows.to_vec(), ..self }
    }

    /// Any layout; `presence` says whether levels are needed.
    pub fn random(random: &mut Random, presence: Presence) -> Self {
        let values = match random.below(4) {
            0 => ValueLayout::Plain,
            1 => ValueLayout::DICTIONARY,
            _ => ValueLayout::Dictionary {
                label: random.pick(&[Encoding::RleDictionary, Encoding::PlainDictionary]),
                index_runs: random.pick(&Runs::ALL),
                unused_entries: random.pick(&[0, 0, 1, 17]),
                width_min: random.pick(&[0, 0, 3, 8, 13, 20]),
                pages_max: random.pick(&[usize::MAX, usize::MAX, 0, 1, 2]),
            },
        };
        let page_rows = match random.below(4) {
            0 => vec![],
            1 => vec![1 + random.below(40), 0, 1 + random.below(700)],
            _ => vec![1 + random.below(3000), 1 + random.below(100)],
        };
        let version = match random.below(3) {
            0 => PageVersion::Two(random.pick(&Flag::ALL)),
            _ => PageVersion::One,
        };
        let levels = match random.below(6) {
            0 => Levels::BitPacked,
            _ => Levels::Hybrid(random.pick(&Runs::ALL)),
        };
        Self {
            presence,
            codec: random.pick(&[Codec::Snappy, Codec::Snappy, Codec::Lz4Raw, Codec::Uncompressed]),
            values,
            direct: Direct::random(random),
            version,
            levels,
            page_rows,
            header: random.pick(&HeaderStyle::ALL),
            packing: random.pick(&[Style::Common, Style::Literals, Style::Forms]),
            index_pages: random.one_in(10),
        }
    }

    /// The rows of each page.
    pub(crate) fn page_sizes(&self, rows: usize) -> Vec<usize> {
        if self.page_rows.iter().all(|size| *size == 0) {
            return vec![rows];
        }
        let mut sizes = Vec::new();
        let mut left = rows;
        for size in self.page_rows.iter().cycle() {
            if left == 0 {
                break;
            }
            sizes.push(left.min(*size));
            left -= left.min(*size);
        }
        sizes
    }
}
