// SPDX-License-Identifier: Apache-2.0
// Writes what lanes put into scratch.
//
// This stage waits for no lane: of a burst all pairs are there before it begins. A lane that waits
// for an answer is answered once its words are in memory; answers that find no room are added up,
// so that a lane which does not take them holds up no other one.
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

/// Writers of all lanes.
static constexpr uint32_t WRITERS = LANES * LANE_WRITERS;
static_assert(WRITERS <= 32, "a bit for each");

/// The first of `count` writers from `turn` on that has a burst, or `count` if none does.
inline uint32_t first_with_burst(burst_stream bursts[LANES][LANE_WRITERS], uint32_t count,
                                 uint32_t turn) {
  uint32_t holders = 0;
HOLDERS:
  for (uint32_t writer = 0; writer < WRITERS; writer++) {
#pragma HLS UNROLL
    if (writer >= count) break;
    const bool is_empty = bursts[writer / LANE_WRITERS][writer % LANE_WRITERS].empty();
    holders |= (is_empty ? 0u : 1u) << writer;
  }
  return round_robin<WRITERS>(holders, turn, count);
}

/// Stage: bursts of lanes in, answers out. A pair of words per iteration. Reports when no lane has
/// one any more.
inline void write_memory(uint32_t lane_count, pair_stream pairs[LANES][LANE_WRITERS],
                         burst_stream bursts[LANES][LANE_WRITERS], written_stream written[LANES],
                         pair_port& scratch, memory_report_stream& reports) {
  write_order in_flight;
  uint32_t unanswered[LANES];
#pragma HLS ARRAY_PARTITION variable = unanswered complete
INIT_WRITES:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
    unanswered[lane] = 0;
  }
  const uint32_t writer_count = lane_count * LANE_WRITERS;
  uint32_t open_count = writer_count;
  uint32_t turn = 0;
  uint32_t writer = 0;
  uint32_t left = 0;
  uint32_t idle = 0;
  memory_report own = memory_report();
PAIRS_TO_WRITE:
  while (open_count > 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    bool moved = false;
    if (left == 0 && in_flight.count < WRITES_IN_FLIGHT) {
      const uint32_t next = first_with_burst(bursts, writer_count, turn);
      if (next != writer_count) {
        writer = next;
        const burst_token burst = bursts[writer / LANE_WRITERS][writer % LANE_WRITERS].read();
        moved = true;
        if (burst.last) {
          open_count--;
        } else {
          scratch.write_request(burst.at, burst.count);
          in_flight.push(writer / LANE_WRITERS);
          left = burst.count;
          own.requests++;
        }
      }
    }
    if (left != 0) {
      // It was sent before its burst.
      const pair_token pair = pairs[writer / LANE_WRITERS][writer % LANE_WRITERS].read();
      scratch.write(static_cast<u128>(pair.word[1]) << 64 | pair.word[0]);
      left--;
      own.iterations++;
      moved = true;
    } else if (in_flight.count == WRITES_IN_FLIGHT || (!moved && in_flight.count != 0)) {
      // The oldest answer is awaited when no other burst may begin, or when no lane has one.
      scratch.write_response();
      unanswered[in_flight.pop()]++;
      moved = true;
    }
    const uint32_t lane = turn / LANE_WRITERS;
    if (unanswered[lane] != 0 && !written[lane].full()) {
      written[lane].write(unanswered[lane]);
      unanswered[lane] = 0;
      moved = true;
    }
    turn = turn + 1 < writer_count ? turn + 1 : 0;
    idle = moved ? 0 : idle + 1;
    if (idle >= writer_count) NS_IDLE();
  }
  reports.write(own);
}

}  // namespace nearscan
