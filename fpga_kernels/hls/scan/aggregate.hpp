// SPDX-License-Identifier: Apache-2.0
// Folds rows into aggregate states by group; in rows mode passes everything on.
//
// Iterations: two columns of a word of rows mode take one, and two rows of states take one, in a
// flat loop over all words: see fold.hpp. It ends where a group has to be brought to hand, or slots
// go row by row, and begins again behind that. The groups are cleared one per iteration, and
// shown one column per iteration.
//
// A group's number is made of its keys' dictionary codes, or places in their ranges, 0 being null:
// no hashing, no collisions, and a table whose size is known before the first row. The keys'
// dictionaries come before the first rows and stay here, so that the groups can be shown as values.
#pragma once

#include "fold.hpp"

namespace nearscan {

/// The numbering of groups by the codes and places of keys, and the values of the codes.
struct group_shape {
  uint32_t stride[KEYS_MAX];
  uint32_t size[KEYS_MAX];
  uint32_t groups;
  int64_t value[KEYS_MAX][GROUPS_MAX];
};

/// Reads the dictionary of a key by codes; gives its entries.
inline uint32_t read_key(key_stream& dictionary, int64_t value[GROUPS_MAX]) {
  const uint32_t entries = static_cast<uint32_t>(dictionary.read());
KEY_ENTRIES:
  for (uint32_t entry = 0; entry < entries; entry++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1023
    value[entry] = dictionary.read();
  }
  return entries;
}

/// Reads the dictionaries of all keys that have one; false when the keys make too many groups.
inline bool read_shape(const aggregate_plan& plan, key_stream keys[LANES], group_shape& shape) {
  uint64_t groups = 1;
KEYS:
  for (uint32_t key = 0; key < KEYS_MAX; key++) {
    if (key >= plan.key_count) continue;
    const output_plan& column = plan.keys[key];
    const uint32_t entries =
        column.is_range ? column.count : read_key(keys[column.lane], shape.value[key]);
    shape.size[key] = entries + 1;
    shape.stride[key] = static_cast<uint32_t>(groups);
    if (groups <= GROUPS_MAX) groups *= shape.size[key];
  }
  shape.groups = static_cast<uint32_t>(groups);
  return groups <= GROUPS_MAX;
}

/// The value of key `index` that `code` stands for, which is not 0.
inline int64_t key_value(const aggregate_plan& plan, const group_shape& shape, uint32_t index,
                         uint32_t code) {
  const output_plan& column = plan.keys[index];
  return column.is_range ? column.first + static_cast<int64_t>(code - 1)
                         : shape.value[index][code - 1];
}

/// A number of a group, and whether it is not null.
struct group_number {
  i128 value;
  bool valid;
};

/// Output column `index` of group `group`.
inline group_number show_column(const aggregate_plan& plan, const group_shape& shape,
                                const group_states& states, uint32_t index, uint32_t group) {
  group_number shown = {0, true};
  if (index < plan.key_count) {
    const uint32_t code = group / shape.stride[index] % shape.size[index];
    shown.valid = code != 0;
    if (code != 0) shown.value = key_value(plan, shape, index, code);
    return shown;
  }
  const uint32_t slot = index - plan.key_count;
  const output_plan& column = plan.slots[slot];
  shown.valid = column.counts || states.has(slot);
  if (column.counts) {
    shown.value = static_cast<i128>(states.rows) - states.state[slot];
  } else if (column.width == WIDTH_BYTES) {
    shown.value = static_cast<i128>(states.low(slot));
  } else if (column.function == FUNCTION_SUM_FLOAT) {
    shown.value = static_cast<int64_t>(sum_order(states.low(slot)));
  } else {
    shown.value = states.state[slot];
  }
  return shown;
}

/// Writes the states of all groups as words of one row; true when one left its width.
inline bool emit_groups(const aggregate_plan& plan, const group_shape& shape,
                        const group_table& groups, row_stream& rows, number_stream numbers[SIDES],
                        fold_work& work) {
  bool overflowed = false;
GROUPS:
  for (uint32_t group = 0; group < shape.groups; group++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1024
    const group_states& states = groups.memory[group];
    work.iterations++;
    if (plan.key_count != 0 && states.rows == 0) continue;
    work.iterations += plan.column_count;
    row_token row = row_token();
    row.keep = 1;
    rows.write(row);
  EMIT_COLUMNS:
    for (uint32_t index = 0; index < plan.column_count; index++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
      const group_number shown = show_column(plan, shape, states, index, group);
      const uint8_t width = index < plan.key_count ? static_cast<uint8_t>(WIDTH_W64)
                                                   : plan.slots[index - plan.key_count].width;
      const bool fits = fits_width(shown.value, width);
      overflowed = overflowed || (shown.valid && !fits);
      number_token number = number_token();
      number.row[0] = static_cast<int64_t>(shown.value);
      number.row[1] = static_cast<int64_t>(shown.value >> 64);
      number.row[2] = shown.valid ? 1 : 0;
      numbers[index % SIDES].write(number);
    }
  }
  return overflowed;
}

/// The bits of a place in a key, or of the groups between two of them: products are of so many.
static constexpr uint32_t GROUP_PLACE_MASK = 2 * GROUPS_MAX - 1;

/// A word that is folded.
struct open_word {
  uint8_t keep;
  /// Pairs of its rows that are still to come, a bit each.
  uint8_t pairs;
  group_numbers group_of;
  group_places place_of;
  word_slots slots;
};

/// The group of each row.
inline void read_groups(const aggregate_plan& plan, const group_shape& shape,
                        number_stream numbers_in[SIDES][SIDE_COLUMNS], group_numbers& group_of) {
GROUP_INIT:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    group_of[row] = 0;
  }
GROUP_KEYS:
  for (uint32_t side = 0; side < SIDES; side++) {
#pragma HLS UNROLL
  KEYS_OF_SIDE:
    for (uint32_t key_place = SIDE_SLOTS; key_place < SIDE_COLUMNS; key_place++) {
#pragma HLS UNROLL
      const uint32_t key = key_at(side, key_place);
      if (key >= plan.key_count) break;
      const number_token numbers = numbers_in[side][key_place].read();
    GROUP_NUMBERS:
      for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
        const uint32_t place = static_cast<uint32_t>(numbers.row[row]) & GROUP_PLACE_MASK;
        group_of[row] += place * (shape.stride[key] & GROUP_PLACE_MASK);
      }
    }
  }
}

/// Reads the numbers of a word.
NS_HOT void read_word(const aggregate_plan& plan, const row_token& rows,
                      number_stream numbers_in[SIDES][SIDE_COLUMNS], const group_shape& shape,
                      uint32_t in_order, open_word& word) {
  word.keep = rows.keep;
  word.pairs = pairs_of(rows.keep);
  read_groups(plan, shape, numbers_in, word.group_of);
  word_slots& slots = word.slots;
  slots.partial = 0;
  slots.sums = 0;
  slots.others = 0;
READ_SLOTS:
  for (uint32_t side = 0; side < SIDES; side++) {
#pragma HLS UNROLL
  SLOTS_OF_SIDE:
    for (uint32_t place = 0; place < SIDE_SLOTS; place++) {
#pragma HLS UNROLL
      const uint32_t slot = slot_at(side, place);
      const uint32_t index = plan.key_count + slot;
      if (index >= plan.column_count) break;
      read_slot(plan.slots[slot], slot, rows.keep, rows.use[index] & rows.valid[index], in_order,
                numbers_in[side][place], slots);
    }
  }
}

/// What ends a run of iterations that each take two rows.
enum fold_end : uint8_t {
  /// The last word has been folded.
  FOLD_ENDS = 0,
  /// A group of the word that has arrived is not at hand.
  FOLD_MISSES = 1,
  /// The word has slots that go row by row.
  FOLD_IN_ORDER = 2,
};

/// Folds words until something takes longer than an iteration for each two rows.
NS_HOT fold_end fold_run(const aggregate_plan& plan, row_stream& rows_in,
                         number_stream numbers_in[SIDES][SIDE_COLUMNS], const group_shape& shape,
                         uint32_t in_order, group_table& groups, open_word& word, report& own,
                         fold_work& work) {
ITERATIONS:
  while (true) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1073741824
    if (word.pairs == 0) {
      const row_token rows = rows_in.read();
      if (rows.last) return FOLD_ENDS;
      own.rows_aggregated += count_bits(rows.keep);
      read_word(plan, rows, numbers_in, shape, in_order, word);
      if (!groups.find(word.group_of, word.keep, word.place_of)) {
        work.iterations++;
        return FOLD_MISSES;
      }
    }
    const uint32_t first = lowest_bit(word.pairs) * ROWS_PER_ITERATION;
    fold_pair(plan.slots, in_order, word.slots, first, word.keep, word.place_of, groups);
    work.iterations++;
    word.pairs = static_cast<uint8_t>(word.pairs & (word.pairs - 1));
    if (in_order != 0 && word.pairs == 0) return FOLD_IN_ORDER;
  }
}

/// Reads all rows, without groups for them.
NS_APART void skip_rows(const aggregate_plan& plan, row_stream& rows_in,
                        number_stream numbers_in[SIDES][SIDE_COLUMNS], report& own) {
SKIP_WORDS:
  while (true) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const row_token rows = rows_in.read();
    if (rows.last) return;
    own.rows_aggregated += count_bits(rows.keep);
  SKIP_SIDES:
    for (uint32_t side = 0; side < SIDES; side++) {
#pragma HLS UNROLL
    SKIP_KEYS:
      for (uint32_t key_place = SIDE_SLOTS; key_place < SIDE_COLUMNS; key_place++) {
#pragma HLS UNROLL
        if (key_at(side, key_place) < plan.key_count) numbers_in[side][key_place].read();
      }
    SKIP_SLOTS:
      for (uint32_t place = 0; place < SIDE_SLOTS; place++) {
#pragma HLS UNROLL
        const uint32_t slot = slot_at(side, place);
        if (slot < plan.slot_count() && !plan.slots[slot].counts) numbers_in[side][place].read();
      }
    }
  }
}

/// Folds all rows; gives in `own` what was done.
inline void fold_rows(const aggregate_plan& plan, row_stream& rows_in,
                      number_stream numbers_in[SIDES][SIDE_COLUMNS], scratch_stream& requests,
                      string_stream& answers, const group_shape& shape, group_table& groups,
                      uint32_t in_order, report& own, fold_work& work) {
  open_word word;
#pragma HLS ARRAY_PARTITION variable = word.slots.number complete
#pragma HLS ARRAY_PARTITION variable = word.slots.used complete
#pragma HLS ARRAY_PARTITION variable = word.slots.addend complete
  word.pairs = 0;
RUNS:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const fold_end end =
        fold_run(plan, rows_in, numbers_in, shape, in_order, groups, word, own, work);
    if (end == FOLD_ENDS) break;
    if (end == FOLD_MISSES) {
      work.iterations += groups.bring(word.group_of, word.keep);
      groups.find(word.group_of, word.keep, word.place_of);
    } else {
      fold_in_order(plan.slots, in_order, word.slots, word.place_of, groups, requests, answers,
                    work);
    }
  }
  groups.settle();
}

/// Passes output columns on; gives the iterations.
inline uint64_t pass_columns(const aggregate_plan& plan, row_stream& rows_in,
                             side_stream passed[SIDES], row_stream& rows_out,
                             number_stream numbers_out[SIDES]) {
  uint64_t iterations = 0;
  uint32_t first = 0;
PASS:
  while (true) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    if (first == 0) {
      const row_token rows = rows_in.read();
      if (rows.last) return iterations;
      rows_out.write(rows);
    }
    iterations++;
  PASS_SIDES:
    for (uint32_t side = 0; side < SIDES; side++) {
#pragma HLS UNROLL
      if (first + side >= plan.column_count) break;
      numbers_out[side].write(passed[side].read().numbers);
    }
    first = first + SIDES < plan.column_count ? first + SIDES : 0;
  }
}

/// Stage: output columns of kept rows in, to be folded or to be passed on; the same, or the states
/// of the groups, out. Strings that are compared are asked for.
inline void aggregate(const aggregate_plan& plan, key_stream keys[LANES], row_stream& rows_in,
                      number_stream numbers_in[SIDES][SIDE_COLUMNS], side_stream passed[SIDES],
                      report_stream& reports_in, scratch_stream& requests, string_stream& answers,
                      row_stream& rows_out, number_stream numbers_out[SIDES],
                      report_stream& reports_out) {
#pragma HLS ARRAY_PARTITION variable = plan.keys complete
#pragma HLS ARRAY_PARTITION variable = plan.slots complete
  uint32_t status = STATUS_OK;
  report folded = empty_report();
  fold_work work = {0, 0};
  report own;
  if (plan.states) {
    group_table groups;
#pragma HLS BIND_STORAGE variable = groups.memory type = ram_2p impl = bram
#pragma HLS ARRAY_PARTITION variable = groups.at_hand complete
#pragma HLS ARRAY_PARTITION variable = groups.group_at complete
#pragma HLS ARRAY_PARTITION variable = groups.place_of dim = 1 complete
    group_shape shape;
    const bool fits = read_shape(plan, keys, shape);
    uint32_t in_order = 0;
    if (fits) groups.clear(shape.groups);
    if (fits) work.iterations += shape.groups;
  IN_ORDER:
    for (uint32_t slot = 0; slot < plan.slot_count(); slot++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      const uint32_t goes = goes_in_order(plan.slots[slot]) ? 1 : 0;
      in_order |= goes << slot;
    }
    if (fits) {
      fold_rows(plan, rows_in, numbers_in, requests, answers, shape, groups, in_order, folded,
                work);
    } else {
      skip_rows(plan, rows_in, numbers_in, folded);
      status = STATUS_GROUP_CARDINALITY;
    }
    own = reports_in.read();
    if (own.status == STATUS_OK && status == STATUS_OK &&
        emit_groups(plan, shape, groups, rows_out, numbers_out, work)) {
      status = STATUS_OVERFLOW;
    }
  } else {
    work.iterations = pass_columns(plan, rows_in, passed, rows_out, numbers_out);
    own = reports_in.read();
  }
  row_token end = row_token();
  end.last = true;
  rows_out.write(end);
  fail(own, status);
  own.rows_aggregated = folded.rows_aggregated;
  scratch_token nothing = scratch_token();
  nothing.kind = SCRATCH_END;
  requests.write(nothing);
  own.string_words = work.words_read;
  own.aggregate_iterations = work.iterations;
  reports_out.write(own);
}

}  // namespace nearscan
