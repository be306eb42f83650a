// SPDX-License-Identifier: Apache-2.0
// Finds the beginnings of the parts of a merge: merge path over all inputs.
//
// A part begins at a place of the merged order. How many rows of each input come before it is found
// by halving windows: the row in the middle of the widest one is looked for in the others, and how
// many rows come before it says on which side of the place it is. Rows that tie are told apart by
// the number of their input, so there is one cut for each place, and the unit before it finds the
// same. Inputs that are not sorted have some cut; the rows on its two sides are compared later.
#pragma once

#include "blocks.hpp"

namespace nearscan {
namespace merging {

/// The number of rows of each input that come before a place of the merged order.
struct merge_cut {
  uint64_t rows[MERGE_INPUTS_MAX];
};

/// The positions in the inputs, and the parts of them that are held on chip.
struct merge_inputs {
  input_cursor cursors[MERGE_INPUTS_MAX];
  line_store store;
  /// For searches alone: the blocks, the row that is looked for, the one that it is held against.
  block_index blocks[MERGE_INPUTS_MAX];
  row_state pivot;
  row_state probe;
};

/// The number in a column of a row, or the reference of a string; false when it contradicts the
/// format.
inline bool read_number(uint8_t width, uint32_t row, const column_place& place, line_port& input,
                        line_store& store, i128* value, progress& done) {
  const uint32_t bytes = value_bytes(width);
  const uint64_t word = read_word(input, store, USE_VALUES,
                                  place.values + static_cast<uint64_t>(row) * bytes / 8, done);
  const uint64_t low = low_bits(word >> (8 * (row * bytes % 8)), 8 * bytes);
  if (width == WIDTH_BYTES) {
    uint64_t start = 0;
    if (row > 0) {
      const uint32_t before = row - 1;
      const uint64_t ends = read_word(input, store, USE_VALUES, place.values + before / 2, done);
      start = static_cast<uint32_t>(ends >> (32 * (before % 2)));
    }
    if (low < start || low > place.string_bytes) return false;
    *value = make_i128(place.strings * 8 + start, low - start);
  } else if (width == WIDTH_W128) {
    const uint64_t high = read_word(input, store, USE_VALUES,
                                    place.values + static_cast<uint64_t>(row) * 2 + 1, done);
    *value = make_i128(low, high);
  } else if (width == WIDTH_W64) {
    *value = static_cast<int64_t>(low);
  } else if (width == WIDTH_W32) {
    *value = static_cast<int32_t>(low);
  } else {
    *value = static_cast<i128>(low);
    if (low > 1) return false;
  }
  return true;
}

/// Fetches the beginning of a string that rows are ordered by.
inline void read_prefix(line_port& input, i128 reference, line_store& store,
                        uint64_t prefix[PREFIX_WORDS], progress& done) {
  const uint64_t length = reference_length(reference);
PREFIX_WORDS_READ:
  for (uint32_t i = 0; i < PREFIX_WORDS; i++) {
// A word may have to be waited for.
#pragma HLS PIPELINE off
    if (i * 8 >= length) break;
    const uint64_t at = reference_at(reference) + i * 8;
    prefix[i] = byte_swap(read_bytes(input, store, USE_STRING, at, length - i * 8, done));
  }
}

/// Reads the keys of a row.
inline bool read_keys(const merge_plan& plan, line_port& input, uint32_t index, uint64_t row,
                      merge_inputs& inputs, row_state& keys, progress& done) {
  input_cursor& cursor = inputs.cursors[index];
  if (!open_block_of(plan, input, inputs.blocks[index], row, cursor, inputs.store, done)) {
    return false;
  }
  const uint32_t in_block = static_cast<uint32_t>(row - cursor.block_row);
  keys.valid = 0;
KEY_COLUMNS:
  for (uint32_t key = 0; key < plan.key_count; key++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4
    const uint32_t column = plan.keys[key].column;
    const uint8_t width = plan.columns.width[column];
    const column_place& place = cursor.columns[column];
    const uint64_t first = place.values + static_cast<uint64_t>(in_block) * value_bytes(width) / 8;
    hold_both(input, inputs.store, USE_VALIDITY, place.validity + in_block / 64, USE_VALUES, first,
              done);
    const uint64_t bits =
        read_word(input, inputs.store, USE_VALIDITY, place.validity + in_block / 64, done);
    const bool valid = ((bits >> (in_block % 64)) & 1) != 0;
    keys.valid |= static_cast<uint32_t>(valid) << key;
    i128 value = 0;
    if (!read_number(width, in_block, place, input, inputs.store, &value, done)) return false;
    keys.value[key] = valid ? value : 0;
    if (width == WIDTH_BYTES) {
      read_prefix(input, keys.value[key], inputs.store, keys.prefix[key], done);
    }
  }
  done.values_read += plan.key_count;
  return true;
}

/// Rows of input `index` that come before the pivot, which is of input `of`, in a window.
inline uint64_t rows_before(const merge_plan& plan, line_port& input, uint32_t index, uint32_t of,
                            uint64_t low, uint64_t high, const volatile uint32_t* cancel,
                            merge_inputs& inputs, progress& done) {
HALVE_ROWS:
  while (low < high && may_go_on(done, 1, plan.steps_max, cancel)) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 31
    const uint64_t middle = low + (high - low) / 2;
    if (!read_keys(plan, input, index, middle, inputs, inputs.probe, done)) {
      fail(done, STATUS_CORRUPT);
      return low;
    }
    const int order =
        compare_rows(plan, inputs.probe, inputs.pivot, input, inputs.store, cancel, done);
    if (order < 0 || (order == 0 && index < of)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The input with the widest window; any, if all are closed.
inline uint32_t widest_window(const merge_plan& plan, const merge_cut& low, const merge_cut& high) {
  uint32_t widest = 0;
WINDOWS:
  for (uint32_t index = 1; index < plan.input_count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 15
    if (high.rows[index] - low.rows[index] > high.rows[widest] - low.rows[widest]) widest = index;
  }
  return widest;
}

/// Puts the cut before place `rank` of the merged order into `low`.
inline void find_cut(const merge_plan& plan, line_port& input, uint64_t rank,
                     const volatile uint32_t* cancel, merge_inputs& inputs, merge_cut& low,
                     progress& done) {
  merge_cut high;
  merge_cut found;
WHOLE_WINDOWS:
  for (uint32_t index = 0; index < MERGE_INPUTS_MAX; index++) {
#pragma HLS PIPELINE off
    low.rows[index] = 0;
    high.rows[index] = index < plan.input_count ? inputs.blocks[index].rows : 0;
  }
NARROW:
  while (done.status == STATUS_OK) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 512
    const uint32_t widest = widest_window(plan, low, high);
    if (low.rows[widest] == high.rows[widest]) break;
    const uint64_t middle = low.rows[widest] + (high.rows[widest] - low.rows[widest]) / 2;
    if (!read_keys(plan, input, widest, middle, inputs, inputs.pivot, done)) {
      return fail(done, STATUS_CORRUPT);
    }
    uint64_t before = 0;
  OTHERS:
    for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      found.rows[index] = index == widest ? middle
                                          : rows_before(plan, input, index, widest, low.rows[index],
                                                        high.rows[index], cancel, inputs, done);
      before += found.rows[index];
    }
    const bool is_before = before < rank;
  MOVE_WINDOWS:
    for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      if (is_before) {
        low.rows[index] = found.rows[index] + (index == widest ? 1 : 0);
      } else {
        high.rows[index] = found.rows[index];
      }
    }
    may_go_on(done, 1, plan.steps_max, cancel);
  }
}

}  // namespace merging
}  // namespace nearscan
