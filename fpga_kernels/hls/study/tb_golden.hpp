// SPDX-License-Identifier: Apache-2.0
// The right answers of the kernels of the study, by the standard library, and their right costs, by
// formulas.
#pragma once

#include <algorithm>
#include <iterator>
#include <numeric>

#include "tb_run.hpp"

namespace nearscan_tb {

/// Checks the accesses to `count` elements of an array: one by one, or in blocks of `capacity`.
inline void check_access(checker& check, const std::string& array, const access_counts& found,
                         uint64_t count, uint64_t capacity) {
  check.equal(array + " singles", found.singles, capacity == 0 ? count : 0);
  check.equal(array + " bursts", found.bursts,
              capacity == 0 ? 0 : (count + capacity - 1) / capacity);
  check.equal(array + " beats", found.beats, capacity == 0 ? 0 : count);
}

/// The steps that Count, Average and Vector Addition must have taken over a slice.
inline void check_slice_steps(checker& check, const study_steps& found, uint64_t count,
                              uint64_t comparisons, bool three, const variant& how) {
  const uint64_t capacity = how.buffer_bytes / ELEMENT_BYTES;
  check_access(check, "a", found.a, count, capacity);
  check_access(check, "b", found.b, three ? count : 0, capacity);
  check_access(check, "c", found.c, three ? count : 0, capacity);
  check.equal("iterations", found.iterations, count);
  check.equal("comparisons", found.comparisons, comparisons);
  check.equal("blocks", found.blocks, capacity == 0 ? 0 : (count + capacity - 1) / capacity);
  check.equal("joined", found.joined, 0);
}

inline void check_count(tally& all, const std::string& name, const elements_t& a, int32_t value,
                        const variant& how) {
  all.runs++;
  checker check = {all, "count, " + name + ", " + how.name()};
  const records_t records = run_count_units(a, value, how);
  uint64_t equal = 0;
  uint64_t seen = 0;
  for (const study_record& record : records) {
    check.equal("status", record.status, STUDY_OK);
    equal += record.elements;
    const uint64_t count = record.steps.iterations;
    check_slice_steps(check, record.steps, count, count, false, how);
    seen += count;
  }
  check.equal("elements seen", seen, a.size());
  check.equal("count", equal, static_cast<uint64_t>(std::count(a.begin(), a.end(), value)));
}

inline void check_average(tally& all, const std::string& name, const elements_t& a,
                          const variant& how) {
  all.runs++;
  checker check = {all, "average, " + name + ", " + how.name()};
  const records_t records = run_average_units(a, how);
  int64_t sum = 0;
  uint64_t seen = 0;
  for (const study_record& record : records) {
    check.equal("status", record.status, STUDY_OK);
    sum += record.sum;
    check_slice_steps(check, record.steps, record.elements, 0, false, how);
    seen += record.elements;
  }
  check.equal("elements seen", seen, a.size());
  const int64_t expected = std::accumulate(a.begin(), a.end(), static_cast<int64_t>(0));
  check.equal("sum", static_cast<uint64_t>(sum), static_cast<uint64_t>(expected));
}

inline void check_addition(tally& all, const std::string& name, const elements_t& a,
                           const elements_t& b, const variant& how) {
  all.runs++;
  checker check = {all, "vector addition, " + name + ", " + how.name()};
  unit_memories memories(how);
  elements_t c(a.size(), UNTOUCHED_ELEMENT);
  elements_t expected = c;
  for (uint32_t unit = 0; unit < how.units; unit++) {
    const slice part = even_slice(a.size(), unit, how.units);
    run_addition_unit(a, b, c, part, unit, how, memories);
    const study_record record = memories.records.of(unit);
    check.equal("status", record.status, STUDY_OK);
    check.equal("elements", record.elements, part.count);
    check_slice_steps(check, record.steps, part.count, 0, true, how);
    for (uint64_t at = part.first; at < part.first + part.count; at++) {
      const int64_t sum = static_cast<int64_t>(a[at]) + b[at];
      expected[at] = static_cast<int32_t>(static_cast<uint32_t>(sum & 0xffffffff));
    }
    // The other units' slices are still as they were.
    if (c != expected) all.fail(check.where, "other sums after unit " + std::to_string(unit));
  }
}

/// Comparisons of a merge of whole arrays: of the two that wait, until one array is used up, and
/// with the last element put out, but for the first.
inline uint64_t merge_comparisons(const elements_t& a, const elements_t& b) {
  if (a.empty() && b.empty()) return 0;
  const uint64_t with_last = a.size() + b.size() - 1;
  if (a.empty() || b.empty()) return with_last;
  const bool a_ends_first = a.back() <= b.back();
  const uint64_t waiting =
      a_ends_first
          ? a.size() +
                static_cast<uint64_t>(std::lower_bound(b.begin(), b.end(), a.back()) - b.begin())
          : b.size() +
                static_cast<uint64_t>(std::upper_bound(a.begin(), a.end(), b.back()) - a.begin());
  return waiting + with_last;
}

/// The unions of sorted arrays, each value once.
inline elements_t golden_merge(const elements_t& a, const elements_t& b) {
  elements_t expected;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  return expected;
}

inline void check_merge(tally& all, const std::string& name, const elements_t& a,
                        const elements_t& b, const variant& how) {
  all.runs++;
  checker check = {all, "array merge, " + name + ", " + how.name()};
  const merge_run run = run_merge_units(a, b, how);
  const elements_t expected = golden_merge(a, b);
  const uint64_t capacity = how.buffer_bytes / (3 * ELEMENT_BYTES);
  elements_t pieces(run.pieces.size(), UNTOUCHED_ELEMENT);
  uint64_t iterations = 0;
  uint64_t put_out = 0;
  uint64_t singles = 0;
  for (uint32_t unit = 0; unit < how.units; unit++) {
    const study_record& record = run.records[unit];
    check.equal("status", record.status, STUDY_OK);
    for (uint64_t at = 0; at < record.elements && put_out + at < expected.size(); at++) {
      pieces[record.first + at] = expected[put_out + at];
    }
    check_access(check, "c", record.steps.c, record.elements, capacity);
    check.equal("joined by a unit", record.steps.joined, 0);
    check.equal("blocks", record.steps.blocks, record.steps.a.bursts + record.steps.b.bursts);
    iterations += record.steps.iterations;
    put_out += record.elements;
    singles += record.steps.a.singles + record.steps.b.singles;
  }
  if (run.pieces != pieces) all.fail(check.where, "other pieces");
  check.equal("iterations", iterations, a.size() + b.size());
  if (how.units == 1) {
    const study_steps& steps = run.records[0].steps;
    check_access(check, "a", steps.a, a.size(), capacity);
    check_access(check, "b", steps.b, b.size(), capacity);
    check.equal("comparisons", steps.comparisons, merge_comparisons(a, b));
  } else if (singles < (capacity == 0 ? a.size() + b.size() : 0)) {
    all.fail(check.where, "elements were not read");
  }
  const study_record& join = run.records[how.units];
  check.equal("status of the join", join.status, STUDY_OK);
  check.equal("joined", join.steps.joined, expected.size());
  check_access(check, "pieces", join.steps.a, expected.size(), 0);
  check_access(check, "array", join.steps.c, expected.size(), 0);
  elements_t joined = expected;
  joined.resize(run.joined.size(), UNTOUCHED_ELEMENT);
  if (run.joined != joined) all.fail(check.where, "another array");
}

}  // namespace nearscan_tb
