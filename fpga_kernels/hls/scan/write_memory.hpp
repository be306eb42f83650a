// SPDX-License-Identifier: Apache-2.0
// Writes what lanes put into scratch.
//
// This stage waits for no lane. A lane that waits for an answer is answered once its words are in
// memory; answers that find no room are added up, so that a lane which does not take them holds up
// no other one.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Bursts of which the answer is awaited while others go on.
static constexpr uint32_t WRITES_IN_FLIGHT = 16;

/// The lanes of the bursts in flight, the oldest first.
struct write_order {
  hls::vector<uint8_t, WRITES_IN_FLIGHT> lane;
  uint32_t oldest;
  uint32_t count;

  write_order() : oldest(0), count(0) {}

  void push(uint32_t to) {
    lane[(oldest + count) % WRITES_IN_FLIGHT] = static_cast<uint8_t>(to);
    count++;
  }

  uint32_t pop() {
    const uint32_t taken = lane[oldest];
    oldest = (oldest + 1) % WRITES_IN_FLIGHT;
    count--;
    return taken;
  }
};

/// Stage: what lanes ask to be written, in; answers out. A word per iteration. Reports when no lane
/// asks any more.
inline void write_memory(uint32_t lane_count, scratch_stream requests[LANES],
                         written_stream written[LANES], word_port& scratch,
                         memory_report_stream& reports) {
  write_order in_flight;
  uint32_t unanswered[LANES];
  bool open[LANES];
#pragma HLS ARRAY_PARTITION variable = unanswered complete
#pragma HLS ARRAY_PARTITION variable = open complete
INIT_WRITES:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
    unanswered[lane] = 0;
    open[lane] = lane < lane_count;
  }
  scratch_token token = scratch_token();
  uint32_t open_count = lane_count;
  uint32_t lane = 0;
  uint32_t at = 0;
  uint32_t idle = 0;
  memory_report own = memory_report();
WORDS_TO_WRITE:
  while (open_count > 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    bool moved = false;
    const bool may_begin = at == token.count && in_flight.count < WRITES_IN_FLIGHT;
    if (may_begin && open[lane] && !requests[lane].empty()) {
      requests[lane].read(token);
      at = 0;
      moved = true;
      if (token.kind == SCRATCH_END) {
        token.count = 0;
        open[lane] = false;
        open_count--;
      } else {
        scratch.write_request(token.at, token.count);
        in_flight.push(lane);
        own.requests++;
      }
    }
    if (at < token.count) {
      scratch.write(token.word[at]);
      at++;
      own.iterations++;
      moved = true;
    } else if (in_flight.count == WRITES_IN_FLIGHT ||
               (!moved && in_flight.count != 0 && idle + 1 >= lane_count)) {
      // The oldest answer is awaited when no other burst may begin, or when in a whole round no
      // lane had one to begin.
      scratch.write_response();
      unanswered[in_flight.pop()]++;
      moved = true;
    }
    if (unanswered[lane] != 0 && !written[lane].full()) {
      written[lane].write(unanswered[lane]);
      unanswered[lane] = 0;
      moved = true;
    }
    lane = lane + 1 < lane_count ? lane + 1 : 0;
    idle = moved ? 0 : idle + 1;
    if (idle >= lane_count) NS_IDLE();
  }
  reports.write(own);
}

}  // namespace nearscan
