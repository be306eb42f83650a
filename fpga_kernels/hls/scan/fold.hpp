// SPDX-License-Identifier: Apache-2.0
// Folds the rows of a word into the states of their groups.
//
// An iteration takes two rows, one beside the other, and all slots of both, whatever their groups:
// see groups.hpp for why none waits for the one before. The iteration in which a word arrives takes
// its first two rows. Where both rows are of one group, the second one adds to what the first one
// gives. Sums of floats, which depend on the order of the
// rows, and extremes of byte strings, which ask the memory, go row by row behind that.
#pragma once

#include "../common/floats.hpp"
#include "extremes.hpp"

namespace nearscan {

/// Rows of an iteration.
static constexpr uint32_t ROWS_PER_ITERATION = 2;
static_assert(ROWS_PER_ITERATION == 2, "a pair: see add_pair");
/// Iterations from one sum of floats to the next, which needs it. Assumed: an adder of doubles.
static constexpr uint32_t FLOAT_ITERATIONS = 8;

/// The inputs of the slots from one word.
struct word_slots {
  /// Numbers of slots that are no sums.
  number_token number[AGGREGATES_MAX];
  /// The rows that each uses.
  uint8_t used[AGGREGATES_MAX];
  /// Slots that do not use all kept rows, a bit each.
  uint32_t partial;
  /// The sums, a bit each: of numbers of 64 bits, of which a unit has too few to leave 128. Rows
  /// that they do not use bring 0.
  uint32_t sums;
  number_token addend[AGGREGATES_MAX];
  /// Other slots, a bit each, but for counts of all kept rows.
  uint32_t others;
};

/// Makes numbers of other rows 0.
inline void leave_out(number_token& number, uint8_t rows) {
LEAVE_OUT:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    if (((rows >> row) & 1) == 0) number.row[row] = 0;
  }
}

/// Whether a slot goes row by row.
inline bool goes_in_order(const output_plan& column) {
  const bool compares_strings = column.width == WIDTH_BYTES;
  return column.function == FUNCTION_SUM_FLOAT || (compares_strings && !column.counts);
}

/// Reads what a word brings for a slot.
inline void read_slot(const output_plan& column, uint32_t slot, uint8_t keep, uint8_t used,
                      uint32_t in_order, number_stream& numbers, word_slots& slots) {
  const uint32_t bit = 1u << slot;
  slots.used[slot] = used;
  if (used != keep) slots.partial |= bit;
  if (column.counts) {
    if (used != keep) slots.others |= bit;
    return;
  }
  if (column.function != FUNCTION_SUM) {
    numbers.read(slots.number[slot]);
    slots.others |= bit & ~in_order;
    return;
  }
  number_token& addend = slots.addend[slot];
  numbers.read(addend);
  if (used != 0xff) leave_out(addend, used);
  slots.sums |= bit;
}

/// Folds a row into the states of the slots that are no sums.
NS_APART void fold_others(const output_plan* columns, const word_slots& slots, uint32_t row,
                          group_states& states) {
OTHER_SLOTS:
  for (uint32_t slot = 0; slot < AGGREGATES_MAX; slot++) {
#pragma HLS UNROLL
    if (((slots.others >> slot) & 1) == 0) continue;
    const output_plan& column = columns[slot];
    const bool used = ((slots.used[slot] >> row) & 1) != 0;
    const int64_t state = states.number(slot);
    if (column.counts) {
      states.state[slot] = state + (used ? 0 : 1);
      continue;
    }
    const int64_t value = slots.number[slot].row[row];
    const bool better = column.function == FUNCTION_MIN ? value < state : value > state;
    if (used && (better || !states.has(slot))) states.state[slot] = value;
  }
}

/// Slots that meet a value in a row, a bit each.
inline uint32_t slots_met(const word_slots& slots, uint32_t row) {
  uint32_t met = 0xffff;
MET:
  for (uint32_t slot = 0; slot < AGGREGATES_MAX; slot++) {
#pragma HLS UNROLL
    const bool none = ((slots.partial >> slot) & 1) != 0 && ((slots.used[slot] >> row) & 1) == 0;
    met &= ~(static_cast<uint32_t>(none) << slot);
  }
  return met;
}

/// Adds what two rows bring to the sums of their groups, which may be one.
NS_HOT void add_pair(const word_slots& slots, uint32_t first, group_states& one,
                     group_states& other) {
SUMS:
  for (uint32_t slot = 0; slot < AGGREGATES_MAX; slot++) {
#pragma HLS UNROLL
    if (((slots.sums >> slot) & 1) == 0) continue;
    one.state[slot] += slots.addend[slot].row[first];
    other.state[slot] += slots.addend[slot].row[first + 1];
  }
}

/// Folds a row into its group, but for the sums.
NS_HOT void fold_row(const output_plan* columns, uint32_t in_order, const word_slots& slots,
                     uint32_t row, group_states& states) {
  if (slots.others != 0) fold_others(columns, slots, row, states);
  const uint32_t met = slots.partial == 0 ? 0xffff : slots_met(slots, row);
  states.seen = static_cast<uint16_t>(states.seen | (met & ~in_order));
  states.rows++;
}
static_assert(UNIT_ROWS_MAX < 1ull << 32, "rows of a group are counted in 32 bits");
static_assert(UNIT_ROWS_MAX < 1ull << 63, "as many numbers of 64 bits add up to less than 128");

/// Pairs of rows, a bit each, of which one is among `rows`.
inline uint8_t pairs_of(uint8_t rows) {
  uint32_t pairs = 0;
PAIRS:
  for (uint32_t pair = 0; pair < static_cast<uint32_t>(ROWS) / ROWS_PER_ITERATION; pair++) {
#pragma HLS UNROLL
    const uint32_t both = (rows >> (pair * ROWS_PER_ITERATION)) & 3u;
    pairs |= static_cast<uint32_t>(both != 0) << pair;
  }
  return static_cast<uint8_t>(pairs);
}

/// Folds those of two rows that are among `keep`; the groups of both are at hand.
NS_HOT void fold_pair(const output_plan* columns, uint32_t in_order, const word_slots& slots,
                      uint32_t first, uint8_t keep, const group_places& place_of,
                      group_table& groups) {
  const uint32_t both = keep >> first;
  group_states& one = groups.at_hand[place_of[first]];
  group_states& other = groups.at_hand[place_of[first + 1]];
  add_pair(slots, first, one, other);
  if ((both & 1) != 0) fold_row(columns, in_order, slots, first, one);
  if ((both & 2) != 0) fold_row(columns, in_order, slots, first + 1, other);
}

/// Adds the floats of `rows`, which are places in the total order, to their groups' states, in the
/// order of the rows.
NS_RARE void fold_floats(group_table& groups, uint32_t slot, const number_token& number,
                         uint8_t rows, const group_places& place_of, fold_work& work) {
FLOAT_ROWS:
  for (int row = 0; row < ROWS; row++) {
// The interval is that of the adder.
#pragma HLS PIPELINE II = 8
    if (((rows >> row) & 1) == 0) continue;
    group_states& states = groups.at_hand[place_of[row]];
    const uint64_t bits = order_bits(static_cast<uint64_t>(number.row[row]));
    states.state[slot] = static_cast<i128>(add_floats(states.low(slot), bits));
    states.mark(slot);
    work.iterations += FLOAT_ITERATIONS;
  }
}

/// Folds the slots that go row by row.
NS_RARE void fold_in_order(const output_plan* columns, uint32_t in_order, const word_slots& slots,
                           const group_places& place_of, group_table& groups,
                           scratch_stream& requests, string_stream& answers, fold_work& work) {
SLOTS_IN_ORDER:
  for (uint32_t slot = 0; slot < AGGREGATES_MAX; slot++) {
    if (((in_order >> slot) & 1) == 0) continue;
    if (columns[slot].function == FUNCTION_SUM_FLOAT) {
      fold_floats(groups, slot, slots.number[slot], slots.used[slot], place_of, work);
    } else {
      fold_strings(groups, slot, columns[slot].function == FUNCTION_MIN, slots.number[slot],
                   slots.used[slot], place_of, requests, answers, work);
    }
  }
}

}  // namespace nearscan
