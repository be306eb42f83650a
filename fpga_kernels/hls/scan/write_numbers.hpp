// SPDX-License-Identifier: Apache-2.0
// Packs what stands for the rows of a column into parts of the result, for plain and compact blocks
// the same way: the low bits of a number, which may be its difference from a base, side by side.
//
// Iterations: eight rows of at most 32 bits, four wider ones, two of 128 bits; four words of
// validity.
#pragma once

#include "block.hpp"

namespace nearscan {

/// What stands for a row: its number, its string's length, the end of that behind the strings
/// before, its string's code, or both halves of its number.
enum packed_kind : uint8_t {
  PACKED_NUMBERS = 0,
  PACKED_LENGTHS = 1,
  PACKED_ENDS = 2,
  PACKED_CODES = 3,
  PACKED_WIDE = 4,
};

/// How the rows of a column are packed: what is packed less `base`, in so many bits.
struct row_packing {
  packed_kind kind;
  uint8_t bits;
  uint64_t base;

  bool is_wide() const { return kind == PACKED_WIDE; }
  /// Rows that are packed per iteration.
  uint32_t rows_at_once() const { return is_wide() ? 2 : bits <= 32 ? ROWS : ROWS / 2; }
};

/// As the values of a plain block are.
inline row_packing plain_packing(uint8_t width) {
  const packed_kind kind = width == WIDTH_BYTES  ? PACKED_ENDS
                           : width == WIDTH_W128 ? PACKED_WIDE
                                                 : PACKED_NUMBERS;
  return row_packing{kind, static_cast<uint8_t>(width == WIDTH_W128 ? 64 : 8 * value_bytes(width)),
                     0};
}

/// Eight rows on their way out.
typedef hls::vector<uint64_t, ROWS> packed_rows;

/// What stands for the rows of word `word`; 0 for those that are null and behind the last. Strings
/// before end at `end`.
inline packed_rows take_rows(const block_buffer& block, uint32_t column, const row_packing& how,
                             uint32_t word, uint64_t& end) {
  const uint64_t valid = block.valid_word(column, word / 8) >> (word % 8 * ROWS);
  packed_rows taken = packed_rows();
  uint64_t bytes = 0;
TAKE_ROWS:
  for (uint32_t row = 0; row < static_cast<uint32_t>(ROWS); row++) {
#pragma HLS UNROLL
    const uint32_t memory = column % SIDES * ROWS + row;
    const uint32_t place = block_buffer::place(column, word);
    const uint64_t low = block.low[memory][place];
    const bool is_there = word * ROWS + row < block.rows;
    const bool is_valid = is_there && ((valid >> row) & 1) != 0;
    const uint64_t length = is_valid ? reference_length(low) : 0;
    bytes += length;
    const uint64_t number = how.kind == PACKED_CODES     ? block.high[memory][place]
                            : how.kind == PACKED_LENGTHS ? length
                                                         : low;
    const uint64_t difference = is_valid ? low_bits(number - how.base, how.bits) : 0;
    taken[row] = how.kind != PACKED_ENDS ? difference
                 : is_there              ? low_bits(end + bytes, how.bits)
                                         : 0;
  }
  end += bytes;
  return taken;
}

/// The higher halves of the rows of word `word`: those of groups, or the signs of what was taken.
inline packed_rows take_high_halves(const block_buffer& block, uint32_t column, uint32_t word,
                                    bool states, const packed_rows& low) {
  packed_rows taken = packed_rows();
TAKE_HIGH:
  for (uint32_t row = 0; row < static_cast<uint32_t>(ROWS); row++) {
#pragma HLS UNROLL
    const uint64_t sign = static_cast<uint64_t>(static_cast<int64_t>(low[row]) >> 63);
    const bool is_there = word * ROWS + row < block.rows;
    const uint64_t high =
        block.high[column % SIDES * ROWS + row][block_buffer::place(column, word)];
    taken[row] = !states ? sign : is_there ? high : 0;
  }
  return taken;
}

/// Four words of at most so many bits side by side; the rest of each is zero.
inline half_line join_words(const half_line& words, uint32_t bits) {
  const u128 low = words[0] | static_cast<u128>(words[1]) << bits;
  const u128 high = words[2] | static_cast<u128>(words[3]) << bits;
  const uint32_t first = 2 * bits / 64;
  const uint32_t shift = 2 * bits % 64;
  const uint64_t high_word = static_cast<uint64_t>(high >> 64);
  const u128 moved = high << shift;
  half_line joined = half_line();
  joined[0] = static_cast<uint64_t>(low);
  joined[1] = static_cast<uint64_t>(low >> 64);
  joined[first] |= static_cast<uint64_t>(moved);
  joined[first + 1] |= static_cast<uint64_t>(moved >> 64);
  if (first < 2) joined[first + 2] |= shift == 0 ? 0 : high_word >> (64 - shift);
  return joined;
}

/// The bits of the rows that are packed from row `row` on, of its word.
inline half_line pack_rows(const row_packing& how, uint32_t row, const packed_rows& low,
                           const packed_rows& high) {
  half_line words = half_line();
PACK_ROWS:
  for (uint32_t word = 0; word < HALF_WORDS; word++) {
#pragma HLS UNROLL
    const uint64_t pair = low[2 * word] | low[2 * word + 1] << (how.bits % 64);
    const uint32_t at = row % ROWS;
    const uint64_t half = word % 2 == 0 ? low[at / 2 * 2 + word / 2] : high[at / 2 * 2 + word / 2];
    words[word] = how.is_wide() ? half : how.bits > 32 ? low[at / 4 * 4 + word] : pair;
  }
  return join_words(words, how.is_wide() || how.bits > 32 ? how.bits : 2u * how.bits);
}

/// Writes what stands for the rows of a column, padded to a word.
inline void write_rows(const write_plan& plan, const block_buffer& block, uint32_t column,
                       const row_packing& how, part_writer& writer) {
  if (how.bits == 0) return;
  const uint32_t at_once = how.rows_at_once();
  const uint32_t bits = how.is_wide() ? 128 : how.bits;
  uint64_t end = 0;
ROWS_OUT:
  for (uint32_t row = 0; row < block.rows; row += at_once) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 512
    const packed_rows low = take_rows(block, column, how, row / ROWS, end);
    const packed_rows high = take_high_halves(block, column, row / ROWS, plan.states, low);
    const uint32_t left = block.rows - row;
    const uint32_t count = left < at_once ? left : at_once;
    writer.put(pack_rows(how, row, low, high), (count * bits + 3) / 4, left <= at_once);
  }
}

/// Writes which rows of a column are not null, 64 a word.
inline void write_valid(const block_buffer& block, uint32_t column, part_writer& writer) {
  const uint32_t words = (block.rows + 63) / 64;
VALID:
  for (uint32_t first = 0; first < words; first += HALF_WORDS) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4
    half_line bits = half_line();
  VALID_WORDS:
    for (uint32_t word = 0; word < HALF_WORDS; word++) {
#pragma HLS UNROLL
      if (first + word < words) bits[word] = block.valid_word(column, first + word);
    }
    const uint32_t left = words - first;
    writer.put(bits, (left < HALF_WORDS ? left : HALF_WORDS) * WORD_FOURS, false);
  }
}

/// Writes two words, as headers of blocks and of columns have.
inline void write_pair(const uint64_t words[2], part_writer& writer) {
  half_line bits = half_line();
  bits[0] = words[0];
  bits[1] = words[1];
  writer.put(bits, 2 * WORD_FOURS, false);
}

}  // namespace nearscan
