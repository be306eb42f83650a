// SPDX-License-Identifier: Apache-2.0
// Bytes of a column chunk out of the lines that it is fetched in.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// The position in the bytes of a lane's lines.
struct line_reader {
  line_token line;
  uint64_t position;
  uint8_t at;
  bool ended;

  line_reader() : line(), position(0), at(0), ended(false) {}

  /// Makes sure that the current line has a byte; false at the end of the chunk.
  bool refill(line_stream& in) {
  REFILL:
    while (!ended && at == line.end) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      line = in.read();
      at = line.first;
      ended = line.last;
    }
    return !ended;
  }

  bool next_byte(line_stream& in, uint8_t* byte) {
    if (!refill(in)) return false;
    *byte = static_cast<uint8_t>(line_word(line.data, at >> 3) >> (8 * (at & 7)));
    at++;
    position++;
    return true;
  }

  /// The next eight bytes, if they are a word of the current line: most bytes are.
  NS_HOT bool next_word(line_stream& in, uint64_t* word) {
    if (!refill(in) || at % 8 != 0 || line.end - at < 8) return false;
    *word = line_word(line.data, at / 8);
    at = static_cast<uint8_t>(at + 8);
    position += 8;
    return true;
  }

  /// Up to `wanted` (<= 8) bytes of the current line; gives how many.
  uint8_t next_bytes(line_stream& in, uint8_t wanted, uint64_t* bytes) {
    if (!refill(in)) return 0;
    const uint8_t in_line = static_cast<uint8_t>(line.end - at);
    const uint8_t count = wanted < in_line ? wanted : in_line;
    const int word = at >> 3;
    const int shift = 8 * (at & 7);
    uint64_t value = line_word(line.data, word) >> shift;
    if (shift != 0 && word < 7) value |= line_word(line.data, word + 1) << (64 - shift);
    *bytes = low_bits(value, 8u * count);
    at = static_cast<uint8_t>(at + count);
    position += count;
    return count;
  }

  void drain(line_stream& in) {
  DRAIN:
    while (!ended) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      line = in.read();
      ended = line.last;
    }
  }
};

}  // namespace nearscan
