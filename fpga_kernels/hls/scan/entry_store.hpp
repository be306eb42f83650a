// SPDX-License-Identifier: Apache-2.0
// The store: the entries of one large dictionary of numbers, behind those that the lane has on
// chip. Entries of 32 bits, in URAM.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Iterations in which eight entries go through the two ports of the store.
static constexpr uint32_t STORE_ITERATIONS = ROWS / 2;

/// Takes the entries of the lane.
inline void fill_store(store_stream& entries, int32_t store[STORE_ENTRIES]) {
  store_token token = store_token();
ENTRIES:
  while (!token.last) {
#pragma HLS PIPELINE II = 4
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16384
    entries.read(token);
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

/// Stage: entries of the lane that has the store in, then its look-ups.
inline void look_up_store(const store_plan& plan, store_stream entries[LANES],
                          place_stream places[LANES], stored_stream found[LANES],
                          memory_report_stream& reports) {
  if (!plan.active) return;
  int32_t store[STORE_ENTRIES];
#pragma HLS BIND_STORAGE variable = store type = ram_t2p impl = uram
  memory_report own = memory_report();
  fill_store(entries[plan.lane], store);
  own.iterations = serve_places(places[plan.lane], found[plan.lane], store);
  reports.write(own);
}

}  // namespace nearscan
