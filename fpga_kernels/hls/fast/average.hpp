// SPDX-License-Identifier: Apache-2.0
// Average at the memory's speed: the sum of a slice and how many elements it has, a line a cycle.
//
//     read_array -> lines -> sum_lanes
//
// As in the study, the units' sums are added up and divided on the host.
#pragma once

#include "lines.hpp"

namespace nearscan {
namespace fast {

/// Stage: adds all lanes of each line up. Sixteen numbers are a tree of adders in front of one.
inline void sum_lanes(line_stream& lines, const slice& part, int64_t& sum) {
  const uint64_t line_count = lines_of(part).count;
  uint64_t left = part.count;
  int64_t total = 0;
LINES:
  for (uint64_t line = 0; line < line_count; line++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 67108864
#pragma HLS PIPELINE II = 1
    const line_t taken = lines.read();
    const uint32_t elements = line_elements(left);
    int64_t of_line = 0;
  SUM_OF_LANES:
    for (uint32_t lane = 0; lane < LANES; lane++) {
#pragma HLS UNROLL
      of_line += lane < elements ? line_number(taken, lane) : 0;
    }
    total += of_line;
    left -= elements;
  }
  sum = total;
}

/// The two stages, each with the part that it is about: what is shared would hold them up.
inline void run_average(const line_t* a, const slice& to_read, const slice& to_add,
                        access_counts& reads, int64_t& sum) {
#pragma HLS DATAFLOW
  line_stream lines;
  NS_REGION(flow);
  NS_STAGE(flow, read_array(a, to_read, lines, reads));
  NS_STAGE(flow, sum_lanes(lines, to_add, sum));
  NS_RUN(flow);
}

/// The kernel: checks its arguments, runs, and leaves the record of `unit`.
inline void average_unit(const line_t* a, uint64_t* records, const slice& part, uint32_t unit) {
  if (unit >= UNITS_MAX) return;
  study_record record = study_record();
  record.status = is_line_slice(part) ? study::STUDY_OK : study::STUDY_ARGUMENTS;
  if (record.status == study::STUDY_OK) {
    run_average(a, part, part, record.steps.a, record.sum);
    record.elements = part.count;
    record.steps.iterations = lines_of(part).count;
  }
  write_record(record, records, unit);
}

}  // namespace fast
}  // namespace nearscan
