// SPDX-License-Identifier: Apache-2.0
// Decodes the pages of a column into words of eight rows.
//
// A page of a nullable column starts with its definition levels; they are buffered on chip, since
// the values stand behind all of them. A dictionary's first 4096 entries are on chip, the rest in
// scratch: a word that needs some of those asks for them and waits in a ring while the words behind
// it are decoded, so that the time of a look-up in device memory is paid once and not for each.
#pragma once

#include "dictionary.hpp"

namespace nearscan {

/// Puts a page's definition levels into their memory.
inline uint32_t buffer_levels(byte_stream& payload, lane_state& lane) {
  const uint64_t length = lane.bits.take(payload, 32);
  if (lane.bits.overrun) return STATUS_CORRUPT;
  if (length > LEVEL_BYTES_MAX) return STATUS_ENCODING;
LEVELS:
  for (uint64_t at = 0; at < length; at += 8) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8192
    const uint64_t left = length - at;
    lane.levels.words[at / 8] =
        lane.bits.take(payload, left < 8 ? static_cast<uint32_t>(8 * left) : 64);
  }
  lane.levels.bit = 0;
  lane.levels.bit_end = static_cast<uint32_t>(8 * length);
  return lane.bits.overrun ? STATUS_CORRUPT : STATUS_OK;
}

/// Opens the next run of levels that is not empty. The levels are a hybrid of width 1.
inline void next_level_run(level_memory& levels, hybrid_run& run, bool* overrun) {
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
}

/// Which of the next `count` (<= 8) rows have a value, a bit each.
inline uint8_t next_levels(level_memory& levels, hybrid_run& run, uint32_t count, bool* overrun) {
  uint32_t valid = 0;
  uint32_t got = 0;
LEVELS_OF_WORD:
  while (got < count) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2
    if (run.left == 0) next_level_run(levels, run, overrun);
    if (*overrun) break;
    const uint32_t some = run.left < count - got ? run.left : count - got;
    const uint32_t ones = (1u << some) - 1;
    const uint32_t bits =
        run.packed ? static_cast<uint32_t>(levels.take(some, overrun)) : run.value * ones;
    valid |= bits << got;
    got += some;
    run.left -= some;
  }
  return static_cast<uint8_t>(valid);
}

/// Opens the next run of indexes that is not empty.
inline void next_index_run(byte_stream& payload, bit_reader& bits, hybrid_run& run,
                           uint32_t width) {
INDEX_RUN:
  while (run.left == 0 && !bits.overrun) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
    uint64_t header = 0;
    bool more = true;
  HEADER:
    for (int shift = 0; shift < 35 && more && !bits.overrun; shift += 7) {
      const uint64_t byte = bits.take(payload, 8);
      header |= (byte & 0x7f) << shift;
      more = (byte & 0x80) != 0;
    }
    if (more) bits.overrun = true;
    run = open_run(header);
    if (!run.packed) run.value = static_cast<uint32_t>(bits.take(payload, (width + 7) / 8 * 8));
  }
}

/// Room for the indexes of a word, and for what a take of bits writes behind them.
static constexpr uint32_t INDEX_ROOM = 2 * ROWS;

/// The next `count` (<= 8) dictionary indexes of a page, of `width` bits each where they are packed.
inline void next_indexes(byte_stream& payload, bit_reader& bits, hybrid_run& run, uint32_t width,
                         uint32_t count, uint32_t indexes[INDEX_ROOM]) {
  uint32_t got = 0;
INDEXES_OF_WORD:
  while (got < count) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2
    if (run.left == 0) next_index_run(payload, bits, run, width);
    if (bits.overrun) break;
    const uint32_t some = run.left < count - got ? run.left : count - got;
    if (run.packed && width <= 8) {
      bits.take_numbers<8>(payload, width, some, indexes + got);
    } else if (run.packed && width <= 16) {
      bits.take_numbers<4>(payload, width, some, indexes + got);
    } else if (run.packed) {
      bits.take_numbers<2>(payload, width, some, indexes + got);
    } else {
    REPEATED:
      for (uint32_t i = got; i < got + some; i++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8
        indexes[i] = run.value;
      }
    }
    got += some;
    run.left -= some;
  }
}

/// Rows of a page that go into one word: where in the word, how many, and which have a value.
struct word_part {
  uint32_t first;
  uint32_t count;
  uint8_t valid;
};

/// Puts the codes of a key into the word: 0 for null, else one more than the index.
inline void put_codes(const word_part& part, const uint32_t indexes[INDEX_ROOM],
                      value_token& word) {
  uint32_t next = 0;
CODES:
  for (uint32_t i = 0; i < part.count; i++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8
    const uint32_t valid = (part.valid >> i) & 1u;
    word.code[part.first + i] = static_cast<uint16_t>(valid != 0 ? indexes[next] + 1 : 0);
    next += valid;
  }
}

/// Looks up eight rows whose entries are all on chip; false when some are not, and nothing is done.
/// That is for a simulation, which spends most of its look-ups here.
inline bool look_up_whole(const dictionary_store& dictionary, const decode_plan& plan,
                          uint32_t on_chip, const uint32_t indexes[INDEX_ROOM],
                          value_token& word) {
  bool within = true;
WITHIN:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    within = within && indexes[row] < on_chip;
  }
  if (!within) return false;
VALUES:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    word.value[row] = dictionary.value[indexes[row]];
  }
  if (plan.tests.test_count != 0) {
  TESTS:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      word.tests[row] = dictionary.tests[indexes[row]];
    }
  }
  if (plan.needs_codes) {
  CODES:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      word.code[row] = static_cast<uint16_t>(indexes[row] + 1);
    }
  }
  return true;
}

/// Decodes the indexes of a part of a word and looks them up, on chip or by asking for them.
inline uint32_t decode_indexes(byte_stream& payload, lane_state& lane, const decode_plan& plan,
                               const word_part& part, hybrid_run& run, uint32_t width) {
  const dictionary_store& dictionary = lane.dictionary;
  value_token& word = lane.words.filling();
  uint32_t indexes[INDEX_ROOM];
  const uint32_t count = count_bits(part.valid);
  next_indexes(payload, lane.bits, run, width, count, indexes);
  if (lane.bits.overrun) return STATUS_CORRUPT;
  const uint32_t on_chip = dictionary.entries < dictionary_store::ON_CHIP
                               ? dictionary.entries
                               : dictionary_store::ON_CHIP;
  if (count == ROWS && look_up_whole(dictionary, plan, on_chip, indexes, word)) return STATUS_OK;
  // For the null rows behind the last value.
  indexes[count] = 0;
  uint32_t next = 0;
  bool known = true;
LOOK_UP:
  for (uint32_t i = 0; i < part.count; i++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8
    // A null row gets the value of the row with a value behind it: nobody looks.
    const uint32_t row = part.first + i;
    const uint32_t index = indexes[next];
    const uint32_t valid = (part.valid >> i) & 1u;
    next += valid;
    if (index < on_chip) {
      word.value[row] = dictionary.value[index];
      if (plan.tests.test_count != 0) word.tests[row] = dictionary.tests[index];
    } else if (valid != 0 && index < dictionary.entries) {
      lane.words.ask(row, dictionary.slot(index));
      lane.dictionary_reads++;
    } else {
      known = known && valid == 0;
    }
  }
  if (!known) return STATUS_CORRUPT;
  if (plan.needs_codes) put_codes(part, indexes, word);
  return STATUS_OK;
}

/// Reads the plain values of a part of a word.
inline uint32_t decode_plain(byte_stream& payload, scratch_stream& requests, lane_state& lane,
                             const decode_plan& plan, const word_part& part) {
  value_token& word = lane.words.filling();
PLAIN:
  for (uint32_t i = 0; i < ROWS; i++) {
    if (((part.valid >> i) & 1) == 0) continue;
    tested_value read;
    const uint32_t status = read_plain(payload, requests, lane, plan, read);
    if (status != STATUS_OK) return status;
    word.value[part.first + i] = read.value;
    word.tests[part.first + i] = read.outcomes;
  }
  return STATUS_OK;
}

/// Sends the word that fills on. Its strings are asked to be written before it goes.
inline void finish_word(lane_state& lane, value_stream& values, scratch_stream& requests,
                        found_stream& found) {
  lane.string_words.flush(requests);
  lane.words.put(values, requests, found);
}

/// Reads a data page.
inline uint32_t read_data_page(byte_stream& payload, scratch_stream& requests, found_stream& found,
                               value_stream& values, lane_state& lane, const decode_plan& plan,
                               const page_token& page) {
  if (page.value_count > plan.rows - lane.rows) return STATUS_CORRUPT;
  if (plan.nullable) {
    const uint32_t status = buffer_levels(payload, lane);
    if (status != STATUS_OK) return status;
  }
  const bool indexes = page.encoding == ENCODING_RLE_DICTIONARY;
  // Codes of a key exist only where its values are in the dictionary.
  if (plan.needs_codes && !indexes && page.value_count > 0) return STATUS_GROUP_CARDINALITY;
  // A plain page asks for strings to be written, and could be made to wait by look-ups before it.
  if (!indexes) lane.words.drain(values, found);
  uint32_t width = 0;
  // A page whose rows are all null may end before the width.
  if (indexes && lane.bits.has(payload, 8)) {
    width = static_cast<uint32_t>(lane.bits.take(payload, 8));
  }
  if (width > 32) return STATUS_CORRUPT;
  hybrid_run level_run = {0, false, 0};
  hybrid_run index_run = {0, false, 0};
  bool level_overrun = false;
  uint32_t left = page.value_count;
WORDS_OF_PAGE:
  while (left > 0) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 131072
    value_token& word = lane.words.filling();
    word_part part;
    part.first = word.count;
    part.count = left < ROWS - part.first ? left : ROWS - part.first;
    part.valid = row_mask(part.count);
    if (plan.nullable) {
      part.valid = next_levels(lane.levels, level_run, part.count, &level_overrun);
    }
    if (level_overrun) return STATUS_CORRUPT;
    const uint32_t status = indexes ? decode_indexes(payload, lane, plan, part, index_run, width)
                                    : decode_plain(payload, requests, lane, plan, part);
    if (status != STATUS_OK) return status;
    word.valid = static_cast<uint8_t>(word.valid | part.valid << part.first);
    word.count = static_cast<uint8_t>(part.first + part.count);
    lane.values += count_bits(part.valid);
    lane.steps += part.count;
    left -= part.count;
    if (word.count == ROWS) finish_word(lane, values, requests, found);
    if (lane.steps > plan.steps_max) return STATUS_STEPS_EXCEEDED;
  }
  lane.rows += page.value_count;
  return STATUS_OK;
}

/// Ends a lane's words and requests.
inline void close_lane(lane_state& lane, value_stream& values, scratch_stream& requests,
                       found_stream& found) {
  if (lane.words.filling().count != 0) finish_word(lane, values, requests, found);
  lane.words.drain(values, found);
  value_token end = value_token();
  end.last = true;
  values.write(end);
  scratch_token nothing = scratch_token();
  nothing.kind = SCRATCH_END;
  requests.write(nothing);
}

/// Stage: decompressed pages in, words of eight rows out. Gives exactly the rows of the unit or
/// fails. Of a key column the dictionary goes out before the first word.
inline void decode(const decode_plan& plan, page_stream& pages, byte_stream& payload,
                   report_stream& reports_in, scratch_stream& requests, found_stream& found,
                   value_stream& values, key_stream& keys, report_stream& reports_out) {
  if (!plan.active) return;
  lane_state lane;
#pragma HLS BIND_STORAGE variable = lane.dictionary.value type = ram_2p impl = uram
#pragma HLS BIND_STORAGE variable = lane.levels.words type = ram_2p impl = uram
  open_lane(lane, plan);
  uint32_t status = STATUS_OK;
  uint32_t page_count = 0;
  uint32_t failed_page = 0;
PAGES:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 64
    const page_token page = pages.read();
    if (page.last) break;
    lane.bits.start_page();
    if (status == STATUS_OK) {
      failed_page = page_count;
      if (page.kind == PAGE_DICTIONARY) {
        status = read_dictionary(payload, requests, lane, plan, page);
      } else {
        if (plan.needs_codes && !lane.data_seen) tell_dictionary(lane.dictionary, keys);
        lane.data_seen = true;
        status = read_data_page(payload, requests, found, values, lane, plan, page);
      }
    }
    lane.bits.drain_page(payload);
    page_count++;
  }
  if (plan.needs_codes && !lane.data_seen) tell_dictionary(lane.dictionary, keys);
  // The last word goes before the report is waited for: the stages before may be held up by another
  // lane, which is held up until the words of this one arrive.
  close_lane(lane, values, requests, found);
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
