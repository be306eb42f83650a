// SPDX-License-Identifier: Apache-2.0
// Vector Addition at the memory's speed: c[i] = a[i] + b[i], which wraps, sixteen lanes at once.
//
//     read_pairs -> pairs of lines -> add_lanes -> lines -> write_lines
//
// Two arrays share the channel that reads, so their bursts take turns: that of `a` waits on chip
// until its partner comes, and a pair of lines leaves as one token. No FIFO can then fill with one
// array while a stage waits for the other one. Bursts are asked for ahead of the one that arrives.
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

/// Pairs of bursts that are asked for ahead.
static constexpr uint32_t PAIRS_AHEAD = 4;

/// How far the bursts of one array are asked for.
struct asked_bursts {
  uint64_t lines;

  /// Asks for the next burst, unless that is too far ahead of what was taken.
  void ask(line_port& array, const slice& part, uint64_t taken) {
    if (lines == part.count || lines >= taken + PAIRS_AHEAD * BURST_LINES) return;
    const uint32_t count = burst_lines(part.count - lines);
    array.read_request(part.first + lines, count);
    lines += count;
  }
};

/// Stage: reads both arrays, a burst of each in turn, a line per iteration.
inline void read_pairs(line_port& a, line_port& b, const slice& part, pair_stream& pairs,
                       access_counts& of_a, access_counts& of_b) {
  const slice lines = lines_of(part);
  line_t held[BURST_LINES];
#pragma HLS BIND_STORAGE variable = held type = ram_2p impl = lutram
  asked_bursts asked_a = {0};
  asked_bursts asked_b = {0};
  uint64_t done = 0;
  uint32_t at = 0;
  bool is_a = true;
LINES_OF_BOTH:
  while (done < lines.count) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 134217728
#pragma HLS PIPELINE II = 1
    // One asks in an iteration, for they share the channel.
    if (asked_a.lines == asked_b.lines) {
      asked_a.ask(a, lines, done);
    } else {
      asked_b.ask(b, lines, done);
    }
    const bool is_there = is_a || asked_b.lines > done + at;
    if (!is_there) continue;
    if (is_a) {
      held[at] = a.read();
    } else {
      pairs.write({held[at], b.read()});
    }
    at++;
    const uint32_t count = burst_lines(lines.count - done);
    if (at < count) continue;
    at = 0;
    if (!is_a) done += count;
    is_a = !is_a;
  }
  of_a.bursts += bursts_of(lines.count);
  of_a.beats += lines.count;
  of_b.bursts += bursts_of(lines.count);
  of_b.beats += lines.count;
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

/// Stage: writes the sums, whole lines of them.
inline void write_lines(line_stream& sums, const slice& part, line_t* c, access_counts& counts) {
  const slice lines = lines_of(part);
SUM_LINES:
  for (uint64_t line = 0; line < lines.count; line++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 67108864
#pragma HLS PIPELINE II = 1
    c[lines.first + line] = sums.read();
  }
  counts.bursts += bursts_of(lines.count);
  counts.beats += lines.count;
}

/// The three stages, each with the part that it is about: what is shared would hold them up.
inline void run_addition(line_port& a, line_port& b, line_t* c, const slice& to_read,
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
inline void addition_unit(line_port& a, line_port& b, line_t* c, uint64_t* records,
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
