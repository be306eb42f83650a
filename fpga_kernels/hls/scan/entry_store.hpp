// SPDX-License-Identifier: Apache-2.0
// The store: the entries of one large dictionary of numbers, behind those that the lane has on
// chip. Entries of 32 bits, in URAM. A loader fills it.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Iterations in which eight entries go through the two ports of the store.
static constexpr uint32_t STORE_ITERATIONS = ROWS / 2;

/// Entries that a loader has not sent to the store yet.
struct entry_buffer {
  store_token token;

  entry_buffer() : token() {}

  /// Adds the entry at place `at`, which follows the one before.
  void put(store_stream& store, uint32_t at, int32_t entry) {
    if (token.count == ROWS) flush(store);
    if (token.count == 0) token.at = at;
    token.entry[token.count] = entry;
    token.count++;
  }

  void flush(store_stream& store) {
    if (token.count != 0) store.write(token);
    token.count = 0;
  }

  /// No entry comes behind those that were put.
  void end(store_stream& store) {
    flush(store);
    token.last = true;
    store.write(token);
  }
};

/// Stage: entries of the loader that has the store's dictionary in, all of them out as a block.
inline void fill_store(const store_fill_plan& plan, store_stream entries[LOADERS],
                       store_blocks& blocks) {
  if (!plan.active) return;
  hls::write_lock<store_entries> lock(blocks);
  store_entries& store = lock;
  store_token token = store_token();
ENTRIES:
  while (!token.last) {
#pragma HLS PIPELINE II = 4
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16384
    entries[plan.loader].read(token);
  PUT_ENTRIES:
    for (uint32_t i = 0; i < ROWS; i++) {
#pragma HLS UNROLL
      if (i < token.count) store[token.at + i] = token.entry[i];
    }
  }
}

/// Looks up what the lane asks for; gives the iterations.
inline uint64_t serve_places(place_stream& places, stored_stream& answers,
                             const int32_t store[STORE_ENTRIES]) {
  uint64_t iterations = 0;
  bool more = true;
PLACES:
  while (more) {
#pragma HLS PIPELINE II = 4
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 33554432
    const place_token token = places.read();
    stored_token answer = stored_token();
  GET_ENTRIES:
    for (uint32_t row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      if (((token.rows >> row) & 1) != 0) answer.entry[row] = store[token.place[row]];
    }
    more = !token.last;
    if (more) {
      answers.write(answer);
      iterations += STORE_ITERATIONS;
    }
  }
  return iterations;
}

/// Stage: look-ups of the lane that has the store.
inline void look_up_store(const store_plan& plan, store_blocks& blocks, place_stream places[LANES],
                          stored_stream found[LANES], memory_report_stream& reports) {
  if (!plan.active) return;
  hls::read_lock<store_entries> store(blocks);
  memory_report own = memory_report();
  own.iterations = serve_places(places[plan.lane], found[plan.lane], store);
  reports.write(own);
}

}  // namespace nearscan
