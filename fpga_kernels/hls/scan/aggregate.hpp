// SPDX-License-Identifier: Apache-2.0
// Folds rows into aggregate states by group; in rows mode passes everything on.
//
// A group's number is made of its keys' dictionary codes, or places in their ranges, 0 being null:
// no hashing, no collisions, and a table whose size is known before the first row. The keys'
// dictionaries come before the first rows and stay here, so that the groups can be shown as values.
#pragma once

#include "../common/floats.hpp"
#include "extremes.hpp"

namespace nearscan {

inline void clear_groups(group_table& groups, uint32_t count) {
  groups.wide_slots = 0;
CLEAR_GROUPS:
  for (uint32_t group = 0; group < count; group++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1024
    groups.seen[group] = 0;
    groups.rows[group] = 0;
  CLEAR_SLOTS:
    for (uint32_t slot = 0; slot < AGGREGATES_MAX; slot++) groups.state[slot][group] = 0;
  }
}

/// Notes that the groups of `rows` have met values of `slots`, a bit each.
inline void mark_rows(group_table& groups, uint32_t slots, uint8_t rows,
                      const uint32_t group_of[ROWS]) {
MARK_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE
    const uint32_t met = ((rows >> row) & 1) != 0 ? slots : 0;
    groups.seen[group_of[row]] = static_cast<uint16_t>(groups.seen[group_of[row]] | met);
  }
}

/// Adds numbers of 64 bits to the states of a slot that has met no others. So few of them are in a
/// unit that no sum leaves 128 bits. Numbers of other rows become 0.
inline void fold_narrow_sum(group_table& groups, uint32_t slot, half_token& number, uint8_t rows,
                            const uint32_t group_of[ROWS]) {
  if (rows != 0xff) {
  LEAVE_OUT:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      if (((rows >> row) & 1) == 0) number.row[row] = 0;
    }
  }
SUM_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE
    groups.state[slot][group_of[row]] += number.row[row];
  }
}
static_assert(UNIT_ROWS_MAX < 1ull << 63, "as many numbers of 64 bits add up to less than 128");

/// Adds any numbers to the states of a slot; true when a sum left 128 bits.
NS_RARE bool fold_wide_sum(group_table& groups, uint32_t slot, const number_word& number,
                           uint8_t rows, const uint32_t group_of[ROWS]) {
  bool overflowed = false;
WIDE_SUM_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE
    if (((rows >> row) & 1) == 0) continue;
    const uint32_t group = group_of[row];
    i128 sum;
    overflowed |= add_overflows(groups.state[slot][group], number.at(row), &sum);
    groups.state[slot][group] = sum;
  }
  return overflowed;
}

/// Adds the numbers of `rows` to their groups' states; true when a sum left 128 bits.
///
/// Rows behind each other may belong to one group, so each waits for the state before it: the
/// interval is that of an addition in 128 bits, unless the tool forwards it.
inline bool fold_sum(group_table& groups, uint32_t slot, number_word& number, uint8_t rows,
                     const uint32_t group_of[ROWS]) {
  if (number.wide) groups.wide_slots |= 1u << slot;
  if (((groups.wide_slots >> slot) & 1) != 0) {
    return fold_wide_sum(groups, slot, number, rows, group_of);
  }
  fold_narrow_sum(groups, slot, number.low, rows, group_of);
  return false;
}

/// Adds the floats of `rows`, which are places in the total order, to their groups' states, in the
/// order of the rows: the interval is that of an addition in double precision.
NS_RARE void fold_float(group_table& groups, uint32_t slot, const number_word& number, uint8_t rows,
                        const uint32_t group_of[ROWS]) {
FLOAT_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE
    if (((rows >> row) & 1) == 0) continue;
    const uint32_t group = group_of[row];
    const uint64_t bits = order_bits(static_cast<uint64_t>(number.low.row[row]));
    groups.state[slot][group] = static_cast<i128>(add_floats(groups.low(group, slot), bits));
  }
}

/// Counts kept rows in their groups; a unit has fewer than 2^32.
inline void count_rows(group_table& groups, uint8_t rows, const uint32_t group_of[ROWS]) {
COUNT_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE
    groups.rows[group_of[row]] += (rows >> row) & 1;
  }
}
static_assert(UNIT_ROWS_MAX < 1ull << 32, "rows of a group are counted in 32 bits");

/// Counts kept rows that a counting slot leaves out. Most leave out none, so that one counter of
/// rows serves them all.
inline void count_left_out(group_table& groups, uint32_t slot, uint8_t left_out,
                           const uint32_t group_of[ROWS]) {
  if (left_out == 0) return;
LEFT_OUT:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE
    groups.state[slot][group_of[row]] += (left_out >> row) & 1;
  }
}

/// Keeps the least or the greatest number of `rows` in their groups' states.
NS_APART void fold_extreme(group_table& groups, uint32_t slot, bool least,
                           const number_word& number, uint8_t rows, const uint32_t group_of[ROWS]) {
EXTREME_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE
    if (((rows >> row) & 1) == 0) continue;
    const uint32_t group = group_of[row];
    const bool first = !groups.has(group, slot);
    const i128 value = number.at(row);
    const i128 state = groups.state[slot][group];
    if (first || (least ? value < state : value > state)) groups.state[slot][group] = value;
    groups.mark(group, slot);
  }
}

/// Folds the numbers of eight rows into a slot; true when a sum left 128 bits.
inline bool fold_numbers(group_table& groups, uint32_t slot, const output_plan& column,
                         number_word& number, uint8_t rows, const uint32_t group_of[ROWS],
                         scratch_stream& requests, string_stream& answers, uint64_t& words_read) {
  const bool least = column.function == FUNCTION_MIN;
  switch (column.function) {
    case FUNCTION_SUM:
      return fold_sum(groups, slot, number, rows, group_of);
    case FUNCTION_SUM_FLOAT:
      fold_float(groups, slot, number, rows, group_of);
      return false;
    default:
      if (column.width == WIDTH_BYTES) {
        fold_strings(groups, slot, least, number, rows, group_of, requests, answers, words_read);
      } else {
        fold_extreme(groups, slot, least, number, rows, group_of);
      }
      return false;
  }
}

/// How the codes and places of the keys make a group's number, and what the codes stand for.
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
    const output_plan& column = plan.columns[key];
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
inline i128 key_value(const aggregate_plan& plan, const group_shape& shape, uint32_t index,
                      uint32_t code) {
  const output_plan& column = plan.columns[index];
  if (column.is_range) return static_cast<i128>(column.first) + (code - 1);
  const int64_t value = shape.value[index][code - 1];
  const bool is_unsigned = ((plan.unsigned_columns >> column.lane) & 1) != 0;
  return is_unsigned ? static_cast<i128>(static_cast<uint64_t>(value)) : static_cast<i128>(value);
}

/// Output column `index` of group `group`.
inline void emit_column(const aggregate_plan& plan, const group_shape& shape,
                        const group_table& groups, uint32_t index, uint32_t group, i128* value,
                        bool* valid) {
  if (index < plan.key_count) {
    const uint32_t code = group / shape.stride[index] % shape.size[index];
    *valid = code != 0;
    *value = code != 0 ? key_value(plan, shape, index, code) : static_cast<i128>(0);
    return;
  }
  const uint32_t slot = index - plan.key_count;
  const output_plan& column = plan.columns[index];
  *valid = column.counts || groups.has(group, slot);
  if (column.counts) {
    *value = static_cast<i128>(groups.rows[group]) - groups.state[slot][group];
  } else if (column.width == WIDTH_BYTES) {
    *value = static_cast<i128>(groups.low(group, slot));
  } else if (column.function == FUNCTION_SUM_FLOAT) {
    *value = static_cast<int64_t>(sum_order(groups.low(group, slot)));
  } else {
    *value = groups.state[slot][group];
  }
}

/// Writes the states of all groups as words of one row; true when one left its width.
inline bool emit_groups(const aggregate_plan& plan, const group_shape& shape,
                        const group_table& groups, row_stream& rows, half_stream numbers[SLOTS]) {
  bool overflowed = false;
GROUPS:
  for (uint32_t group = 0; group < shape.groups; group++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1024
    if (plan.key_count != 0 && groups.rows[group] == 0) continue;
    i128 value[SLOTS];
    row_token row = row_token();
    row.keep = 1;
  EMIT_COLUMNS:
    for (uint32_t index = 0; index < plan.column_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
      bool valid;
      emit_column(plan, shape, groups, index, group, &value[index], &valid);
      if (valid) overflowed = overflowed || !fits_width(value[index], plan.columns[index].width);
      row.valid[index] = valid ? 1 : 0;
      row.use[index] = 1;
      if (!fits_64(value[index])) row.wide |= 1u << index;
    }
    rows.write(row);
  EMIT_NUMBERS:
    for (uint32_t index = 0; index < plan.column_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
      number_word number;
      number.fill(value[index]);
      send_numbers(number, numbers[index]);
    }
  }
  return overflowed;
}

/// The group of each row.
inline void read_groups(const aggregate_plan& plan, const group_shape& shape,
                        half_stream numbers_in[SLOTS], uint32_t group_of[ROWS]) {
GROUP_INIT:
  for (int row = 0; row < ROWS; row++) group_of[row] = 0;
GROUP_KEYS:
  for (uint32_t key = 0; key < plan.key_count; key++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
    const half_token places = numbers_in[key].read();
  GROUP_NUMBERS:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      group_of[row] += static_cast<uint32_t>(places.row[row]) * shape.stride[key];
    }
  }
}

/// Folds one word; true when a sum left 128 bits.
inline bool fold_word(const aggregate_plan& plan, const row_token& rows,
                      half_stream numbers_in[SLOTS], scratch_stream& requests,
                      string_stream& answers, const group_shape& shape, group_table& groups,
                      uint64_t& words_read) {
  uint32_t group_of[ROWS];
  read_groups(plan, shape, numbers_in, group_of);
  // What all kept rows have met is noted once.
  uint32_t met = 0;
  bool overflowed = false;
FOLD_SLOTS:
  for (uint32_t index = plan.key_count; index < plan.column_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    const output_plan& column = plan.columns[index];
    const uint32_t slot = index - plan.key_count;
    const uint8_t used = rows.use[index] & rows.valid[index];
    if (column.counts) {
      count_left_out(groups, slot, rows.keep & ~used, group_of);
      continue;
    }
    number_word number;
    read_numbers(numbers_in[index], rows.is_wide(index), number);
    overflowed |=
        fold_numbers(groups, slot, column, number, used, group_of, requests, answers, words_read);
    if (used == rows.keep) {
      met |= 1u << slot;
    } else {
      mark_rows(groups, 1u << slot, used, group_of);
    }
  }
  mark_rows(groups, met, rows.keep, group_of);
  count_rows(groups, rows.keep, group_of);
  return overflowed;
}

/// Reads the numbers of a word once something has failed.
NS_APART void skip_word(const aggregate_plan& plan, const row_token& rows,
                        half_stream numbers_in[SLOTS]) {
SKIP_COLUMNS:
  for (uint32_t index = 0; index < plan.column_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    number_word number;
    if (!plan.columns[index].counts) {
      read_numbers(numbers_in[index], rows.is_wide(index), number);
    }
  }
}

/// Folds all rows; gives the status, and in `own` what was done.
inline uint32_t fold_rows(const aggregate_plan& plan, row_stream& rows_in,
                          half_stream numbers_in[SLOTS], scratch_stream& requests,
                          string_stream& answers, const group_shape& shape, bool fits,
                          group_table& groups, report& own) {
  uint32_t status = fits ? STATUS_OK : STATUS_GROUP_CARDINALITY;
WORDS:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const row_token rows = rows_in.read();
    if (rows.last) return status;
    own.rows_aggregated += count_bits(rows.keep);
    if (status != STATUS_OK) {
      skip_word(plan, rows, numbers_in);
    } else if (fold_word(plan, rows, numbers_in, requests, answers, shape, groups,
                         own.string_words)) {
      status = STATUS_OVERFLOW;
    }
  }
}

/// Stage: output columns of kept rows in; the same, or the states of the groups, out. Strings that
/// are compared are asked for.
inline void aggregate(const aggregate_plan& plan, key_stream keys[LANES], row_stream& rows_in,
                      half_stream numbers_in[SLOTS], report_stream& reports_in,
                      scratch_stream& requests, string_stream& answers, row_stream& rows_out,
                      half_stream numbers_out[SLOTS], report_stream& reports_out) {
  uint32_t status = STATUS_OK;
  report folded = empty_report();
  report own;
  if (plan.states) {
    group_table groups;
#pragma HLS BIND_STORAGE variable = groups.state type = ram_2p impl = uram
    group_shape shape;
    const bool fits = read_shape(plan, keys, shape);
    if (fits) clear_groups(groups, shape.groups);
    status = fold_rows(plan, rows_in, numbers_in, requests, answers, shape, fits, groups, folded);
    own = reports_in.read();
    if (own.status == STATUS_OK && status == STATUS_OK &&
        emit_groups(plan, shape, groups, rows_out, numbers_out)) {
      status = STATUS_OVERFLOW;
    }
  } else {
  PASS:
    while (true) {
#pragma HLS PIPELINE II = 8
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
      const row_token rows = rows_in.read();
      if (rows.last) break;
      rows_out.write(rows);
    PASS_COLUMNS:
      for (uint32_t index = 0; index < static_cast<uint32_t>(SLOTS); index++) {
#pragma HLS UNROLL
        if (index >= plan.column_count) break;
        numbers_out[index].write(numbers_in[index].read());
        if (rows.is_wide(index)) numbers_out[index].write(numbers_in[index].read());
      }
    }
    own = reports_in.read();
  }
  row_token end = row_token();
  end.last = true;
  rows_out.write(end);
  fail(own, status);
  own.rows_aggregated = folded.rows_aggregated;
  own.string_words = folded.string_words;
  reports_out.write(own);
}

}  // namespace nearscan
