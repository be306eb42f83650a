// SPDX-License-Identifier: Apache-2.0
//! Defines the records of a result. Scans and merges answer with the same ones, so a result can be
//! the input of a merge.

use super::{Field, Layout, Record};

record! {
    /// The start of a result.
    ResultRecord, RESULT_HEADER_BYTES = 256 {
        /// `NSRS`
        0 magic: u32,
        /// as in the command
        4 format_major: u16,
        /// as in the command
        6 format_minor: u16,
        /// 0 ok; anything else voids the payload
        8 status: u32,
        /// CRC-32C of these 256 bytes with this field zero
        12 header_checksum: u32,
        /// CRC-32C of the payload
        16 payload_checksum: u32,
        /// column that the status is about; all ones for none
        20 detail_column: u32,
        /// page in that column's chunk
        24 detail_page: u32,
        /// as in the command
        28 attempt: u32,
        /// byte in that column's chunk
        32 detail_offset: u64,
        /// as in the command
        40 command_id_low: u64,
        /// as in the command
        48 command_id_high: u64,
        /// as in the command
        56 epoch: u64,
        /// rows read
        64 rows_in: u64,
        /// rows that the predicate and the key filters kept
        72 rows_kept: u64,
        /// rows in the payload: kept rows, or groups
        80 rows_out: u64,
        /// bytes after this header
        88 payload_bytes: u64,
        /// first row of the unit that is not in the payload; equal to rows_in when complete
        96 continuation_row: u64,
        /// iterations of the filter
        104 filter_iterations: u32,
        /// iterations of the projection
        108 project_iterations: u32,
        /// iterations of the aggregates
        112 aggregate_iterations: u32,
        /// iterations of the stage that writes the payload
        116 write_iterations: u32,
        /// iterations of the busiest decoder on data pages
        120 decode_iterations_lane_max: u32,
        /// iterations of the busiest lane on a dictionary page of its own: the most of its stages
        124 dictionary_iterations_lane_max: u32,
        /// 64-byte lines read from the input
        128 lines_read: u64,
        /// pages, all columns
        136 pages: u32,
        /// iterations of the busiest page reader: bytes of headers and words of data pages
        140 page_iterations_lane_max: u32,
        /// bytes after decompression, all columns
        144 bytes_decompressed: u64,
        /// tokens of at most 8 bytes that were decompressed, all columns
        152 snappy_tokens: u32,
        /// 8-byte words of scratch that dictionaries of loaders took
        156 loader_words: u32,
        /// iterations of the busiest decompressor on data pages: tokens, and pieces passed on
        160 snappy_tokens_lane_max: u32,
        /// iterations of the busiest loader: to read, decompress or decode its dictionary pages
        164 loader_iterations_max: u32,
        /// values decoded, all columns
        168 values_decoded: u64,
        /// steps of the busiest decoder: rows, entries, words of strings, bytes that are matched
        176 decode_steps_lane_max: u64,
        /// dictionary entries, all columns
        184 dictionary_entries: u32,
        /// iterations of the busier of the stages that read scratch and the entry store
        188 memory_read_iterations: u32,
        /// look-ups in dictionaries that did not fit on chip
        192 dictionary_reads: u64,
        /// rows the predicate looked at
        200 rows_filtered: u32,
        /// requests to write scratch
        204 memory_writes: u32,
        /// rows the projection worked on
        208 rows_projected: u32,
        /// requests to read scratch
        212 memory_reads: u32,
        /// rows the aggregates worked on
        216 rows_aggregated: u32,
        /// 16-byte pairs of words of scratch that dictionaries of lanes took
        220 dictionary_pairs: u32,
        /// 8-byte words of strings fetched, to be compared and for the output
        224 string_words: u64,
        /// 8-byte words of payload
        232 payload_words: u64,
        /// blocks of payload
        240 blocks: u32,
        /// iterations of the stages that write scratch: a pair of words of lanes, a word of loaders
        244 memory_write_iterations: u32,
        /// 8-byte words of key filters loaded
        248 key_words: u32,
        /// of the requests to read scratch those that were to be answered before the next was known
        252 memory_waits: u32,
    }
}

record! {
    /// The start of a block of the payload.
    BlockHeader, BLOCK_HEADER_BYTES = 16 {
        /// rows
        0 rows: u32,
        /// bytes of the block, this header included, a multiple of 8
        4 bytes: u32,
        /// form of its columns: 0 plain, 1 compact
        8 form: u64,
    }
}

record! {
    /// The start of a column of a compact block.
    CompactColumnRecord, COMPACT_COLUMN_BYTES = 16 {
        /// how its values follow
        0 packing: u8,
        /// bits of each difference, length or code
        1 bits: u8,
        /// of codes: bits of the length of each new string; else zero
        2 length_bits: u8,
        /// bit 0: a row is null, and the validity of all follows
        3 flags: u8,
        /// of codes: strings that are new; else zero
        4 strings: u32,
        /// what differences are counted from, two's complement; of codes zero
        8 base: u64,
    }
}
