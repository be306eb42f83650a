// SPDX-License-Identifier: Apache-2.0
// Takes a command apart and refuses what contradicts the format or asks for what this kernel lacks.
//
// Nothing behind this stage checks an index again: every column, step, literal, test and range that
// a plan names exists. That holds for any bytes, whoever wrote them.
#pragma once

#include "../common/frame.hpp"
#include "keys.hpp"
#include "load_keys.hpp"
#include "load_look_ups.hpp"
#include "load_output.hpp"

namespace nearscan {

/// Takes the command in `words` apart. The header of `plan.write` is set whatever the status.
inline uint32_t load_command(const uint64_t* words, scan_plan& plan) {
  section_table sections;
  program_scope scope;
  uint8_t predicate_kind[STEPS_MAX];
  uint8_t projection_kind[STEPS_MAX];
  command_header& header = plan.write.header;
  // What a refused command is answered with.
  plan.write.key_words = 0;
  uint32_t status = load_header(words, OPCODE_SCAN, header);
  if (status != STATUS_OK) return status;
  if (header.rows > UNIT_ROWS_MAX) return STATUS_MALFORMED;
  status = load_sections(words, header, SECTIONS_OF_SCANS, sections);
  if (status != STATUS_OK) return status;
  scope.literal_count = sections.of[SECTION_LITERALS].count;
  scope.test_count = sections.of[SECTION_TESTS].count;
  status = load_columns(words, sections, header, scope, plan);
  if (status != STATUS_OK) return status;
  status = load_tests(words, sections, scope, plan);
  if (status != STATUS_OK) return status;
  status = load_key_filters(words, sections, header, scope, plan);
  if (status != STATUS_OK) return status;
  const bool literals_fit = load_literals(words, sections.of[SECTION_LITERALS], plan);
  status = load_program(words, sections.of[SECTION_PREDICATE], scope, plan.predicate,
                        predicate_kind, plan.predicate_slow.active);
  if (status != STATUS_OK) return status;
  const uint32_t predicate_steps = plan.predicate.step_count;
  if (predicate_steps > 0 && (predicate_kind[predicate_steps - 1] & IS_TRUTH) == 0) {
    return STATUS_MALFORMED;
  }
  status = load_program(words, sections.of[SECTION_PROJECTION], scope, plan.projection,
                        projection_kind, plan.projection_slow.active);
  if (status != STATUS_OK) return status;
  plan.gather.lane_count = scope.column_count;
  plan.gather.rows = header.rows;
  plan.gather.steps_max = header.steps_max;
  plan.keep.lane_count = scope.column_count;
  plan.kept.lane_count = scope.column_count;
  plan.keep.forwarded = 0;
  plan.keep.late = 0;
  forward_steps(plan);
  status = load_output(words, sections, scope, projection_kind, plan);
  if (status != STATUS_OK) return status;
  load_look_ups(scope, plan);
  return literals_fit ? STATUS_OK : STATUS_OVERFLOW;
}

/// Leaves nothing to do but to answer with `status`: no process has a lane, a row or a column.
inline void refuse_command(uint32_t status, scan_plan& plan) {
  plan.write.refused = status;
  plan.lane_count = 0;
  plan.fetch.stream_count = 0;
  plan.fetch_dictionaries.stream_count = 0;
LANES_OF_NONE:
  for (int lane = 0; lane < LANES; lane++) {
#pragma HLS UNROLL
    plan.pages[lane].active = false;
    plan.decompress[lane].active = false;
    plan.decode[lane].active = false;
    plan.entries[lane].active = false;
    plan.look_up[lane].active = false;
  }
LOADERS_OF_NONE:
  for (int loader = 0; loader < LOADERS; loader++) {
#pragma HLS UNROLL
    plan.loaders[loader].count = 0;
    plan.loader_codecs[loader].count = 0;
    plan.loader_runs[loader].count = 0;
    plan.loader_takes[loader].count = 0;
    plan.loader_entries[loader].count = 0;
  }
  plan.store_fill.active = false;
  plan.store.active = false;
  plan.memory.lane_count = 0;
  plan.memory.look_up_count = 0;
  plan.gather.lane_count = 0;
  plan.gather.rows = 0;
  plan.predicate.step_count = 0;
  plan.predicate_slow.active = false;
  plan.keep.lane_count = 0;
  plan.keep.forwarded = 0;
  plan.keep.late = 0;
  plan.kept.lane_count = 0;
  plan.projection.step_count = 0;
  plan.projection_slow.active = false;
  clear_columns(plan.columns);
  plan.columns.top.count = 0;
  plan.columns.states = false;
  plan.aggregate.states = false;
  plan.aggregate.key_count = 0;
  plan.aggregate.column_count = 0;
  plan.write.states = false;
  plan.write.compact = false;
  plan.write.column_count = 0;
  plan.write.has_store = false;
}

/// Leaves a refused command without key filters, for their bits were not loaded: no process of the
/// region reads their blocks.
inline void refuse_keys(scan_plan& plan) {
LOADERS_WITHOUT_KEYS:
  for (int loader = 0; loader < LOADERS; loader++) {
#pragma HLS UNROLL
    plan.loader_entries[loader].has_keys = false;
  }
  plan.gather.key_count = 0;
  plan.keys.count = 0;
  plan.entry_keys.active = false;
}

/// Loads the bits of the key filters of entries, or of all others, into a block; false when they
/// are not what the command says.
inline bool load_key_block(const uint64_t* command, const key_plan& plan, bool by_entry,
                           key_blocks& blocks) {
  hls::write_lock<key_memory> memory(blocks);
  return load_key_bits(command, plan, by_entry, memory);
}

/// Process: a command in, for each of the others what it has to do out.
inline void load_plan(const uint64_t* command, scan_plan& plan, key_blocks& entry_keys,
                      key_blocks& row_keys) {
  uint64_t words[COMMAND_BYTES_MAX / 8];
#pragma HLS BIND_STORAGE variable = words type = ram_2p impl = bram
  copy_command(command, words);
  plan.write.refused = STATUS_OK;
  uint32_t status = load_command(words, plan);
  if (status == STATUS_OK) {
    bool right = true;
    if (plan.entry_keys.has_sets) right = load_key_block(command, plan.keys, true, entry_keys);
    if (plan.keys.has_row_sets) {
      right = load_key_block(command, plan.keys, false, row_keys) && right;
    }
    // A block that was written is read, or the next command would not get it.
    if (!right) refuse_command(STATUS_MALFORMED, plan);
  } else {
    refuse_command(status, plan);
    refuse_keys(plan);
  }
}

}  // namespace nearscan
