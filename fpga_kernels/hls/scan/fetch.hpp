// SPDX-License-Identifier: Apache-2.0
// Reads the column chunks from device memory in wide bursts, all lanes in turn.
//
// A lane whose FIFO is full is passed over, never waited for: the lanes consume at different rates,
// and one that waits (for a large dictionary, say) must not starve the others. Each lane has a
// burst buffer of its own for that.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Lines of a burst: 1 KiB, enough to hide the start of a DDR4 access.
static constexpr int BURST_LINES = 16;

/// Input: `input` [lines] of device memory. Output: a stream of lines for each lane and one report
/// each.
inline void fetch(const line_t* input, const fetch_plan& plan, stop_stream& stop_in,
                  line_stream lines[LANES], report_stream reports[LANES]) {
  line_t buffer[LANES][BURST_LINES];
#pragma HLS BIND_STORAGE variable = buffer type = ram_2p impl = bram
  uint32_t buffered[LANES];
  uint32_t taken[LANES];
  uint64_t next_line[LANES];
  uint64_t lines_read[LANES];
  bool open[LANES];
  uint32_t open_count = plan.lane_count;
  uint64_t steps = 0;
  bool told = false;
  bool cancelled = false;
LANES_INIT:
  for (int lane = 0; lane < LANES; lane++) {
#pragma HLS UNROLL
    buffered[lane] = 0;
    taken[lane] = 0;
    next_line[lane] = plan.lane[lane].begin / LINE_BYTES;
    lines_read[lane] = 0;
    open[lane] = lane < static_cast<int>(plan.lane_count);
  }

ROUNDS:
  while (open_count > 0) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 33554432
    uint32_t stop = STATUS_OK;
    if (!told && !stop_in.empty()) {
      cancelled = stop_in.read();
      told = true;
    }
    if (cancelled) stop = STATUS_CANCELLED;
    if (steps > plan.steps_max) stop = STATUS_STEPS_EXCEEDED;
    bool moved = false;
  LANE_TURNS:
    for (int lane = 0; lane < LANES; lane++) {
      if (!open[lane]) continue;
      const uint64_t begin = plan.lane[lane].begin;
      const uint64_t end = plan.lane[lane].end;
      const uint64_t end_line =
          begin == end ? begin / LINE_BYTES : (end + LINE_BYTES - 1) / LINE_BYTES;
      if (taken[lane] == buffered[lane] && next_line[lane] < end_line && stop == STATUS_OK) {
        const uint64_t left = end_line - next_line[lane];
        const uint32_t burst = left < BURST_LINES ? static_cast<uint32_t>(left) : BURST_LINES;
      BURST:
        for (uint32_t i = 0; i < burst; i++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
          buffer[lane][i] = input[next_line[lane] + i];
        }
        next_line[lane] += burst;
        lines_read[lane] += burst;
        steps += burst;
        buffered[lane] = burst;
        taken[lane] = 0;
      }
    PUSH:
      while (taken[lane] < buffered[lane] && !lines[lane].full()) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
        const uint64_t at = (next_line[lane] - buffered[lane] + taken[lane]) * LINE_BYTES;
        line_token token;
        token.data = buffer[lane][taken[lane]];
        token.first = static_cast<uint8_t>(at < begin ? begin - at : 0);
        token.end = static_cast<uint8_t>(end - at < LINE_BYTES ? end - at : LINE_BYTES);
        token.last = false;
        lines[lane].write(token);
        taken[lane]++;
        moved = true;
      }
      const bool drained = taken[lane] == buffered[lane] && next_line[lane] == end_line;
      if ((drained || stop != STATUS_OK) && !lines[lane].full()) {
        line_token token = line_token();
        token.last = true;
        lines[lane].write(token);
        report own = empty_report();
        if (!drained) own.status = stop;
        own.lines_read = lines_read[lane];
        reports[lane].write(own);
        open[lane] = false;
        open_count--;
        moved = true;
      }
    }
    if (!moved) NS_IDLE();
  }
  // The one token of this stream is taken in any case: the next command must not find it.
  if (!told) stop_in.read();
}

}  // namespace nearscan
