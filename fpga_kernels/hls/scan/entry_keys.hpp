// SPDX-License-Identifier: Apache-2.0
// Key filters over the entries of dictionaries, while loaders load them.
//
//     load_entries -> filter_entries -> look_keys_up
//
// An entry is looked up once in each set of its column, and its verdict is a bit: of a row the
// index is enough. So a key column whose dictionary does not fit on chip is not looked up in device
// memory before the filter.
//
// That is for columns of which the command says that all pages have indexes, whose dictionary a
// loader has and may have more entries than fit on chip, whose values no step of the predicate and
// no group key by codes needs, and for whose entries there is room: as many are taken to be there
// as fit in the chunk. Others are looked up row by row.
#pragma once

#include "keys.hpp"
#include "look_ups.hpp"

namespace nearscan {

/// The bits of one column that are not a whole word yet.
struct verdict_writer {
  uint64_t held;
  uint32_t next;

  void put(entry_verdicts& verdicts, uint32_t place, bool passes) {
    held |= static_cast<uint64_t>(passes) << (place % 64);
    next = place + 1;
    if (place % 64 == 63) flush(verdicts);
  }

  /// Writes what is held: the last word of a set, or a whole one.
  void flush(entry_verdicts& verdicts) {
    if (next != 0) verdicts[(next - 1) / 64 % (ENTRY_VERDICTS_MAX / 64)] = held;
    held = 0;
    next = 0;
  }
};

/// Takes the next entry of one of the loaders, of that whose turn it is if it has one; false when
/// there is none yet.
inline bool take_entry(key_entry_stream entries[LOADERS], uint32_t turn, key_entry_token& token) {
  static_assert(LOADERS == 2, "the other loader is the next one");
  const uint32_t loader = entries[turn].empty() ? 1 - turn : turn;
  if (entries[loader].empty()) return false;
  entries[loader].read(token);
  return true;
}

/// Process: entries of key columns out of the loaders in, verdicts on them out as a block.
inline void filter_entries(const entry_key_plan& plan, key_blocks& keys,
                           key_entry_stream entries[LOADERS], verdict_blocks& blocks,
                           report_stream& reports) {
  if (!plan.active) return;
  report own = empty_report();
  hls::write_lock<entry_verdicts> lock(blocks);
  if (plan.has_sets) {
    hls::read_lock<key_memory> memory(keys);
    verdict_writer writers[KEY_FILTERS_MAX];
#pragma HLS ARRAY_PARTITION variable = writers complete
  CLEAR_WRITERS:
    for (uint32_t set = 0; set < KEY_FILTERS_MAX; set++) {
#pragma HLS UNROLL
      writers[set] = verdict_writer();
    }
    entry_verdicts& verdicts = lock;
    uint32_t open_count = LOADERS;
    uint32_t turn = 0;
    uint32_t sets = 0;
    uint32_t first = 0;
    bool passes = true;
    key_entry_token token = key_entry_token();
  VERDICTS:
    while (open_count > 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1048576
      if (sets == 0) {
        if (take_entry(entries, turn, token)) {
          if (token.last) open_count--;
          sets = token.last ? 0u : static_cast<uint32_t>(token.sets);
          first = lowest_bit(sets);
          passes = true;
        } else {
          NS_IDLE();
        }
        turn = turn + 1 < LOADERS ? turn + 1 : 0;
      }
      if (sets != 0) {
        const bool is_found = is_in_set(plan.sets[lowest_bit(sets)], memory, token.value);
        passes = passes && is_found;
        own.loader_iterations++;
        sets &= sets - 1;
        if (sets == 0) {
          const uint32_t place = plan.sets[first].verdict_first + token.index;
          writers[first].put(verdicts, place, passes);
        }
      }
    }
  LAST_WORDS:
    for (uint32_t at = 0; at < KEY_FILTERS_MAX; at++) {
#pragma HLS PIPELINE II = 1
      writers[at].flush(verdicts);
    }
  }
  reports.write(own);
}

}  // namespace nearscan
