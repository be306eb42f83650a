// SPDX-License-Identifier: Apache-2.0
// Decodes the pages of a column into words of eight rows.
#pragma once

#include "levels.hpp"
#include "values.hpp"
#include "whole_words.hpp"

namespace nearscan {

/// Reads what stands before the values of a page.
template <typename Plan>
inline uint32_t open_data_page(byte_stream& payload, memory_lane& memory, value_stream& values,
                               lane_state& lane, const Plan& plan, const page_token& page,
                               open_page& open) {
  if (page.value_count > plan.rows - lane.rows) return STATUS_CORRUPT;
  if (!encoding_fits(plan, page.encoding)) return STATUS_ENCODING;
  uint64_t taken = 0;
  if (plan.nullable) {
    const uint32_t status =
        buffer_levels(payload, lane.bits, page, lane.levels, open.level_run, taken);
    if (status != STATUS_OK) return status;
  }
  const bool indexes = page.encoding == ENCODING_RLE_DICTIONARY;
  // Codes of a key exist only where its values are in the dictionary.
  if (plan.needs_codes && !indexes && page.value_count > 0) return STATUS_GROUP_CARDINALITY;
  open.encoding = page.encoding;
  open.width = 0;
  open.run.left = 0;
  open.values_before = lane.values;
  lane.split.start_page();
  if (indexes) {
    // A page whose rows are all null may end before the width.
    if (lane.bits.has(payload, 8)) open.width = static_cast<uint32_t>(lane.bits.take(payload, 8));
    return open.width > 32 ? STATUS_CORRUPT : STATUS_OK;
  }
  // Words go in their order.
  lane.words.drain(values, memory);
  // A size that is not true has been found out before.
  if (taken > page.uncompressed_bytes) return STATUS_CORRUPT;
  const uint64_t rest = page.uncompressed_bytes - taken;
  if (open.encoding == ENCODING_RLE && rest > 0) {
    return lane.bits.take(payload, 32) + 4 == rest ? STATUS_OK : STATUS_CORRUPT;
  }
  if (open.encoding == ENCODING_DELTA_BINARY_PACKED) lane.delta.start_page();
  if (open.encoding == ENCODING_BYTE_STREAM_SPLIT) {
    const uint64_t steps_before = lane.steps;
    const uint32_t status =
        store_streams(payload, memory, lane.bits, plan, lane.scratch, rest, lane.steps, lane.split);
    // A word of a stream per iteration.
    lane.iterations += lane.steps - steps_before;
    return status;
  }
  return STATUS_OK;
}

/// Reads the rows of a page.
template <typename Plan>
NS_APART uint32_t read_rows(byte_stream& payload, memory_lane& memory, value_stream& values,
                            lane_state& lane, const chip_entries& chip, const Plan& plan,
                            uint32_t row_count, open_page& open) {
  const bool indexes = open.encoding == ENCODING_RLE_DICTIONARY;
  // Of their own, so that a simulation keeps them in registers.
  hybrid_run level_run = open.level_run;
  hybrid_run index_run = open.run;
  bool level_overrun = false;
  uint32_t left = row_count;
WORDS_OF_PAGE:
  while (left > 0) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 131072
    const uint32_t rows = indexes ? whole_rows(lane, plan, left, level_run, index_run) : 0;
    if (rows != 0) {
      const uint32_t status = decode_whole_words(payload, memory, values, lane, chip, plan,
                                                 index_run, open.width, rows);
      if (status != STATUS_OK) return status;
      lane.values += rows;
      lane.steps += rows;
      if (plan.nullable) level_run.left -= rows;
      index_run.left -= rows;
      left -= rows;
      continue;
    }
    value_token& word = lane.words.filling();
    word_part part;
    part.first = word.count;
    part.count = left < ROWS - part.first ? left : ROWS - part.first;
    part.valid = row_mask(part.count);
    if (plan.nullable) {
      part.valid = next_levels(lane.levels, level_run, part.count, &level_overrun);
    }
    if (level_overrun) return STATUS_CORRUPT;
    const uint32_t status =
        indexes ? decode_indexes(payload, lane, chip, plan, part, index_run, open.width)
                : decode_values(payload, memory, lane, plan, open, part);
    if (status != STATUS_OK) return status;
    word.valid = static_cast<uint8_t>(word.valid | part.valid << part.first);
    word.count = static_cast<uint8_t>(part.first + part.count);
    lane.values += count_bits(part.valid);
    lane.steps += part.count;
    left -= part.count;
    if (word.count == ROWS) lane.words.put(values, memory);
    if (lane.steps > plan.steps_max) return STATUS_STEPS_EXCEEDED;
  }
  lane.rows += row_count;
  open.level_run = level_run;
  return STATUS_OK;
}

/// Whether a page held what its header and its parts said of each other.
template <typename Plan>
inline bool page_is_whole(const lane_state& lane, const Plan& plan, const page_token& page,
                          const open_page& open) {
  const uint64_t valid = lane.values - open.values_before;
  bool whole = true;
  if (page.levels == LEVELS_APART) {
    whole = valid + page.null_count == page.value_count &&
            (!plan.nullable || levels_end(lane.levels, open.level_run));
  }
  if (open.encoding == ENCODING_DELTA_BINARY_PACKED) whole = whole && lane.delta.page_left == 0;
  if (open.encoding == ENCODING_BYTE_STREAM_SPLIT) whole = whole && lane.split.values == valid;
  return whole;
}

/// Reads a data page.
template <typename Plan>
inline uint32_t read_data_page(byte_stream& payload, memory_lane& memory, value_stream& values,
                               lane_state& lane, const chip_entries& chip, const Plan& plan,
                               const page_token& page) {
  open_page open = open_page();
  uint32_t status = open_data_page(payload, memory, values, lane, plan, page, open);
  if (status == STATUS_OK) {
    status = read_rows(payload, memory, values, lane, chip, plan, page.value_count, open);
    if (open.encoding == ENCODING_BYTE_STREAM_SPLIT) {
      lane.split.drain(memory);
    }
  }
  if (status == STATUS_OK && !page_is_whole(lane, plan, page, open)) status = STATUS_CORRUPT;
  return status;
}

/// Ends a lane's words and requests.
inline void close_lane(lane_state& lane, value_stream& values, memory_lane& memory) {
  if (lane.words.begun()) lane.words.put(values, memory);
  lane.words.drain(values, memory);
  value_token end = value_token();
  end.last = true;
  values.write(end);
  memory.settle();
  memory.requests.write(spread_token{0, 0, 0, true});
  memory.slots.close();
  memory.strings.close();
}

/// Takes what a loader says of the dictionary that it has loaded for this lane.
inline void take_dictionary(const dictionary_token& loaded, lane_state& lane) {
  lane.dictionary.entries = loaded.entries;
  lane.dictionary.stored_end = loaded.stored_end;
  lane.dictionary.slots = loaded.slots;
  lane.dictionary.slot_words = UNTESTED_SLOT_WORDS;
  // The loader has refused more slots than there is room for.
  if (loaded.entries > dictionary_places::ON_CHIP) {
    lane.scratch.at += bytes_of_slots(loaded.entries, UNTESTED_SLOT_WORDS);
  }
}

/// Adds what a loader has done for this lane to the lane's own report.
inline void add_loaded(const report& loaded, report& own) {
  // It was loaded before.
  if (loaded.status != STATUS_OK) {
    own.status = loaded.status;
    own.detail_column = loaded.detail_column;
    own.detail_page = loaded.detail_page;
    own.detail_offset = loaded.detail_offset;
  }
  own.lines_read += loaded.lines_read;
  own.pages += loaded.pages;
  own.bytes_decompressed += loaded.bytes_decompressed;
  own.snappy_tokens += loaded.snappy_tokens;
  own.loader_iterations = loaded.loader_iterations;
  own.loader_words = loaded.loader_words;
}

/// Stage: decompressed pages in, words of eight rows out. Gives exactly the rows of the unit or
/// fails. Of a key column the dictionary goes out before the first word.
///
/// A dictionary page comes once and before all data: in the chunk, if no loader has it. Its entries
/// on chip are those of `chips`, which are whole before the first row is decoded.
template <typename Tests>
inline void decode(const decode_plan& plan_of_lane, const Tests& tests, page_stream& pages,
                   byte_stream& payload, report_stream& reports_in, pair_stream pairs[LANE_WRITERS],
                   burst_stream bursts[LANE_WRITERS], written_stream& written,
                   spread_stream& requests, found_stream& found, chip_stream& chip_out,
                   chip_blocks& chips, dictionary_stream& loaded_first,
                   dictionary_stream& loaded_second, value_stream& values, key_stream& keys,
                   report_stream& reports_out) {
  if (!plan_of_lane.active) return;
  const column_plan<Tests> plan(plan_of_lane, tests);
  memory_lane memory(pairs, bursts, written, requests, found);
  lane_state lane;
#pragma HLS BIND_STORAGE variable = lane.levels.words type = ram_2p impl = bram
#pragma HLS ARRAY_PARTITION variable = lane.split.words dim = 2 complete
  open_lane(lane, plan);
  uint32_t status = STATUS_OK;
  uint32_t page_count = 0;
  uint32_t failed_page = 0;
  dictionary_token loaded = dictionary_token();
  page_token page = pages.read();
  if (plan.is_loaded) {
    loaded = plan.loader == 0 ? loaded_first.read() : loaded_second.read();
    take_dictionary(loaded, lane);
    status = loaded.own.status;
  } else {
    if (!page.last && page.kind == PAGE_DICTIONARY) {
      lane.bits.start_page();
      status = read_dictionary(payload, memory, chip_out, lane, plan, page);
      lane.bits.drain_page(payload);
      page_count++;
      page = pages.read();
    }
    chip_token end = chip_token();
    end.last = true;
    chip_out.write(end);
  }
  hls::read_lock<chip_entries> chip(chips);
  if (plan.needs_codes) tell_dictionary(lane.dictionary.entries, chip, keys);
PAGES:
  while (!page.last) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 64
    lane.bits.start_page();
    if (status == STATUS_OK) {
      failed_page = page_count;
      status = page.kind == PAGE_DICTIONARY
                   ? static_cast<uint32_t>(STATUS_CORRUPT)
                   : read_data_page(payload, memory, values, lane, chip, plan, page);
    }
    lane.bits.drain_page(payload);
    page_count++;
    page = pages.read();
  }
  // The last word goes before the report is waited for: the stages before may be held up by another
  // lane, which is held up until the words of this one arrive.
  close_lane(lane, values, memory);
  report own = reports_in.read();
  if (status == STATUS_OK && lane.rows != plan.rows) status = STATUS_CORRUPT;
  fail_lane(own, status, plan.column, plan.pages_before + failed_page, 0);
  own.values_decoded = lane.values;
  own.decode_steps_lane_max = lane.steps;
  own.decode_iterations = lane.iterations + lane.bits.iterations;
  own.dictionary_iterations = max_u64(own.dictionary_iterations, lane.dictionary_iterations);
  own.dictionary_entries = lane.dictionary.entries;
  own.dictionary_pairs = lane.dictionary_pairs;
  if (plan.is_loaded) add_loaded(loaded.own, own);
  reports_out.write(own);
}

}  // namespace nearscan
