// SPDX-License-Identifier: Apache-2.0
// The inputs of a merge: results of scans, opened and validated block by block.
//
// A result is checked as it is read: its header with the header's checksum, that its blocks tile
// the payload, that columns tile their block, that strings lie within their bytes, and how many
// rows there are. The checksum of the payload is left out: it runs over bytes that are read column
// by column, and they have not left the memory that the scan wrote them to.
//
// `Reader` gives words of device memory: a line that is held, or a process that is asked.
#pragma once

#include "lines.hpp"

namespace nearscan {
namespace merging {

/// The place of a column of the block, in words, and the bytes of all its strings.
struct column_place {
  uint64_t validity;
  uint64_t values;
  uint64_t strings;
  uint32_t string_bytes;
};

/// The position in one input.
struct input_cursor {
  /// The next block, and the end of the payload, in words.
  uint64_t next_block;
  uint64_t end;
  /// Rows of the blocks to come.
  uint64_t rows_left;
  /// The first row of the block, and of the next one.
  uint64_t block_row;
  uint64_t next_row;
  /// Rows of the block.
  uint32_t rows;
  column_place columns[OUTPUT_COLUMNS_MAX];
};

/// The rows that the headers of all inputs state.
struct input_rows {
  uint64_t rows_in;
  uint64_t rows_kept;
};

/// Reads the header of a result; nothing is read behind one that is not in order.
inline void open_input(line_port& input, const input_range& range, line_store& store,
                       input_cursor& cursor, input_rows& rows, progress& done) {
  uint64_t words[RESULT_RECORD_BYTES / 8];
  cursor.block_row = 0;
  cursor.next_row = 0;
  cursor.rows = 0;
  cursor.rows_left = 0;
READ_HEADER:
  for (uint32_t word = 0; word < RESULT_RECORD_BYTES / 8; word++) {
#pragma HLS PIPELINE off
    words[word] = read_word(input, store, USE_HEAD, range.first + word, done);
  }
  const result_record header = load_result_record(words, 0);
  result_record unsigned_header = header;
  unsigned_header.header_checksum = 0;
  store_result_record(unsigned_header, words);
  const uint64_t room = (range.end - range.first) * 8 - RESULT_RECORD_BYTES;
  if (header.magic != RESULT_MAGIC || header.format_major != FORMAT_MAJOR ||
      header.header_checksum != header_checksum(words) || header.status > STATUS_NOT_SORTED ||
      header.payload_bytes % 8 != 0 || header.payload_bytes > room ||
      header.rows_in > UNIT_ROWS_MAX || header.rows_out > UNIT_ROWS_MAX) {
    fail(done, STATUS_CORRUPT);
    return;
  }
  if (header.status != STATUS_OK) {
    fail(done, header.status);
    return;
  }
  cursor.next_block = range.first + RESULT_RECORD_BYTES / 8;
  cursor.end = cursor.next_block + header.payload_bytes / 8;
  cursor.rows_left = header.rows_out;
  rows.rows_in += header.rows_in;
  rows.rows_kept += header.rows_out;
}

/// Whether this can be the header of a block with so many words and rows left.
inline bool is_block(const block_header& header, uint64_t words_left, uint64_t rows_left) {
  if (words_left < BLOCK_HEADER_BYTES / 8) return false;
  if (header.rows == 0 || header.rows > BLOCK_ROWS_MAX || header.rows > rows_left) return false;
  return header.bytes % 8 == 0 && header.bytes / 8 <= words_left;
}

/// Reads the header of a block at word `at`; false when it has more rows than are left, or leads
/// out of the payload.
template <typename Reader>
inline bool read_block_header(Reader& reader, uint64_t at, uint64_t end, uint64_t rows_left,
                              block_header& header) {
  uint64_t words[BLOCK_HEADER_BYTES / 8];
  if (end - at < BLOCK_HEADER_BYTES / 8) return false;
  words[0] = reader.read(USE_HEAD, at);
  words[1] = 0;
  header = load_block_header(words, 0);
  return is_block(header, end - at, rows_left);
}

/// Finds the columns of the next block; false when it contradicts itself.
template <typename Reader>
inline bool open_block(const column_widths& columns, Reader& reader, input_cursor& cursor) {
  block_header header;
  uint64_t at = cursor.next_block;
  if (!read_block_header(reader, at, cursor.end, cursor.rows_left, header)) return false;
  const uint64_t end = at + header.bytes / 8;
  at += BLOCK_HEADER_BYTES / 8;
BLOCK_COLUMNS:
  for (uint32_t column = 0; column < columns.count; column++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    column_place& place = cursor.columns[column];
    place.validity = at;
    place.values = at + (header.rows + 63) / 64;
    at = place.values + (header.rows * value_bytes(columns.width[column]) + 7) / 8;
    if (at > end) return false;
    place.strings = at;
    place.string_bytes = 0;
    if (columns.width[column] == WIDTH_BYTES) {
      const uint32_t last = header.rows - 1;
      const uint64_t ends = reader.read(USE_VALUES, place.values + last / 2);
      place.string_bytes = static_cast<uint32_t>(ends >> (32 * (last % 2)));
      at += (static_cast<uint64_t>(place.string_bytes) + 7) / 8;
      if (at > end) return false;
    }
  }
  if (at != end) return false;
  cursor.next_block = end;
  cursor.block_row = cursor.next_row;
  cursor.next_row += header.rows;
  cursor.rows = header.rows;
  cursor.rows_left -= header.rows;
  return true;
}

}  // namespace merging
}  // namespace nearscan
