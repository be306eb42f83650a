// SPDX-License-Identifier: Apache-2.0
// Folds rows into aggregate states by group; in rows mode passes everything on.
//
// A group's number is made of its keys' dictionary codes, code 0 being null: no hashing, no
// collisions, and a table whose size is known before the first row. The keys' values come back from
// the dictionaries in scratch when the states are written.
#pragma once

#include "program.hpp"

namespace nearscan {

/// The states of all groups. `seen` has a bit for each slot that has met a value.
struct group_table {
  i128 state[GROUPS_MAX][AGGREGATES_MAX];
  uint16_t seen[GROUPS_MAX];
  bool present[GROUPS_MAX];
};

inline void clear_groups(group_table& groups, uint32_t count) {
CLEAR_GROUPS:
  for (uint32_t group = 0; group < count; group++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 256
    groups.seen[group] = 0;
    groups.present[group] = false;
  CLEAR_SLOTS:
    for (uint32_t slot = 0; slot < AGGREGATES_MAX; slot++) groups.state[group][slot] = 0;
  }
}

/// Folds one slot of eight rows; true when a sum left 128 bits.
inline bool fold_slot(group_table& groups, uint32_t slot, uint8_t function,
                      const number_token& token, const uint32_t group_of[ROWS]) {
  bool overflowed = false;
  const uint8_t rows =
      function == FUNCTION_COUNT_ROWS ? token.use : static_cast<uint8_t>(token.use & token.valid);
FOLD_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
    if (((rows >> row) & 1) == 0) continue;
    const uint32_t group = group_of[row];
    const i128 value = token.value[row];
    const bool first = ((groups.seen[group] >> slot) & 1) == 0;
    i128& state = groups.state[group][slot];
    switch (function) {
      case FUNCTION_SUM:
        overflowed = add_overflows(state, value, &state) || overflowed;
        break;
      case FUNCTION_MIN:
        if (first || value < state) state = value;
        break;
      case FUNCTION_MAX:
        if (first || value > state) state = value;
        break;
      default:
        state = state + 1;
        break;
    }
    groups.seen[group] = static_cast<uint16_t>(groups.seen[group] | (1u << slot));
  }
  return overflowed;
}

/// How the codes of the keys make a group's number.
struct group_shape {
  uint32_t stride[KEYS_MAX];
  uint32_t size[KEYS_MAX];
  uint32_t groups;
};

/// Reads the dictionary sizes of all keys; false when they make too many groups.
inline bool read_shape(const aggregate_plan& plan, size_stream sizes[LANES], group_shape& shape) {
  uint64_t groups = 1;
KEY_SIZES:
  for (uint32_t key = 0; key < KEYS_MAX; key++) {
    if (key >= plan.key_count) continue;
    const uint32_t size = sizes[plan.columns[key].lane].read() + 1;
    shape.size[key] = size;
    shape.stride[key] = static_cast<uint32_t>(groups);
    if (groups <= GROUPS_MAX) groups *= size;
  }
  shape.groups = static_cast<uint32_t>(groups);
  return groups <= GROUPS_MAX;
}

/// Output column `index` of group `group`.
inline void emit_column(const aggregate_plan& plan, const group_shape& shape,
                        const group_table& groups, const uint64_t* scratch, uint32_t index,
                        uint32_t group, i128* value, bool* valid) {
  if (index < plan.key_count) {
    const uint32_t code = group / shape.stride[index] % shape.size[index];
    *valid = code != 0;
    *value = 0;
    if (code != 0) {
      const uint64_t slot = plan.key_slots[index] + (code - 1) * DICTIONARY_SLOT_BYTES;
      *value = static_cast<int64_t>(scratch[slot / 8]);
    }
    return;
  }
  const uint32_t slot = index - plan.key_count;
  const uint8_t function = plan.columns[index].function;
  const bool counts = function == FUNCTION_COUNT || function == FUNCTION_COUNT_ROWS;
  *valid = counts || ((groups.seen[group] >> slot) & 1) != 0;
  *value = groups.state[group][slot];
}

/// Writes the states of all groups as words of up to eight rows; true when one left its width.
inline bool emit_groups(const aggregate_plan& plan, const group_shape& shape,
                        const group_table& groups, const uint64_t* scratch, keep_stream& kept,
                        number_stream numbers[SLOTS]) {
  bool overflowed = false;
GROUPS:
  for (uint32_t group = 0; group < shape.groups; group++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 256
    if (plan.key_count != 0 && !groups.present[group]) continue;
    keep_token token = {1, 1, false};
    kept.write(token);
  EMIT_COLUMNS:
    for (uint32_t index = 0; index < plan.column_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
      i128 value;
      bool valid;
      emit_column(plan, shape, groups, scratch, index, group, &value, &valid);
      if (valid && index >= plan.key_count) {
        overflowed = overflowed || !fits_width(value, plan.columns[index].width);
      }
      number_token number = number_token();
      number.value[0] = value;
      number.valid = valid ? 1 : 0;
      number.use = 1;
      numbers[index].write(number);
    }
  }
  return overflowed;
}

/// Folds all rows; gives the status.
inline uint32_t fold_rows(const aggregate_plan& plan, keep_stream& kept_in,
                          number_stream numbers_in[SLOTS], const group_shape& shape, bool fits,
                          group_table& groups, uint64_t& rows) {
  uint32_t status = fits ? STATUS_OK : STATUS_GROUP_CARDINALITY;
WORDS:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const keep_token kept = kept_in.read();
    if (kept.last) return status;
    uint32_t group_of[ROWS];
  GROUP_INIT:
    for (int row = 0; row < ROWS; row++) group_of[row] = 0;
  FOLD_COLUMNS:
    for (uint32_t index = 0; index < plan.column_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
      const number_token token = numbers_in[index].read();
      if (status != STATUS_OK) continue;
      if (index < plan.key_count) {
      GROUP_NUMBERS:
        for (int row = 0; row < ROWS; row++) {
          group_of[row] += static_cast<uint32_t>(token.value[row]) * shape.stride[index];
        }
      } else if (fold_slot(groups, index - plan.key_count, plan.columns[index].function, token,
                           group_of)) {
        status = STATUS_OVERFLOW;
      }
    }
    rows += count_bits(kept.keep);
    if (status != STATUS_OK) continue;
  PRESENT:
    for (int row = 0; row < ROWS; row++) {
      if (((kept.keep >> row) & 1) != 0) groups.present[group_of[row]] = true;
    }
  }
}

/// Stage: output columns of kept rows in; the same, or the states of the groups, out.
inline void aggregate(const aggregate_plan& plan, size_stream sizes[LANES], keep_stream& kept_in,
                      number_stream numbers_in[SLOTS], report_stream& reports_in,
                      const uint64_t* scratch, keep_stream& kept_out,
                      number_stream numbers_out[SLOTS], report_stream& reports_out) {
  uint32_t status = STATUS_OK;
  uint64_t rows = 0;
  report own;
  if (plan.states) {
    group_table groups;
#pragma HLS BIND_STORAGE variable = groups.state type = ram_2p impl = uram
    group_shape shape = group_shape();
    const bool fits = read_shape(plan, sizes, shape);
    if (fits) clear_groups(groups, shape.groups);
    status = fold_rows(plan, kept_in, numbers_in, shape, fits, groups, rows);
    own = reports_in.read();
    if (own.status == STATUS_OK && status == STATUS_OK &&
        emit_groups(plan, shape, groups, scratch, kept_out, numbers_out)) {
      status = STATUS_OVERFLOW;
    }
  } else {
  PASS:
    while (true) {
#pragma HLS PIPELINE II = 8
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
      const keep_token kept = kept_in.read();
      if (kept.last) break;
      kept_out.write(kept);
    PASS_COLUMNS:
      for (uint32_t index = 0; index < static_cast<uint32_t>(SLOTS); index++) {
#pragma HLS UNROLL
        if (index < plan.column_count) numbers_out[index].write(numbers_in[index].read());
      }
    }
    own = reports_in.read();
  }
  keep_token end = keep_token();
  end.last = true;
  kept_out.write(end);
  fail(own, status);
  own.rows_aggregated = rows;
  reports_out.write(own);
}

}  // namespace nearscan
