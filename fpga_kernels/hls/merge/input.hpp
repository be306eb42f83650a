// SPDX-License-Identifier: Apache-2.0
// The inputs of a merge: results of scans, read row by row, believing nothing.
//
// A result is checked as it is read: its header with the header's checksum, that its blocks tile
// the payload, that columns tile their block, that strings lie within their bytes, and how many
// rows there are. The checksum of the payload is left out: it runs over bytes that are read column
// by column, and they have not left the memory that the scan wrote them to.
#pragma once

#include "order.hpp"

namespace nearscan {
namespace merging {

/// The place of a column of the block, in words.
struct column_place {
  uint64_t validity;
  uint64_t values;
  uint64_t strings;
  /// Bytes of strings in all, and where the last string ended.
  uint32_t string_bytes;
  uint32_t string_end;
};

/// The position in one input.
struct input_cursor {
  /// Which one it is.
  uint32_t index;
  /// Behind the last row, or never begun.
  bool ended;
  /// Rows that are still to be read: those of a part, or as many as come.
  uint64_t wanted;
  /// The next block, and the end of the payload, in words.
  uint64_t next_block;
  uint64_t end;
  /// Rows of the blocks to come.
  uint64_t rows_left;
  /// The first row of the block, and of the next one.
  uint64_t block_row;
  uint64_t next_row;
  /// The next row of the block, of so many.
  uint32_t row;
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
  cursor.ended = true;
  cursor.wanted = ~static_cast<uint64_t>(0);
  cursor.block_row = 0;
  cursor.next_row = 0;
  cursor.row = 0;
  cursor.rows = 0;
READ_HEADER:
  for (uint32_t word = 0; word < RESULT_RECORD_BYTES / 8; word++) {
    words[word] = read_word(input, store, WINDOW_HEADERS, range.first + word, done);
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
  cursor.ended = false;
  cursor.next_block = range.first + RESULT_RECORD_BYTES / 8;
  cursor.end = cursor.next_block + header.payload_bytes / 8;
  cursor.rows_left = header.rows_out;
  rows.rows_in += header.rows_in;
  rows.rows_kept += header.rows_out;
}

/// Reads the header of a block at word `at`; false when it has more rows than are left, or leads
/// out of the payload.
inline bool read_block_header(line_port& input, line_store& store, uint64_t at, uint64_t end,
                              uint64_t rows_left, block_header& header, progress& done) {
  uint64_t words[BLOCK_HEADER_BYTES / 8];
  if (end - at < BLOCK_HEADER_BYTES / 8) return false;
  words[0] = read_word(input, store, WINDOW_HEADERS, at, done);
  words[1] = read_word(input, store, WINDOW_HEADERS, at + 1, done);
  header = load_block_header(words, 0);
  if (header.rows == 0 || header.rows > BLOCK_ROWS_MAX || header.rows > rows_left) return false;
  return header.bytes % 8 == 0 && header.bytes / 8 <= end - at;
}

/// Finds the columns of the next block; false when it contradicts itself.
inline bool open_block(const merge_plan& plan, line_port& input, input_cursor& cursor,
                       line_store& store, progress& done) {
  block_header header;
  uint64_t at = cursor.next_block;
  if (!read_block_header(input, store, at, cursor.end, cursor.rows_left, header, done)) {
    return false;
  }
  const uint64_t end = at + header.bytes / 8;
  at += BLOCK_HEADER_BYTES / 8;
BLOCK_COLUMNS:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    column_place& place = cursor.columns[column];
    place.validity = at;
    place.values = at + (header.rows + 63) / 64;
    at = place.values + (header.rows * value_bytes(plan.width[column]) + 7) / 8;
    if (at > end) return false;
    limit_window(store, column_window(cursor.index, column, PART_VALIDITY), place.values);
    limit_window(store, column_window(cursor.index, column, PART_VALUES), at);
    place.strings = at;
    place.string_bytes = 0;
    place.string_end = 0;
    if (plan.width[column] == WIDTH_BYTES) {
      const uint32_t last = header.rows - 1;
      const uint64_t ends =
          read_word(input, store, column_window(cursor.index, column, PART_VALUES),
                    place.values + last / 2, done);
      place.string_bytes = static_cast<uint32_t>(ends >> (32 * (last % 2)));
      at += (static_cast<uint64_t>(place.string_bytes) + 7) / 8;
      if (at > end) return false;
      limit_window(store, column_window(cursor.index, column, PART_STRINGS), at);
    }
  }
  if (at != end) return false;
  cursor.next_block = end;
  cursor.block_row = cursor.next_row;
  cursor.next_row += header.rows;
  cursor.row = 0;
  cursor.rows = header.rows;
  cursor.rows_left -= header.rows;
  return true;
}

/// The value of a row of input `index` in one column; false when it contradicts the format.
inline bool read_value(uint8_t width, uint32_t row, bool valid, uint32_t index, line_port& input,
                       column_place& place, line_store& store, uint32_t window, i128* value,
                       progress& done) {
  const uint32_t bytes = value_bytes(width);
  const uint64_t word =
      read_word(input, store, window, place.values + static_cast<uint64_t>(row) * bytes / 8, done);
  const uint64_t low = low_bits(word >> (8 * (row * bytes % 8)), 8 * bytes);
  if (width == WIDTH_BYTES) {
    const uint32_t end = static_cast<uint32_t>(low);
    const uint32_t start = place.string_end;
    if (end < start || end > place.string_bytes) return false;
    place.string_end = end;
    *value = valid ? make_reference(place.strings * 8 + start, end - start, index) : 0;
    return true;
  }
  if (width == WIDTH_W128) {
    const uint64_t high =
        read_word(input, store, window, place.values + static_cast<uint64_t>(row) * 2 + 1, done);
    *value = make_i128(low, high);
  } else if (width == WIDTH_W64) {
    *value = static_cast<int64_t>(low);
  } else if (width == WIDTH_W32) {
    *value = static_cast<int32_t>(low);
  } else {
    *value = static_cast<i128>(low);
    if (low > 1) return false;
  }
  if (!valid) *value = 0;
  return true;
}

/// Fetches the beginning of a string that rows are ordered by.
inline void read_prefix(line_port& input, i128 reference, line_store& store, uint32_t window,
                        uint64_t prefix[PREFIX_WORDS], progress& done) {
  const uint64_t length = reference_length(reference);
PREFIX_WORDS_READ:
  for (uint32_t i = 0; i < PREFIX_WORDS; i++) {
// A word may have to be waited for.
#pragma HLS PIPELINE off
    if (i * 8 >= length) break;
    const uint64_t at = reference_at(reference) + i * 8;
    prefix[i] = byte_swap(read_bytes(input, store, window, at, length - i * 8, done));
  }
}

/// Reads one column of the row where the cursor is; false when it contradicts the format.
inline bool read_column(const merge_plan& plan, line_port& input, uint32_t column,
                        input_cursor& cursor, line_store& store, row_state& row, progress& done) {
  column_place& place = cursor.columns[column];
  const uint64_t bits = read_word(input, store, column_window(cursor.index, column, PART_VALIDITY),
                                  place.validity + cursor.row / 64, done);
  const bool valid = ((bits >> (cursor.row % 64)) & 1) != 0;
  row.valid |= static_cast<uint32_t>(valid) << column;
  return read_value(plan.width[column], cursor.row, valid, cursor.index, input, place, store,
                    column_window(cursor.index, column, PART_VALUES), &row.value[column], done);
}

/// Fetches the beginnings of all strings that rows are ordered by.
inline void read_prefixes(const merge_plan& plan, line_port& input, uint32_t index,
                          line_store& store, row_state& row, progress& done) {
READ_PREFIXES:
  for (uint32_t key = 0; key < plan.key_count; key++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4
    const uint32_t column = plan.keys[key].column;
    if (plan.width[column] == WIDTH_BYTES) {
      read_prefix(input, row.value[column], store, column_window(index, column, PART_STRINGS),
                  row.prefix[key], done);
    }
  }
}

/// Reads the next row of an input; `cursor.ended` behind the last.
inline void next_row(const merge_plan& plan, line_port& input, input_cursor& cursor,
                     line_store& store, row_state& row, progress& done) {
  if (cursor.wanted == 0) {
    cursor.ended = true;
    return;
  }
  cursor.wanted--;
  if (cursor.row == cursor.rows) {
    const bool at_end = cursor.next_block == cursor.end;
    if (at_end || !open_block(plan, input, cursor, store, done)) {
      // Fewer rows than the header promised, or a block that is none.
      if (!at_end || cursor.rows_left != 0) fail(done, STATUS_CORRUPT);
      cursor.ended = true;
      return;
    }
  }
  row.valid = 0;
READ_COLUMNS:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    if (!read_column(plan, input, column, cursor, store, row, done)) {
      fail(done, STATUS_CORRUPT);
      cursor.ended = true;
      return;
    }
  }
  read_prefixes(plan, input, cursor.index, store, row, done);
  done.values_read += plan.column_count;
  cursor.row++;
}

}  // namespace merging
}  // namespace nearscan
