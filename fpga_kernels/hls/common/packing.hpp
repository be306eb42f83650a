// SPDX-License-Identifier: Apache-2.0
// Packs the columns of a block into words: numbers and ends of strings side by side, strings one
// behind the other, each part padded to a word.
//
// A writer puts words into `Out`, a port or a stream. A block is `value[column][row]` in 128 bits,
// and knows how long a string is that a value refers to.
#pragma once

#include "arithmetic.hpp"
#include "frame.hpp"

namespace nearscan {

/// Bytes of a column of a block, with so many bytes of strings.
inline uint64_t column_bytes(uint32_t rows, uint8_t width, uint64_t string_bytes) {
  return (rows + 63) / 64 * 8 + (rows * value_bytes(width) + 7) / 8 * 8 +
         (string_bytes + 7) / 8 * 8;
}

/// Writes the numbers of a column, or the ends of its strings, as many to a word as fit: a number
/// per iteration, or half of one of 128 bits.
template <typename Out, typename Block, typename Writer>
inline void write_values(const Block& block, uint32_t column, uint8_t width, Writer& writer,
                         Out out) {
  const uint32_t halves = width == WIDTH_W128 ? 2 : 1;
  const uint32_t bytes = value_bytes(width) / halves;
  uint64_t word = 0;
  uint32_t held = 0;
  uint64_t end = 0;
VALUES:
  for (uint32_t at = 0; at < block.rows * halves; at++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2048
    const i128 value = block.value[column][at / halves];
    const bool is_high = halves == 2 && at % 2 != 0;
    end += Block::string_length(value);
    const uint64_t low = width == WIDTH_BYTES ? end
                         : is_high ? static_cast<uint64_t>(static_cast<u128>(value) >> 64)
                                   : static_cast<uint64_t>(value);
    word |= low_bits(low, 8 * bytes) << (8 * held);
    held += bytes;
    if (held == 8) {
      writer.put(out, word);
      word = 0;
      held = 0;
    }
  }
  if (held != 0) writer.put(out, word);
}

/// Bytes that wait for their word to fill.
struct byte_packer {
  u128 hold;
  uint32_t held;

  byte_packer() : hold(0), held(0) {}

  /// Puts `count` bytes, 8 at most, behind those that wait. The rest of `bytes` is zero.
  template <typename Out, typename Writer>
  void put(uint64_t bytes, uint32_t count, Writer& writer, Out out) {
    hold |= static_cast<u128>(bytes) << (8 * held);
    held += count;
    if (held >= 8) {
      writer.put(out, static_cast<uint64_t>(hold));
      hold >>= 64;
      held -= 8;
    }
  }

  template <typename Out, typename Writer>
  void finish(Writer& writer, Out out) {
    if (held != 0) writer.put(out, static_cast<uint64_t>(hold));
  }
};

}  // namespace nearscan
