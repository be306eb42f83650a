// SPDX-License-Identifier: Apache-2.0
// The plan of the merge kernel: a command, taken apart and checked.
//
// Nothing behind this stage checks an index again: every input, column and key that a plan names
// exists. That holds for any bytes, whoever wrote them.
#pragma once

#include "../common/arithmetic.hpp"
#include "../common/frame.hpp"
#include "../common/sections.hpp"

namespace nearscan {
namespace merging {

/// The range of the result of a scan, in 8-byte words of the input.
struct input_range {
  uint64_t first;
  uint64_t end;
};

struct sort_key {
  uint8_t column;
  bool descending;
  bool nulls_first;
};

/// The widths of the columns.
struct column_widths {
  uint32_t count;
  uint8_t width[OUTPUT_COLUMNS_MAX];
};

struct merge_plan {
  command_header header;
  uint32_t input_count;
  input_range inputs[MERGE_INPUTS_MAX];
  column_widths columns;
  uint32_t key_count;
  sort_key keys[MERGE_KEYS_MAX];
  bool distinct;
  uint64_t bytes_max;
  /// Which part of the merge this is, of how many, and the steps that it may take.
  uint32_t part;
  uint32_t parts;
  uint64_t steps_max;
};

/// Loads the inputs: device ranges, each on lines of its own.
inline uint32_t load_inputs(const uint64_t* words, const section_range& range, merge_plan& plan) {
  plan.input_count = range.count;
  if (range.count == 0 || range.count > MERGE_INPUTS_MAX) return STATUS_MALFORMED;
INPUTS:
  for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    const input_record record = load_input_record(words, range.offset + index * INPUT_RECORD_BYTES);
    if (record.kind != 1) return STATUS_UNSUPPORTED;
    if (record.offset % LINE_BYTES != 0 || (record.offset >> 62) != 0) return STATUS_MALFORMED;
    if (record.length < RESULT_RECORD_BYTES || (record.length >> 62) != 0) return STATUS_MALFORMED;
    plan.inputs[index].first = record.offset / 8;
    plan.inputs[index].end = (record.offset + record.length) / 8;
  }
  return STATUS_OK;
}

/// Loads the widths of the columns.
inline uint32_t load_widths(const uint64_t* words, const section_range& range, merge_plan& plan) {
  plan.columns.count = range.count;
WIDTHS:
  for (uint32_t index = 0; index < plan.columns.count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    const uint16_t width =
        load_output_column_record(words, range.offset + index * OUTPUT_COLUMN_RECORD_BYTES).width;
    if (width > WIDTH_BYTES) return STATUS_MALFORMED;
    plan.columns.width[index] = static_cast<uint8_t>(width);
  }
  return STATUS_OK;
}

/// Loads the order.
inline uint32_t load_keys(const uint64_t* words, const section_table& sections, merge_plan& plan) {
  const section_range& range = sections.of[SECTION_MERGE_KEYS];
  if (sections.of[SECTION_MERGE].count != 1) return STATUS_MALFORMED;
  const uint16_t how = load_merge_record(words, sections.of[SECTION_MERGE].offset).flags;
  if ((how & ~MERGE_DISTINCT) != 0) return STATUS_MALFORMED;
  plan.distinct = (how & MERGE_DISTINCT) != 0;
  plan.key_count = range.count;
  uint32_t columns = 0;
KEYS:
  for (uint32_t index = 0; index < plan.key_count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4
    const sort_key_record record =
        load_sort_key_record(words, range.offset + index * SORT_KEY_RECORD_BYTES);
    if (record.column >= plan.columns.count) return STATUS_MALFORMED;
    if ((record.flags & ~(SORT_DESCENDING | SORT_NULLS_FIRST)) != 0) return STATUS_MALFORMED;
    if (((columns >> record.column) & 1) != 0) return STATUS_MALFORMED;
    columns |= 1u << record.column;
    plan.keys[index].column = static_cast<uint8_t>(record.column);
    plan.keys[index].descending = (record.flags & SORT_DESCENDING) != 0;
    plan.keys[index].nulls_first = (record.flags & SORT_NULLS_FIRST) != 0;
  }
  if (plan.key_count == 0) return STATUS_MALFORMED;
  return plan.distinct && plan.key_count != plan.columns.count ? STATUS_MALFORMED : STATUS_OK;
}

/// Loads the part that is asked for; without one it is the whole.
inline uint32_t load_part(const uint64_t* words, const section_range& range, merge_plan& plan) {
  plan.part = 0;
  plan.parts = 1;
  if (range.count == 1) {
    const merge_part_record record = load_merge_part_record(words, range.offset);
    plan.part = record.part;
    plan.parts = record.parts;
  }
  if (plan.parts > MERGE_PARTS_MAX || plan.part >= plan.parts) return STATUS_MALFORMED;
  plan.steps_max = plan.header.steps_max / plan.parts;
  return STATUS_OK;
}

/// Takes the command in `words` apart. `plan.header` is set whatever the status.
inline uint32_t load_merge(const uint64_t* words, merge_plan& plan) {
  section_table sections;
  uint32_t status = load_header(words, OPCODE_MERGE, plan.header);
  if (status != STATUS_OK) return status;
  status = load_sections(words, plan.header, SECTIONS_OF_MERGES, sections);
  if (status != STATUS_OK) return status;
  status = load_inputs(words, sections.of[SECTION_INPUTS], plan);
  if (status != STATUS_OK) return status;
  status = load_widths(words, sections.of[SECTION_OUTPUT_COLUMNS], plan);
  if (status != STATUS_OK) return status;
  status = load_keys(words, sections, plan);
  if (status != STATUS_OK) return status;
  status = load_part(words, sections.of[SECTION_MERGE_PART], plan);
  if (status != STATUS_OK) return status;
  if (sections.of[SECTION_OUTPUT].count != 1) return STATUS_MALFORMED;
  const output_record output = load_output_record(words, sections.of[SECTION_OUTPUT].offset);
  if (output.bytes_max < RESULT_RECORD_BYTES || (output.bytes_max >> 62) != 0) {
    return STATUS_MALFORMED;
  }
  if (output.mode != OUTPUT_ROWS) return STATUS_UNSUPPORTED;
  plan.bytes_max = output.bytes_max;
  return STATUS_OK;
}

}  // namespace merging
}  // namespace nearscan
