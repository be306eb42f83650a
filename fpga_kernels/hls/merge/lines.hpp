// SPDX-License-Identifier: Apache-2.0
// Device memory as the search for the cuts of a part reads it: a line for each of a few purposes.
//
// A search reads no further than it looks, and where it looks next depends on what it read: every
// line that is not held is waited for, some of them together.
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

inline bool is_held(const line_store& store, uint32_t use, uint64_t word) {
  return store.held[use] && store.place[use] == word / 8;
}

/// Takes a line that was asked for.
inline void take_line(line_port& input, line_store& store, uint32_t use, uint64_t word) {
  store.line[use] = input.read();
  store.place[use] = word / 8;
  store.held[use] = true;
}

/// Fetches the lines of two words at once.
inline void hold_both(line_port& input, line_store& store, uint32_t use_a, uint64_t word_a,
                      uint32_t use_b, uint64_t word_b, progress& done) {
  const bool needs_a = !is_held(store, use_a, word_a);
  const bool needs_b = !is_held(store, use_b, word_b);
  if (needs_a) input.read_request(word_a / 8, 1);
  if (needs_b) input.read_request(word_b / 8, 1);
  if (needs_a) take_line(input, store, use_a, word_a);
  if (needs_b) take_line(input, store, use_b, word_b);
  done.lines_read += (needs_a ? 1 : 0) + (needs_b ? 1 : 0);
  done.waits += needs_a || needs_b ? 1 : 0;
}

/// Word `word` of the input.
inline uint64_t read_word(line_port& input, line_store& store, uint32_t use, uint64_t word,
                          progress& done) {
  if (!is_held(store, use, word)) {
    input.read_request(word / 8, 1);
    take_line(input, store, use, word);
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
