// SPDX-License-Identifier: Apache-2.0
// Finds the parts of a merge: which elements of two sorted arrays are one unit's.
//
// A unit finds its own cuts, because the arrays lie in the drive's memory and the host has not seen
// them. A cut is first put where the merge is at an even share of its elements, then moved back to
// the first element with the value that comes next:
//
//     a = 1 2 2 | 5 7         so equal values fall to one side, the right one, and a unit that
//     b = 2 | 5 5 8           leaves duplicates out needs to know of no other
//
// All values before a cut are below all values behind it. Where arrays have few different values,
// shares differ, and some are empty.
#pragma once

#include "record.hpp"

namespace nearscan {
namespace study {

/// The number of elements of `a` and of `b` that lie before a cut.
struct merge_cut {
  uint64_t a;
  uint64_t b;
};

/// Elements of the two arrays.
struct array_lengths {
  uint64_t a;
  uint64_t b;
};

/// An element of global memory: out of a port of its width, or out of a line.
inline int32_t element_at(const int32_t* elements, uint64_t index) { return elements[index]; }
inline int32_t element_at(const line_t* lines, uint64_t index) {
  constexpr uint32_t line_elements = LINE_BYTES / ELEMENT_BYTES;
  return line_number(lines[index / line_elements], static_cast<uint32_t>(index % line_elements));
}

/// Elements below `value` among the first `count`.
template <typename Port>
inline uint64_t elements_below(const Port* elements, uint64_t count, int32_t value,
                               access_counts& counts, uint64_t& comparisons) {
  uint64_t low = 0;
  uint64_t high = count;
HALVE:
  while (low < high) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 31
    const uint64_t middle = low + (high - low) / 2;
    counts.singles++;
    comparisons++;
    if (element_at(elements, middle) < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The number of elements of `a` that are among the first `taken` of the merge.
template <typename Port>
inline uint64_t share_of_a(const Port* a, const Port* b, const array_lengths& lengths,
                           uint64_t taken, study_steps& steps) {
  uint64_t low = taken > lengths.b ? taken - lengths.b : 0;
  uint64_t high = taken < lengths.a ? taken : lengths.a;
DIAGONAL:
  while (low < high) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 31
    const uint64_t middle = low + (high - low) / 2;
    steps.a.singles++;
    steps.b.singles++;
    steps.comparisons++;
    if (element_at(a, middle) < element_at(b, taken - 1 - middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The cut before unit `unit` of `units`; that before number `units` is the end.
template <typename Port>
inline merge_cut find_cut(const Port* a, const Port* b, const array_lengths& lengths, uint32_t unit,
                          uint32_t units, study_steps& steps) {
  const uint64_t total = lengths.a + lengths.b;
  const uint64_t taken = total * unit / units;
  merge_cut cut = {0, 0};
  if (taken == 0) return cut;
  cut.a = lengths.a;
  cut.b = lengths.b;
  if (taken == total) return cut;
  cut.a = share_of_a(a, b, lengths, taken, steps);
  cut.b = taken - cut.a;
  const bool has_a = cut.a < lengths.a;
  const bool has_b = cut.b < lengths.b;
  int32_t next = 0;
  if (has_a) {
    next = element_at(a, cut.a);
    steps.a.singles++;
  }
  if (has_b) {
    const int32_t other = element_at(b, cut.b);
    steps.b.singles++;
    if (has_a) steps.comparisons++;
    if (!has_a || other < next) next = other;
  }
  cut.a = elements_below(a, cut.a, next, steps.a, steps.comparisons);
  cut.b = elements_below(b, cut.b, next, steps.b, steps.comparisons);
  return cut;
}

}  // namespace study
}  // namespace nearscan
