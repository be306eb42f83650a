// SPDX-License-Identifier: Apache-2.0
// The inputs of Array Merge: two slices of two arrays, read ahead and handed out one by one.
//
//     read_inputs -> lines of a, lines of b -> input_head
//          ^---------- requests -----------------+
//
// Which input is needed next is known only when elements have been compared, so the reader is told:
// two bursts of each input are read ahead, and one more is asked for when one has been taken. A
// stream has room for both, so the reader never waits for a stage that waits for the other input.
// An iteration takes its element out of a register: no iteration waits for the memory.
#pragma once

#include "lines.hpp"

namespace nearscan {
namespace fast {

/// The elements of each array that lie between two cuts.
struct merge_part {
  slice a;
  slice b;
};

/// The input that a request asks a burst of.
enum merge_source : uint8_t { SOURCE_A = 0, SOURCE_B = 1 };

typedef hls::stream<uint8_t, 2 * BURSTS_AHEAD> request_stream;

/// Bursts that have to be asked for: all but those that are read ahead.
inline uint64_t bursts_to_request(const slice& part) {
  const uint64_t bursts = bursts_of(lines_of(part).count);
  return bursts > BURSTS_AHEAD ? bursts - BURSTS_AHEAD : 0;
}

/// Stage: reads both inputs. It ends when all lines are read, and then no request is left.
inline void read_inputs(const line_t* a, const line_t* b, const merge_part& part,
                        request_stream& requests, line_stream& of_a, line_stream& of_b,
                        access_counts& counts_a, access_counts& counts_b) {
  slice left_a = lines_of(part.a);
  slice left_b = lines_of(part.b);
AHEAD:
  for (uint32_t burst = 0; burst < BURSTS_AHEAD; burst++) {
    if (left_a.count > 0) read_burst(a, left_a, of_a, counts_a);
    if (left_b.count > 0) read_burst(b, left_b, of_b, counts_b);
  }
REQUESTED:
  while (left_a.count > 0 || left_b.count > 0) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 8388608
    if (requests.read() == SOURCE_A) {
      read_burst(a, left_a, of_a, counts_a);
    } else {
      read_burst(b, left_b, of_b, counts_b);
    }
  }
}

/// One input between two iterations.
struct input_head {
  /// Elements that are left, with the one that waits.
  uint64_t left;
  /// The element that waits, and where in its line it stands.
  int32_t element;
  uint32_t lane;
  line_t line;
  /// Lines that were taken of the current burst, and bursts still to be asked for.
  uint32_t taken;
  uint64_t unasked;
};

/// Takes the next line of an input; asks for a burst when that was the last line of one.
inline void take_line(line_stream& lines, request_stream& requests, uint8_t source,
                      input_head& head) {
  head.line = lines.read();
  head.taken++;
  if (head.taken == BURST_LINES) {
    head.taken = 0;
    if (head.unasked > 0) {
      requests.write(source);
      head.unasked--;
    }
  }
}

/// Makes the first element of a part the one that waits.
inline void open_head(const slice& part, line_stream& lines, request_stream& requests,
                      uint8_t source, input_head& head) {
  head.left = part.count;
  head.lane = static_cast<uint32_t>(part.first % LANES);
  head.taken = 0;
  head.unasked = bursts_to_request(part);
  if (head.left == 0) return;
  take_line(lines, requests, source, head);
  head.element = line_number(head.line, head.lane);
}

/// Moves an input on by an element.
inline void next_element(line_stream& lines, request_stream& requests, uint8_t source,
                         input_head& head) {
  head.left--;
  head.lane = (head.lane + 1) % LANES;
  if (head.left == 0) return;
  if (head.lane == 0) take_line(lines, requests, source, head);
  head.element = line_number(head.line, head.lane);
}

}  // namespace fast
}  // namespace nearscan
