// SPDX-License-Identifier: Apache-2.0
// Packs the columns of a block into words: numbers and ends of strings side by side, strings one
// behind the other, each part padded to a word.
//
// A writer puts words into `Out`, a port or a stream.
#pragma once

#include "arithmetic.hpp"
#include "frame.hpp"

namespace nearscan {

/// Bytes of a column of a block, with so many bytes of strings.
inline uint64_t column_bytes(uint32_t rows, uint8_t width, uint64_t string_bytes) {
  return (rows + 63) / 64 * 8 + (rows * value_bytes(width) + 7) / 8 * 8 +
         (string_bytes + 7) / 8 * 8;
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
