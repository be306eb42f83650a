// SPDX-License-Identifier: Apache-2.0
// Writes the lines of the result to the output, in bursts.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Lines of a burst of the result: 1 KiB.
static constexpr uint32_t RESULT_BURST_LINES = 16;

/// Stage: lines of the result in, one behind the other but for the header's, which come last.
inline void write_lines(result_stream& lines, line_port& output) {
  line_t buffer[RESULT_BURST_LINES];
  uint64_t bytes[RESULT_BURST_LINES];
  bool more = true;
  bool has_next = false;
  result_token next = result_token();
RESULT_BURSTS:
  while (more) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4194304
    uint64_t first = 0;
    uint32_t count = 0;
  GATHER_LINES:
    while (count < RESULT_BURST_LINES) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      if (!has_next) lines.read(next);
      has_next = true;
      if (next.last || (count != 0 && next.at != first + count)) break;
      if (count == 0) first = next.at;
      buffer[count] = next.line;
      bytes[count] = next.bytes;
      count++;
      has_next = false;
    }
    more = !(has_next && next.last);
    if (count == 0) continue;
    output.write_request(first, count);
  PUT_LINES:
    for (uint32_t line = 0; line < count; line++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
      output.write(buffer[line], bytes[line]);
    }
    output.write_response();
  }
}

}  // namespace nearscan
