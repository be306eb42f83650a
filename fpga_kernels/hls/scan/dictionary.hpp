// SPDX-License-Identifier: Apache-2.0
// The dictionary of a lane that no loader loads, and everything else that a lane keeps from page to
// page.
#pragma once

#include "delta.hpp"
#include "split.hpp"
#include "word_ring.hpp"

namespace nearscan {

/// A chunk's dictionary, but for the entries themselves: where each of them is.
struct dictionary_places {
  static constexpr uint32_t ON_CHIP = DICTIONARY_ENTRIES_ON_CHIP;
  uint32_t entries;
  /// Entries behind those on chip and before this one are in the store: those before the first
  /// that does not fit in 32 bits, if the store is this lane's. The others are in scratch.
  uint32_t stored_end;
  /// First byte of the slots in scratch, and the words of a slot.
  uint64_t slots;
  uint32_t slot_words;

  /// Entries that are on chip.
  uint32_t on_chip() const { return entries < ON_CHIP ? entries : ON_CHIP; }

  /// Place of an entry in the store.
  static uint32_t stored(uint32_t index) { return index - ON_CHIP; }

  /// Whether an entry may go to the store, which has all entries before it.
  bool fits_store(uint32_t index, int64_t value) const {
    return index == stored_end && stored(index) < STORE_ENTRIES &&
           value == static_cast<int32_t>(value);
  }

  /// Address of a slot, in words.
  uint64_t slot(uint32_t index) const {
    return slots / 8 + static_cast<uint64_t>(index) * slot_words;
  }

  /// Where an entry is that is not on chip.
  int64_t reference(uint32_t index) const {
    return index < stored_end ? store_reference(stored(index)) : slot_reference(slot(index));
  }
};

/// No dictionary; its slots would begin at byte `slots`.
inline dictionary_places no_dictionary(uint64_t slots, uint32_t slot_words) {
  return dictionary_places{0, dictionary_places::ON_CHIP, slots, slot_words};
}

/// Bytes of slots in whole pairs of words: strings and streams lie behind them.
inline uint64_t bytes_of_slots(uint32_t entries, uint32_t slot_words) {
  return (static_cast<uint64_t>(entries) * slot_words + 1) / 2 * 16;
}

/// Everything a lane keeps from page to page.
struct lane_state {
  bit_reader bits;
  scratch_cursor scratch;
  dictionary_places dictionary;
  level_memory levels;
  delta_reader delta;
  split_reader split;
  word_ring words;
  uint64_t rows;
  uint64_t steps;
  /// Iterations, but for those that `bits` counts: of the pages so far, and of the dictionary.
  uint64_t iterations;
  uint64_t dictionary_iterations;
  /// Pairs of words of scratch that the dictionary took.
  uint64_t dictionary_pairs;
  uint64_t values;
};

template <typename Plan>
inline void open_lane(lane_state& lane, const Plan& plan) {
  lane.scratch.at = plan.scratch_begin;
  lane.scratch.end = plan.scratch_end;
  lane.dictionary = no_dictionary(
      plan.scratch_begin, plan.tests.test_count != 0 ? TESTED_SLOT_WORDS : UNTESTED_SLOT_WORDS);
  lane.rows = 0;
  lane.steps = 0;
  lane.iterations = 0;
  lane.dictionary_iterations = 0;
  lane.dictionary_pairs = 0;
  lane.values = 0;
}

/// A stored value of any number of bits up to 128.
NS_APART stored_value take_stored(byte_stream& payload, bit_reader& bits, uint32_t count) {
  stored_value stored = {0, 0};
  stored.first = bits.take(payload, count < 64 ? count : 64);
  if (count > 64) stored.second = bits.take(payload, count - 64);
  return stored;
}

/// One value of a plain page.
template <typename Plan>
NS_HOT uint32_t read_plain(byte_stream& payload, memory_lane& memory, lane_state& lane,
                           const Plan& plan, tested_value& read) {
  read.outcomes = 0;
  lane.iterations += plan.reading.stored_bits > 64 ? 2 : 1;
  stored_value stored = {0, 0};
  switch (plan.reading.stored_bits) {
    case 0:
      return read_string(payload, memory, lane.bits, plan, lane.scratch, lane.steps,
                         lane.iterations, read);
    case 32:
      stored.first = lane.bits.take(payload, 32);
      read.value = static_cast<int32_t>(static_cast<uint32_t>(stored.first));
      break;
    case 64:
      stored.first = lane.bits.take(payload, 64);
      read.value = static_cast<int64_t>(stored.first);
      break;
    default:
      stored = take_stored(payload, lane.bits, plan.reading.stored_bits);
      read.value = static_cast<int64_t>(stored.first);
      break;
  }
  if (lane.bits.overrun) return STATUS_CORRUPT;
  return plan.reading.plainly ? STATUS_OK : to_number(plan.reading, stored, read.value);
}

/// Whether a dictionary page has been taken whole. Truth values share its last byte.
template <typename Plan>
inline bool page_ends(byte_stream& payload, bit_reader& bits, const Plan& plan) {
  if (plan.reading.stored_bits == 1) bits.take(payload, bits.window.held % 8);
  return bits.at_end(payload);
}

/// Whether a command may have a dictionary of so many entries; `may_be_far` if it has said that it
/// may be large, so that there are processes which look far entries up.
inline uint32_t check_entries(uint32_t entries, bool may_be_far, bool needs_codes) {
  if (entries > DICTIONARY_ENTRIES_MAX) return STATUS_DICTIONARY_SIZE;
  if (entries > dictionary_places::ON_CHIP && !may_be_far) return STATUS_DICTIONARY_SIZE;
  return needs_codes && entries >= GROUPS_MAX ? STATUS_GROUP_CARDINALITY : STATUS_OK;
}

/// Reads the dictionary page, which no loader has: an entry per iteration.
template <typename Plan>
inline uint32_t read_dictionary(byte_stream& payload, memory_lane& memory, chip_stream& chip,
                                lane_state& lane, const Plan& plan, const page_token& page) {
  dictionary_places& dictionary = lane.dictionary;
  const uint32_t allowed = check_entries(page.value_count, plan.may_be_far, plan.needs_codes);
  if (allowed != STATUS_OK) return allowed;
  const bool is_tested = dictionary.slot_words == TESTED_SLOT_WORDS;
  const uint64_t slot_bytes = bytes_of_slots(page.value_count, dictionary.slot_words);
  if (page.value_count > dictionary_places::ON_CHIP &&
      !lane.scratch.reserve(slot_bytes, &dictionary.slots)) {
    return STATUS_SCRATCH_FULL;
  }
  const bool names_entries = plan.names_entries && page.value_count <= dictionary_places::ON_CHIP;
ENTRIES:
  for (uint32_t entry = 0; entry < page.value_count; entry++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 131072
    tested_value read;
    const uint32_t status = read_plain(payload, memory, lane, plan, read);
    if (status != STATUS_OK) return status;
    if (names_entries) read.value = coded_reference(read.value, entry);
    if (entry < dictionary_places::ON_CHIP) {
      chip.write(chip_token{read.value, read.outcomes, false});
    } else if (is_tested) {
      memory.slots.put_pair(dictionary.slot(entry), static_cast<uint64_t>(read.value),
                            read.outcomes);
    } else {
      memory.slots.put(dictionary.slot(entry), static_cast<uint64_t>(read.value));
    }
    lane.steps++;
    if (lane.steps > plan.steps_max) return STATUS_STEPS_EXCEEDED;
  }
  // No row that looks an entry up comes before it is there.
  memory.settle();
  lane.dictionary_pairs = memory.slots.asked_pairs + memory.strings.asked_pairs;
  // No row comes before the dictionary is whole.
  lane.dictionary_iterations = lane.iterations;
  lane.iterations = 0;
  if (!page_ends(payload, lane.bits, plan)) return STATUS_CORRUPT;
  dictionary.entries = page.value_count;
  return STATUS_OK;
}

/// Tells the dictionary of a key column: its size, then its entries.
inline void tell_dictionary(uint32_t entries, const chip_entries& chip, key_stream& keys) {
  keys.write(static_cast<int64_t>(entries));
TELL:
  for (uint32_t entry = 0; entry < entries; entry++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 255
    keys.write(chip[entry].value);
  }
}

}  // namespace nearscan
