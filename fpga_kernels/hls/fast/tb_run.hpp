// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of the fast set over N units, with memories exactly as large as a run may touch,
// and FIFOs as deep as the kernels declare them.
#pragma once

#include <cstdlib>

#include "../study/tb_units.hpp"
#include "array_merge.hpp"

extern "C" {
void ns_fast_count(const nearscan::line_t* a, uint64_t* records, uint64_t first, uint64_t count,
                   int32_t value, uint32_t unit);
void ns_fast_average(const nearscan::line_t* a, uint64_t* records, uint64_t first, uint64_t count,
                     uint32_t unit);
void ns_fast_vector_addition(nearscan::line_port a, nearscan::line_port b, nearscan::line_t* c,
                             uint64_t* records, uint64_t first, uint64_t count, uint32_t unit);
void ns_fast_array_merge(const nearscan::line_t* a, const nearscan::line_t* b, nearscan::line_t* c,
                         int32_t* c_elements, uint64_t* records, uint64_t a_count, uint64_t b_count,
                         uint32_t unit, uint32_t units, uint32_t job, uint64_t first,
                         uint64_t room);
}

namespace nearscan_tb {

using namespace nearscan::fast;

/// An array in global memory: whole lines, the rest of the last one filled with what a kernel must
/// not count.
struct global_array {
  std::vector<line_t> lines;

  global_array(const elements_t& elements, int32_t fill)
      : lines((elements.size() + LANES - 1) / LANES) {
    elements_t padded = elements;
    padded.resize(lines.size() * LANES, fill);
    if (!lines.empty()) std::memcpy(lines.data(), padded.data(), padded.size() * ELEMENT_BYTES);
  }

  elements_t elements() const {
    elements_t made(lines.size() * LANES);
    if (!made.empty()) std::memcpy(made.data(), lines.data(), made.size() * ELEMENT_BYTES);
    return made;
  }
};

/// Ends the bench when the stages of the last call wait for each other: nothing behind it is right.
inline void expect_no_deadlock() {
  const char* stuck = nearscan_portable::last_stuck();
  if (stuck[0] == '\0') return;
  std::printf("deadlock: %s\n", stuck);
  std::exit(1);
}

/// The slice of `unit` where the others have as many lines or one more or less.
inline slice line_slice(uint64_t count, uint32_t unit, uint32_t units) {
  const uint64_t lines = (count + LANES - 1) / LANES;
  const uint64_t first = lines * unit / units * LANES;
  const uint64_t end = lines * (unit + 1) / units * LANES;
  return {first, (end < count ? end : count) - (first < count ? first : count)};
}

inline records_t run_count_units(const elements_t& elements, int32_t value, uint32_t units) {
  const global_array a(elements, value);
  record_memory records(units);
  for (uint32_t unit = 0; unit < units; unit++) {
    const slice part = line_slice(elements.size(), unit, units);
    ns_fast_count(a.lines.data(), records.words.data(), part.first, part.count, value, unit);
    expect_no_deadlock();
  }
  return records.first(units);
}

inline records_t run_average_units(const elements_t& elements, uint32_t units) {
  const global_array a(elements, 1);
  record_memory records(units);
  for (uint32_t unit = 0; unit < units; unit++) {
    const slice part = line_slice(elements.size(), unit, units);
    ns_fast_average(a.lines.data(), records.words.data(), part.first, part.count, unit);
    expect_no_deadlock();
  }
  return records.first(units);
}

/// A pass of a merge over all units. `firsts` are where they write, if they are told.
struct merge_pass {
  records_t records;
  elements_t output;
};

inline merge_pass run_merge_units(const elements_t& a, const elements_t& b, uint32_t units,
                                  uint32_t job, const std::vector<uint64_t>& firsts,
                                  uint64_t room) {
  const global_array memory_a(a, -7);
  const global_array memory_b(b, -7);
  global_array memory_c(elements_t(room, UNTOUCHED_ELEMENT), UNTOUCHED_ELEMENT);
  // The same array by its elements. The kernel never reaches an element both ways.
  int32_t* c_elements = reinterpret_cast<int32_t*>(memory_c.lines.data());
  record_memory records(units);
  for (uint32_t unit = 0; unit < units; unit++) {
    ns_fast_array_merge(memory_a.lines.data(), memory_b.lines.data(), memory_c.lines.data(),
                        c_elements, records.words.data(), a.size(), b.size(), unit, units, job,
                        firsts.empty() ? 0 : firsts[unit], room);
    expect_no_deadlock();
  }
  return {records.first(units), memory_c.elements()};
}

}  // namespace nearscan_tb
