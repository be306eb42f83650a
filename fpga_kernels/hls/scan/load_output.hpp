// SPDX-License-Identifier: Apache-2.0
// Loads what comes back: keys and slots, or columns of rows.
#pragma once

#include "load_columns.hpp"

namespace nearscan {

/// Marks the columns that a projection operand needs behind the filter.
inline void forward_operand(uint16_t operand, scan_plan& plan) {
  if (operand == NONE) return;
  const uint32_t index = operand & ((1u << OPERAND_KIND_SHIFT) - 1);
  const uint32_t kind = operand >> OPERAND_KIND_SHIFT;
  if (kind == OPERAND_COLUMN) plan.filter.forwarded[index] = true;
  if (kind == OPERAND_TEST) {
    plan.filter.forwarded[plan.filter.program.test_column[index]] = true;
  }
}

/// Loads the group keys as the first output columns.
inline uint32_t load_keys(const uint64_t* words, const section_table& sections,
                          const program_scope& scope, scan_plan& plan) {
  const section_range& range = sections.of[SECTION_KEYS];
KEYS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
    const key_record key = load_key_record(words, range.offset + index * KEY_RECORD_BYTES);
    if (key.operand >= scope.column_count) return STATUS_MALFORMED;
    decode_plan& lane = plan.decode[key.operand];
    // A key listed twice would want its dictionary's size twice.
    if (lane.needs_codes) return STATUS_MALFORMED;
    lane.needs_codes = true;
    lane.needs_bytes = lane.physical_type == PHYSICAL_BYTE_ARRAY;
    plan.filter.forwarded[key.operand] = true;
    output_plan column = {NONE, NONE, WIDTH_W64, 0, static_cast<uint8_t>(key.operand), true, false};
    if (lane.needs_bytes) column.width = WIDTH_BYTES;
    plan.project.columns[index] = column;
  }
  return STATUS_OK;
}

/// Loads the aggregate slots as the output columns behind the keys.
inline uint32_t load_slots(const uint64_t* words, const section_table& sections,
                           const program_scope& scope, const uint8_t step_kind[STEPS_MAX],
                           scan_plan& plan) {
  const section_range& range = sections.of[SECTION_AGGREGATES];
  const uint32_t first = sections.of[SECTION_KEYS].count;
  const uint32_t steps = plan.project.program.step_count;
SLOTS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    const aggregate_record slot =
        load_aggregate_record(words, range.offset + index * AGGREGATE_RECORD_BYTES);
    const uint8_t kind = operand_kind(scope, step_kind, steps, slot.operand);
    bool right = false;
    switch (slot.function) {
      case FUNCTION_COUNT_ROWS:
        right = slot.operand == NONE;
        break;
      case FUNCTION_COUNT:
        right = (kind & IS_ANY) != 0;
        break;
      case FUNCTION_SUM:
      case FUNCTION_MIN:
      case FUNCTION_MAX:
        right = (kind & IS_NUMBER) != 0;
        break;
      default:
        return STATUS_UNSUPPORTED;
    }
    const uint8_t filter = operand_kind(scope, step_kind, steps, slot.filter);
    if (!right || !is_numeric_width(slot.width)) return STATUS_MALFORMED;
    if (slot.filter != NONE && (filter & IS_TRUTH) == 0) return STATUS_MALFORMED;
    forward_operand(slot.operand, plan);
    forward_operand(slot.filter, plan);
    const bool counts = slot.function == FUNCTION_COUNT || slot.function == FUNCTION_COUNT_ROWS;
    output_plan column = {slot.operand, slot.filter, slot.width, slot.function, 0, false, counts};
    plan.project.columns[first + index] = column;
  }
  return STATUS_OK;
}

/// Loads the output columns of rows mode.
inline uint32_t load_row_columns(const uint64_t* words, const section_table& sections,
                                 const program_scope& scope, const uint8_t step_kind[STEPS_MAX],
                                 scan_plan& plan) {
  const section_range& range = sections.of[SECTION_OUTPUT_COLUMNS];
  const uint32_t steps = plan.project.program.step_count;
ROW_COLUMNS:
  for (uint32_t index = 0; index < range.count; index++) {
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
    forward_operand(record.operand, plan);
    output_plan column = {record.operand, NONE, static_cast<uint8_t>(record.width), 0, 0,
                          false,          false};
    plan.project.columns[index] = column;
  }
  return STATUS_OK;
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
  uint32_t status;
  if (output.mode == OUTPUT_STATES) {
    plan.aggregate.key_count = sections.of[SECTION_KEYS].count;
    plan.project.column_count = plan.aggregate.key_count + sections.of[SECTION_AGGREGATES].count;
    status = load_keys(words, sections, scope, plan);
    if (status == STATUS_OK) status = load_slots(words, sections, scope, step_kind, plan);
  } else if (output.mode == OUTPUT_ROWS) {
    plan.aggregate.key_count = 0;
    plan.project.column_count = sections.of[SECTION_OUTPUT_COLUMNS].count;
    status = load_row_columns(words, sections, scope, step_kind, plan);
  } else {
    return STATUS_UNSUPPORTED;
  }
  plan.aggregate.states = output.mode == OUTPUT_STATES;
  plan.aggregate.column_count = plan.project.column_count;
  plan.write.column_count = plan.project.column_count;
  plan.write.bytes_max = output.bytes_max;
  plan.write.rows_max = output.rows_max;
COPY_COLUMNS:
  for (uint32_t index = 0; index < plan.project.column_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 20
    const output_plan& column = plan.project.columns[index];
    plan.aggregate.columns[index] = column;
    plan.write.width[index] = column.function != 0 ? WIDTH_W128 : column.width;
  }
  return status;
}

}  // namespace nearscan
