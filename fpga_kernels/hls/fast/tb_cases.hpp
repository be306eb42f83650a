// SPDX-License-Identifier: Apache-2.0
// Arrays that each show one thing, arrays by chance, cuts, and what the kernels refuse.
#pragma once

#include "tb_golden.hpp"

namespace nearscan_tb {

using nearscan::study::ELEMENTS_MAX;
using nearscan::study::STUDY_ARGUMENTS;
using nearscan::study::STUDY_PIECES;

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

inline void shapes(tally& all) {
  for (const array_pair& pair : special_pairs()) check_all(all, pair.name, pair.a, pair.b);
  // Around a line, a burst, and what is read ahead.
  const auto pairs = pairs_of({15, 16, 17, 31, 33, 255, 256, 257, 511, 513, 768, 769, 1025});
  for (const array_pair& pair : pairs) check_all(all, pair.name, pair.a, pair.b);
}

/// Arrays of many bursts, one of which is used up in places where the other one is not.
inline void large(tally& all) {
  const array_pair pair = long_pair(100000);
  for (uint32_t units : {1, 2, 7}) check_kernels(all, pair.name, pair.a, pair.b, 77, units);
}

inline void random_case(tally& all, uint64_t seed) {
  random_source random(seed);
  const int64_t range = random.below(2) == 0 ? 40 : GREATEST;
  elements_t arrays[2];
  for (elements_t& array : arrays) {
    const uint64_t count = random.below(random.once_in(4) ? 4000 : 500);
    array = random_array(random, count, -range - 1, range);
  }
  const uint32_t units = static_cast<uint32_t>(random.between(1, UNITS_MAX));
  check_kernels(all, "seed " + std::to_string(seed), arrays[0], arrays[1],
                static_cast<int32_t>(random.between(-40, 40)), units);
}

inline void cuts(tally& all) {
  const auto merge = [](const elements_t& a, const elements_t& b) {
    const uint64_t room = a.size() + b.size();
    return run_merge_units(a, b, CUT_UNITS, JOB_SEGMENT, {}, room).records;
  };
  const auto probes = [](const study_record& record) {
    return record.steps.a.singles + record.steps.b.singles;
  };
  check_cuts(all, merge, probes);
}

/// An array that no kernel may touch.
static constexpr const line_t* NOTHING = nullptr;

/// Slices and shares that are not there; the arrays are empty.
inline void refused(tally& all) {
  record_memory records(1);
  uint64_t* words = records.words.data();
  const slice wrong_slices[] = {
      {0, ELEMENTS_MAX + 1}, {ELEMENTS_MAX, 1}, {~static_cast<uint64_t>(0), 2}, {1, 0}, {8, 8}};
  for (const slice& part : wrong_slices) {
    ns_fast_count(nullptr, words, part.first, part.count, 0, 0);
    check_refused(all, "count, wrong slice", records.of(0), STUDY_ARGUMENTS);
    ns_fast_average(nullptr, words, part.first, part.count, 0);
    check_refused(all, "average, wrong slice", records.of(0), STUDY_ARGUMENTS);
    ns_fast_vector_addition(NOTHING, NOTHING, nullptr, words, part.first, part.count, 0);
    check_refused(all, "addition, wrong slice", records.of(0), STUDY_ARGUMENTS);
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
    check_refused(all, "wrong share", records.of(0), STUDY_ARGUMENTS);
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
  ns_fast_vector_addition(NOTHING, NOTHING, nullptr, words, 0, 0, UNITS_MAX);
  ns_fast_array_merge(nullptr, nullptr, nullptr, nullptr, words, 0, 0, UNITS_MAX, 16, JOB_SEGMENT,
                      0, 0);
  if (records.words != untouched) all.fail("units without records", "a record was written");
}

inline void unsorted(tally& all, uint64_t cases) {
  check_unsorted(all, cases, [](random_source& random, const elements_t& a, const elements_t& b) {
    const uint32_t units = static_cast<uint32_t>(random.between(1, UNITS_MAX));
    const uint64_t room = a.size() + b.size();
    return run_merge_units(a, b, units, JOB_SEGMENT, {}, room).records;
  });
}

}  // namespace nearscan_tb
