// SPDX-License-Identifier: Apache-2.0
// Packs merged rows into blocks of columns and writes them. They are never joined into one array:
// the blocks are the segments of the result.
#pragma once

#include "../common/packing.hpp"
#include "order.hpp"

namespace nearscan {
namespace merging {

/// A block while it fills.
struct block_rows {
  i128 value[OUTPUT_COLUMNS_MAX][BLOCK_ROWS_MAX];
  uint64_t valid[OUTPUT_COLUMNS_MAX][BLOCK_ROWS_MAX / 64];
  uint64_t string_bytes[OUTPUT_COLUMNS_MAX];
  uint32_t rows;

  static uint64_t string_length(i128 value) { return reference_length(value); }
};

inline void clear_block(const merge_plan& plan, block_rows& block) {
  block.rows = 0;
CLEAR_COLUMNS:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    block.string_bytes[column] = 0;
  CLEAR_VALID:
    for (uint32_t word = 0; word < BLOCK_ROWS_MAX / 64; word++) {
#pragma HLS PIPELINE II = 1
      block.valid[column][word] = 0;
    }
  }
}

/// Puts a row into the block, which has room for one.
inline void put_row(const merge_plan& plan, const row_state& row, block_rows& block) {
PUT_COLUMNS:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    const uint64_t valid = (row.valid >> column) & 1;
    block.value[column][block.rows] = row.value[column];
    block.valid[column][block.rows / 64] |= valid << (block.rows % 64);
    if (plan.width[column] == WIDTH_BYTES) {
      block.string_bytes[column] += reference_length(row.value[column]);
    }
  }
  block.rows++;
}

/// The position in the result.
struct result_writer {
  /// The next word of the output.
  uint64_t at;
  uint32_t checksum;
  uint64_t rows_out;
  uint64_t blocks;

  result_writer() : at(RESULT_RECORD_BYTES / 8), checksum(CRC32C_START), rows_out(0), blocks(0) {}

  void put(uint64_t* output, uint64_t word) {
    output[at] = word;
    at++;
    checksum = crc32c_word(checksum, word);
  }
};

inline uint64_t block_bytes(const merge_plan& plan, const block_rows& block) {
  uint64_t total = BLOCK_HEADER_BYTES;
COLUMN_BYTES:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    total += column_bytes(block.rows, plan.width[column], block.string_bytes[column]);
  }
  return total;
}

/// Copies the strings of a column one behind the other. Those of one input lie so already, so a
/// line window of each is held.
inline void write_strings(const merge_plan& plan, const block_rows& block, uint32_t column,
                          line_port& input, line_store& store, uint64_t* output,
                          const volatile uint32_t* cancel, result_writer& writer, progress& done) {
  byte_packer packer;
STRINGS:
  for (uint32_t row = 0; row < block.rows; row++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1024
    const uint64_t length = reference_length(block.value[column][row]);
    const uint64_t first = reference_at(block.value[column][row]);
    const uint32_t source = reference_input(block.value[column][row]);
    limit_window(store, WINDOW_COPIES + source, plan.inputs[source].end);
  STRING_BYTES:
    for (uint64_t at = 0; at < length; at += 8) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 2097152
      const uint64_t left = length - at;
      const uint32_t count = left < 8 ? static_cast<uint32_t>(left) : 8;
      const uint64_t bytes =
          read_bytes(input, store, WINDOW_COPIES + source, first + at, left, done);
      packer.put<uint64_t*>(bytes, count, writer, output);
      if (!may_go_on(done, 1, plan.steps_max, cancel)) return;
    }
  }
  packer.finish<uint64_t*>(writer, output);
}

/// Writes the block and clears it, if there is room.
inline void flush_block(const merge_plan& plan, block_rows& block, line_port& input,
                        line_store& store, uint64_t* output, const volatile uint32_t* cancel,
                        result_writer& writer, progress& done) {
  if (block.rows == 0) return;
  const uint64_t bytes = block_bytes(plan, block);
  // A block's size and its ends of strings are 32 bits wide.
  if (bytes > 0xffffffffu || bytes > plan.bytes_max - writer.at * 8) {
    fail(done, STATUS_OUTPUT_FULL);
    return;
  }
  const block_header header = {block.rows, static_cast<uint32_t>(bytes), 0};
  uint64_t words[BLOCK_HEADER_BYTES / 8];
  store_block_header(header, words);
BLOCK_HEADER_WORDS:
  for (uint32_t word = 0; word < BLOCK_HEADER_BYTES / 8; word++) {
#pragma HLS PIPELINE II = 1
    writer.put(output, words[word]);
  }
WRITE_COLUMNS:
  for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
  WRITE_VALID:
    for (uint32_t word = 0; word < (block.rows + 63) / 64; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      writer.put(output, block.valid[column][word]);
    }
    write_values<uint64_t*>(block, column, plan.width[column], writer, output);
    if (plan.width[column] == WIDTH_BYTES) {
      write_strings(plan, block, column, input, store, output, cancel, writer, done);
    }
    if (!may_go_on(done, block.rows, plan.steps_max, cancel)) return;
  }
  writer.blocks++;
  writer.rows_out += block.rows;
  clear_block(plan, block);
}

}  // namespace merging
}  // namespace nearscan
