// SPDX-License-Identifier: Apache-2.0
//! Defines every limit of the format, with its derivation.
//!
//! Both sides hold these: the C++ header repeats them and the kernel refuses what is above them.
//! On-chip figures refer to the SmartSSD's KU15P: a BRAM36 holds 4 KiB, a URAM 32 KiB (as 64-bit
//! words).

use crate::layout;

/// Bytes of a whole command without the bits of key filters: the kernel copies it on chip before it
/// starts (16 BRAM36).
pub const COMMAND_BYTES_MAX: u32 = 64 * 1024;

/// Sections of one command: the known kinds, and as many again for later versions.
pub const SECTIONS_MAX: u32 = 32;

/// Columns of a command = decode lanes of the pipeline. TPC-H's widest scan reads 7, `SELECT *`
/// over its widest table 16.
pub const COLUMNS_MAX: u32 = 16;

/// Inputs of a command: one for each column at most.
pub const INPUTS_MAX: u32 = COLUMNS_MAX;

/// Extents of all NVMe inputs: a chunk of 64 MiB in pieces of 1 MiB.
pub const EXTENTS_MAX: u32 = 64;

/// Steps of a program, unrolled in space by the kernel. TPC-H Q19's part of `lineitem` needs 15.
pub const STEPS_MAX: u32 = 32;

/// Literals of a command: IN lists of a few hundred integers (16 B each in 1 BRAM36 a bank of 256).
pub const LITERALS_MAX: u32 = 1024;

/// String tests on one column: their outcomes travel beside each value as a 16-bit mask.
pub const TESTS_PER_COLUMN_MAX: u32 = 16;

/// The first columns of a fragment, of which a kernel does string tests: so many lanes have what
/// tests take of the part. It answers tests of others with
/// [`Status::Unsupported`](crate::Status::Unsupported).
pub const TEST_COLUMNS_MAX: u32 = 3;

/// String tests of a command.
pub const TESTS_MAX: u32 = 64;

/// String literals of a command.
pub const STRINGS_MAX: u32 = 1024;

/// Bytes of one string literal. The kernel keeps this prefix of each value on chip for comparing,
/// so an order against a longer literal could not be decided.
pub const STRING_BYTES_MAX: u32 = 128;

/// Bytes and `_` of a pattern of LIKE, `%` not counted: the matcher is an automaton of 64 states, a
/// bit each, and the last one is the end.
pub const PATTERN_PLACES_MAX: u32 = 63;

/// Patterns of LIKE on one column; TPC-H Q22 needs 7 prefixes. Their automata run side by side, and
/// each has 256 entries of 64 bits, a BRAM36, in every lane.
pub const PATTERNS_PER_COLUMN_MAX: u32 = 8;

/// Rows that a top can ask for: a sorted chain of 128 registers of 129 bits (a number and whether
/// it is null) and as many comparators, some 17,000 flip-flops or 2 % of the part.
pub const TOP_MAX: u32 = 128;

/// Bytes of one value of fixed length: a decimal of 38 digits.
pub const FIXED_BYTES_MAX: u32 = 16;

/// String literals of all tests on one column, as their lane keeps them.
pub const STRINGS_PER_COLUMN_MAX: u32 = 256;

/// Bytes of the string literals of one column, each padded to 8: one BRAM36 a lane.
pub const STRING_BYTES_PER_COLUMN_MAX: u32 = 4096;

/// Bytes of all string literals: a quarter of a command.
pub const BYTES_MAX: u32 = 16 * 1024;

/// Bytes of a column's name as carried beside the fragment.
pub const NAME_BYTES_MAX: u32 = 255;

/// Aggregate slots: Q1 has 6 sums (AVG shares none here) and 5 counts.
pub const AGGREGATES_MAX: u32 = 16;

/// Group keys. Their dictionary codes, or places in their ranges, are combined into one group
/// number.
pub const KEYS_MAX: u32 = 4;

/// Groups of one unit, counting one for NULL in each key: 1024 groups x 16 slots x 16 B = 256 KiB,
/// eight URAM a private copy. Q1 needs (3 + 1) x (2 + 1) = 12; the months of 80 years are 960, the
/// days of two years 731.
pub const GROUPS_MAX: u32 = 1024;

/// Output columns: all keys and all slots, or all columns.
pub const OUTPUT_COLUMNS_MAX: u32 = KEYS_MAX + AGGREGATES_MAX;

/// Rows of an output block: 1024 rows x 20 columns x 16 B = 320 KiB, 10 URAM.
pub const BLOCK_ROWS_MAX: u32 = 1024;

/// Strings of one column that codes of a compact result refer to: all entries of a dictionary that
/// is on chip.
pub const CODED_STRINGS_MAX: u32 = DICTIONARY_ENTRIES_ON_CHIP;

/// Rows decoded, tested and moved together: one group of Parquet's bit-packing.
pub const ROWS_PER_WORD: u32 = 8;

/// Rows of a unit. Row groups are larger than this nowhere in practice (2^31 rows of one byte = 2
/// GiB), and 32-bit row counters suffice below it.
pub const UNIT_ROWS_MAX: u64 = 1 << 31;

/// Bytes of one column chunk: what a 4 GiB device memory can hold beside its output.
pub const CHUNK_BYTES_MAX: u64 = 2 << 30;

/// Dictionary entries of a column. Indexes are at most 32 bits wide in Parquet, but no writer puts
/// more than this into one row group: the entries alone would be 128 MiB.
pub const DICTIONARY_ENTRIES_MAX: u32 = 1 << 24;

/// Dictionary entries kept on chip for each lane (8 B value + 2 B tests: one URAM and a quarter of
/// a second). Larger dictionaries lie in device memory, one read for each lookup.
pub const DICTIONARY_ENTRIES_ON_CHIP: u32 = 4096;

/// Bytes of a page's definition levels: some 130,000 rows bit-packed, four block RAMs a lane.
pub const LEVEL_BYTES_MAX: u32 = 16 * 1024;

/// Miniblocks of a block of differences: a byte for the width of each, on chip. Common writers have
/// 4; as many as this are there in 4096 values at the finest.
pub const DELTA_MINIBLOCKS_MAX: u32 = 128;

/// Reach of a Snappy copy: 64 KiB of history on chip. Common encoders compress in blocks of 64 KiB
/// and never reach further. One of LZ4 has 16 bits, so it always fits.
pub const SNAPPY_DISTANCE_MAX: u32 = 64 * 1024;

/// Bytes of one page header. Statistics of two long strings fit; what does not is refused.
pub const PAGE_HEADER_BYTES_MAX: u32 = 16 * 1024;

/// Bytes of one value of a byte array: the reference that travels has 24 bits for it.
pub const VALUE_BYTES_MAX: u32 = (1 << 24) - 1;

/// Results that one merge command takes: a tournament of 16 inputs plays four rounds a row, and 16
/// inputs x 20 columns x 3 parts x 8 lines of 64 B that are read ahead are 480 KiB, 120 BRAM36.
pub const MERGE_INPUTS_MAX: u32 = 16;

/// Keys that rows are merged by. The beginnings of strings are on chip for two rows of each input:
/// 16 inputs x 2 rows x 4 keys x [`STRING_BYTES_MAX`] are 16 KiB, four BRAM36.
pub const MERGE_KEYS_MAX: u32 = 4;

/// Parts into which a merge is cut, each on a separate unit: as many as the memory bank of a
/// SmartSSD has ports.
pub const MERGE_PARTS_MAX: u32 = 15;

/// Key filters of a command: the joins above one scan, as far as they drop rows.
pub const KEY_FILTERS_MAX: u32 = 4;

/// Bytes of the bits of a command's key filters: four URAMs side by side, of which an iteration
/// reads a block of 32 bytes on each of two ports. More keys than their million bits are about
/// hardly drop a row.
pub const KEY_BITS_BYTES_MAX: u32 = 128 * 1024;

/// Bytes of a scan command with the bits behind it.
pub const SCAN_BYTES_MAX: u32 = COMMAND_BYTES_MAX + KEY_BITS_BYTES_MAX;

/// Bytes of a whole merge command: its scans, and as much as one of them for its own sections. What
/// a kernel gets of it has no scans and fits [`COMMAND_BYTES_MAX`].
pub const MERGE_COMMAND_BYTES_MAX: u32 = MERGE_INPUTS_MAX * SCAN_BYTES_MAX + COMMAND_BYTES_MAX;

/// Alignment of a section in a command, one line of a 512-bit port.
pub const SECTION_ALIGN: u32 = 64;

/// Cycles after which a kernel stops, whatever its timeout is: 50 ms at 300 MHz, and 20 times that
/// for row groups far larger than usual.
pub const STEPS_DEFAULT_MAX: u64 = 300_000_000;

// A command with every section full fits.
const _: () = assert!(
    layout::HEADER_BYTES
        + SECTIONS_MAX * layout::SECTION_BYTES
        + INPUTS_MAX * layout::INPUT_BYTES
        + EXTENTS_MAX * layout::EXTENT_BYTES
        + COLUMNS_MAX * layout::COLUMN_BYTES
        + 2 * STEPS_MAX * layout::STEP_BYTES
        + LITERALS_MAX * layout::LITERAL_BYTES
        + TESTS_MAX * layout::TEST_BYTES
        + STRINGS_MAX * layout::STRING_BYTES
        + AGGREGATES_MAX * layout::AGGREGATE_BYTES
        + KEYS_MAX * (layout::KEY_BYTES + layout::KEY_RANGE_BYTES)
        + layout::TOP_BYTES
        + KEY_FILTERS_MAX * layout::KEY_FILTER_BYTES
        + COLUMNS_MAX * layout::READING_BYTES
        + OUTPUT_COLUMNS_MAX * layout::OUTPUT_COLUMN_BYTES
        + layout::OUTPUT_BYTES
        + BYTES_MAX
        + COLUMNS_MAX * (NAME_BYTES_MAX + 2)
        + SECTIONS_MAX * SECTION_ALIGN
        <= COMMAND_BYTES_MAX
);
// An input of a merge is an input of a command.
const _: () = assert!(MERGE_INPUTS_MAX <= INPUTS_MAX && MERGE_KEYS_MAX <= OUTPUT_COLUMNS_MAX);
// The outcome mask of string tests is 16 bits wide.
const _: () = assert!(TESTS_PER_COLUMN_MAX == 16);
// A word of rows is one bit-packed group, and a block is whole words.
const _: () = assert!(ROWS_PER_WORD == 8 && BLOCK_ROWS_MAX.is_multiple_of(ROWS_PER_WORD));
// An operand has 13 bits for its index.
const _: () = assert!(LITERALS_MAX <= 1 << 13 && STEPS_MAX <= 1 << 13 && COLUMNS_MAX <= 1 << 13);
