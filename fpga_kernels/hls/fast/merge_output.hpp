// SPDX-License-Identifier: Apache-2.0
// The output of Array Merge: elements packed into lines, and lines written in bursts.
//
// A unit's output begins and ends anywhere in a line, whose other elements are another unit's. Such
// a line is written an element at a time, through a pointer of that width to the same array.
#pragma once

#include "lines.hpp"

namespace nearscan {
namespace fast {

/// Some lanes of a line of the output. The last token may have none.
struct packed_line {
  line_t line;
  uint8_t first;
  uint8_t end;
  bool is_last;
};

typedef hls::stream<packed_line, BURST_LINES> packed_stream;

/// A line while it fills.
struct line_packer {
  packed_line open;

  explicit line_packer(uint64_t first) : open(packed_line()) {
    open.first = static_cast<uint8_t>(first % LANES);
    open.end = open.first;
  }

  void put(int32_t element, packed_stream& out) {
    set_line_number(open.line, open.end, element);
    open.end++;
    if (open.end == LANES) {
      out.write(open);
      open = packed_line();
    }
  }

  void finish(packed_stream& out) {
    open.is_last = true;
    out.write(open);
  }
};

/// The destination of a unit's output: from element `first` on, in an array of `room` elements.
struct destination {
  uint64_t first;
  uint64_t room;
  /// Elements are only counted otherwise.
  bool is_written;
};

/// Lines that wait for their burst to fill, and where the first of them goes.
struct burst_buffer {
  line_t lines[BURST_LINES];
  uint32_t count;
  uint64_t first;
};

/// Lets a line wait.
inline void hold_line(const line_t& line, uint64_t at, burst_buffer& waiting) {
  if (waiting.count == 0) waiting.first = at;
  waiting.lines[waiting.count] = line;
  waiting.count++;
}

/// Writes the lines that wait.
inline void write_burst(burst_buffer& waiting, line_t* c, access_counts& counts) {
BURST:
  for (uint32_t line = 0; line < waiting.count; line++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
#pragma HLS PIPELINE II = 1
    c[waiting.first + line] = waiting.lines[line];
  }
  counts.bursts++;
  counts.beats += waiting.count;
  waiting.count = 0;
}

/// Writes the lanes of a line that is not whole.
inline void write_elements(const packed_line& packed, uint64_t line, int32_t* c_elements,
                           access_counts& counts) {
EDGE:
  for (uint32_t lane = 0; lane < LANES; lane++) {
#pragma HLS PIPELINE II = 1
    if (lane < packed.first || lane >= packed.end) continue;
    c_elements[line * LANES + lane] = line_number(packed.line, lane);
    counts.singles++;
  }
}

/// Stage: writes what was packed. `fits` tells whether all of it lies within the room; what does
/// not is left out.
inline void write_packed(packed_stream& packed, const destination& to, line_t* c,
                         int32_t* c_elements, access_counts& counts, bool& fits) {
  burst_buffer waiting;
#pragma HLS BIND_STORAGE variable = waiting.lines type = ram_2p impl = lutram
  waiting.count = 0;
  waiting.first = 0;
  uint64_t line = to.first / LANES;
  bool all_fit = true;
  bool ended = false;
LINES:
  while (!ended) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 134217728
    const packed_line taken = packed.read();
    const bool within = taken.first == taken.end || line * LANES + taken.end <= to.room;
    const bool is_kept = to.is_written && within;
    const bool is_whole = taken.first == 0 && taken.end == LANES;
    if (is_kept && is_whole) hold_line(taken.line, line, waiting);
    if (is_kept && !is_whole) write_elements(taken, line, c_elements, counts);
    ended = taken.is_last;
    if (waiting.count == BURST_LINES || (ended && waiting.count > 0)) {
      write_burst(waiting, c, counts);
    }
    all_fit = all_fit && within;
    line++;
  }
  fits = all_fit;
}

}  // namespace fast
}  // namespace nearscan
