// SPDX-License-Identifier: Apache-2.0
// Count at the memory's speed: how many elements of a slice equal a value, a line a cycle.
//
//     read_array -> lines -> count_lanes
#pragma once

#include "lines.hpp"

namespace nearscan {
namespace fast {

/// Stage: holds each lane of each line against the value.
inline void count_lanes(line_stream& lines, const slice& part, int32_t value, uint64_t& equal) {
  const uint64_t line_count = lines_of(part).count;
  uint64_t left = part.count;
  uint64_t found = 0;
LINES:
  for (uint64_t line = 0; line < line_count; line++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 67108864
#pragma HLS PIPELINE II = 1
    const line_t taken = lines.read();
    const uint32_t elements = line_elements(left);
  EQUAL_LANES:
    for (uint32_t lane = 0; lane < LANES; lane++) {
#pragma HLS UNROLL
      found += lane < elements && line_number(taken, lane) == value ? 1 : 0;
    }
    left -= elements;
  }
  equal = found;
}

/// The two stages, each with the part that it is about: what is shared would hold them up.
inline void run_count(const line_t* a, const slice& to_read, const slice& to_count, int32_t value,
                      access_counts& reads, uint64_t& equal) {
#pragma HLS DATAFLOW
  line_stream lines;
  NS_REGION(flow);
  NS_STAGE(flow, read_array(a, to_read, lines, reads));
  NS_STAGE(flow, count_lanes(lines, to_count, value, equal));
  NS_RUN(flow);
}

/// The kernel: checks its arguments, runs, and leaves the record of `unit`.
inline void count_unit(const line_t* a, uint64_t* records, const slice& part, int32_t value,
                       uint32_t unit) {
  if (unit >= UNITS_MAX) return;
  study_record record = study_record();
  record.status = is_line_slice(part) ? study::STUDY_OK : study::STUDY_ARGUMENTS;
  if (record.status == study::STUDY_OK) {
    run_count(a, part, part, value, record.steps.a, record.elements);
    record.steps.iterations = lines_of(part).count;
    record.steps.comparisons = part.count;
  }
  write_record(record, records, unit);
}

}  // namespace fast
}  // namespace nearscan
