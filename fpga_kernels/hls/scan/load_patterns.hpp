// SPDX-License-Identifier: Apache-2.0
// Loads the patterns of LIKE: the automaton of each, and the prefilter of a column's.
#pragma once

#include "load_program.hpp"

namespace nearscan {

/// Byte `at` of the command.
inline uint8_t command_byte(const uint64_t* words, uint32_t at) {
  return static_cast<uint8_t>(words[at / 8] >> (8 * (at % 8)));
}

/// A pattern on its way into the plan: places and bytes of the piece so far, and what every byte
/// may be for the prefilter.
struct pattern_loader {
  uint32_t places;
  uint32_t piece;
  uint8_t everywhere;

  pattern_loader() : places(0), piece(0), everywhere(0) {}

  void take_literal(uint8_t byte, prefilter_plan& prefilter) {
    if (piece < prefilter_plan::PLACES) {
      prefilter.add(prefilter_plan::key_of(byte), static_cast<uint8_t>(1u << piece));
    }
    if (piece > prefilter.behind_first) prefilter.behind_first = static_cast<uint8_t>(piece);
    piece++;
    places++;
  }

  /// A character may have any number of bytes, so nothing bounds how long a match of the piece
  /// goes on: the automata take every byte.
  void take_one() {
    everywhere = prefilter_plan::ALL_PLACES;
    places++;
  }

  /// Ends a piece. What comes behind a short one is anything or nothing if any characters may
  /// follow, and else nothing.
  void end_piece(bool any_follow, prefilter_plan& prefilter) {
    if (piece != 0 && piece < prefilter_plan::PLACES) {
      const uint8_t rest = static_cast<uint8_t>(prefilter_plan::ALL_PLACES >> piece << piece);
      prefilter.behind |= rest;
      if (any_follow) everywhere |= rest;
    }
    piece = 0;
  }
};

/// Leaves a pattern without places; the first one of a column leaves its prefilter without pieces.
inline void clear_pattern(uint32_t number, pattern_plan& patterns) {
  patterns.one[number] = 0;
  patterns.any[number] = 0;
  if (number == 0) patterns.filter.clear();
CLEAR_BYTES:
  for (uint32_t byte = 0; byte < 256; byte++) {
#pragma HLS PIPELINE II = 1
    patterns.literal[byte][number] = 0;
  }
}

/// Makes the automaton of a test with a pattern, for which there is room; false when it has too
/// many places.
NS_RARE bool load_pattern(const uint64_t* words, const section_table& sections,
                          const test_record& record, uint32_t test, pattern_plan& patterns) {
  const section_range& bytes_range = sections.of[SECTION_BYTES];
  if (record.string_count != 1 || record.string_first >= sections.of[SECTION_STRINGS].count) {
    return false;
  }
  const string_record text = load_string_record(
      words, sections.of[SECTION_STRINGS].offset + record.string_first * STRING_RECORD_BYTES);
  const uint32_t number = patterns.count;
  if (text.length > STRING_BYTES_MAX ||
      static_cast<uint64_t>(text.offset) + text.length > bytes_range.bytes) {
    return false;
  }
  clear_pattern(number, patterns);
  pattern_loader loader;
PATTERN_BYTES:
  for (uint32_t at = 0; at < text.length; at++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 128
    const uint8_t byte = command_byte(words, bytes_range.offset + text.offset + at);
    const uint64_t bit = static_cast<uint64_t>(1) << loader.places;
    if (byte == PATTERN_ANY) {
      patterns.any[number] |= bit;
      loader.end_piece(true, patterns.filter);
      continue;
    }
    if (loader.places == PATTERN_PLACES_MAX) return false;
    if (byte == PATTERN_ONE) {
      patterns.one[number] |= bit;
      loader.take_one();
    } else {
      patterns.literal[byte][number] |= bit;
      loader.take_literal(byte, patterns.filter);
    }
  }
  loader.end_piece(false, patterns.filter);
  patterns.filter.add_to_all(loader.everywhere);
  patterns.end[number] = static_cast<uint64_t>(1) << loader.places;
  patterns.test[number] = static_cast<uint8_t>(test);
  patterns.count = number + 1;
  return true;
}

}  // namespace nearscan
