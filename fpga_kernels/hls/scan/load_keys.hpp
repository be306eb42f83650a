// SPDX-License-Identifier: Apache-2.0
// Loads key filters: their columns, ranges and sizes. Their bits are loaded later (keys.hpp).
#pragma once

#include "load_columns.hpp"

namespace nearscan {

/// Whether a set has as many blocks as its kind and its range say.
inline bool check_key_blocks(const key_filter_record& record) {
  if (record.bytes == 0 || record.bytes % (8 * KEY_BLOCK_WORDS) != 0) return false;
  if (record.kind == KEY_SET_BLOOM) return true;
  const int64_t first = static_cast<int64_t>(record.first);
  const int64_t last = static_cast<int64_t>(record.last);
  // A block has a bit for 256 numbers.
  return last >= first && (record.last - record.first) / (64 * KEY_BLOCK_WORDS) + 1 ==
                              record.bytes / (8 * KEY_BLOCK_WORDS);
}

/// Loads the key filters.
inline uint32_t load_key_filters(const uint64_t* words, const section_table& sections,
                                 const command_header& header, const program_scope& scope,
                                 scan_plan& plan) {
  const section_range& range = sections.of[SECTION_KEY_FILTERS];
  key_plan& keys = plan.keys;
  keys.count = range.count;
  plan.gather.key_count = range.count;
  keys.word_first = header.total_bytes / 8;
  uint32_t blocks = 0;
KEY_FILTERS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
    const key_filter_record record =
        load_key_filter_record(words, range.offset + index * KEY_FILTER_RECORD_BYTES);
    if (record.kind != KEY_SET_BITMAP && record.kind != KEY_SET_BLOOM) return STATUS_UNSUPPORTED;
    if (record.column >= scope.column_count || scope.column_kind[record.column] != KIND_INTEGER ||
        !check_key_blocks(record)) {
      return STATUS_MALFORMED;
    }
    key_set_plan& set = keys.sets[index];
    plan.gather.key_column[index] = static_cast<uint8_t>(record.column);
    set.is_bitmap = record.kind == KEY_SET_BITMAP;
    set.first = static_cast<int64_t>(record.first);
    set.last = static_cast<int64_t>(record.last);
    set.block_first = blocks;
    set.blocks = record.bytes / (8 * KEY_BLOCK_WORDS);
    set.checksum = record.checksum;
    if (set.blocks > KEY_BLOCKS - blocks) return STATUS_MALFORMED;
    blocks += set.blocks;
  }
  plan.write.key_words = static_cast<uint64_t>(blocks) * KEY_BLOCK_WORDS;
  return STATUS_OK;
}

}  // namespace nearscan
