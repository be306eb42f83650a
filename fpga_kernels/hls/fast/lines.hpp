// SPDX-License-Identifier: Apache-2.0
// Lines of global memory: how the kernels of the fast set read arrays in wide bursts, and what they
// share with those of the study.
//
// A unit has one bundle of 512 bits. Of it, one stage reads and another one writes: the two
// channels of a port run side by side. Assumed of the tool: that it keeps them apart, and that the
// narrow records may share the bundle, as in the scan kernel.
#pragma once

#include "../study/record.hpp"

namespace nearscan {
namespace fast {

using study::access_counts;
using study::ELEMENT_BYTES;
using study::is_slice;
using study::slice;
using study::study_record;
using study::UNITS_MAX;

/// Elements of a line: what a light kernel does in a cycle.
static constexpr uint32_t LANES = LINE_BYTES / ELEMENT_BYTES;
/// Lines of a burst: 1 KiB, the tool's default of sixteen beats.
static constexpr uint32_t BURST_LINES = 16;
/// Bursts of an array that wait on chip at most.
static constexpr uint32_t BURSTS_AHEAD = 2;

typedef hls::stream<line_t, BURSTS_AHEAD * BURST_LINES> line_stream;

/// The lines that some elements lie in.
inline slice lines_of(const slice& part) {
  if (part.count == 0) return {part.first / LANES, 0};
  const uint64_t first = part.first / LANES;
  return {first, (part.first + part.count - 1) / LANES - first + 1};
}

/// A slice that begins with a line. One that ends within a line has to be the array's last.
inline bool is_line_slice(const slice& part) { return is_slice(part) && part.first % LANES == 0; }

/// Lines of the next burst.
inline uint32_t burst_lines(uint64_t left) {
  return left < BURST_LINES ? static_cast<uint32_t>(left) : BURST_LINES;
}

/// Bursts of so many lines.
inline uint64_t bursts_of(uint64_t lines) { return (lines + BURST_LINES - 1) / BURST_LINES; }

/// Elements of the next line.
inline uint32_t line_elements(uint64_t left) {
  return left < LANES ? static_cast<uint32_t>(left) : LANES;
}

/// Reads the next burst of `left` and hands its lines on.
inline void read_burst(const line_t* memory, slice& left, line_stream& lines,
                       access_counts& counts) {
  const uint32_t count = burst_lines(left.count);
BURST:
  for (uint32_t line = 0; line < count; line++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
#pragma HLS PIPELINE II = 1
    lines.write(memory[left.first + line]);
  }
  left.first += count;
  left.count -= count;
  counts.bursts++;
  counts.beats += count;
}

/// Stage: reads the lines of one array. One loop over all of them: the tool asks for the next burst
/// while the one before arrives, so that the way to the memory and back is paid once.
inline void read_array(const line_t* a, const slice& part, line_stream& lines,
                       access_counts& counts) {
  const slice all = lines_of(part);
ARRAY_LINES:
  for (uint64_t line = 0; line < all.count; line++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 67108864
#pragma HLS PIPELINE II = 1
    lines.write(a[all.first + line]);
  }
  counts.bursts += bursts_of(all.count);
  counts.beats += all.count;
}

}  // namespace fast
}  // namespace nearscan
