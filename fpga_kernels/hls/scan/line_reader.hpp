// SPDX-License-Identifier: Apache-2.0
// Bytes of a column chunk out of the lines that it is fetched in.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// The position in the bytes of a lane's lines, of which each has a byte.
struct line_reader {
  line_token line;
  uint64_t position;
  uint8_t at;
  bool ended;

  line_reader() : line(), position(0), at(0), ended(false) {}

  /// Makes sure that the current line has a byte; false at the end of the chunk.
  bool refill(line_stream& in) {
    if (!ended && at == line.end) {
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

  /// Up to `wanted` (1 to 8) bytes, as far as they stand in one word of a line, zero behind them;
  /// gives how many, none at the end of the chunk.
  NS_HOT uint32_t next_bytes(line_stream& in, uint32_t wanted, uint64_t* bytes) {
    *bytes = 0;
    if (!refill(in)) return 0;
    const uint32_t from = at & 7;
    const uint32_t in_line = line.end - at;
    const uint32_t in_word = 8 - from < in_line ? 8 - from : in_line;
    const uint32_t count = wanted < in_word ? wanted : in_word;
    *bytes = low_bytes(line_word(line.data, at >> 3) >> (8 * from), count);
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
