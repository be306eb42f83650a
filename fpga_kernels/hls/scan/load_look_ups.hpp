// SPDX-License-Identifier: Apache-2.0
// Decides which lanes are looked up, and where in their way.
#pragma once

#include "load_loaders.hpp"

namespace nearscan {

/// The column whose values or tests an operand looks at, as a bit; none for any other operand.
inline uint32_t column_of(uint16_t operand, const scan_plan& plan) {
  if (operand == NONE) return 0;
  const uint32_t index = operand & ((1u << OPERAND_KIND_SHIFT) - 1);
  switch (operand >> OPERAND_KIND_SHIFT) {
    case OPERAND_COLUMN:
      return 1u << index;
    case OPERAND_TEST:
      return 1u << plan.predicate.tables.test_column[index];
    default:
      return 0;
  }
}

/// Marks the columns that a projection operand needs behind the filter, and whether it looks at
/// more than which rows are null.
inline void forward_operand(uint16_t operand, bool looks, scan_plan& plan) {
  const uint32_t column = column_of(operand, plan);
  plan.keep.forwarded |= column;
  if (looks) plan.keep.late |= column;
}

/// Marks the columns that the steps of the projection need behind the filter.
inline void forward_steps(scan_plan& plan) {
FORWARD_STEPS:
  for (uint32_t index = 0; index < plan.projection.step_count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 32
    const step& at = plan.projection.steps[index];
    forward_operand(at.a, at.op != OP_IS_NULL && at.op != OP_IS_NOT_NULL, plan);
    forward_operand(at.b, true, plan);
    forward_operand(at.c, true, plan);
  }
}

/// The columns whose values the filter looks at.
inline uint32_t columns_of_filter(const scan_plan& plan) {
  uint32_t columns = 0;
PREDICATE_STEPS:
  for (uint32_t index = 0; index < plan.predicate.step_count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 32
    const step& at = plan.predicate.steps[index];
    if (at.op == OP_IS_NULL || at.op == OP_IS_NOT_NULL) continue;
    columns |= column_of(at.a, plan) | column_of(at.b, plan) | column_of(at.c, plan);
  }
  return columns;
}

/// Decides which key filters look entries up, and gives them room for their verdicts; gives the
/// columns of all others.
inline uint32_t load_entry_keys(const program_scope& scope, uint32_t needed, scan_plan& plan) {
  uint32_t columns = 0;
  uint32_t room_first = 0;
  plan.keys.has_row_sets = false;
  plan.entry_keys.active = plan.keys.count != 0;
  plan.entry_keys.has_sets = false;
KEY_COLUMNS:
  for (uint32_t index = 0; index < plan.keys.count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
    const uint32_t column = plan.gather.key_column[index];
    decode_plan& lane = plan.decode[column];
    key_set_plan& set = plan.keys.sets[index];
    // Whole words.
    const uint64_t entries = (scope.entries_max[column] + 63) / 64 * 64;
    set.by_entry = is_among(scope.has_indexes, column) && lane.is_loaded && lane.may_be_far &&
                   !lane.needs_codes && !is_among(needed, column) &&
                   (lane.by_entry || entries <= ENTRY_VERDICTS_MAX - room_first);
    set.shares_verdict = set.by_entry && lane.by_entry;
    set.verdict_first = room_first;
    set.slot_first = lane.scratch_begin / 8;
    if (set.by_entry) {
      room_first += set.shares_verdict ? 0u : static_cast<uint32_t>(entries);
      lane.by_entry = true;
      plan.entry_keys.has_sets = true;
    } else {
      columns |= 1u << column;
      plan.keys.has_row_sets = true;
    }
    plan.entry_keys.sets[index] = set;
  }
  return columns;
}

/// Whether a lane's entries may be numbers of 32 bits, and more of them than fit on chip: doubles
/// are not, and keys by codes have few. A loader fills the store.
inline bool suits_store(const decode_plan& lane) {
  const bool is_double =
      lane.reading.read_as == READ_AS_FLOAT_ORDER && lane.reading.stored_bits == 64;
  return lane.is_loaded && !is_double && !lane.needs_codes;
}

/// Whether at least half of a dictionary is not on chip, as far as its bytes tell.
inline bool is_mostly_far(uint64_t dictionary_bytes, const decode_plan& lane) {
  return dictionary_bytes >= 2 * DICTIONARY_ENTRIES_ON_CHIP * (lane.reading.stored_bits / 8u);
}

/// Gives the store to the lane with the largest dictionary among those that are looked up and that
/// it suits. One that is looked up before the filter goes first if it is mostly far: all rows are
/// looked up, and behind the filter only kept ones.
inline void give_store(const program_scope& scope, uint32_t early, uint32_t looked_up,
                       scan_plan& plan) {
  uint32_t best = 0;
  uint64_t most = 0;
  bool goes_first = false;
STORE:
  for (uint32_t index = 0; index < static_cast<uint32_t>(LANES); index++) {
#pragma HLS PIPELINE off
    if (!is_among(looked_up, index) || !suits_store(plan.decode[index])) continue;
    const uint64_t bytes = scope.dictionary_bytes[index];
    const bool is_first = is_among(early, index) && is_mostly_far(bytes, plan.decode[index]);
    if (bytes == 0 || (is_first == goes_first ? bytes <= most : goes_first)) continue;
    best = index;
    most = bytes;
    goes_first = is_first;
  }
  plan.store.active = most != 0;
  plan.store_fill.active = most != 0;
  plan.store.lane = static_cast<uint8_t>(best);
  plan.write.has_store = most != 0;
}

/// Decides where each lane is looked up: before the filter if it looks at the lane's values, and
/// behind it if only the projection does.
inline void load_look_ups(const program_scope& scope, scan_plan& plan) {
  uint32_t far = 0;
FAR_LANES:
  for (uint32_t index = 0; index < scope.column_count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    if (plan.decode[index].may_be_far) far |= 1u << index;
  }
  const uint32_t needed = columns_of_filter(plan);
  const uint32_t early = far & (needed | load_entry_keys(scope, needed, plan));
  const uint32_t late = far & plan.keep.late & ~early;
  plan.gather.early = early;
  plan.keep.late = late;
  plan.kept.late = late;
  plan.kept.forwarded = plan.keep.forwarded;
  give_store(scope, early, early | late, plan);
  load_entry_plans(scope, early | late, plan);
  plan.memory.lane_count = scope.column_count;
  plan.memory.look_up_count = 0;
LOOK_UPS:
  for (uint32_t index = 0; index < static_cast<uint32_t>(LANES); index++) {
#pragma HLS PIPELINE off
    const bool has_store = plan.store.active && index == plan.store.lane;
    const bool is_looked_up = is_among(early | late, index);
    plan.look_up[index] = look_up_plan{is_looked_up, is_among(late, index), has_store};
    if (is_looked_up) plan.memory.look_up_count++;
  }
}

}  // namespace nearscan
