// SPDX-License-Identifier: Apache-2.0
// Definition levels: which rows of a page have a value.
//
// They are buffered on chip, since the values stand behind all of them. Levels of a bit each are
// one bit-packed run that does not end.
#pragma once

#include "bit_reader.hpp"

namespace nearscan {

/// A word whose bytes have their bits in the other order.
inline uint64_t mirror_bytes(uint64_t word) {
  uint64_t mirrored = 0;
MIRROR:
  for (int bit = 0; bit < 64; bit++) {
#pragma HLS UNROLL
    mirrored |= ((word >> bit) & 1) << ((bit & ~7) | (7 - (bit & 7)));
  }
  return mirrored;
}

/// Puts a page's levels into their memory. `taken` is what of the page they were, in bytes.
inline uint32_t buffer_levels(byte_stream& payload, bit_reader& bits, const page_token& page,
                              level_memory& levels, hybrid_run& run, uint64_t& taken) {
  const bool single = page.levels == LEVELS_BIT_PACKED;
  uint64_t length = 0;
  taken = 0;
  switch (page.levels) {
    case LEVELS_PREFIXED:
      length = bits.take(payload, 32);
      if (bits.overrun) return STATUS_CORRUPT;
      taken = 4;
      break;
    case LEVELS_BIT_PACKED:
      length = (static_cast<uint64_t>(page.value_count) + 7) / 8;
      break;
    default:
      length = page.level_bytes;
      break;
  }
  if (length > LEVEL_BYTES_MAX) return STATUS_ENCODING;
  taken += length;
LEVELS:
  for (uint64_t at = 0; at < length; at += 8) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8192
    const uint64_t left = length - at;
    const uint64_t word = bits.take(payload, left < 8 ? static_cast<uint32_t>(8 * left) : 64);
    levels.words[at / 8] = single ? mirror_bytes(word) : word;
  }
  bits.iterations += (length + 7) / 8;
  levels.bit = 0;
  levels.bit_end = static_cast<uint32_t>(8 * length);
  run.left = single ? 0x7fffffffu : 0;
  run.packed = single;
  run.value = 0;
  return bits.overrun ? STATUS_CORRUPT : STATUS_OK;
}

/// Whether nothing is left of the levels but what fills up the last group. A header that says how
/// long they are is held to it: the values would begin elsewhere.
inline bool levels_end(const level_memory& levels, const hybrid_run& run) {
  return levels.bit_end - levels.bit == (run.packed ? run.left : 0);
}

/// Opens the next run of levels that is not empty. The levels are a hybrid of width 1.
NS_APART void next_level_run(level_memory& levels, hybrid_run& run, bool* overrun) {
LEVEL_RUN:
  while (run.left == 0 && !*overrun) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
    uint64_t header = 0;
    bool more = true;
  HEADER:
    for (int shift = 0; shift < 35 && more && !*overrun; shift += 7) {
#pragma HLS PIPELINE II = 1
      const uint64_t byte = levels.take(8, overrun);
      header |= (byte & 0x7f) << shift;
      more = (byte & 0x80) != 0;
    }
    if (more) *overrun = true;
    run = open_run(header);
    if (!run.packed) run.value = static_cast<uint32_t>(levels.take(8, overrun));
    // There is no level above 1.
    if (run.value > 1) *overrun = true;
  }
}

/// Which of the next `count` (<= 8) rows have a value, a bit each.
NS_HOT uint8_t next_levels(level_memory& levels, hybrid_run& run, uint32_t count, bool* overrun) {
  uint32_t valid = 0;
  uint32_t got = 0;
LEVELS_OF_WORD:
  while (got < count) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2
    if (run.left == 0) next_level_run(levels, run, overrun);
    if (*overrun) break;
    const uint32_t some = run.left < count - got ? run.left : count - got;
    const uint32_t ones = (1u << some) - 1;
    const uint32_t bits =
        run.packed ? static_cast<uint32_t>(levels.take(some, overrun)) : run.value * ones;
    valid |= bits << got;
    got += some;
    run.left -= some;
  }
  return static_cast<uint8_t>(valid);
}

}  // namespace nearscan
