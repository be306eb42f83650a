// SPDX-License-Identifier: Apache-2.0
// Array Merge by merge path: two sorted arrays in, one sorted array without duplicates out, an
// element a cycle and unit.
//
//     read_inputs -> lines -> merge_heads -> packed lines -> write_packed
//
// Each unit finds its own two cuts (study/cut.hpp) and merges what lies between them; nothing is
// left for one unit to do behind the others. The result has one of two forms:
//
// - segments: each unit writes its own, where the elements before its cut leave room for it;
// - one array: a first pass counts what each unit will put out, the host adds the counts up, and a
//   second pass merges again and writes where the elements of the units before it end.
#pragma once

#include "../study/array_merge.hpp"
#include "merge_input.hpp"
#include "merge_output.hpp"

namespace nearscan {
namespace fast {

using study::merge_cut;
using study::merge_share;

/// The jobs that a unit is started for.
static constexpr uint32_t JOB_SEGMENT = 0;
static constexpr uint32_t JOB_COUNT = 1;
static constexpr uint32_t JOB_PLACE = 2;

/// The counts of the merging stage.
struct merge_iterations {
  uint64_t put_out;
  uint64_t iterations;
  uint64_t comparisons;
};

/// Stage: takes the lower of the elements that wait and puts it out, unless it is a duplicate.
inline void merge_heads(line_stream& of_a, line_stream& of_b, const merge_part& part,
                        uint64_t first, request_stream& requests, packed_stream& packed,
                        merge_iterations& done) {
  input_head a = input_head();
  input_head b = input_head();
  open_head(part.a, of_a, requests, SOURCE_A, a);
  open_head(part.b, of_b, requests, SOURCE_B, b);
  line_packer packer(first);
  merge_iterations counted = merge_iterations();
  int32_t last = 0;
ITERATIONS:
  while (a.left > 0 || b.left > 0) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 2147483647
#pragma HLS PIPELINE II = 1
    const bool both = a.left > 0 && b.left > 0;
    const bool take_a = both ? a.element <= b.element : a.left > 0;
    const int32_t taken = take_a ? a.element : b.element;
    const bool has_last = counted.iterations > 0;
    counted.iterations++;
    counted.comparisons += (both ? 1 : 0) + (has_last ? 1 : 0);
    if (!has_last || taken != last) {
      packer.put(taken, packed);
      counted.put_out++;
    }
    last = taken;
    if (take_a) {
      next_element(of_a, requests, SOURCE_A, a);
    } else {
      next_element(of_b, requests, SOURCE_B, b);
    }
  }
  packer.finish(packed);
  done = counted;
}

/// The three stages. Two of them know the part, each from a parameter of its own: what is shared
/// would hold them up.
inline void run_merge(const line_t* a, const line_t* b, line_t* c, int32_t* c_elements,
                      const merge_part& to_read, const merge_part& to_merge, const destination& to,
                      access_counts& reads_a, access_counts& reads_b, access_counts& writes,
                      merge_iterations& iterations, bool& fits) {
#pragma HLS DATAFLOW
  line_stream of_a;
  line_stream of_b;
  request_stream requests;
  packed_stream packed;
  NS_REGION(flow);
  NS_STAGE(flow, read_inputs(a, b, to_read, requests, of_a, of_b, reads_a, reads_b));
  NS_STAGE(flow, merge_heads(of_a, of_b, to_merge, to.first, requests, packed, iterations));
  NS_STAGE(flow, write_packed(packed, to, c, c_elements, writes, fits));
  NS_RUN(flow);
}

/// Merges the share of one unit. A segment begins where the cut is; `to.first` is not looked at.
inline study_record merge_share_of_unit(const line_t* a, const line_t* b, line_t* c,
                                        int32_t* c_elements, const merge_share& share, uint32_t job,
                                        destination to) {
  study_record record = study_record();
  study::study_steps& steps = record.steps;
  const merge_cut low = find_cut(a, b, share.lengths, share.unit, share.units, steps);
  const merge_cut high = find_cut(a, b, share.lengths, share.unit + 1, share.units, steps);
  if (high.a < low.a || high.b < low.b) {
    record.status = study::STUDY_NOT_SORTED;
    return record;
  }
  const merge_part part = {{low.a, high.a - low.a}, {low.b, high.b - low.b}};
  if (job == JOB_SEGMENT) to.first = low.a + low.b;
  to.is_written = job != JOB_COUNT;
  merge_iterations iterations;
  bool fits = true;
  run_merge(a, b, c, c_elements, part, part, to, steps.a, steps.b, steps.c, iterations, fits);
  if (to.is_written && !fits) record.status = study::STUDY_PIECES;
  record.elements = iterations.put_out;
  record.first = to.first;
  steps.iterations = iterations.iterations;
  steps.comparisons += iterations.comparisons;
  return record;
}

/// The kernel: checks its arguments, runs, and leaves the record of the unit.
inline void merge_unit(const line_t* a, const line_t* b, line_t* c, int32_t* c_elements,
                       uint64_t* records, const merge_share& share, uint32_t job, uint64_t first,
                       uint64_t room) {
  if (share.unit >= UNITS_MAX) return;
  study_record record = study_record();
  const bool is_known = is_share(share) && job <= JOB_PLACE;
  const bool is_place = room <= 2 * study::ELEMENTS_MAX && first <= room;
  record.status = is_known && is_place ? study::STUDY_OK : study::STUDY_ARGUMENTS;
  if (record.status == study::STUDY_OK) {
    const destination to = {first, room, true};
    record = merge_share_of_unit(a, b, c, c_elements, share, job, to);
  }
  write_record(record, records, share.unit);
}

}  // namespace fast
}  // namespace nearscan
