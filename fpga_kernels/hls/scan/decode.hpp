// SPDX-License-Identifier: Apache-2.0
// Decodes the pages of a column into words of eight rows.
//
// A page of a nullable column starts with its definition levels; they are buffered on chip, since
// the values stand behind all of them. A dictionary's first 4096 entries are on chip, the rest (and
// every entry of a group key, whose values the result shows) in scratch, where a look-up costs an
// access to device memory and is counted.
#pragma once

#include "strings.hpp"

namespace nearscan {

/// A chunk's dictionary.
struct dictionary_store {
  static constexpr uint32_t ON_CHIP = DICTIONARY_ENTRIES_ON_CHIP;
  int64_t value[ON_CHIP];
  uint16_t tests[ON_CHIP];
  uint32_t entries;
  bool present;
  /// First byte of the slots in scratch.
  uint64_t slots;
};

/// The lane's output word while it fills.
struct word_builder {
  value_stream& out;
  value_token word;

  explicit word_builder(value_stream& sink) : out(sink), word() {}

  void put(bool valid, int64_t value, uint16_t tests, uint16_t code) {
    const uint8_t row = word.count;
    word.value[row] = valid ? value : 0;
    word.tests[row] = valid ? tests : 0;
    word.code[row] = valid ? code : 0;
    word.valid = static_cast<uint8_t>(word.valid | (valid ? 1u << row : 0u));
    word.count = static_cast<uint8_t>(row + 1);
    if (word.count == ROWS) flush();
  }

  void flush() {
    if (word.count != 0) out.write(word);
    word = value_token();
  }

  void end() {
    flush();
    word.last = true;
    out.write(word);
  }
};

/// Everything a lane keeps from page to page.
struct lane_state {
  bit_reader bits;
  scratch_cursor scratch;
  dictionary_store dictionary;
  level_memory levels;
  word_builder words;
  uint64_t rows;
  uint64_t steps;
  uint64_t values;
  uint64_t dictionary_reads;
  bool data_seen;

  lane_state(const decode_plan& plan, byte_stream& payload, value_stream& out, uint64_t* memory)
      : bits(payload),
        words(out),
        rows(0),
        steps(0),
        values(0),
        dictionary_reads(0),
        data_seen(false) {
    scratch.memory = memory;
    scratch.at = plan.scratch_begin;
    scratch.end = plan.scratch_end;
    dictionary.entries = 0;
    dictionary.present = false;
    dictionary.slots = plan.scratch_begin;
  }
};

/// One value of a plain page.
inline uint32_t read_plain(lane_state& lane, const decode_plan& plan, int64_t* value,
                           uint16_t* tests) {
  *tests = 0;
  switch (plan.physical_type) {
    case PHYSICAL_INT32:
      *value = static_cast<int32_t>(static_cast<uint32_t>(lane.bits.take(32)));
      break;
    case PHYSICAL_INT64:
      *value = static_cast<int64_t>(lane.bits.take(64));
      break;
    default:
      return read_string(lane.bits, plan, lane.scratch, lane.steps, value, tests);
  }
  return lane.bits.overrun ? STATUS_CORRUPT : STATUS_OK;
}

/// Reads the dictionary page.
inline uint32_t read_dictionary(lane_state& lane, const decode_plan& plan, const page_token& page) {
  dictionary_store& dictionary = lane.dictionary;
  // It comes once and before all data; the size of a key's dictionary has been told with the first
  // data.
  if (dictionary.present || lane.data_seen) return STATUS_CORRUPT;
  dictionary.present = true;
  if (page.value_count > DICTIONARY_ENTRIES_MAX) return STATUS_DICTIONARY_SIZE;
  if (plan.needs_codes && page.value_count >= GROUPS_MAX) return STATUS_GROUP_CARDINALITY;
  const bool in_scratch = plan.needs_codes || page.value_count > dictionary_store::ON_CHIP;
  const uint64_t slot_bytes = static_cast<uint64_t>(page.value_count) * DICTIONARY_SLOT_BYTES;
  if (in_scratch && !lane.scratch.reserve(slot_bytes, &dictionary.slots)) {
    return STATUS_SCRATCH_FULL;
  }
ENTRIES:
  for (uint32_t entry = 0; entry < page.value_count; entry++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 131072
    int64_t value = 0;
    uint16_t tests = 0;
    const uint32_t status = read_plain(lane, plan, &value, &tests);
    if (status != STATUS_OK) return status;
    if (entry < dictionary_store::ON_CHIP) {
      dictionary.value[entry] = value;
      dictionary.tests[entry] = tests;
    }
    if (in_scratch) {
      const uint64_t slot = (dictionary.slots + entry * DICTIONARY_SLOT_BYTES) / 8;
      lane.scratch.memory[slot] = static_cast<uint64_t>(value);
      lane.scratch.memory[slot + 1] = tests;
    }
    lane.steps++;
    if (lane.steps > plan.steps_max) return STATUS_STEPS_EXCEEDED;
  }
  if (!lane.bits.at_end()) return STATUS_CORRUPT;
  dictionary.entries = page.value_count;
  return STATUS_OK;
}

/// Puts a page's definition levels into their memory.
inline uint32_t buffer_levels(lane_state& lane) {
  const uint64_t length = lane.bits.take(32);
  if (lane.bits.overrun) return STATUS_CORRUPT;
  if (length > LEVEL_BYTES_MAX) return STATUS_ENCODING;
LEVELS:
  for (uint64_t at = 0; at < length; at += 8) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8192
    const uint64_t left = length - at;
    lane.levels.words[at / 8] = lane.bits.take(left < 8 ? static_cast<uint32_t>(8 * left) : 64);
  }
  lane.levels.bit = 0;
  lane.levels.bit_end = static_cast<uint32_t>(8 * length);
  return lane.bits.overrun ? STATUS_CORRUPT : STATUS_OK;
}

/// Whether the next row has a value. The levels are a hybrid of width 1.
inline bool next_level(level_memory& levels, hybrid_run& run, bool* overrun) {
LEVEL_RUN:
  while (run.left == 0 && !*overrun) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
    uint64_t header = 0;
    bool more = true;
  HEADER:
    for (int shift = 0; shift < 35 && more && !*overrun; shift += 7) {
      const uint64_t byte = levels.take(8, overrun);
      header |= (byte & 0x7f) << shift;
      more = (byte & 0x80) != 0;
    }
    if (more) *overrun = true;
    run = open_run(header);
    if (!run.packed) run.value = static_cast<uint32_t>(levels.take(8, overrun));
    // There is no level above 1.
    if (run.value > 1) *overrun = true;
  }
  if (*overrun) return false;
  run.left--;
  return (run.packed ? levels.take(1, overrun) : run.value) == 1;
}

/// The next dictionary index of a page.
inline uint32_t next_index(bit_reader& bits, hybrid_run& run, uint32_t width) {
INDEX_RUN:
  while (run.left == 0 && !bits.overrun) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
    uint64_t header = 0;
    bool more = true;
  HEADER:
    for (int shift = 0; shift < 35 && more && !bits.overrun; shift += 7) {
      const uint64_t byte = bits.take(8);
      header |= (byte & 0x7f) << shift;
      more = (byte & 0x80) != 0;
    }
    if (more) bits.overrun = true;
    run = open_run(header);
    if (!run.packed) run.value = static_cast<uint32_t>(bits.take((width + 7) / 8 * 8));
  }
  run.left--;
  return run.packed ? static_cast<uint32_t>(bits.take(width)) : run.value;
}

/// Looks an index up.
inline void look_up(lane_state& lane, uint32_t index, int64_t* value, uint16_t* tests) {
  const dictionary_store& dictionary = lane.dictionary;
  if (index < dictionary_store::ON_CHIP) {
    *value = dictionary.value[index];
    *tests = dictionary.tests[index];
  } else {
    const uint64_t slot = (dictionary.slots + index * DICTIONARY_SLOT_BYTES) / 8;
    *value = static_cast<int64_t>(lane.scratch.memory[slot]);
    *tests = static_cast<uint16_t>(lane.scratch.memory[slot + 1]);
    lane.dictionary_reads++;
  }
}

/// Reads a data page.
inline uint32_t read_data_page(lane_state& lane, const decode_plan& plan, const page_token& page) {
  if (page.value_count > plan.rows - lane.rows) return STATUS_CORRUPT;
  if (plan.nullable) {
    const uint32_t status = buffer_levels(lane);
    if (status != STATUS_OK) return status;
  }
  const bool indexes = page.encoding == ENCODING_RLE_DICTIONARY;
  // Codes of a key exist only where its values are in the dictionary.
  if (plan.needs_codes && !indexes && page.value_count > 0) return STATUS_GROUP_CARDINALITY;
  uint32_t width = 0;
  // A page whose rows are all null may end before the width.
  if (indexes && lane.bits.has(8)) width = static_cast<uint32_t>(lane.bits.take(8));
  if (width > 32) return STATUS_CORRUPT;
  hybrid_run level_run = {0, false, 0};
  hybrid_run index_run = {0, false, 0};
  bool level_overrun = false;
ROWS_OF_PAGE:
  for (uint32_t row = 0; row < page.value_count; row++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1048576
    const bool valid = !plan.nullable || next_level(lane.levels, level_run, &level_overrun);
    int64_t value = 0;
    uint16_t tests = 0;
    uint16_t code = 0;
    if (valid && indexes) {
      const uint32_t index = next_index(lane.bits, index_run, width);
      if (lane.bits.overrun || index >= lane.dictionary.entries) return STATUS_CORRUPT;
      look_up(lane, index, &value, &tests);
      code = static_cast<uint16_t>(index + 1);
    } else if (valid) {
      const uint32_t status = read_plain(lane, plan, &value, &tests);
      if (status != STATUS_OK) return status;
    }
    if (level_overrun) return STATUS_CORRUPT;
    lane.values += valid ? 1 : 0;
    lane.words.put(valid, value, tests, code);
    lane.steps++;
    if (lane.steps > plan.steps_max) return STATUS_STEPS_EXCEEDED;
  }
  lane.rows += page.value_count;
  return STATUS_OK;
}

/// Stage: decompressed pages in, words of eight rows out. Gives exactly the rows of the unit or
/// fails. Of a key column the number of dictionary entries goes out before the first word.
inline void decode(const decode_plan& plan, page_stream& pages, byte_stream& payload,
                   report_stream& reports_in, uint64_t* scratch, value_stream& words,
                   size_stream& sizes, report_stream& reports_out) {
  if (!plan.active) return;
  lane_state lane(plan, payload, words, scratch);
#pragma HLS BIND_STORAGE variable = lane.dictionary.value type = ram_2p impl = uram
#pragma HLS BIND_STORAGE variable = lane.levels.words type = ram_2p impl = uram
  uint32_t status = STATUS_OK;
  uint32_t page_count = 0;
  uint32_t failed_page = 0;
  bool size_sent = false;
PAGES:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 64
    const page_token page = pages.read();
    if (page.last) break;
    lane.bits.start_page();
    if (status == STATUS_OK) {
      failed_page = page_count;
      if (page.kind == PAGE_DICTIONARY) {
        status = read_dictionary(lane, plan, page);
      } else {
        if (plan.needs_codes && !size_sent) {
          sizes.write(lane.dictionary.entries);
          size_sent = true;
        }
        lane.data_seen = true;
        status = read_data_page(lane, plan, page);
      }
    }
    lane.bits.drain_page();
    page_count++;
  }
  if (plan.needs_codes && !size_sent) sizes.write(lane.dictionary.entries);
  // The last word goes before the report is waited for: the stages before may be held up by another
  // lane, which is held up until the words of this one arrive.
  lane.words.end();
  report own = reports_in.read();
  if (status == STATUS_OK && lane.rows != plan.rows) status = STATUS_CORRUPT;
  fail_lane(own, status, plan.column, failed_page, 0);
  own.values_decoded = lane.values;
  own.decode_steps_lane_max = lane.steps;
  own.dictionary_entries = lane.dictionary.entries;
  own.dictionary_reads = lane.dictionary_reads;
  reports_out.write(own);
}

}  // namespace nearscan
