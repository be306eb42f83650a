// SPDX-License-Identifier: Apache-2.0
// A lane's dictionary, and everything else that a lane keeps from page to page.
#pragma once

#include "delta.hpp"
#include "split.hpp"
#include "word_ring.hpp"

namespace nearscan {

/// A chunk's dictionary.
struct dictionary_store {
  static constexpr uint32_t ON_CHIP = DICTIONARY_ENTRIES_ON_CHIP;
  int64_t value[ON_CHIP];
  uint16_t tests[ON_CHIP];
  uint32_t entries;
  /// Entries behind those on chip and before this one are in the store: those before the first
  /// that does not fit in 32 bits, if the store is this lane's. The others are in scratch.
  uint32_t stored_end;
  bool present;
  /// First byte of the slots in scratch.
  uint64_t slots;

  /// Entries that are on chip.
  uint32_t on_chip() const { return entries < ON_CHIP ? entries : ON_CHIP; }

  /// Place of an entry in the store.
  static uint32_t stored(uint32_t index) { return index - ON_CHIP; }

  /// Whether an entry may go to the store, which has all entries before it.
  bool fits_store(uint32_t index, const tested_value& entry) const {
    return index == stored_end && stored(index) < STORE_ENTRIES &&
           entry.value == static_cast<int32_t>(entry.value);
  }

  /// Address of a slot, in words: value, then the outcomes of the tests.
  uint64_t slot(uint32_t index) const {
    return slots / 8 + static_cast<uint64_t>(index) * (DICTIONARY_SLOT_BYTES / 8);
  }

  /// Where an entry is that is not on chip.
  int64_t reference(uint32_t index) const {
    return index < stored_end ? store_reference(stored(index)) : slot_reference(slot(index));
  }
};

/// Everything a lane keeps from page to page.
struct lane_state {
  bit_reader bits;
  scratch_cursor scratch;
  write_buffer slot_words;
  write_buffer string_words;
  entry_buffer stored_entries;
  dictionary_store dictionary;
  level_memory levels;
  delta_reader delta;
  split_reader split;
  word_ring words;
  uint64_t rows;
  uint64_t steps;
  /// Iterations, but for those that `bits` counts: of the pages so far, and of the dictionary.
  uint64_t iterations;
  uint64_t dictionary_iterations;
  /// Words of scratch that the dictionary took.
  uint64_t dictionary_words;
  uint64_t values;
  bool data_seen;
  /// Whether the store has been told that no entry comes any more.
  bool store_told;
};

inline void open_lane(lane_state& lane, const decode_plan& plan) {
  lane.scratch.at = plan.scratch_begin;
  lane.scratch.end = plan.scratch_end;
  lane.dictionary.entries = 0;
  lane.dictionary.stored_end = dictionary_store::ON_CHIP;
  lane.dictionary.present = false;
  lane.dictionary.slots = plan.scratch_begin;
  lane.rows = 0;
  lane.steps = 0;
  lane.iterations = 0;
  lane.dictionary_iterations = 0;
  lane.dictionary_words = 0;
  lane.values = 0;
  lane.data_seen = false;
  lane.store_told = !plan.has_store;
}

/// A stored value of any number of bits up to 128.
NS_APART stored_value take_stored(byte_stream& payload, bit_reader& bits, uint32_t count) {
  stored_value stored = {0, 0};
  stored.first = bits.take(payload, count < 64 ? count : 64);
  if (count > 64) stored.second = bits.take(payload, count - 64);
  return stored;
}

/// One value of a plain page.
NS_HOT uint32_t read_plain(byte_stream& payload, memory_lane& memory, lane_state& lane,
                           const decode_plan& plan, tested_value& read) {
  read.outcomes = 0;
  lane.iterations += plan.stored_bits > 64 ? 2 : 1;
  stored_value stored = {0, 0};
  switch (plan.stored_bits) {
    case 0:
      return read_string(payload, memory, lane.bits, plan, lane.string_words, lane.scratch,
                         lane.steps, lane.iterations, read);
    case 32:
      stored.first = lane.bits.take(payload, 32);
      read.value = static_cast<int32_t>(static_cast<uint32_t>(stored.first));
      break;
    case 64:
      stored.first = lane.bits.take(payload, 64);
      read.value = static_cast<int64_t>(stored.first);
      break;
    default:
      stored = take_stored(payload, lane.bits, plan.stored_bits);
      read.value = static_cast<int64_t>(stored.first);
      break;
  }
  if (lane.bits.overrun) return STATUS_CORRUPT;
  return plan.plainly ? STATUS_OK : to_number(plan, stored, read.value);
}

/// Whether a dictionary page has been taken whole. Truth values share its last byte.
inline bool page_ends(byte_stream& payload, bit_reader& bits, const decode_plan& plan) {
  if (plan.stored_bits == 1) bits.take(payload, bits.window.held % 8);
  return bits.at_end(payload);
}

/// Reads the dictionary page: an entry per iteration. An entry that goes to device memory takes one
/// more: it is written as two words.
inline uint32_t read_dictionary(byte_stream& payload, memory_lane& memory, lane_state& lane,
                                const decode_plan& plan, const page_token& page) {
  dictionary_store& dictionary = lane.dictionary;
  // It comes once and before all data; a key's dictionary is told with the first data.
  if (dictionary.present || lane.data_seen) return STATUS_CORRUPT;
  dictionary.present = true;
  if (page.value_count > DICTIONARY_ENTRIES_MAX) return STATUS_DICTIONARY_SIZE;
  // The command has said that it is small, so that no process looks far entries up.
  if (page.value_count > dictionary_store::ON_CHIP && !plan.may_be_far) {
    return STATUS_DICTIONARY_SIZE;
  }
  if (plan.needs_codes && page.value_count >= GROUPS_MAX) return STATUS_GROUP_CARDINALITY;
  const uint64_t slot_bytes = static_cast<uint64_t>(page.value_count) * DICTIONARY_SLOT_BYTES;
  if (page.value_count > dictionary_store::ON_CHIP &&
      !lane.scratch.reserve(slot_bytes, &dictionary.slots)) {
    return STATUS_SCRATCH_FULL;
  }
  const bool names_entries = plan.names_entries && page.value_count <= dictionary_store::ON_CHIP;
ENTRIES:
  for (uint32_t entry = 0; entry < page.value_count; entry++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 131072
    tested_value read;
    const uint32_t status = read_plain(payload, memory, lane, plan, read);
    if (status != STATUS_OK) return status;
    if (names_entries) read.value = coded_reference(read.value, entry);
    if (entry < dictionary_store::ON_CHIP) {
      dictionary.value[entry] = read.value;
      dictionary.tests[entry] = read.outcomes;
    } else if (plan.has_store && dictionary.fits_store(entry, read)) {
      const int32_t number = static_cast<int32_t>(read.value);
      lane.stored_entries.put(memory.store, dictionary_store::stored(entry), number);
      dictionary.stored_end = entry + 1;
    } else {
      lane.slot_words.put_pair(memory, dictionary.slot(entry), static_cast<uint64_t>(read.value),
                               read.outcomes);
      lane.iterations++;
    }
    lane.steps++;
    if (lane.steps > plan.steps_max) return STATUS_STEPS_EXCEEDED;
  }
  lane.slot_words.flush(memory);
  lane.string_words.flush(memory);
  if (!lane.store_told) lane.stored_entries.end(memory.store);
  lane.store_told = true;
  // No row that looks an entry up comes before it is there.
  memory.wait_for(memory.asked);
  lane.dictionary_words = memory.words;
  // No row comes before the dictionary is whole.
  lane.dictionary_iterations = lane.iterations;
  lane.iterations = 0;
  if (!page_ends(payload, lane.bits, plan)) return STATUS_CORRUPT;
  dictionary.entries = page.value_count;
  return STATUS_OK;
}

/// Tells the dictionary of a key column: its size, then its entries.
inline void tell_dictionary(const dictionary_store& dictionary, key_stream& keys) {
  keys.write(static_cast<int64_t>(dictionary.entries));
TELL:
  for (uint32_t entry = 0; entry < dictionary.entries; entry++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 255
    keys.write(dictionary.value[entry]);
  }
}

}  // namespace nearscan
