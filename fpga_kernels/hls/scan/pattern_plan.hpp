// SPDX-License-Identifier: Apache-2.0
// The patterns of LIKE of a column, as its decoder has them: automata, and the prefilter that finds
// the bytes which these must take.
#pragma once

#include "tokens.hpp"

namespace nearscan {

/// The states of the automata of a column's patterns, or places of the patterns, a bit each.
typedef hls::vector<uint64_t, PATTERNS_PER_COLUMN_MAX> pattern_bits;

/// Finds where a piece of a pattern may begin: a run of places without any characters between them.
///
/// What is compared are the first bytes of all pieces together, each by its low five bits, so that
/// a LUT of 64 bits has a bit of them for two commands. Only candidates are found: upper case is
/// taken for lower case, and one byte for the first of a piece, the next for the second of another.
struct prefilter_plan {
  static constexpr uint32_t WORD_BYTES = 8;
  static constexpr uint32_t KEYS = 32;
  /// Bytes of a piece that are compared, and the bits of all of them.
  static constexpr uint32_t PLACES = 3;
  static constexpr uint8_t ALL_PLACES = (1u << PLACES) - 1;
  /// Whether a byte may be byte `i` of a piece, a bit each, or stand behind a shorter piece. Each
  /// byte of a word has a table of its own, for all of them are looked up in one iteration.
  uint8_t table[WORD_BYTES][KEYS];
  /// The same of what is behind the value.
  uint8_t behind;
  /// Bytes of the longest piece behind its first.
  uint8_t behind_first;

  static uint32_t key_of(uint8_t byte) { return byte % KEYS; }

  void clear() {
  KEYS_OF_NONE:
    for (uint32_t key = 0; key < KEYS; key++) {
#pragma HLS PIPELINE II = 1
      put(key, 0);
    }
    behind = 0;
    behind_first = 0;
  }

  void put(uint32_t key, uint8_t bits) {
  COPIES:
    for (uint32_t copy = 0; copy < WORD_BYTES; copy++) {
#pragma HLS UNROLL
      table[copy][key] = bits;
    }
  }

  void add(uint32_t key, uint8_t bits) { put(key, static_cast<uint8_t>(table[0][key] | bits)); }

  /// Adds to what every byte may be.
  void add_to_all(uint8_t bits) {
  KEYS_OF_ALL:
    for (uint32_t key = 0; key < KEYS; key++) {
#pragma HLS PIPELINE II = 1
      add(key, bits);
    }
    behind |= bits;
  }
};

/// The patterns of LIKE of one column as automata, side by side. In state `i` the first `i` places
/// have been matched; a place is a byte or `_`.
struct pattern_plan {
  uint32_t count;
  /// For each byte, the places that are this byte: a word of all automata.
  pattern_bits literal[256];
  /// Places that are any character, and those before which there may be any characters: there is
  /// one such place more, behind the last.
  pattern_bits one;
  pattern_bits any;
  /// The states in which all places have been matched.
  pattern_bits end;
  /// The string test that each pattern is.
  uint8_t test[PATTERNS_PER_COLUMN_MAX];
  prefilter_plan filter;
};

}  // namespace nearscan
