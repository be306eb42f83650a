// SPDX-License-Identifier: Apache-2.0
// Joins the lanes row by row, evaluates the predicate and passes on what it keeps.
#pragma once

#include "program.hpp"

namespace nearscan {

/// Reads the lanes that have not ended to their end.
NS_APART void drain_lanes(value_stream lanes[LANES], uint32_t lane_count,
                          const value_token columns[LANES]) {
DRAIN_LANES:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
    if (lane >= lane_count) break;
    bool ended = columns[lane].last;
  DRAIN:
    while (!ended) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      ended = lanes[lane].read().last;
    }
  }
}

/// One word of every lane; false when a lane has ended. Lanes that go on then are read to their
/// end.
inline bool read_lanes(value_stream lanes[LANES], uint32_t lane_count, value_token columns[LANES],
                       uint32_t* count) {
  uint32_t least = ROWS;
  bool any_ended = false;
READ_LANES:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
    if (lane >= lane_count) break;
    columns[lane] = lanes[lane].read();
    least = columns[lane].count < least ? columns[lane].count : least;
    any_ended |= columns[lane].last;
  }
  *count = least;
  if (any_ended) drain_lanes(lanes, lane_count, columns);
  return !any_ended;
}

/// Stage: words of all lanes in; words with kept rows of the forwarded lanes out, and which rows
/// are kept.
inline void filter(const filter_plan& plan, value_stream lanes[LANES],
                   report_stream reports_in[LANES], value_stream forwarded[LANES],
                   keep_stream& kept, report_stream& reports_out) {
  value_token columns[LANES];
  step_values steps;
  uint64_t rows_in = 0;
  uint64_t rows_kept = 0;
  bool overflowed = false;
  bool too_long = false;
WORDS:
  while (plan.lane_count != 0 || rows_in < plan.rows) {
#pragma HLS PIPELINE II = 8
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    uint32_t count;
    if (plan.lane_count == 0) {
      // Without a lane there is no stage before this one to give up.
      too_long = rows_in > plan.steps_max;
      if (too_long) break;
      const uint64_t left = plan.rows - rows_in;
      count = left < ROWS ? static_cast<uint32_t>(left) : ROWS;
    } else {
      if (!read_lanes(lanes, plan.lane_count, columns, &count)) break;
    }
    const uint8_t rows = row_mask(count);
    uint8_t keep = rows;
    if (plan.program.step_count > 0) {
      overflowed = evaluate_program(plan.program, columns, rows, steps) || overflowed;
      const uint32_t verdict = plan.program.step_count - 1;
      keep = steps.truth[verdict] & steps.valid[verdict] & rows;
    }
    rows_in += count;
    rows_kept += count_bits(keep);
    if (keep != 0 && !overflowed) {
      keep_token token = {keep, static_cast<uint8_t>(count), false};
      kept.write(token);
    FORWARD:
      for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
        if (lane >= plan.lane_count) break;
        if (plan.forwarded[lane]) forwarded[lane].write(columns[lane]);
      }
    }
  }
  keep_token end = keep_token();
  end.last = true;
  kept.write(end);
  report own = empty_report();
REPORTS:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
    if (lane < plan.lane_count) merge_lane(own, reports_in[lane].read());
  }
  if (overflowed) fail(own, STATUS_OVERFLOW);
  if (too_long) fail(own, STATUS_STEPS_EXCEEDED);
  own.rows_in = rows_in;
  own.rows_kept = rows_kept;
  reports_out.write(own);
}

}  // namespace nearscan
