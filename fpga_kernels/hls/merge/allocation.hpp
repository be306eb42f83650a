// SPDX-License-Identifier: Apache-2.0
// Allocates the memories of the merge for a command, and gives each process its part of the plan.
//
// A window is what a column of an input has on chip: two halves of as many rows, one of which is
// read while the other is on its way. All windows have the same number of words, more where the
// command has fewer inputs and columns.
#pragma once

#include "plan.hpp"
#include "tokens.hpp"

namespace nearscan {
namespace merging {

/// Where the merge of an input begins: in a block, before a row of it.
struct input_start {
  uint64_t block;
  uint64_t end;
  uint64_t rows_left;
  uint64_t wanted;
  uint32_t row;
};

struct ask_plan {
  uint32_t input_count;
  column_widths columns;
  uint32_t window_words;
  uint32_t half_rows;
  input_start start[MERGE_INPUTS_MAX];
};

struct rows_plan {
  uint32_t input_count;
  column_widths columns;
  uint32_t key_count;
  uint8_t key_column[MERGE_KEYS_MAX];
  uint32_t window_words;
  uint32_t rows_ahead;
  uint32_t prefix_bytes;
};

struct keys_plan {
  uint32_t input_count;
  uint32_t key_count;
  bool descending[MERGE_KEYS_MAX];
  bool nulls_first[MERGE_KEYS_MAX];
  /// Numbers of 128 bits.
  bool is_wide[MERGE_KEYS_MAX];
  uint32_t prefix_words;
};

struct choose_plan {
  uint32_t input_count;
  bool distinct;
  /// A bit for each input: its first row is of the part before, and not put out.
  uint32_t skips;
  uint64_t steps;
  uint64_t steps_max;
};

struct gather_plan {
  column_widths columns;
  uint32_t block_rows;
};

struct listing_plan {
  uint32_t column_count;
  uint32_t block_rows;
};

struct strings_plan {
  uint64_t steps_max;
};

struct output_plan {
  column_widths columns;
  uint32_t block_rows;
  uint64_t bytes_max;
};

/// The plans of all processes.
struct process_plans {
  ask_plan ask;
  rows_plan rows;
  keys_plan keys;
  choose_plan choose;
  gather_plan gather;
  listing_plan listing;
  strings_plan strings;
  output_plan output;
};

/// What the columns of a command come to.
struct column_sums {
  uint32_t row_bytes;
  uint32_t widest;
  uint32_t strings;
};

/// Bytes of a value in a window: strings have the end of the one before as well.
inline uint32_t window_bytes(uint8_t width) {
  return width == WIDTH_BYTES ? 8 : value_bytes(width);
}

inline column_sums sum_columns(const column_widths& columns) {
  column_sums sums = {0, 4, 0};
SUM_COLUMNS:
  for (uint32_t column = 0; column < columns.count; column++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    const uint32_t bytes = window_bytes(columns.width[column]);
    sums.row_bytes += value_bytes(columns.width[column]);
    if (bytes > sums.widest) sums.widest = bytes;
    if (columns.width[column] == WIDTH_BYTES) sums.strings++;
  }
  return sums;
}

/// Words of a window: a power of two.
inline uint32_t allocate_windows(uint32_t inputs, uint32_t columns) {
  uint32_t words = WINDOW_WORDS_MAX;
DEAL_WINDOWS:
  for (uint32_t halved = 0; halved < 3; halved++) {
#pragma HLS UNROLL
    if (inputs * columns * words > WINDOW_WORDS) words /= 2;
  }
  return words;
}

/// Rows of a half: as many as the widest column has room for.
inline uint32_t allocate_rows(uint32_t words, uint32_t widest) {
  const uint32_t rows = words / 2 * 8 / widest;
  return rows < HALF_ROWS_MAX ? rows : HALF_ROWS_MAX;
}

/// Rows of a block of the result: whole words of validity, as many as there is room for.
inline uint32_t allocate_block(const column_sums& sums) {
  uint32_t rows = BLOCK_ROWS_MAX;
DEAL_BLOCK:
  for (uint32_t fewer = 0; fewer < BLOCK_ROWS_MAX / 64 - 1; fewer++) {
#pragma HLS PIPELINE II = 1
    if (rows * sums.row_bytes > 8 * BLOCK_WORDS || rows * sums.strings > BLOCK_STRINGS) rows -= 64;
  }
  return rows;
}
static_assert(64 * OUTPUT_COLUMNS_MAX * 16 <= 8 * BLOCK_WORDS, "64 of the widest rows fit");
static_assert(64 * OUTPUT_COLUMNS_MAX <= BLOCK_STRINGS, "64 rows of strings alone fit");

/// What the keys of a command come to.
struct key_sums {
  uint32_t numbers;
  uint32_t strings;
};

inline key_sums sum_keys(const merge_plan& plan) {
  key_sums sums = {0, 0};
SUM_KEYS:
  for (uint32_t key = 0; key < plan.key_count; key++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4
    const uint8_t width = plan.columns.width[plan.keys[key].column];
    if (width == WIDTH_BYTES) {
      sums.strings++;
    } else {
      sums.numbers += width == WIDTH_W128 ? 2 : 1;
    }
  }
  return sums;
}

/// Words of a string's beginning, fewer where there are more strings: behind them go two that say
/// where its rest is.
inline uint32_t allocate_prefix(uint32_t strings) { return PREFIX_MAX + 1 - strings; }
static_assert(4 * (1 + 2) <= ROW_WORDS_MAX && 2 + 3 * (2 + 2) <= ROW_WORDS_MAX &&
                  4 + 2 * (3 + 2) <= ROW_WORDS_MAX && 6 + 4 + 2 <= ROW_WORDS_MAX && PREFIX_MAX == 4,
              "the keys of a row have a place, whatever they are");

/// Rows whose keys may be on their way, with the one that is compared: as many as the streams of
/// keys have room for, beside the two tokens that end a stream. So whoever makes keys never waits
/// for a row to be chosen, which may wait for what is behind other keys.
inline uint32_t allocate_ahead(uint32_t words) {
  uint32_t rows = AHEAD_MAX;
DEAL_AHEAD:
  for (uint32_t fewer = 0; fewer < AHEAD_MAX - 2; fewer++) {
#pragma HLS UNROLL
    if (rows * words + 2 > KEY_DEPTH) rows--;
  }
  return rows;
}
static_assert(2 * ROW_WORDS_MAX + 2 <= KEY_DEPTH, "a row is read ahead, whatever its keys are");

/// Takes the plan apart; where inputs begin is added later.
inline void allocate(const merge_plan& plan, process_plans& plans) {
  const column_sums columns = sum_columns(plan.columns);
  const key_sums keys = sum_keys(plan);
  const uint32_t prefix = allocate_prefix(keys.strings);
  const uint32_t words = allocate_windows(plan.input_count, plan.columns.count);
  const uint32_t block_rows = allocate_block(columns);
  plans.ask.input_count = plan.input_count;
  plans.ask.columns = plan.columns;
  plans.ask.window_words = words;
  plans.ask.half_rows = allocate_rows(words, columns.widest);
  plans.rows.input_count = plan.input_count;
  plans.rows.columns = plan.columns;
  plans.rows.key_count = plan.key_count;
  plans.rows.window_words = words;
  plans.rows.rows_ahead = allocate_ahead(keys.numbers + keys.strings * (prefix + 2));
  plans.rows.prefix_bytes = 8 * prefix;
  plans.keys.input_count = plan.input_count;
  plans.keys.key_count = plan.key_count;
  plans.keys.prefix_words = prefix;
DEAL_KEYS:
  for (uint32_t key = 0; key < MERGE_KEYS_MAX; key++) {
#pragma HLS PIPELINE II = 1
    if (key >= plan.key_count) break;
    plans.rows.key_column[key] = plan.keys[key].column;
    plans.keys.descending[key] = plan.keys[key].descending;
    plans.keys.nulls_first[key] = plan.keys[key].nulls_first;
    plans.keys.is_wide[key] = plan.columns.width[plan.keys[key].column] == WIDTH_W128;
  }
  plans.choose.input_count = plan.input_count;
  plans.choose.distinct = plan.distinct;
  plans.choose.skips = 0;
  plans.choose.steps_max = plan.steps_max;
  plans.gather.columns = plan.columns;
  plans.gather.block_rows = block_rows;
  plans.listing.column_count = columns.strings;
  plans.listing.block_rows = block_rows;
  plans.strings.steps_max = plan.steps_max;
  plans.output.columns = plan.columns;
  plans.output.block_rows = block_rows;
  plans.output.bytes_max = plan.bytes_max;
}

}  // namespace merging
}  // namespace nearscan
