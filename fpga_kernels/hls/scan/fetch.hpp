// SPDX-License-Identifier: Apache-2.0
// Reads ranges of device memory in wide bursts, all lanes in turn: the column chunks, or the
// dictionary pages for the loaders, which are its lanes then.
//
// A lane whose FIFO is full is passed over, never waited for: the lanes consume at different rates,
// and one that waits (for a large dictionary, say) must not starve the others. Each lane has room
// for two bursts on chip for that. A burst is asked for when there is room for all of its lines, so
// that a line which arrives always has a place.
//
// One flat loop: in an iteration a lane may ask for its next burst, a line arrives, and a line goes
// to a lane.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Lines of a burst: 1 KiB, enough to hide the start of a DDR4 access.
static constexpr uint32_t BURST_LINES = 16;
/// Lines that a lane has room for.
static constexpr uint32_t FETCH_ROOM = 2 * BURST_LINES;
/// Bursts in flight, as many as the port keeps.
static constexpr uint32_t BURSTS_MAX = 16;

/// The progress of a lane: lines are asked for, arrive and go on, in this order.
struct fetch_progress {
  uint64_t asked;
  uint64_t arrived;
  uint64_t sent;
  uint64_t end;
  /// The range that is fetched.
  uint32_t range;
  bool open;
};

/// The progress at the beginning of a range.
inline fetch_progress begin_range(const byte_range& chunk, uint32_t range, bool open) {
  const uint64_t first = chunk.begin / LINE_BYTES;
  const bool is_empty = chunk.begin == chunk.end;
  const uint64_t behind = is_empty ? first : (chunk.end + LINE_BYTES - 1) / LINE_BYTES;
  return fetch_progress{first, first, first, behind, range, open};
}

/// The bursts in flight, the oldest first: of which lane, and how many lines are to arrive.
struct bursts_in_flight {
  hls::vector<uint8_t, BURSTS_MAX> lane;
  hls::vector<uint8_t, BURSTS_MAX> lines;
  uint32_t oldest;
  uint32_t count;

  bursts_in_flight() : oldest(0), count(0) {}

  void push(uint32_t of, uint32_t line_count) {
    const uint32_t place = (oldest + count) % BURSTS_MAX;
    lane[place] = static_cast<uint8_t>(of);
    lines[place] = static_cast<uint8_t>(line_count);
    count++;
  }

  /// Takes a line of the oldest burst; gives its lane.
  uint32_t take_line() {
    const uint32_t of = lane[oldest];
    lines[oldest]--;
    if (lines[oldest] == 0) {
      oldest = (oldest + 1) % BURSTS_MAX;
      count--;
    }
    return of;
  }
};

/// Asks for the next burst of a lane, if there is one and room for it; gives its lines.
inline uint32_t ask_for_burst(line_port& input, fetch_progress& lane, uint32_t index,
                              bursts_in_flight& bursts) {
  const uint64_t left = lane.end - lane.asked;
  const uint32_t lines = left < BURST_LINES ? static_cast<uint32_t>(left) : BURST_LINES;
  const uint64_t held = lane.asked - lane.sent;
  if (lines == 0 || bursts.count == BURSTS_MAX || held + lines > FETCH_ROOM) return 0;
  input.read_request(lane.asked, lines);
  bursts.push(index, lines);
  lane.asked += lines;
  return lines;
}

/// The part of a line that belongs to a chunk.
inline line_token part_of_line(const line_t& data, uint64_t line, const byte_range& chunk) {
  const uint64_t at = line * LINE_BYTES;
  line_token token;
  token.data = data;
  token.first = static_cast<uint8_t>(at < chunk.begin ? chunk.begin - at : 0);
  token.end = static_cast<uint8_t>(chunk.end - at < LINE_BYTES ? chunk.end - at : LINE_BYTES);
  token.last = false;
  return token;
}

/// Ends a range whose lines have all gone, or that was stopped.
inline void end_range(const byte_range& chunk, const fetch_progress& lane, uint32_t stop,
                      line_stream& lines, report_stream& reports) {
  line_token token = line_token();
  token.last = true;
  lines.write(token);
  report own = empty_report();
  if (lane.sent != lane.end) own.status = stop;
  own.lines_read = lane.asked - chunk.begin / LINE_BYTES;
  reports.write(own);
}

/// Iterations between two looks at the cancel word, which are no part of the pipeline.
static constexpr uint32_t CANCEL_ITERATIONS = 4096;

/// The cancel word in device memory.
struct cancel_word {
  const volatile uint32_t* at;

  bool is_set() const { return *at != 0; }
};

/// What a stage looks at that is not cancelled.
struct no_cancel_word {
  static bool is_set() { return false; }
};

/// Input: `input` [lines] of device memory. Output: for each lane the lines of its ranges, and a
/// report for each range.
template <int Streams, int Ranges, typename Cancel>
inline void fetch(line_port& input, const fetch_plan<Streams, Ranges>& plan, const Cancel& cancel,
                  line_stream lines[Streams], report_stream reports[Streams]) {
  line_t buffer[Streams][FETCH_ROOM];
#pragma HLS BIND_STORAGE variable = buffer type = ram_2p impl = bram
  fetch_progress lanes[Streams];
#pragma HLS ARRAY_PARTITION variable = lanes complete
  bursts_in_flight bursts;
  uint32_t open_count = 0;
  uint64_t steps = 0;
  bool cancelled = false;
LANES_INIT:
  for (uint32_t index = 0; index < static_cast<uint32_t>(Streams); index++) {
#pragma HLS UNROLL
    const bool open = index < plan.stream_count && plan.range_count[index] != 0;
    lanes[index] = begin_range(plan.range[index][0], 0, open);
    open_count += open ? 1 : 0;
  }
  uint32_t turn = 0;
  uint32_t idle = 0;
  bool more = open_count > 0;
LOOKS_AT_CANCEL_WORD:
  while (more) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8192
    cancelled = cancelled || cancel.is_set();
  LINES:
    for (uint32_t iteration = 0; iteration < CANCEL_ITERATIONS && more; iteration++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4096
      bool moved = false;
      const bool too_long = steps > plan.steps_max;
      const uint32_t stop = too_long    ? STATUS_STEPS_EXCEEDED
                            : cancelled ? STATUS_CANCELLED
                                        : STATUS_OK;
      fetch_progress& lane = lanes[turn];
      if (lane.open && stop == STATUS_OK) {
        const uint32_t asked = ask_for_burst(input, lane, turn, bursts);
        steps += asked;
        moved = asked != 0;
      }
      if (bursts.count > 0) {
        const uint32_t of = bursts.take_line();
        buffer[of][lanes[of].arrived % FETCH_ROOM] = input.read();
        lanes[of].arrived++;
        moved = true;
      }
      if (lane.open && !lines[turn].full()) {
        const bool has_line = lane.sent < lane.arrived;
        if (stop == STATUS_OK && has_line) {
          const line_t& data = buffer[turn][lane.sent % FETCH_ROOM];
          lines[turn].write(part_of_line(data, lane.sent, plan.range[turn][lane.range]));
          lane.sent++;
          moved = true;
        } else if (stop != STATUS_OK || lane.sent == lane.end) {
          end_range(plan.range[turn][lane.range], lane, stop, lines[turn], reports[turn]);
          const uint32_t next = lane.range + 1;
          const bool has_next = next < plan.range_count[turn];
          lane = begin_range(plan.range[turn][has_next ? next : 0], has_next ? next : 0, has_next);
          if (!has_next) open_count--;
          moved = true;
        }
      }
      turn = turn + 1 < plan.stream_count ? turn + 1 : 0;
      idle = moved ? 0 : idle + 1;
      if (idle >= plan.stream_count) NS_IDLE();
      more = open_count > 0 || bursts.count > 0;
    }
  }
}

}  // namespace nearscan
