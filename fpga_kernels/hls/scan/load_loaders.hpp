// SPDX-License-Identifier: Apache-2.0
// Decides which dictionaries are loaded ahead, and by which loader.
#pragma once

#include "load_program.hpp"

namespace nearscan {

/// Whether pages of a column may have indexes into a dictionary.
inline bool may_have_indexes(const column_record& column) {
  const uint32_t indexes = 1u << ENCODING_RLE_DICTIONARY | 1u << ENCODING_PLAIN_DICTIONARY;
  return (column.encodings & indexes) != 0;
}

/// Whether a loader may load the dictionary of a column: it has numbers, the command says where the
/// dictionary page ends, and a loader has its codec.
inline bool may_be_loaded(const column_record& column, const decode_plan& lane) {
  return may_have_indexes(column) && column.dictionary_bytes != 0 &&
         column.dictionary_bytes < column.length && lane.reading.stored_bits >= 8 &&
         column.codec != CODEC_LZ4_RAW;
}

/// Gives the dictionary of a column to a loader.
inline void give_dictionary(const program_scope& scope, uint32_t index, uint32_t loader,
                            scan_plan& plan) {
  const uint32_t at = plan.loaders[loader].count;
  decode_plan& lane = plan.decode[index];
  byte_range& chunk = plan.fetch.range[index][0];
  const uint64_t begin = chunk.begin;
  chunk.begin += scope.dictionary_bytes[index];
  plan.fetch_dictionaries.range[loader][at] = byte_range{begin, chunk.begin};
  plan.fetch_dictionaries.range_count[loader] = at + 1;
  plan.loaders[loader].pages[at] = plan.pages[index];
  plan.loader_codecs[loader].is_snappy[at] = plan.decompress[index].codec == CODEC_SNAPPY;
  plan.loader_takes[loader].decompress[at] = plan.decompress[index];
  plan.pages[index].pages_before = 1;
  plan.pages[index].bytes_before = scope.dictionary_bytes[index];
  plan.decompress[index].pages_before = 1;
  lane.is_loaded = true;
  lane.loader = static_cast<uint8_t>(loader);
  lane.pages_before = 1;
  plan.loaders[loader].count = at + 1;
  plan.loader_codecs[loader].count = at + 1;
  plan.loader_runs[loader].count = at + 1;
  plan.loader_takes[loader].count = at + 1;
}

/// Shares the dictionaries out to the loaders: the largest first, each to the loader that has least
/// to do.
inline void share_out_dictionaries(const program_scope& scope, scan_plan& plan) {
  uint64_t bytes[LOADERS];
CLEAR_LOADERS:
  for (uint32_t loader = 0; loader < static_cast<uint32_t>(LOADERS); loader++) {
#pragma HLS UNROLL
    bytes[loader] = 0;
    plan.loaders[loader].count = 0;
    plan.loader_codecs[loader].count = 0;
    plan.loader_runs[loader].count = 0;
    plan.loader_takes[loader].count = 0;
    plan.fetch_dictionaries.range_count[loader] = 0;
  }
  uint32_t left = scope.may_be_loaded;
SHARE_OUT:
  while (left != 0) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    uint32_t largest = 0;
    uint64_t most = 0;
  LARGEST:
    for (uint32_t index = 0; index < static_cast<uint32_t>(LANES); index++) {
#pragma HLS PIPELINE off
      if (!is_among(left, index) || scope.dictionary_bytes[index] <= most) continue;
      largest = index;
      most = scope.dictionary_bytes[index];
    }
    const uint32_t loader = bytes[1] < bytes[0] ? 1 : 0;
    bytes[loader] += most;
    give_dictionary(scope, largest, loader, plan);
    left &= ~(1u << largest);
  }
}

/// The key filters that the entries of a column are looked up in, a bit each.
inline uint8_t plan_key_sets(const scan_plan& plan, uint32_t column) {
  uint32_t sets = 0;
KEY_SETS_OF_COLUMN:
  for (uint32_t index = 0; index < plan.keys.count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
    const bool is_its = plan.gather.key_column[index] == column;
    if (is_its && plan.keys.sets[index].by_entry) sets |= 1u << index;
  }
  return static_cast<uint8_t>(sets);
}

/// Plans how the entries of the dictionaries are loaded, once it is known what becomes of them.
inline void load_entry_plans(const program_scope& scope, uint32_t looked_up, scan_plan& plan) {
ENTRY_PLANS:
  for (uint32_t loader = 0; loader < static_cast<uint32_t>(LOADERS); loader++) {
#pragma HLS PIPELINE off
    plan.loader_entries[loader].count = plan.loaders[loader].count;
    plan.loader_entries[loader].has_keys = plan.entry_keys.has_sets;
  DICTIONARIES:
    for (uint32_t at = 0; at < plan.loaders[loader].count; at++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
      const uint32_t index = plan.loaders[loader].pages[at].column;
      const decode_plan& lane = plan.decode[index];
      const bool has_store = plan.store.active && plan.store.lane == index;
      plan.loader_entries[loader].dictionary[at] =
          dictionary_plan{index,
                          lane.reading,
                          lane.may_be_far,
                          lane.needs_codes,
                          has_store,
                          is_among(looked_up, index),
                          plan_key_sets(plan, index),
                          static_cast<uint32_t>(scope.entries_max[index]),
                          lane.scratch_begin,
                          lane.scratch_end,
                          lane.steps_max};
      if (has_store) plan.store_fill.loader = static_cast<uint8_t>(loader);
    }
  }
  uint32_t tested = 0;
TESTED_SLOTS:
  for (uint32_t index = 0; index < static_cast<uint32_t>(TEST_LANES); index++) {
#pragma HLS PIPELINE off
    if (plan.tests[index].test_count != 0) tested |= 1u << index;
  }
  plan.memory.tested = tested;
LANE_ENTRIES:
  for (uint32_t index = 0; index < static_cast<uint32_t>(LANES); index++) {
#pragma HLS PIPELINE off
    const decode_plan& lane = plan.decode[index];
    plan.entries[index] = entry_plan{lane.active, lane.active && lane.is_loaded, lane.loader};
  }
}

}  // namespace nearscan
