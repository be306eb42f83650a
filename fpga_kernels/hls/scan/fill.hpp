// SPDX-License-Identifier: Apache-2.0
// Fills a block with the kept rows of output columns.
//
// Iterations: two columns of a word of eight rows, however many of them are kept. Kept rows move
// together on their way, each to a memory of its own; those that have no room in the block wait
// behind it, and are the first of the next one.
#pragma once

#include "facts.hpp"

namespace nearscan {

/// Where the kept rows of a word go.
struct word_places {
  /// For each row of eight in the block which row of the word comes there.
  hls::vector<uint8_t, ROWS> from;
  /// Rows of the block's word that get one, and of the word behind it.
  uint8_t here;
  uint8_t behind;
  /// Kept rows of the word, those that go behind, and how many they are in all.
  uint8_t kept;
  uint8_t kept_behind;
  uint32_t count;
};

/// The places of the kept rows of a word, as many as are wanted, in a block that has so many rows.
inline word_places place_rows(uint8_t keep, uint64_t wanted, uint32_t rows_before) {
  word_places places = word_places();
  uint32_t kept_before = 0;
PLACES:
  for (uint32_t row = 0; row < static_cast<uint32_t>(ROWS); row++) {
#pragma HLS UNROLL
    if (((keep >> row) & 1) == 0) continue;
    const uint32_t place = rows_before % ROWS + kept_before;
    kept_before++;
    if (kept_before > wanted) continue;
    const uint32_t bit = 1u << (place % ROWS);
    places.from[place % ROWS] = static_cast<uint8_t>(row);
    places.kept = static_cast<uint8_t>(places.kept | 1u << row);
    if (place < static_cast<uint32_t>(ROWS)) {
      places.here = static_cast<uint8_t>(places.here | bit);
    } else {
      places.behind = static_cast<uint8_t>(places.behind | bit);
      places.kept_behind = static_cast<uint8_t>(places.kept_behind | 1u << row);
    }
  }
  places.count = kept_before < wanted ? kept_before : static_cast<uint32_t>(wanted);
  return places;
}

/// Adds the validity of kept rows; `open` is that of the rows of the word of 64 so far.
inline void put_valid(uint32_t column, uint8_t valid, const word_places& places, uint64_t open,
                      block_buffer& block) {
  uint64_t moved = 0;
MOVE_VALID:
  for (uint32_t place = 0; place < static_cast<uint32_t>(ROWS); place++) {
#pragma HLS UNROLL
    moved |= static_cast<uint64_t>((valid >> places.from[place]) & 1) << place;
  }
  const uint32_t byte = block.rows / ROWS % 8;
  const uint64_t here = open | (moved & places.here) << (8 * byte);
  const uint64_t behind = moved & places.behind;
  // What is not full is written all the same: it is overwritten later.
  const uint32_t word = block.rows / 64;
  block.valid[word % HALF_WORDS][(column * block_buffer::VALID_WORDS + word) / HALF_WORDS] = here;
  const bool is_full = block.rows % 64 + places.count >= 64;
  block.open[column] = is_full ? behind : here | behind << 8 << (8 * byte);
}

/// Puts the kept rows of a word of a column into the block.
inline void put_column(const write_plan& plan, uint32_t column, const number_token& numbers,
                       uint8_t valid, const word_places& places, block_buffer& block) {
PUT_ROWS:
  for (uint32_t place = 0; place < static_cast<uint32_t>(ROWS); place++) {
#pragma HLS UNROLL
    const bool is_behind = ((places.behind >> place) & 1) != 0;
    if (!is_behind && ((places.here >> place) & 1) == 0) continue;
    const uint32_t row = places.from[place];
    const bool is_valid = ((valid >> row) & 1) != 0;
    const uint32_t memory = column % SIDES * ROWS + place;
    const uint32_t at = block_buffer::place(column, block.rows / ROWS + (is_behind ? 1 : 0));
    block.low[memory][at] = is_valid ? static_cast<uint64_t>(numbers.row[row]) : 0;
    if (plan.states) block.high[memory][at] = is_valid ? static_cast<uint64_t>(numbers.row[1]) : 0;
  }
}

/// The numbers of the rows that wait behind the last block.
inline number_token spilled_numbers(const block_buffer& block, uint32_t column) {
  number_token numbers;
SPILLED:
  for (uint32_t row = 0; row < static_cast<uint32_t>(ROWS); row++) {
#pragma HLS UNROLL
    const uint32_t last = block_buffer::place(column, block_buffer::WORDS - 1);
    numbers.row[row] = static_cast<int64_t>(block.low[column % SIDES * ROWS + row][last]);
  }
  return numbers;
}

/// Nothing is known of any column.
inline void begin_facts(column_facts facts[SLOTS]) {
#pragma HLS ARRAY_PARTITION variable = facts complete
FIRST_FACTS:
  for (uint32_t column = 0; column < static_cast<uint32_t>(SLOTS); column++) {
#pragma HLS UNROLL
    facts[column] = no_facts();
  }
}

/// Nothing is known of the next block, but whether strings of the result have codes.
inline void forget_facts(column_facts facts[SLOTS]) {
#pragma HLS ARRAY_PARTITION variable = facts complete
FORGET_FACTS:
  for (uint32_t column = 0; column < static_cast<uint32_t>(SLOTS); column++) {
#pragma HLS UNROLL
    const bool coded = facts[column].coded;
    facts[column] = no_facts();
    facts[column].coded = coded;
  }
}

/// Fills the block, with `wanted` rows at most; further ones are dropped. False when no row comes
/// any more.
inline bool fill_block(const write_plan& plan, row_stream& rows_in, number_stream numbers_in[SIDES],
                       uint64_t wanted, block_buffer& block, column_facts facts[SLOTS],
                       uint64_t& iterations) {
#pragma HLS ARRAY_PARTITION variable = facts complete
  uint32_t first = 0;
  row_token rows = row_token();
  word_places places = word_places();
FILL:
  while (true) {
#pragma HLS PIPELINE II = 1
#pragma HLS DEPENDENCE variable = block.low type = inter dependent = false
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const bool is_spilled = block.spilled != 0;
    if (first == 0) {
      if (!is_spilled) rows_in.read(rows);
      if (!is_spilled && rows.last) return false;
      places = place_rows(is_spilled ? row_mask(block.spilled) : rows.keep, wanted - block.rows,
                          block.rows);
    }
    iterations++;
  FILL_SIDES:
    for (uint32_t side = 0; side < SIDES; side++) {
#pragma HLS UNROLL
      const uint32_t column = first + side;
      if (column >= plan.column_count) break;
      number_token numbers;
      if (is_spilled) {
        numbers = spilled_numbers(block, column);
      } else {
        numbers_in[side].read(numbers);
      }
      const uint64_t open = block.open[column];
      const uint8_t valid = is_spilled    ? static_cast<uint8_t>(open)
                            : plan.states ? static_cast<uint8_t>(numbers.row[2])
                                          : rows.valid[column];
      put_column(plan, column, numbers, valid, places, block);
      put_valid(column, valid, places, is_spilled ? 0 : open, block);
      // Rows that go behind the last word are another block's.
      const bool is_last_word = block.rows / ROWS == block_buffer::ROWS_MAX / ROWS - 1;
      const uint8_t others = is_last_word ? places.kept_behind : 0;
      const uint8_t noted = static_cast<uint8_t>(places.kept & ~others);
      join_facts(facts_of_word(plan.width[column], numbers, noted, valid), facts[column]);
    }
    first = first + SIDES < plan.column_count ? first + SIDES : 0;
    if (first != 0) continue;
    block.rows += places.count;
    block.spilled = 0;
    if (block.rows >= block_buffer::ROWS_MAX) return true;
  }
}

}  // namespace nearscan
