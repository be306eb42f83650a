// SPDX-License-Identifier: Apache-2.0
// Finds the sections of a command.
#pragma once

#include "../command_format.hpp"

namespace nearscan {

/// The range of a section in a command, in bytes; count 0 when it is not there.
struct section_range {
  uint32_t offset;
  uint32_t bytes;
  uint32_t count;
};

static constexpr uint32_t SECTION_KINDS = SECTION_KEY_FILTERS + 1;

/// The sections of a merge, a bit each. Its scans are not for a kernel.
static constexpr uint32_t SECTIONS_OF_MERGES = (1u << SECTION_INPUTS) | (1u << SECTION_OUTPUT) |
                                               (1u << SECTION_OUTPUT_COLUMNS) |
                                               (1u << SECTION_MERGE) | (1u << SECTION_MERGE_KEYS) |
                                               (1u << SECTION_MERGE_PART);
/// The sections of a scan: all that came before those of merges, and key filters.
static constexpr uint32_t SECTIONS_OF_SCANS =
    ((1u << (SECTION_TOP + 1)) - 2) | (1u << SECTION_KEY_FILTERS);

struct section_table {
  section_range of[SECTION_KINDS];
};

/// Bytes of a section's record; 0 for plain bytes.
inline uint32_t section_record_bytes(uint32_t kind) {
  switch (kind) {
    case SECTION_INPUTS:
      return INPUT_RECORD_BYTES;
    case SECTION_EXTENTS:
      return EXTENT_RECORD_BYTES;
    case SECTION_COLUMNS:
      return COLUMN_RECORD_BYTES;
    case SECTION_PREDICATE:
    case SECTION_PROJECTION:
      return STEP_RECORD_BYTES;
    case SECTION_LITERALS:
      return LITERAL_RECORD_BYTES;
    case SECTION_TESTS:
      return TEST_RECORD_BYTES;
    case SECTION_STRINGS:
      return STRING_RECORD_BYTES;
    case SECTION_AGGREGATES:
      return AGGREGATE_RECORD_BYTES;
    case SECTION_KEYS:
      return KEY_RECORD_BYTES;
    case SECTION_OUTPUT:
      return OUTPUT_RECORD_BYTES;
    case SECTION_OUTPUT_COLUMNS:
      return OUTPUT_COLUMN_RECORD_BYTES;
    case SECTION_READINGS:
      return READING_RECORD_BYTES;
    case SECTION_KEY_RANGES:
      return KEY_RANGE_RECORD_BYTES;
    case SECTION_TOP:
      return TOP_RECORD_BYTES;
    case SECTION_MERGE:
      return MERGE_RECORD_BYTES;
    case SECTION_MERGE_KEYS:
      return SORT_KEY_RECORD_BYTES;
    case SECTION_MERGE_PART:
      return MERGE_PART_RECORD_BYTES;
    case SECTION_KEY_FILTERS:
      return KEY_FILTER_RECORD_BYTES;
    default:
      return 0;
  }
}

/// Records that a section may hold.
inline uint32_t section_count_max(uint32_t kind) {
  switch (kind) {
    case SECTION_INPUTS:
    case SECTION_COLUMNS:
    case SECTION_READINGS:
      return COLUMNS_MAX;
    case SECTION_PREDICATE:
    case SECTION_PROJECTION:
      return STEPS_MAX;
    case SECTION_LITERALS:
      return LITERALS_MAX;
    case SECTION_TESTS:
      return TESTS_MAX;
    case SECTION_STRINGS:
      return STRINGS_MAX;
    case SECTION_AGGREGATES:
      return AGGREGATES_MAX;
    case SECTION_KEYS:
    case SECTION_KEY_RANGES:
      return KEYS_MAX;
    case SECTION_OUTPUT:
    case SECTION_TOP:
    case SECTION_MERGE:
    case SECTION_MERGE_PART:
      return 1;
    case SECTION_MERGE_KEYS:
      return MERGE_KEYS_MAX;
    case SECTION_KEY_FILTERS:
      return KEY_FILTERS_MAX;
    case SECTION_OUTPUT_COLUMNS:
      return OUTPUT_COLUMNS_MAX;
    default:
      return 0xffffffffu;
  }
}

/// Reads the directory; `known` has a bit for each section that this kernel knows.
inline uint32_t load_sections(const uint64_t* words, const command_header& header, uint32_t known,
                              section_table& sections) {
CLEAR:
  for (uint32_t kind = 0; kind < SECTION_KINDS; kind++) {
#pragma HLS PIPELINE off
    sections.of[kind] = section_range();
  }
  if (header.section_count > SECTIONS_MAX) return STATUS_MALFORMED;
  if (COMMAND_HEADER_BYTES + header.section_count * SECTION_ENTRY_BYTES > header.total_bytes) {
    return STATUS_MALFORMED;
  }
ENTRIES:
  for (uint32_t index = 0; index < header.section_count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 3 max = 32
    const section_entry entry =
        load_section_entry(words, COMMAND_HEADER_BYTES + index * SECTION_ENTRY_BYTES);
    const uint64_t end = static_cast<uint64_t>(entry.offset) + entry.bytes;
    if (end > header.total_bytes || entry.offset % SECTION_ALIGN != 0) return STATUS_MALFORMED;
    if (entry.kind >= SECTION_KINDS || ((known >> entry.kind) & 1) == 0) {
      if ((entry.flags & SECTION_CRITICAL) != 0) return STATUS_UNSUPPORTED;
      continue;
    }
    const uint64_t record = section_record_bytes(entry.kind);
    if (entry.count > section_count_max(entry.kind)) return STATUS_MALFORMED;
    if (record != 0 && record * entry.count != entry.bytes) return STATUS_MALFORMED;
    section_range& range = sections.of[entry.kind];
    if (range.bytes != 0) return STATUS_MALFORMED;
    range.offset = entry.offset;
    range.bytes = entry.bytes;
    range.count = entry.count;
  }
  return STATUS_OK;
}

}  // namespace nearscan
