// SPDX-License-Identifier: Apache-2.0
// Loads what comes back: keys and slots, or columns of rows.
#pragma once

#include "load_columns.hpp"
#include "load_look_ups.hpp"

namespace nearscan {

/// The place of the record of a key's range, for each key; 0 for none.
struct key_ranges {
  uint32_t at[KEYS_MAX];
};

/// Finds the ranges of the keys.
inline uint32_t find_ranges(const uint64_t* words, const section_table& sections,
                            key_ranges& ranges) {
  const section_range& range = sections.of[SECTION_KEY_RANGES];
NO_RANGES:
  for (uint32_t key = 0; key < KEYS_MAX; key++) {
#pragma HLS UNROLL
    ranges.at[key] = 0;
  }
RANGES:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
    const uint32_t at = range.offset + index * KEY_RANGE_RECORD_BYTES;
    const key_range_record record = load_key_range_record(words, at);
    if (record.key >= sections.of[SECTION_KEYS].count || ranges.at[record.key] != 0) {
      return STATUS_MALFORMED;
    }
    ranges.at[record.key] = at;
  }
  return STATUS_OK;
}

/// Loads a key by range: a number of a column or of a step.
inline uint32_t load_range_key(const key_range_record& range, uint16_t operand, uint8_t kind,
                               output_plan& column) {
  const uint32_t from = operand >> OPERAND_KIND_SHIFT;
  if (kind != IS_NUMBER || (from != OPERAND_COLUMN && from != OPERAND_STEP)) {
    return STATUS_MALFORMED;
  }
  column.first = static_cast<int64_t>(range.first);
  column.count = range.count;
  const i128 end = static_cast<i128>(column.first) + range.count;
  if (range.count == 0 || range.count >= GROUPS_MAX || !fits_64(end)) return STATUS_MALFORMED;
  column.operand = operand;
  column.is_range = true;
  return STATUS_OK;
}

/// Loads a key by codes: a column with a dictionary.
inline uint32_t load_code_key(uint16_t operand, const program_scope& scope, scan_plan& plan,
                              output_plan& column) {
  // The kind of a column is 0, so this is its index.
  if (operand >= scope.column_count) return STATUS_MALFORMED;
  decode_plan& lane = plan.decode[operand];
  lane.needs_codes = true;
  column.lane = static_cast<uint8_t>(operand);
  if (lane.reading.physical_type == PHYSICAL_BYTE_ARRAY) {
    lane.needs_bytes = true;
    column.width = WIDTH_BYTES;
  }
  return STATUS_OK;
}

/// Loads the group keys as the first output columns.
inline uint32_t load_keys(const uint64_t* words, const section_table& sections,
                          const program_scope& scope, const uint8_t step_kind[STEPS_MAX],
                          output_plan columns[SLOTS], scan_plan& plan) {
  const section_range& range = sections.of[SECTION_KEYS];
  key_ranges ranges;
  uint16_t operands[KEYS_MAX];
  uint32_t status = find_ranges(words, sections, ranges);
KEYS:
  for (uint32_t index = 0; index < range.count && status == STATUS_OK; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
    const uint16_t operand =
        load_key_record(words, range.offset + index * KEY_RECORD_BYTES).operand;
  TWICE:
    for (uint32_t other = 0; other < index; other++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 3
      // Its dictionary's size would be wanted twice.
      if (operands[other] == operand) return STATUS_MALFORMED;
    }
    operands[index] = operand;
    output_plan column = output_plan();
    column.operand = NONE;
    column.filter = NONE;
    column.index = static_cast<uint8_t>(index);
    column.stream = place_of_key(index);
    column.width = WIDTH_W64;
    column.is_key = true;
    if (ranges.at[index] == 0) {
      status = load_code_key(operand, scope, plan, column);
    } else {
      const uint8_t kind = operand_kind(scope, step_kind, plan.projection.step_count, operand);
      status =
          load_range_key(load_key_range_record(words, ranges.at[index]), operand, kind, column);
    }
    if (status == STATUS_OK) forward_operand(operand, true, plan);
    columns[index] = column;
  }
  return status;
}

/// Whether a slot has the operand and the width of its function; of a least or greatest byte string
/// the lane keeps the strings.
inline bool check_slot(const aggregate_record& slot, uint8_t kind, scan_plan& plan) {
  const bool is_column = (slot.operand >> OPERAND_KIND_SHIFT) == OPERAND_COLUMN;
  const uint32_t index = slot.operand & ((1u << OPERAND_KIND_SHIFT) - 1);
  switch (slot.function) {
    case FUNCTION_COUNT_ROWS:
      return slot.operand == NONE && is_numeric_width(slot.width);
    case FUNCTION_COUNT:
      return (kind & IS_ANY) != 0 && is_numeric_width(slot.width);
    case FUNCTION_SUM_FLOAT:
      return is_column && kind == IS_NUMBER && slot.width == WIDTH_W64 &&
             plan.decode[index].reading.read_as == READ_AS_FLOAT_ORDER;
    default:
      break;
  }
  if (slot.function != FUNCTION_SUM && kind == IS_BYTES) {
    plan.decode[index].needs_bytes = true;
    return slot.width == WIDTH_BYTES;
  }
  return (kind & IS_NUMBER) != 0 && is_numeric_width(slot.width);
}

/// Loads the aggregate slots as the output columns behind the keys.
inline uint32_t load_slots(const uint64_t* words, const section_table& sections,
                           const program_scope& scope, const uint8_t step_kind[STEPS_MAX],
                           output_plan columns[SLOTS], scan_plan& plan) {
  const section_range& range = sections.of[SECTION_AGGREGATES];
  const uint32_t first = sections.of[SECTION_KEYS].count;
  const uint32_t steps = plan.projection.step_count;
SLOTS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    const aggregate_record slot =
        load_aggregate_record(words, range.offset + index * AGGREGATE_RECORD_BYTES);
    const uint8_t kind = operand_kind(scope, step_kind, steps, slot.operand);
    if (slot.function < FUNCTION_COUNT_ROWS || slot.function > FUNCTION_SUM_FLOAT) {
      return STATUS_UNSUPPORTED;
    }
    const uint8_t filter = operand_kind(scope, step_kind, steps, slot.filter);
    if (!check_slot(slot, kind, plan)) return STATUS_MALFORMED;
    if (slot.filter != NONE && (filter & IS_TRUTH) == 0) return STATUS_MALFORMED;
    const bool counts = slot.function == FUNCTION_COUNT || slot.function == FUNCTION_COUNT_ROWS;
    forward_operand(slot.operand, !counts, plan);
    forward_operand(slot.filter, true, plan);
    output_plan column = output_plan();
    column.operand = slot.operand;
    column.filter = slot.filter;
    column.index = static_cast<uint8_t>(first + index);
    column.stream = place_of_slot(index);
    column.width = slot.width;
    column.function = slot.function;
    column.counts = counts;
    columns[first + index] = column;
  }
  return STATUS_OK;
}

/// Loads the output columns of rows mode.
inline uint32_t load_row_columns(const uint64_t* words, const section_table& sections,
                                 const program_scope& scope, const uint8_t step_kind[STEPS_MAX],
                                 output_plan columns[SLOTS], scan_plan& plan) {
  const section_range& range = sections.of[SECTION_OUTPUT_COLUMNS];
  const uint32_t steps = plan.projection.step_count;
ROW_COLUMNS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 20
    const output_column_record record =
        load_output_column_record(words, range.offset + index * OUTPUT_COLUMN_RECORD_BYTES);
    const uint8_t kind = operand_kind(scope, step_kind, steps, record.operand);
    const uint8_t wanted = record.width == WIDTH_BYTES  ? IS_BYTES
                           : record.width == WIDTH_BOOL ? IS_TRUTH
                           : record.width < WIDTH_BYTES ? IS_NUMBER
                                                        : 0;
    if ((kind & wanted) == 0) return STATUS_MALFORMED;
    if (wanted == IS_BYTES && (record.operand >> OPERAND_KIND_SHIFT) == OPERAND_COLUMN) {
      plan.decode[record.operand & ((1u << OPERAND_KIND_SHIFT) - 1)].needs_bytes = true;
    }
    forward_operand(record.operand, true, plan);
    output_plan column = output_plan();
    column.operand = record.operand;
    column.filter = NONE;
    column.index = static_cast<uint8_t>(index);
    column.stream.side = static_cast<uint8_t>(index % SIDES);
    column.width = static_cast<uint8_t>(record.width);
    columns[index] = column;
  }
  return STATUS_OK;
}

/// Leaves no column to send.
inline void clear_columns(columns_plan& plan) {
NO_COLUMNS:
  for (uint32_t list = 0; list < SIDES + 1; list++) {
#pragma HLS UNROLL
    plan.count[list] = 0;
  }
}

/// Shares the output columns out: those that are sent have their side, and each of the others goes
/// where there are fewest, best beside the sides.
inline void share_out_columns(const output_plan columns[SLOTS], uint32_t count,
                              columns_plan& plan) {
  clear_columns(plan);
SENT_COLUMNS:
  for (uint32_t index = 0; index < count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 20
    if (columns[index].counts) continue;
    const uint32_t side = columns[index].stream.side;
    plan.columns[side][plan.count[side]] = columns[index];
    plan.count[side]++;
  }
COUNTED_COLUMNS:
  for (uint32_t index = 0; index < count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 20
    if (!columns[index].counts) continue;
    uint32_t fewest = SIDES;
  FEWEST:
    for (uint32_t side = 0; side < SIDES; side++) {
#pragma HLS UNROLL
      if (plan.count[side] < plan.count[fewest]) fewest = side;
    }
    plan.columns[fewest][plan.count[fewest]] = columns[index];
    plan.count[fewest]++;
  }
}

/// Gives the first columns of strings a table for codes each, and has their lanes name entries.
inline void give_tables(const output_plan columns[SLOTS], uint32_t column_count, scan_plan& plan) {
  plan.write.tables = 0;
TABLES:
  for (uint32_t index = 0; index < column_count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 20
    const output_plan& column = columns[index];
    plan.write.table[index] = NO_TABLE;
    // The kind of a column is 0, so this is its index.
    if (!plan.write.compact || column.width != WIDTH_BYTES || column.operand >= COLUMNS_MAX ||
        plan.write.tables == CODED_COLUMNS_MAX) {
      continue;
    }
    plan.decode[column.operand].names_entries = true;
    plan.write.table[index] = static_cast<uint8_t>(plan.write.tables);
    plan.write.tables++;
  }
}

/// Loads which rows can be among the first, if that is asked.
inline uint32_t load_top(const uint64_t* words, const section_table& sections,
                         const program_scope& scope, const uint8_t step_kind[STEPS_MAX],
                         uint64_t rows_max, scan_plan& plan) {
  const section_range& range = sections.of[SECTION_TOP];
  if (range.count == 0) return STATUS_OK;
  const top_record record = load_top_record(words, range.offset);
  const uint8_t kind = operand_kind(scope, step_kind, plan.projection.step_count, record.operand);
  const uint32_t from = record.operand >> OPERAND_KIND_SHIFT;
  const uint16_t flags = TOP_DESCENDING | TOP_NULLS_FIRST;
  if (kind != IS_NUMBER || (from != OPERAND_COLUMN && from != OPERAND_STEP) ||
      (record.flags & ~flags) != 0 || record.count == 0 || record.count > TOP_MAX ||
      rows_max != ~static_cast<uint64_t>(0)) {
    return STATUS_MALFORMED;
  }
  plan.columns.top.count = record.count;
  plan.columns.top.operand = record.operand;
  plan.columns.top.descending = (record.flags & TOP_DESCENDING) != 0;
  plan.columns.top.nulls_first = (record.flags & TOP_NULLS_FIRST) != 0;
  forward_operand(record.operand, true, plan);
  return STATUS_OK;
}

/// The width in which an output column is written.
inline uint8_t written_width(const output_plan& column) {
  return column.function != 0 && column.width != WIDTH_BYTES ? WIDTH_W128 : column.width;
}

/// Loads what comes back.
inline uint32_t load_output(const uint64_t* words, const section_table& sections,
                            const program_scope& scope, const uint8_t step_kind[STEPS_MAX],
                            scan_plan& plan) {
  if (sections.of[SECTION_OUTPUT].count != 1) return STATUS_MALFORMED;
  const output_record output = load_output_record(words, sections.of[SECTION_OUTPUT].offset);
  if (output.bytes_max < RESULT_RECORD_BYTES || (output.bytes_max >> 62) != 0) {
    return STATUS_MALFORMED;
  }
  if (output.form > BLOCK_COMPACT) return STATUS_UNSUPPORTED;
  plan.write.compact = output.form == BLOCK_COMPACT;
  uint32_t status;
  output_plan columns[SLOTS];
  uint32_t column_count;
  plan.columns.top.count = 0;
  if (output.mode == OUTPUT_STATES) {
    if (output.rows_max != ~static_cast<uint64_t>(0) || plan.write.compact) {
      return STATUS_MALFORMED;
    }
    plan.aggregate.key_count = sections.of[SECTION_KEYS].count;
    column_count = plan.aggregate.key_count + sections.of[SECTION_AGGREGATES].count;
    status = load_keys(words, sections, scope, step_kind, columns, plan);
    if (status == STATUS_OK) status = load_slots(words, sections, scope, step_kind, columns, plan);
  } else if (output.mode == OUTPUT_ROWS) {
    plan.aggregate.key_count = 0;
    column_count = sections.of[SECTION_OUTPUT_COLUMNS].count;
    status = load_row_columns(words, sections, scope, step_kind, columns, plan);
    if (status == STATUS_OK) {
      status = load_top(words, sections, scope, step_kind, output.rows_max, plan);
    }
  } else {
    return STATUS_UNSUPPORTED;
  }
  if (status == STATUS_OK) {
    share_out_columns(columns, column_count, plan.columns);
    give_tables(columns, column_count, plan);
  }
  plan.aggregate.states = output.mode == OUTPUT_STATES;
  plan.columns.states = plan.aggregate.states;
  plan.write.states = plan.aggregate.states;
  plan.aggregate.column_count = column_count;
  plan.write.column_count = column_count;
  plan.write.bytes_max = output.bytes_max;
  plan.write.rows_max = output.rows_max;
  if (status != STATUS_OK) return status;
COPY_COLUMNS:
  for (uint32_t index = 0; index < column_count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 20
    const output_plan& column = columns[index];
    if (column.is_key) {
      plan.aggregate.keys[index] = column;
    } else if (plan.aggregate.states) {
      plan.aggregate.slots[index - plan.aggregate.key_count] = column;
    }
    plan.write.width[index] = written_width(column);
  }
  return status;
}

}  // namespace nearscan
