// SPDX-License-Identifier: Apache-2.0
// Loaders: they load the dictionaries of columns of numbers, ahead of the rows.
//
//     fetch -> read_dictionary_pages -> send_dictionaries -> unpack_dictionaries -> ...
//     ... -> take_dictionaries -> load_entries -+-> chip, store
//                                               +-> write_slots
//
// A lane that loads its dictionary decodes no row meanwhile. So the dictionary pages of all lanes
// have a way of their own, through ports of their own, and what they are loaded into is there
// twice: while the rows of a command flow, the dictionaries of the next one are loaded.
//
// Each dictionary goes through one loader, and each loader has some, one after the other. What goes
// wrong is told to the lane, which fails as if it had found it.
//
// Not here: dictionaries of strings, which have tests and are small, those of LZ4, and those of
// which the command does not know where they end. Their lanes load them.
#pragma once

#include "dictionary.hpp"
#include "entry_store.hpp"
#include "page_reader.hpp"
#include "unpack_dictionaries.hpp"

namespace nearscan {

/// Stage: lines of dictionary pages in, page headers and page bytes out.
inline void read_dictionary_pages(const loader_plan& plan, line_stream& lines,
                                  report_stream& reports_in, page_stream& pages,
                                  byte_stream& payload, report_stream& reports_out) {
READ_DICTIONARIES:
  for (uint32_t at = 0; at < plan.count; at++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    read_pages(plan.pages[at], lines, reports_in, pages, payload, reports_out);
  }
}

/// The ways of the entries of a loader.
struct entry_ways {
  store_stream& store;
  key_entry_stream& keys;
  slot_run_stream& runs;
  slot_word_stream& words;
};

/// The entries of a dictionary that are on their way to device memory: how many words are still to
/// come of the run that was announced, if one was.
struct slot_writer {
  uint32_t left;
  bool announced;

  /// Puts an entry into its slot, behind which all others follow.
  void put(const dictionary_places& places, uint32_t entry, uint32_t entries, int64_t value,
           entry_ways& ways) {
    if (!announced) {
      left = entries - entry;
      ways.runs.write(slot_run{places.slot(entry), left, false});
      announced = true;
    }
    ways.words.write(static_cast<uint64_t>(value));
    left--;
  }

  /// Writes what a dictionary that failed has not, and waits until all words are in memory.
  void end(entry_ways& ways, slots_written_stream& written) {
  PAD:
    while (left != 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      ways.words.write(0);
      left--;
    }
    if (announced) written.read();
  }
};

/// Reads the entries of a dictionary page: one per iteration, or a half of one that is wider than
/// 64 bits.
inline uint32_t read_entries(const dictionary_plan& plan, const page_token& page,
                             byte_stream& payload, bit_reader& bits, chip_stream& chip,
                             entry_ways& ways, slot_writer& slots, dictionary_places& places,
                             uint64_t& iterations) {
  const uint32_t stored_bits = plan.reading.stored_bits;
  const bool wide = stored_bits > 64;
  entry_buffer stored;
  stored_value read = stored_value();
  bool behind = false;
  uint32_t entry = 0;
  uint32_t status = STATUS_OK;
ENTRIES:
  while (entry < page.value_count && status == STATUS_OK) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 262144
    const uint64_t half = bits.take(payload, behind ? stored_bits - 64 : wide ? 64u : stored_bits);
    read.first = behind ? read.first : half;
    read.second = behind ? half : 0;
    behind = wide && !behind;
    iterations++;
    if (bits.overrun) status = STATUS_CORRUPT;
    if (behind) continue;
    int64_t value = 0;
    if (status == STATUS_OK) status = to_number(plan.reading, read, value);
    if (status == STATUS_OK && entry >= plan.steps_max) status = STATUS_STEPS_EXCEEDED;
    if (status == STATUS_OK) {
      if (plan.key_sets != 0) {
        ways.keys.write(key_entry_token{value, entry, plan.key_sets, false});
      }
      if (entry < dictionary_places::ON_CHIP) {
        chip.write(chip_token{value, 0, false});
      } else if (plan.has_store && places.fits_store(entry, value)) {
        stored.put(ways.store, dictionary_places::stored(entry), static_cast<int32_t>(value));
        places.stored_end = entry + 1;
      } else if (plan.is_looked_up) {
        slots.put(places, entry, page.value_count, value, ways);
      }
    }
    entry++;
  }
  if (plan.has_store) stored.end(ways.store);
  if (status == STATUS_OK && !bits.at_end(payload)) status = STATUS_CORRUPT;
  return status;
}

/// Loads a dictionary: one page, and no other.
inline void load_dictionary(const dictionary_plan& plan, page_stream& pages, byte_stream& payload,
                            report_stream& reports, chip_stream& chip, entry_ways& ways,
                            slots_written_stream& written, dictionary_stream& loaded,
                            uint64_t& loader_iterations) {
  bit_reader bits;
  slot_writer slots = slot_writer();
  dictionary_places places = no_dictionary(plan.scratch_begin, UNTESTED_SLOT_WORDS);
  uint32_t status = STATUS_CORRUPT;
  uint32_t slot_words = 0;
  uint64_t iterations = 0;
  page_token page = pages.read();
  const bool is_dictionary = !page.last && page.kind == PAGE_DICTIONARY;
  const uint32_t entries = is_dictionary ? page.value_count : 0;
  if (is_dictionary) {
    status = check_entries(entries, plan.may_be_far, plan.needs_codes);
    if (plan.key_sets != 0 && entries > plan.entries_max) status = STATUS_DICTIONARY_SIZE;
    const uint64_t slot_bytes = bytes_of_slots(entries, UNTESTED_SLOT_WORDS);
    if (status == STATUS_OK && entries > dictionary_places::ON_CHIP &&
        slot_bytes > plan.scratch_end - plan.scratch_begin) {
      status = STATUS_SCRATCH_FULL;
    }
  }
  if (status == STATUS_OK) {
    bits.start_page();
    status = read_entries(plan, page, payload, bits, chip, ways, slots, places, iterations);
    slot_words = slots.announced ? entries - places.stored_end : 0;
    slots.end(ways, written);
    bits.drain_page(payload);
  } else {
    if (plan.has_store) entry_buffer().end(ways.store);
    if (!page.last) {
      bits.start_page();
      bits.drain_page(payload);
    }
  }
  chip_token end = chip_token();
  end.last = true;
  chip.write(end);
  // Pages behind it are none of a dictionary.
  bool more = !page.last;
  bool alone = true;
PAGES_BEHIND:
  while (more) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
    more = !pages.read().last;
    if (more) {
      alone = false;
      bits.start_page();
      bits.drain_page(payload);
    }
  }
  if (!alone && status == STATUS_OK) status = STATUS_CORRUPT;
  dictionary_token token = dictionary_token();
  token.own = reports.read();
  fail_lane(token.own, status, plan.column, 0, 0);
  const bool is_whole = token.own.status == STATUS_OK;
  token.entries = is_whole ? entries : 0;
  token.stored_end = places.stored_end;
  token.slots = places.slots;
  loader_iterations += max_u64(token.own.dictionary_iterations, iterations);
  token.own.loader_iterations = loader_iterations;
  token.own.loader_words = slot_words;
  loaded.write(token);
}

/// Stage: decompressed dictionary pages in; entries out to the memories of their lanes, to the
/// store and to device memory, and word of each dictionary to its lane.
inline void load_entries(const loader_entry_plan& plan, page_stream& pages, byte_stream& payload,
                         report_stream& reports, chip_stream chips[LANES], store_stream& store,
                         key_entry_stream& keys, slot_run_stream& runs, slot_word_stream& words,
                         slots_written_stream& written, dictionary_stream loaded[LANES]) {
  entry_ways ways = {store, keys, runs, words};
  uint64_t iterations = 0;
LOAD_DICTIONARIES:
  for (uint32_t at = 0; at < plan.count; at++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    const dictionary_plan& dictionary = plan.dictionary[at];
    load_dictionary(dictionary, pages, payload, reports, chips[dictionary.column], ways, written,
                    loaded[dictionary.column], iterations);
  }
  runs.write(slot_run{0, 0, true});
  if (plan.has_keys) keys.write(key_entry_token{0, 0, 0, true});
}

/// Stage: entries in, of the lane itself or of the loader that loads its dictionary; those on chip
/// out as a block.
inline void fill_chip(const entry_plan& plan, chip_stream& own, chip_stream& loaded_first,
                      chip_stream& loaded_second, chip_blocks& blocks) {
  if (!plan.active) return;
  hls::write_lock<chip_entries> lock(blocks);
  chip_entries& chip = lock;
  uint32_t at = 0;
  bool more = true;
FILL_CHIP:
  while (more) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4097
    const chip_token token = !plan.is_loaded    ? own.read()
                             : plan.loader == 0 ? loaded_first.read()
                                                : loaded_second.read();
    more = !token.last;
    if (more && at < dictionary_places::ON_CHIP) {
      chip[at] = chip_entry{token.value, token.tests};
      at++;
    }
  }
}

}  // namespace nearscan
