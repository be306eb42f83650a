// SPDX-License-Identifier: Apache-2.0
// Vector Addition at the memory's speed: c[i] = a[i] + b[i], which wraps, sixteen lanes at once.
//
//     read_pairs -> pairs of lines -> add_lanes -> lines -> write_lines
//
// Two arrays share the channel that reads, so their bursts take turns: that of `a` waits on chip
// until its partner comes, and a pair of lines leaves as one token. No FIFO can then fill with one
// array while a stage waits for the other one.
#pragma once

#include "../study/vector_addition.hpp"
#include "lines.hpp"

namespace nearscan {
namespace fast {

/// The lines that are added to each other.
struct line_pair {
  line_t a;
  line_t b;
};

typedef hls::stream<line_pair, BURST_LINES> pair_stream;

/// Stage: reads both arrays, a burst of each in turn.
inline void read_pairs(const line_t* a, const line_t* b, const slice& part, pair_stream& pairs,
                       access_counts& of_a, access_counts& of_b) {
  const slice lines = lines_of(part);
  line_t held[BURST_LINES];
#pragma HLS BIND_STORAGE variable = held type = ram_2p impl = lutram
  uint64_t done = 0;
BURSTS:
  while (done < lines.count) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4194304
    const uint32_t count = burst_lines(lines.count - done);
  BURST_OF_A:
    for (uint32_t line = 0; line < count; line++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
#pragma HLS PIPELINE II = 1
      held[line] = a[lines.first + done + line];
    }
  BURST_OF_B:
    for (uint32_t line = 0; line < count; line++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
#pragma HLS PIPELINE II = 1
      pairs.write({held[line], b[lines.first + done + line]});
    }
    of_a.bursts++;
    of_a.beats += count;
    of_b.bursts++;
    of_b.beats += count;
    done += count;
  }
}

/// Stage: adds the lanes of each pair. Lanes behind the slice are zero.
inline void add_lanes(pair_stream& pairs, const slice& part, line_stream& sums) {
  const uint64_t line_count = lines_of(part).count;
  uint64_t left = part.count;
LINES:
  for (uint64_t line = 0; line < line_count; line++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 67108864
#pragma HLS PIPELINE II = 1
    const line_pair taken = pairs.read();
    const uint32_t elements = line_elements(left);
    line_t added = line_t();
  ADD_LANES:
    for (uint32_t lane = 0; lane < LANES; lane++) {
#pragma HLS UNROLL
      const int32_t sum =
          study::wrapping_sum(line_number(taken.a, lane), line_number(taken.b, lane));
      set_line_number(added, lane, lane < elements ? sum : 0);
    }
    sums.write(added);
    left -= elements;
  }
}

/// Stage: writes the sums in bursts, whole lines of them.
inline void write_lines(line_stream& sums, const slice& part, line_t* c, access_counts& counts) {
  const slice lines = lines_of(part);
  uint64_t done = 0;
BURSTS:
  while (done < lines.count) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4194304
    const uint32_t count = burst_lines(lines.count - done);
  BURST:
    for (uint32_t line = 0; line < count; line++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
#pragma HLS PIPELINE II = 1
      c[lines.first + done + line] = sums.read();
    }
    counts.bursts++;
    counts.beats += count;
    done += count;
  }
}

/// The three stages, each with the part that it is about: what is shared would hold them up.
inline void run_addition(const line_t* a, const line_t* b, line_t* c, const slice& to_read,
                         const slice& to_add, const slice& to_write, access_counts& of_a,
                         access_counts& of_b, access_counts& of_c) {
#pragma HLS DATAFLOW
  pair_stream pairs;
  line_stream sums;
  NS_REGION(flow);
  NS_STAGE(flow, read_pairs(a, b, to_read, pairs, of_a, of_b));
  NS_STAGE(flow, add_lanes(pairs, to_add, sums));
  NS_STAGE(flow, write_lines(sums, to_write, c, of_c));
  NS_RUN(flow);
}

/// The kernel: checks its arguments, runs, and leaves the record of `unit`.
inline void addition_unit(const line_t* a, const line_t* b, line_t* c, uint64_t* records,
                          const slice& part, uint32_t unit) {
  if (unit >= UNITS_MAX) return;
  study_record record = study_record();
  record.status = is_line_slice(part) ? study::STUDY_OK : study::STUDY_ARGUMENTS;
  if (record.status == study::STUDY_OK) {
    run_addition(a, b, c, part, part, part, record.steps.a, record.steps.b, record.steps.c);
    record.elements = part.count;
    record.steps.iterations = lines_of(part).count;
  }
  write_record(record, records, unit);
}

}  // namespace fast
}  // namespace nearscan
