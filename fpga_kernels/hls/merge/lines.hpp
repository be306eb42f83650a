// SPDX-License-Identifier: Apache-2.0
// Device memory as the search for the cuts of a part reads it: a line for each of a few purposes.
//
// A search reads no further than it looks, and where it looks next depends on what it read: every
// line that is not held is waited for.
#pragma once

#include "progress.hpp"

namespace nearscan {
namespace merging {

/// What a line is held for.
enum line_use : uint32_t {
  USE_HEAD = 0,
  USE_VALIDITY = 1,
  USE_VALUES = 2,
  USE_STRING = 3,
  USE_TIE_A = 4,
  USE_TIE_B = 5,
};
static constexpr uint32_t LINE_USES = 6;

/// The lines that are held.
struct line_store {
  line_t line[LINE_USES];
  uint64_t place[LINE_USES];
  bool held[LINE_USES];
};

inline void clear_store(line_store& store) {
CLEAR_LINES:
  for (uint32_t use = 0; use < LINE_USES; use++) {
#pragma HLS UNROLL
    store.held[use] = false;
    store.place[use] = 0;
  }
}

/// Word `word` of the input.
inline uint64_t read_word(line_port& input, line_store& store, uint32_t use, uint64_t word,
                          progress& done) {
  const uint64_t place = word / 8;
  if (!store.held[use] || store.place[use] != place) {
    input.read_request(place, 1);
    store.line[use] = input.read();
    store.place[use] = place;
    store.held[use] = true;
    done.lines_read++;
    done.waits++;
  }
  return line_word(store.line[use], static_cast<int>(word % 8));
}

/// Up to 8 bytes from byte `at` on, of `left` that are there; zero behind them.
inline uint64_t read_bytes(line_port& input, line_store& store, uint32_t use, uint64_t at,
                           uint64_t left, progress& done) {
  const uint32_t count = left < 8 ? static_cast<uint32_t>(left) : 8;
  const uint32_t skipped = static_cast<uint32_t>(at % 8);
  uint64_t value = read_word(input, store, use, at / 8, done) >> (8 * skipped);
  if (skipped + count > 8) {
    value |= read_word(input, store, use, at / 8 + 1, done) << (64 - 8 * skipped);
  }
  done.string_words++;
  return low_bits(value, 8 * count);
}

/// Reads words for whoever opens blocks.
struct line_reader {
  line_port& input;
  line_store& store;
  progress& done;

  line_reader(line_port& port, line_store& lines, progress& counts)
      : input(port), store(lines), done(counts) {}

  uint64_t read(uint32_t use, uint64_t word) { return read_word(input, store, use, word, done); }
};

}  // namespace merging
}  // namespace nearscan
