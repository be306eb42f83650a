// SPDX-License-Identifier: Apache-2.0
// The states of the groups: all of them in memory, those of the latest words at hand.
//
// A state in memory is read two iterations before it can be changed, so that rows of one group
// behind each other would wait for each other. Eight groups, as many as a word can have, are
// therefore at hand in registers, where a state is changed within an iteration. A group that a word
// needs and that is not there changes places with one that the word does not need. The rows of such
// a word are looked at one after the other, two iterations each, and the word waits for the last.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// The states of one group: of numbers the number, of floats the bits of the sum, of byte strings
/// the reference and in the upper half the first eight bytes, the first highest, of counts the kept
/// rows that are not counted. `seen` has a bit for each slot that has met a value, `rows` are the
/// kept rows.
struct group_states {
  hls::vector<i128, AGGREGATES_MAX> state;
  uint16_t seen;
  uint32_t rows;

  bool has(uint32_t slot) const { return ((seen >> slot) & 1) != 0; }
  void mark(uint32_t slot) { seen = static_cast<uint16_t>(seen | 1u << slot); }
  int64_t number(uint32_t slot) const { return static_cast<int64_t>(state[slot]); }
  uint64_t low(uint32_t slot) const { return static_cast<uint64_t>(state[slot]); }
  uint64_t high(uint32_t slot) const {
    return static_cast<uint64_t>(static_cast<u128>(state[slot]) >> 64);
  }
};

/// The groups of eight rows, and the places where these are at hand.
typedef hls::vector<uint32_t, ROWS> group_numbers;
typedef hls::vector<uint8_t, ROWS> group_places;

/// Groups at hand.
static constexpr uint32_t GROUPS_AT_HAND = ROWS;
/// Iterations from a word's last change of places to its first row: read, and two to get there.
static constexpr uint32_t EXCHANGE_DEPTH = 3;

/// All groups of a command.
struct group_table {
  static constexpr uint32_t NONE_THERE = 0xffffffffu;
  static constexpr uint8_t IN_MEMORY = 0xff;
  /// Rows that look a place up in one copy: as many as a memory has ports.
  static constexpr int ROWS_PER_COPY = 2;
  static constexpr uint32_t PLACE_COPIES = ROWS / ROWS_PER_COPY;
  group_states memory[GROUPS_MAX];
  group_states at_hand[GROUPS_AT_HAND];
  /// Which group is at a place, and at which place a group is: copies for two rows each, since a
  /// memory has two ports.
  uint32_t group_at[GROUPS_AT_HAND];
  uint8_t place_of[PLACE_COPIES][GROUPS_MAX];
  /// The place that was given last.
  uint32_t latest;

  /// Notes the place of a group.
  void put_at(uint32_t group, uint8_t place) {
  COPIES:
    for (uint32_t copy = 0; copy < PLACE_COPIES; copy++) {
#pragma HLS UNROLL
      place_of[copy][group] = place;
    }
  }

  /// Makes all groups empty.
  void clear(uint32_t group_count) {
    latest = 0;
  CLEAR_GROUPS:
    for (uint32_t group = 0; group < group_count; group++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1024
      memory[group].seen = 0;
      memory[group].rows = 0;
      put_at(group, IN_MEMORY);
    CLEAR_SLOTS:
      for (uint32_t slot = 0; slot < AGGREGATES_MAX; slot++) {
#pragma HLS UNROLL
        memory[group].state[slot] = 0;
      }
    }
  CLEAR_PLACES:
    for (uint32_t place = 0; place < GROUPS_AT_HAND; place++) {
#pragma HLS UNROLL
      group_at[place] = NONE_THERE;
      at_hand[place] = group_states();
    }
  }

  /// The place of each row's group; false when one of the rows `keep` has its group in memory.
  /// Other rows bring nothing to any place.
  NS_HOT bool find(const group_numbers& group_of, uint8_t keep, group_places& places) const {
    uint32_t missing = 0;
  FIND:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      const bool kept = ((keep >> row) & 1) != 0;
      places[row] = kept ? place_of[row / ROWS_PER_COPY][group_of[row]] : 0;
      missing |= places[row] == IN_MEMORY ? 1 : 0;
    }
    return missing == 0;
  }

  /// Gives `group` a place that is none of the `taken` ones, a bit each; its states come there, and
  /// those that were there go to memory. Gives the place.
  NS_APART uint32_t exchange(uint32_t group, uint32_t taken) {
    uint32_t place = latest;
  NEXT_PLACE:
    for (uint32_t i = 0; i < GROUPS_AT_HAND; i++) {
#pragma HLS UNROLL
      place = (place + 1) % GROUPS_AT_HAND;
      if (((taken >> place) & 1) == 0) break;
    }
    if (group_at[place] != NONE_THERE) {
      memory[group_at[place]] = at_hand[place];
      put_at(group_at[place], IN_MEMORY);
    }
    at_hand[place] = memory[group];
    group_at[place] = group;
    put_at(group, static_cast<uint8_t>(place));
    latest = place;
    return place;
  }

  /// Brings the groups of the rows `keep` to hand; gives the iterations of that.
  NS_APART uint32_t bring(const group_numbers& group_of, uint8_t keep) {
    uint32_t taken = 0;
  TAKEN:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      const uint8_t place = place_of[row / ROWS_PER_COPY][group_of[row]];
      if (((keep >> row) & 1) != 0 && place != IN_MEMORY) taken |= 1u << place;
    }
  MISSING:
    for (int row = 0; row < ROWS; row++) {
// A place is read, and those of two groups are written.
#pragma HLS PIPELINE II = 2
      if (((keep >> row) & 1) == 0) continue;
      uint32_t place = place_of[0][group_of[row]];
      if (place == IN_MEMORY) place = exchange(group_of[row], taken);
      taken |= 1u << place;
    }
    return 2 * ROWS + EXCHANGE_DEPTH;
  }

  /// Writes all groups at hand to memory.
  void settle() {
  SETTLE:
    for (uint32_t place = 0; place < GROUPS_AT_HAND; place++) {
#pragma HLS PIPELINE II = 1
      if (group_at[place] != NONE_THERE) memory[group_at[place]] = at_hand[place];
    }
  }
};

}  // namespace nearscan
