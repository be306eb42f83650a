// SPDX-License-Identifier: Apache-2.0
// The right answers of the kernels of the fast set, by the standard library, and their right costs,
// by formulas.
#pragma once

#include <algorithm>
#include <numeric>
#include <set>

#include "tb_run.hpp"

namespace nearscan_tb {

/// Lines that were moved in bursts, as few as there can be.
inline void check_bursts(checker& check, const std::string& array, const access_counts& found,
                         uint64_t lines) {
  check.equal(array + " lines", found.beats, lines);
  check.equal(array + " bursts", found.bursts, (lines + BURST_LINES - 1) / BURST_LINES);
}

/// The steps of a light kernel over a slice.
inline void check_light(checker& check, const study_record& record, uint64_t count, bool three) {
  const uint64_t lines = (count + LANES - 1) / LANES;
  check.equal("status", record.status, nearscan::study::STUDY_OK);
  check_bursts(check, "a", record.steps.a, lines);
  check_bursts(check, "b", record.steps.b, three ? lines : 0);
  check_bursts(check, "c", record.steps.c, three ? lines : 0);
  check.equal("iterations", record.steps.iterations, lines);
  check.equal("singles", record.steps.a.singles + record.steps.b.singles + record.steps.c.singles,
              0);
}

inline void check_count(tally& all, const std::string& name, const elements_t& a, int32_t value,
                        uint32_t units) {
  all.runs++;
  checker check = {all, "count, " + name + ", " + std::to_string(units) + " units"};
  const records_t records = run_count_units(a, value, units);
  uint64_t found = 0;
  uint64_t seen = 0;
  for (const study_record& record : records) {
    check_light(check, record, record.steps.comparisons, false);
    found += record.elements;
    seen += record.steps.comparisons;
  }
  check.equal("elements seen", seen, a.size());
  check.equal("count", found, static_cast<uint64_t>(std::count(a.begin(), a.end(), value)));
}

inline void check_average(tally& all, const std::string& name, const elements_t& a,
                          uint32_t units) {
  all.runs++;
  checker check = {all, "average, " + name + ", " + std::to_string(units) + " units"};
  int64_t sum = 0;
  uint64_t seen = 0;
  for (const study_record& record : run_average_units(a, units)) {
    check_light(check, record, record.elements, false);
    sum += record.sum;
    seen += record.elements;
  }
  check.equal("elements seen", seen, a.size());
  const int64_t expected = std::accumulate(a.begin(), a.end(), static_cast<int64_t>(0));
  check.equal("sum", static_cast<uint64_t>(sum), static_cast<uint64_t>(expected));
}

inline void check_addition(tally& all, const std::string& name, const elements_t& a,
                           const elements_t& b, uint32_t units) {
  all.runs++;
  checker check = {all, "vector addition, " + name + ", " + std::to_string(units) + " units"};
  const global_array memory_a(a, 1);
  const global_array memory_b(b, 1);
  global_array memory_c(elements_t(a.size(), UNTOUCHED_ELEMENT), UNTOUCHED_ELEMENT);
  record_memory records(units);
  elements_t expected = memory_c.elements();
  for (uint32_t unit = 0; unit < units; unit++) {
    const slice part = line_slice(a.size(), unit, units);
    ns_fast_vector_addition(memory_a.lines.data(), memory_b.lines.data(), memory_c.lines.data(),
                            records.words.data(), part.first, part.count, unit);
    expect_no_deadlock();
    check_light(check, records.of(unit), part.count, true);
    check.equal("elements", records.of(unit).elements, part.count);
    // Whole lines are written; behind the last element they are zero.
    for (uint64_t at = part.first; at < part.first + lines_of(part).count * LANES; at++) {
      const bool is_there = at < a.size();
      const int64_t sum = is_there ? static_cast<int64_t>(a[at]) + b[at] : 0;
      expected[at] = static_cast<int32_t>(static_cast<uint32_t>(sum & 0xffffffff));
    }
    // The other units' slices are still as they were.
    if (memory_c.elements() != expected) {
      all.fail(check.where, "other sums after unit " + std::to_string(unit));
    }
  }
}

/// Checks the cost of a unit's output of `count` elements from `first` on: whole lines in bursts,
/// the edges one by one.
inline void check_writes(checker& check, const access_counts& found, uint64_t first,
                         uint64_t count) {
  const uint64_t first_whole = (first + LANES - 1) / LANES;
  const uint64_t end_whole = (first + count) / LANES;
  const uint64_t whole = end_whole > first_whole ? end_whole - first_whole : 0;
  check_bursts(check, "c", found, whole);
  check.equal("c singles", found.singles, count - whole * LANES);
}

/// Checks one pass, each unit of which put out the next elements of `expected`.
inline void check_pass(checker& check, const merge_pass& pass, const elements_t& expected,
                       uint64_t inputs, bool is_written) {
  elements_t output(pass.output.size(), UNTOUCHED_ELEMENT);
  uint64_t put_out = 0;
  uint64_t iterations = 0;
  for (const study_record& record : pass.records) {
    check.equal("status", record.status, nearscan::study::STUDY_OK);
    const uint64_t count = record.elements;
    for (uint64_t at = 0; is_written && at < count && put_out + at < expected.size(); at++) {
      output[record.first + at] = expected[put_out + at];
    }
    check_writes(check, record.steps.c, record.first, is_written ? count : 0);
    put_out += count;
    iterations += record.steps.iterations;
  }
  check.equal("elements put out", put_out, expected.size());
  check.equal("iterations", iterations, inputs);
  if (pass.output != output) check.all.fail(check.where, "another output");
}

/// All three jobs.
inline void check_merge(tally& all, const std::string& name, const elements_t& a,
                        const elements_t& b, uint32_t units) {
  all.runs++;
  checker check = {all, "array merge, " + name + ", " + std::to_string(units) + " units"};
  std::set<int32_t> both(a.begin(), a.end());
  both.insert(b.begin(), b.end());
  const elements_t expected(both.begin(), both.end());
  const uint64_t inputs = a.size() + b.size();
  const merge_pass segments = run_merge_units(a, b, units, JOB_SEGMENT, {}, inputs);
  check_pass(check, segments, expected, inputs, true);
  uint64_t before = 0;
  for (const study_record& record : segments.records) {
    check.equal("first of a segment", record.first, before);
    before += record.steps.iterations;
  }
  const merge_pass counted = run_merge_units(a, b, units, JOB_COUNT, {}, 0);
  check_pass(check, counted, expected, inputs, false);
  std::vector<uint64_t> firsts;
  uint64_t first = 0;
  for (const study_record& record : counted.records) {
    firsts.push_back(first);
    first += record.elements;
  }
  const merge_pass placed = run_merge_units(a, b, units, JOB_PLACE, firsts, expected.size());
  check_pass(check, placed, expected, inputs, true);
  elements_t whole = placed.output;
  whole.resize(expected.size());
  if (whole != expected) all.fail(check.where, "not one array");
  if (units == 1) {
    const study_record& record = segments.records[0];
    check_bursts(check, "a", record.steps.a, (a.size() + LANES - 1) / LANES);
    check_bursts(check, "b", record.steps.b, (b.size() + LANES - 1) / LANES);
    check.equal("probes", record.steps.a.singles + record.steps.b.singles, 0);
  }
}

}  // namespace nearscan_tb
