// SPDX-License-Identifier: Apache-2.0
// Writes what loaders put into scratch: runs of slots, in long bursts.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Bursts of which the answer is awaited while others go on.
static constexpr uint32_t SLOT_BURSTS = 16;

/// Writes the words of a run, and says so when they are in memory.
inline void write_run(const slot_run& run, slot_word_stream& words, slots_written_stream& written,
                      word_port& scratch, memory_report& own) {
  uint32_t in_flight = 0;
BURSTS:
  for (uint32_t at = 0; at < run.count; at += SLOT_BURST_WORDS) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2048
    const uint32_t left = run.count - at;
    const uint32_t count = left < SLOT_BURST_WORDS ? left : SLOT_BURST_WORDS;
    if (in_flight == SLOT_BURSTS) {
      scratch.write_response();
      in_flight--;
    }
    scratch.write_request(run.at + at, count);
  BURST_WORDS:
    for (uint32_t word = 0; word < count; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 64
      scratch.write(words.read());
    }
    in_flight++;
    own.requests++;
  }
ANSWERS:
  for (uint32_t burst = 0; burst < in_flight; burst++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    scratch.write_response();
  }
  own.iterations += run.count;
  written.write(true);
}

/// Stage: runs of both loaders in, one at a time; answers out. A word per iteration. Reports when
/// no loader has one any more.
inline void write_slots(slot_run_stream runs[LOADERS], slot_word_stream words[LOADERS],
                        slots_written_stream written[LOADERS], word_port& scratch,
                        memory_report_stream& reports) {
  memory_report own = memory_report();
  uint32_t open_count = LOADERS;
  uint32_t turn = 0;
RUNS:
  while (open_count > 0) {
#pragma HLS LOOP_TRIPCOUNT min = 2 max = 18
    if (!runs[turn].empty()) {
      const slot_run run = runs[turn].read();
      if (run.last) {
        open_count--;
      } else {
        write_run(run, words[turn], written[turn], scratch, own);
      }
    } else {
      NS_IDLE();
    }
    turn = turn + 1 < static_cast<uint32_t>(LOADERS) ? turn + 1 : 0;
  }
  reports.write(own);
}

}  // namespace nearscan
