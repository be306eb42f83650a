// SPDX-License-Identifier: Apache-2.0
// What is known of the columns of a block while it fills: what decides how they are packed, and the
// room that they take.
#pragma once

#include "block.hpp"

namespace nearscan {

/// What is known of a column of a block: of its rows that are not null, the least and the greatest
/// number, or length of a string.
struct column_facts {
  int64_t least;
  int64_t greatest;
  uint64_t string_bytes;
  bool has_null;
  /// Whether all strings of the result so far name an entry of the column's dictionary.
  bool coded;
};

/// Of a column without rows.
inline column_facts no_facts() {
  column_facts facts;
  facts.least = INT64_MAX;
  facts.greatest = INT64_MIN;
  facts.string_bytes = 0;
  facts.has_null = false;
  facts.coded = true;
  return facts;
}

/// Takes one row of a column in.
inline void note_value(uint8_t width, bool valid, int64_t value, column_facts& facts) {
  facts.has_null = facts.has_null || !valid;
  if (!valid) return;
  const uint64_t reference = static_cast<uint64_t>(value);
  const uint64_t length = reference_length(reference);
  const int64_t number = width == WIDTH_BYTES ? static_cast<int64_t>(length) : value;
  facts.least = number < facts.least ? number : facts.least;
  facts.greatest = number > facts.greatest ? number : facts.greatest;
  facts.string_bytes += length;
  facts.coded = facts.coded && is_coded(reference);
}

/// What eight rows of a column add, of which `rows` are the block's.
inline column_facts facts_of_word(uint8_t width, const number_token& numbers, uint8_t rows,
                                  uint8_t valid) {
  column_facts facts = no_facts();
NOTE_ROWS:
  for (uint32_t row = 0; row < static_cast<uint32_t>(ROWS); row++) {
#pragma HLS UNROLL
    if (((rows >> row) & 1) == 0) continue;
    note_value(width, ((valid >> row) & 1) != 0, numbers.row[row], facts);
  }
  return facts;
}

/// Adds what a word adds.
inline void join_facts(const column_facts& word, column_facts& facts) {
  facts.least = word.least < facts.least ? word.least : facts.least;
  facts.greatest = word.greatest > facts.greatest ? word.greatest : facts.greatest;
  facts.string_bytes += word.string_bytes;
  facts.has_null = facts.has_null || word.has_null;
  facts.coded = facts.coded && word.coded;
}

/// Bytes of the strings of a column.
inline uint64_t string_bytes_of(uint8_t width, const column_facts& facts) {
  return width == WIDTH_BYTES ? facts.string_bytes : 0;
}

/// Bytes of a column of a plain block.
inline uint64_t plain_column_bytes(uint32_t rows, uint8_t width, const column_facts& facts) {
  return column_bytes(rows, width, string_bytes_of(width, facts));
}

}  // namespace nearscan
