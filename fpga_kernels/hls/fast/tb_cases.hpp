// SPDX-License-Identifier: Apache-2.0
// Arrays that each show one thing, arrays by chance, cuts, and what the kernels refuse.
#pragma once

#include <limits>

#include "tb_golden.hpp"

namespace nearscan_tb {

using nearscan::study::ELEMENTS_MAX;
using nearscan::study::STUDY_ARGUMENTS;
using nearscan::study::STUDY_NOT_SORTED;
using nearscan::study::STUDY_OK;
using nearscan::study::STUDY_PIECES;

static constexpr int32_t LEAST = std::numeric_limits<int32_t>::min();
static constexpr int32_t GREATEST = std::numeric_limits<int32_t>::max();

/// All kernels on one or both arrays.
inline void check_kernels(tally& all, const std::string& name, elements_t a, elements_t b,
                          int32_t value, uint32_t units) {
  check_count(all, name, a, value, units);
  check_average(all, name, a, units);
  elements_t padded = b;
  padded.resize(a.size(), -3);
  check_addition(all, name, a, padded, units);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  check_merge(all, name, a, b, units);
}

inline void check_all(tally& all, const std::string& name, const elements_t& a,
                      const elements_t& b) {
  for (uint32_t units = 1; units <= UNITS_MAX; units++) {
    check_kernels(all, name, a, b, a.empty() ? 0 : a[a.size() / 2], units);
  }
}

inline elements_t ascending(int32_t first, size_t count, int32_t step) {
  elements_t made;
  for (size_t at = 0; at < count; at++) made.push_back(first + static_cast<int32_t>(at) * step);
  return made;
}

inline void shapes(tally& all) {
  check_all(all, "both empty", {}, {});
  check_all(all, "one element", {7}, {});
  check_all(all, "one element of the other", {}, {7});
  check_all(all, "one element each", {-1}, {1});
  check_all(all, "the same element", {4}, {4});
  check_all(all, "all equal", elements_t(100, 5), elements_t(57, 5));
  check_all(all, "all equal, negative", elements_t(64, -5), elements_t(64, -6));
  check_all(all, "all duplicates", ascending(-50, 101, 1), ascending(-50, 101, 1));
  check_all(all, "evens and odds", ascending(-100, 97, 2), ascending(-99, 103, 2));
  check_all(all, "one behind the other", ascending(0, 700, 1), ascending(1000, 400, 1));
  check_all(all, "one before the other", ascending(1000, 330, 1), ascending(0, 700, 1));
  check_all(all, "one side empty", ascending(0, 2000, 1), {});
  check_all(all, "a run across all cuts", {1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 9}, {3, 3, 3, 4});
  check_all(all, "the sum leaves 32 bits", elements_t(1000, GREATEST), elements_t(1000, 1));
  check_all(all, "the sum leaves 32 bits below", elements_t(1000, LEAST), elements_t(1000, -1));
  check_all(all, "extremes", {LEAST, GREATEST, 0, -1, LEAST, GREATEST}, {GREATEST, LEAST, -1});
  // Around a line, a burst, and what is read ahead.
  for (size_t count : {15, 16, 17, 31, 33, 255, 256, 257, 511, 513, 768, 769, 1025}) {
    check_all(all, std::to_string(count) + " elements", ascending(-7, count, 3),
              ascending(-8, count, 2));
  }
}

/// Arrays of many bursts, one of which is used up in places where the other one is not.
inline void large(tally& all) {
  random_source random(3);
  elements_t a, b;
  for (size_t at = 0; at < 100000; at++) {
    a.push_back(static_cast<int32_t>(random.next() & 0xffffffff));
    b.push_back(static_cast<int32_t>(random.below(200000)));
  }
  for (uint32_t units : {1, 2, 7}) check_kernels(all, "long", a, b, 77, units);
}

inline void random_case(tally& all, uint64_t seed) {
  random_source random(seed);
  const int64_t range = random.below(2) == 0 ? 40 : GREATEST;
  elements_t arrays[2];
  for (elements_t& array : arrays) {
    const uint64_t count = random.below(random.once_in(4) ? 4000 : 500);
    for (uint64_t at = 0; at < count; at++) {
      array.push_back(static_cast<int32_t>(random.between(-range - 1, range)));
    }
  }
  const uint32_t units = static_cast<uint32_t>(random.between(1, UNITS_MAX));
  check_kernels(all, "seed " + std::to_string(seed), arrays[0], arrays[1],
                static_cast<int32_t>(random.between(-40, 40)), units);
}

/// Cuts of arrays without duplicates are even to an element, and found with few probes.
inline void cuts(tally& all) {
  const uint32_t units = 7;
  const elements_t a = ascending(0, 1000, 3);
  const elements_t b = ascending(1, 500, 3);
  checker check = {all, "cuts"};
  const merge_pass even = run_merge_units(a, b, units, JOB_SEGMENT, {}, 1500);
  for (uint32_t unit = 0; unit < units; unit++) {
    all.runs++;
    const study_record& record = even.records[unit];
    check.equal("share", record.steps.iterations, 1500 * (unit + 1) / units - 1500 * unit / units);
    // Two cuts by halving at most: 10 + 10 probes in each array, and the values next to them.
    const uint64_t probes = record.steps.a.singles + record.steps.b.singles;
    const bool is_whole_search = unit > 0 && unit + 1 < units;
    if (probes > 2 * (2 * 10 + 10 + 10 + 2)) all.fail("cuts", "too many probes");
    if (is_whole_search && probes < 4 * 9) all.fail("cuts", "too few probes");
  }
  const merge_pass run =
      run_merge_units(elements_t(900, 5), elements_t(600, 5), units, JOB_SEGMENT, {}, 1500);
  check.equal("turns of the first of one run", run.records[0].steps.iterations, 0);
  check.equal("turns of the last of one run", run.records[6].steps.iterations, 1500);
  check.equal("elements of the last", run.records[6].elements, 1);
  check.equal("first of the last", run.records[6].first, 0);
}

/// Whether a record has the status, and tells of no work.
inline void check_refused(tally& all, const std::string& name, const record_memory& records,
                          nearscan::study::study_status status) {
  all.runs++;
  checker check = {all, name};
  const study_record record = records.of(0);
  check.equal("status", record.status, status);
  check.equal("elements", record.elements, 0);
  check.equal("turns", record.steps.iterations, 0);
}

/// Slices and shares that are not there; the arrays are empty.
inline void refused(tally& all) {
  record_memory records(1);
  uint64_t* words = records.words.data();
  const slice wrong_slices[] = {
      {0, ELEMENTS_MAX + 1}, {ELEMENTS_MAX, 1}, {~static_cast<uint64_t>(0), 2}, {1, 0}, {8, 8}};
  for (const slice& part : wrong_slices) {
    ns_fast_count(nullptr, words, part.first, part.count, 0, 0);
    check_refused(all, "count, wrong slice", records, STUDY_ARGUMENTS);
    ns_fast_average(nullptr, words, part.first, part.count, 0);
    check_refused(all, "average, wrong slice", records, STUDY_ARGUMENTS);
    ns_fast_vector_addition(nullptr, nullptr, nullptr, words, part.first, part.count, 0);
    check_refused(all, "addition, wrong slice", records, STUDY_ARGUMENTS);
  }
  struct {
    uint64_t a, b;
    uint32_t units, job;
    uint64_t first, room;
  } const wrong_shares[] = {
      {0, 0, 0, JOB_SEGMENT, 0, 0},
      {0, 0, 16, JOB_SEGMENT, 0, 0},
      {ELEMENTS_MAX + 1, 0, 1, JOB_COUNT, 0, 0},
      {0, ELEMENTS_MAX + 1, 1, JOB_COUNT, 0, 0},
      {0, 0, 1, 3, 0, 0},
      {0, 0, 1, JOB_PLACE, 2, 1},
      {0, 0, 1, JOB_PLACE, 0, 2 * ELEMENTS_MAX + 1},
  };
  for (const auto& share : wrong_shares) {
    ns_fast_array_merge(nullptr, nullptr, nullptr, nullptr, words, share.a, share.b, 0, share.units,
                        share.job, share.first, share.room);
    check_refused(all, "wrong share", records, STUDY_ARGUMENTS);
  }
}

/// A unit that finds too little room writes up to its end and says so.
inline void no_room(tally& all) {
  const elements_t a = ascending(0, 600, 1);
  for (uint64_t room : {0, 1, 15, 16, 17, 300, 599}) {
    all.runs++;
    checker check = {all, "room for " + std::to_string(room)};
    const merge_pass pass = run_merge_units(a, a, 1, JOB_PLACE, {0}, room);
    check.equal("status", pass.records[0].status, STUDY_PIECES);
    for (uint64_t at = 0; at < pass.output.size(); at++) {
      const bool is_right = at < room / LANES * LANES ? pass.output[at] == a[at]
                                                      : pass.output[at] == UNTOUCHED_ELEMENT;
      if (!is_right) all.fail(check.where, "another output");
    }
  }
}

/// A unit that has no record leaves none.
inline void units_without_records(tally& all) {
  all.runs++;
  record_memory records(UNITS_MAX + 1);
  const std::vector<uint64_t> untouched = records.words;
  uint64_t* words = records.words.data();
  ns_fast_count(nullptr, words, 0, 0, 0, UNITS_MAX);
  ns_fast_average(nullptr, words, 0, 0, UNITS_MAX);
  ns_fast_vector_addition(nullptr, nullptr, nullptr, words, 0, 0, UNITS_MAX);
  ns_fast_array_merge(nullptr, nullptr, nullptr, nullptr, words, 0, 0, UNITS_MAX, 16, JOB_SEGMENT,
                      0, 0);
  if (records.words != untouched) all.fail("units without records", "a record was written");
}

/// Arrays that are not sorted give some answer or STUDY_NOT_SORTED, within their memories.
inline void unsorted(tally& all, uint64_t cases) {
  uint64_t refusals = 0;
  for (uint64_t seed = 0; seed < cases; seed++) {
    all.runs++;
    random_source random(seed);
    elements_t arrays[2];
    for (elements_t& array : arrays) {
      const uint64_t count = random.below(60);
      for (uint64_t at = 0; at < count; at++) {
        array.push_back(static_cast<int32_t>(random.between(-20, 20)));
      }
    }
    const uint32_t units = static_cast<uint32_t>(random.between(1, UNITS_MAX));
    const uint64_t room = arrays[0].size() + arrays[1].size();
    const merge_pass run = run_merge_units(arrays[0], arrays[1], units, JOB_SEGMENT, {}, room);
    for (const study_record& record : run.records) {
      if (record.status == STUDY_NOT_SORTED) refusals++;
      if (record.status != STUDY_OK && record.status != STUDY_NOT_SORTED) {
        all.fail("unsorted, seed " + std::to_string(seed), "another status");
      }
    }
  }
  if (refusals == 0) all.fail("unsorted", "no cuts crossed");
}

}  // namespace nearscan_tb
