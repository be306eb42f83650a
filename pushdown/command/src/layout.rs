// SPDX-License-Identifier: Apache-2.0
//! Defines every record of the format.
//!
//! A record is a fixed number of bytes; its fields tile it exactly, in order, each aligned to its
//! own size, little endian. From this table come the encoders, the decoders, the C++ header and
//! `docs/command-format.md`.
//!
//! A command is
//!
//! ```text
//! CommandHeader (128 B) | SectionEntry x section_count (16 B each) | sections, 64-byte aligned
//! ```
//!
//! behind which the bits of its key filters stand, and a result is
//!
//! ```text
//! ResultHeader (256 B) | blocks: BlockHeader (16 B), then column by column
//! ```

mod numbers;

pub use numbers::{compact, merge, opcode, operand, output_mode, section, sort, top, uses};
pub use result::{
    BLOCK_HEADER_BYTES, BlockHeader, COMPACT_COLUMN_BYTES, CompactColumnRecord,
    RESULT_HEADER_BYTES, ResultRecord,
};

/// `NSCM`, first word of a command.
pub const COMMAND_MAGIC: u32 = u32::from_le_bytes(*b"NSCM");
/// `NSFR`, first word of a stored fragment.
pub const FRAGMENT_MAGIC: u32 = u32::from_le_bytes(*b"NSFR");
/// `NSRS`, first word of a result.
pub const RESULT_MAGIC: u32 = u32::from_le_bytes(*b"NSRS");
/// A reader refuses another major version.
pub const FORMAT_MAJOR: u16 = 1;
/// A reader accepts any minor version: what it must not skip is marked critical.
pub const FORMAT_MINOR: u16 = 6;
/// Bit of [`SectionEntry::flags`]: a reader that does not know this section must refuse the
/// command.
pub const SECTION_CRITICAL: u16 = 1;
/// An operand or index that points nowhere.
pub const NONE: u16 = 0xffff;

/// One field of a record.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name, in Rust and in C++.
    pub name: &'static str,
    /// Its place in the record.
    pub offset: u32,
    /// Its size: 1, 2, 4 or 8.
    pub bytes: u32,
    /// One line of documentation.
    pub doc: &'static str,
}

/// The shape of a record.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Its name in Rust.
    pub name: &'static str,
    /// Its size.
    pub bytes: u32,
    /// Its fields, tiling it.
    pub fields: &'static [Field],
}

impl Layout {
    /// Whether the fields tile the record and are aligned.
    const fn is_tiled(&self) -> bool {
        let mut at = 0;
        let mut index = 0;
        while index < self.fields.len() {
            let field = &self.fields[index];
            if field.offset != at || !field.offset.is_multiple_of(field.bytes) {
                return false;
            }
            at += field.bytes;
            index += 1;
        }
        at == self.bytes
    }
}

/// A record: bytes in, bytes out.
pub(crate) trait Record: Sized {
    const LAYOUT: Layout;

    /// Appends the record's bytes.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads a record from the start of `bytes`, which hold at least [`Layout::bytes`].
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// Declares a record, its size constant and its coders.
macro_rules! record {
    (
        $(#[doc = $doc:literal])*
        $name:ident, $size_name:ident = $size:literal {
            $(#[doc = $fdoc:literal] $offset:literal $field:ident: $ty:ident,)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name {
            $(#[doc = $fdoc] pub $field: $ty,)*
        }

        #[doc = concat!("Bytes of a [`", stringify!($name), "`].")]
        pub const $size_name: u32 = $size;

        impl Record for $name {
            const LAYOUT: Layout = Layout {
                name: stringify!($name),
                bytes: $size,
                fields: &[$(Field {
                    name: stringify!($field),
                    offset: $offset,
                    bytes: $ty::BITS / 8,
                    doc: $fdoc,
                },)*],
            };

            fn encode(&self, out: &mut Vec<u8>) {
                $(out.extend_from_slice(&self.$field.to_le_bytes());)*
            }

            fn decode(bytes: &[u8]) -> Option<Self> {
                Some(Self {
                    $($field: $ty::from_le_bytes(
                        bytes.get($offset..$offset + size_of::<$ty>())?.try_into().ok()?,
                    ),)*
                })
            }
        }

        const _: () = assert!(<$name as Record>::LAYOUT.is_tiled());
    };
}

mod result;

record! {
    /// The start of a command.
    CommandHeader, HEADER_BYTES = 128 {
        /// `NSCM`
        0 magic: u32,
        /// readers refuse another major version
        4 format_major: u16,
        /// readers accept any minor version
        6 format_minor: u16,
        /// bytes of the whole command
        8 total_bytes: u32,
        /// CRC-32C of the whole command with this field zero
        12 checksum: u32,
        /// what to do: 1 scan, 2 merge, 3 application, 4 graph, 5 write
        16 opcode: u16,
        /// which kernel of that kind: 0, there is one of each
        18 kernel_kind: u16,
        /// entries of the section directory that follows
        20 section_count: u16,
        /// bit 0: rows must be exact, not a superset
        22 flags: u16,
        /// how often this command was tried before
        24 attempt: u32,
        /// whose quota it counts against
        28 tenant: u32,
        /// identity of the command, low half
        32 command_id_low: u64,
        /// identity of the command, high half
        40 command_id_high: u64,
        /// query it belongs to, low half
        48 query_id_low: u64,
        /// query it belongs to, high half
        56 query_id_high: u64,
        /// resets of the drive the sender knew of
        64 epoch: u64,
        /// hash of the fragment or of the merge: quarantine, traces
        72 fragment_hash: u64,
        /// time left when it was sent, in ns; not a time of day
        80 deadline_ns: u64,
        /// steps after which the kernel gives up
        88 steps_max: u64,
        /// rows of the unit, or of all units that are merged
        96 rows: u64,
        /// bytes of device memory beside input and output
        104 scratch_bytes: u64,
        /// larger is sooner
        112 priority: u32,
        /// zero
        116 reserved0: u32,
        /// zero
        120 reserved1: u64,
    }
}

record! {
    /// One entry of the section directory.
    SectionEntry, SECTION_BYTES = 16 {
        /// which section
        0 kind: u16,
        /// bit 0: critical
        2 flags: u16,
        /// records in it
        4 count: u32,
        /// from the start of the command, a multiple of 64
        8 offset: u32,
        /// bytes in it
        12 bytes: u32,
    }
}

record! {
    /// The source of a range of bytes.
    InputRecord, INPUT_BYTES = 64 {
        /// 1 device range, 2 file range, 3 object range, 4 NVMe extents, 5 output of a command
        0 kind: u16,
        /// log2 of the logical block size of NVMe extents
        2 block_shift: u16,
        /// NVMe namespace, or the output port of the other command
        4 port: u32,
        /// lease, file, object, or the low half of the other command's identity
        8 handle_low: u64,
        /// partition of an object, or the high half of the other command's identity
        16 handle_high: u64,
        /// first byte (of NVMe extents: bytes to skip in the first block)
        24 offset: u64,
        /// bytes
        32 length: u64,
        /// size of the file or object as the sender knew it
        40 version_size: u64,
        /// modification time in ns since 1970, or generation of the object
        48 version_stamp: u64,
        /// first record in the extents section
        56 extent_first: u32,
        /// records in the extents section
        60 extent_count: u32,
    }
}

record! {
    /// A run of NVMe blocks.
    ExtentRecord, EXTENT_BYTES = 16 {
        /// first logical block
        0 block_first: u64,
        /// logical blocks
        8 block_count: u64,
    }
}

record! {
    /// One column chunk and what is known of it.
    ColumnRecord, COLUMN_BYTES = 64 {
        /// which input holds the chunk
        0 input: u16,
        /// stored type, numbered as in Parquet
        2 physical_type: u8,
        /// 0 required, 1 optional
        3 definition_level_max: u8,
        /// codec, numbered as in Parquet
        4 codec: u8,
        /// 0 integer, 1 bytes
        5 value_kind: u8,
        /// encodings that data pages may have, a bit for each Parquet number
        6 encodings: u16,
        /// first byte of the chunk in its input
        8 offset: u64,
        /// bytes of the chunk, dictionary page and page headers included
        16 length: u64,
        /// its pages uncompressed, headers included
        24 uncompressed_bytes: u64,
        /// scratch of this lane, first byte; a multiple of 16
        32 scratch_offset: u64,
        /// scratch of this lane, bytes, of which multiples of 16 are used
        40 scratch_bytes: u64,
        /// first string test of this column
        48 test_first: u16,
        /// string tests of this column
        50 test_count: u16,
        /// bit 0: group codes are needed; bit 1: the bytes of strings are needed
        52 uses: u16,
        /// zero
        54 reserved0: u16,
        /// bytes of the dictionary page at the chunk's start and of its header; 0: not known
        56 dictionary_bytes: u32,
        /// zero
        60 reserved1: u32,
    }
}

record! {
    /// One step of a program; its value is the operand `step i` of later ones.
    StepRecord, STEP_BYTES = 16 {
        /// operation
        0 op: u8,
        /// width that an arithmetic result must fit in, 0 for truth values
        1 width: u8,
        /// first operand
        2 a: u16,
        /// second operand
        4 b: u16,
        /// third operand: the upper bound of BETWEEN, the last literal of IN
        6 c: u16,
        /// zero
        8 reserved: u64,
    }
}

record! {
    /// A number.
    LiteralRecord, LITERAL_BYTES = 16 {
        /// low half
        0 low: u64,
        /// high half, two's complement
        8 high: u64,
    }
}

record! {
    /// A test of a column of byte strings against literals.
    TestRecord, TEST_BYTES = 16 {
        /// column
        0 column: u16,
        /// operation
        2 op: u16,
        /// first literal in the strings section
        4 string_first: u32,
        /// literals
        8 string_count: u32,
        /// zero
        12 reserved: u32,
    }
}

record! {
    /// A byte string in the bytes section.
    StringRecord, STRING_BYTES = 8 {
        /// first byte in the bytes section
        0 offset: u32,
        /// bytes
        4 length: u32,
    }
}

record! {
    /// One aggregate slot.
    AggregateRecord, AGGREGATE_BYTES = 16 {
        /// function
        0 function: u8,
        /// width that the state must fit in
        1 width: u8,
        /// what is aggregated; none for COUNT(*)
        2 operand: u16,
        /// only rows for which this is true; none for all
        4 filter: u16,
        /// zero
        6 reserved0: u16,
        /// zero
        8 reserved1: u64,
    }
}

record! {
    /// One group key.
    KeyRecord, KEY_BYTES = 8 {
        /// a column, or with a range also a step of the projection
        0 operand: u16,
        /// zero
        2 reserved0: u16,
        /// zero
        4 reserved1: u32,
    }
}

record! {
    /// The numbers that a group key can be.
    KeyRangeRecord, KEY_RANGE_BYTES = 16 {
        /// which key, counted from 0
        0 key: u16,
        /// zero
        2 reserved: u16,
        /// how many numbers
        4 count: u32,
        /// the least of them, two's complement
        8 first: u64,
    }
}

record! {
    /// The reading of the stored values of one column as numbers.
    ReadingRecord, READING_BYTES = 8 {
        /// how bytes stand for a number
        0 rule: u8,
        /// bits that the number must fit in; 0 for as many as are stored
        1 bits: u8,
        /// bytes of one value of fixed length, else 0
        2 length: u16,
        /// zero
        4 reserved: u32,
    }
}

record! {
    /// Which rows can be among the first.
    TopRecord, TOP_BYTES = 16 {
        /// the number that they are ordered by
        0 operand: u16,
        /// bit 0: greater numbers come first; bit 1: nulls come first
        2 flags: u16,
        /// how many rows are asked for
        4 count: u32,
        /// zero
        8 reserved: u64,
    }
}

record! {
    /// A set of keys that the numbers of a column are looked up in.
    KeyFilterRecord, KEY_FILTER_BYTES = 32 {
        /// column
        0 column: u16,
        /// 1 bitmap, 2 Bloom filter
        2 kind: u16,
        /// bytes of its bits, a multiple of 32
        4 bytes: u32,
        /// first number of the bitmap, or least key; two's complement
        8 first: u64,
        /// last number of the bitmap, or greatest key; two's complement
        16 last: u64,
        /// CRC-32C of its bits
        24 checksum: u32,
        /// zero
        28 reserved: u32,
    }
}

record! {
    /// The way in which results of scans are merged.
    MergeRecord, MERGE_BYTES = 8 {
        /// bit 0: a row that equals the one before it in all keys is left out
        0 flags: u16,
        /// zero
        2 reserved0: u16,
        /// zero
        4 reserved1: u32,
    }
}

record! {
    /// One key of the order that rows are merged in.
    SortKeyRecord, SORT_KEY_BYTES = 8 {
        /// column of the output
        0 column: u16,
        /// bit 0: greater values come first; bit 1: nulls come first
        2 flags: u16,
        /// zero
        4 reserved: u32,
    }
}

record! {
    /// Which part of a merge one unit does.
    MergePartRecord, MERGE_PART_BYTES = 8 {
        /// number of the part, from 0 on
        0 part: u16,
        /// parts that the merge is cut into
        2 parts: u16,
        /// zero
        4 reserved: u32,
    }
}

record! {
    /// The form and the destination of the result.
    OutputRecord, OUTPUT_BYTES = 64 {
        /// 1 aggregate states, 2 rows
        0 mode: u16,
        /// 1 host buffer, 2 device range, 3 appended to an object
        2 kind: u16,
        /// form that blocks may have: 0 plain, 1 also compact
        4 form: u32,
        /// lease or object
        8 handle: u64,
        /// first byte in the device range
        16 offset: u64,
        /// bytes there is room for, header included
        24 bytes_max: u64,
        /// rows after which the rest may be left out; all ones for no limit
        32 rows_max: u64,
        /// zero
        40 reserved1: u64,
        /// zero
        48 reserved2: u64,
        /// zero
        56 reserved3: u64,
    }
}

record! {
    /// One column of the output.
    OutputColumnRecord, OUTPUT_COLUMN_BYTES = 8 {
        /// where it comes from, in rows mode; none for states and merges
        0 operand: u16,
        /// width of its values
        2 width: u16,
        /// zero
        4 reserved: u32,
    }
}

/// Every record, in the order of the documentation.
pub const RECORDS: &[Layout] = &[
    CommandHeader::LAYOUT,
    SectionEntry::LAYOUT,
    InputRecord::LAYOUT,
    ExtentRecord::LAYOUT,
    ColumnRecord::LAYOUT,
    StepRecord::LAYOUT,
    LiteralRecord::LAYOUT,
    TestRecord::LAYOUT,
    StringRecord::LAYOUT,
    AggregateRecord::LAYOUT,
    KeyRecord::LAYOUT,
    KeyRangeRecord::LAYOUT,
    ReadingRecord::LAYOUT,
    TopRecord::LAYOUT,
    MergeRecord::LAYOUT,
    SortKeyRecord::LAYOUT,
    MergePartRecord::LAYOUT,
    KeyFilterRecord::LAYOUT,
    OutputRecord::LAYOUT,
    OutputColumnRecord::LAYOUT,
    ResultRecord::LAYOUT,
    BlockHeader::LAYOUT,
    CompactColumnRecord::LAYOUT,
];
