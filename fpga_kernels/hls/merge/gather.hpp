// SPDX-License-Identifier: Apache-2.0
// Gathers the rows that are put out into blocks, packed as they will be written: of each column its
// words of values, or of the ends of strings, and its words of validity. Strings stay in the input
// until the block is written; their addresses are kept beside the block.
//
// There are two blocks, so that one is written while the other fills. A value is packed in each
// iteration: its word is written again with every value of it.
#pragma once

#include "allocation.hpp"

namespace nearscan {
namespace merging {

/// The columns of a block: where each begins, and what is packed of it right now.
struct gathered_columns {
  uint64_t word[OUTPUT_COLUMNS_MAX];
  uint64_t valid[OUTPUT_COLUMNS_MAX];
  uint64_t end[OUTPUT_COLUMNS_MAX];
};

/// Where a column's words begin in a block, and its strings.
struct gathered_places {
  uint16_t word[OUTPUT_COLUMNS_MAX];
  uint16_t string[OUTPUT_COLUMNS_MAX];
};

inline void place_columns(const column_widths& columns, uint32_t block_rows,
                          gathered_places& places) {
  uint32_t word = 0;
  uint32_t string = 0;
PLACE_COLUMNS:
  for (uint32_t column = 0; column < columns.count; column++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    places.word[column] = static_cast<uint16_t>(word);
    places.string[column] = static_cast<uint16_t>(string);
    word += block_rows * value_bytes(columns.width[column]) / 8;
    if (columns.width[column] == WIDTH_BYTES) string += block_rows;
  }
}

/// Packs the rows of a block; true behind the last row.
inline bool fill_block(const gather_plan& plan, const gathered_places& places, value_stream& values,
                       value_block& words, validity_block& validity, reference_block& strings,
                       block_token& block) {
  gathered_columns packed;
  uint32_t column = 0;
  bool is_high = false;
  bool is_last = false;
VALUES:
  while (block.rows < plan.block_rows) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 40960
    const value_token value = values.read();
    if (value.last) {
      is_last = true;
      break;
    }
    const uint8_t width = plan.columns.width[column];
    const uint32_t row = block.rows;
    const uint32_t bytes = value_bytes(width);
    const uint32_t bit = row % 64;
    const uint64_t valid =
        (bit == 0 ? 0 : packed.valid[column]) | static_cast<uint64_t>(value.valid ? 1 : 0) << bit;
    packed.valid[column] = valid;
    validity[column * VALID_WORDS + row / 64] = valid;
    const uint64_t end = (row == 0 ? 0 : packed.end[column]) + value.length;
    packed.end[column] = end;
    const uint64_t number = width == WIDTH_BYTES ? end : value.word;
    const uint32_t shift = bytes >= 8 ? 0 : row * bytes % 8 * 8;
    const uint64_t word = (shift == 0 ? 0 : packed.word[column]) | low_bits(number, 8 * bytes)
                                                                       << shift;
    packed.word[column] = word;
    words[places.word[column] + row * bytes / 8 + (is_high ? 1 : 0)] = word;
    if (width == WIDTH_BYTES) {
      strings[places.string[column] + row] = string_reference{value.word, value.length};
      block.too_large = block.too_large || (end >> 32) != 0;
    }
    is_high = width == WIDTH_W128 && !is_high;
    if (is_high) continue;
    column = column + 1 == plan.columns.count ? 0 : column + 1;
    if (column == 0) block.rows++;
  }
  return is_last;
}

/// Process: values of rows in, blocks out.
inline void gather(const gather_plan& plan, value_stream& values, value_blocks& words_out,
                   validity_blocks& validity_out, reference_blocks& strings_out,
                   block_stream& blocks, block_stream& string_blocks) {
  gathered_places places;
  place_columns(plan.columns, plan.block_rows, places);
  bool is_last = false;
BLOCKS:
  while (!is_last) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 33554432
    block_token block = block_token();
    {
      hls::write_lock<value_block> words(words_out);
      hls::write_lock<validity_block> validity(validity_out);
      hls::write_lock<reference_block> strings(strings_out);
      is_last = fill_block(plan, places, values, words, validity, strings, block);
    }
    blocks.write(block);
    string_blocks.write(block);
  }
  block_token end = block_token();
  end.last = true;
  blocks.write(end);
  string_blocks.write(end);
}

}  // namespace merging
}  // namespace nearscan
