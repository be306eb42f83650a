// SPDX-License-Identifier: Apache-2.0
// Arrays that each show one thing, arrays by chance, cuts, and what the kernels refuse.
#pragma once

#include <limits>

#include "tb_golden.hpp"

namespace nearscan_tb {

static constexpr int32_t LEAST = std::numeric_limits<int32_t>::min();
static constexpr int32_t GREATEST = std::numeric_limits<int32_t>::max();

/// All kernels, all ways, buffers that divide the length and that do not, 1 to 15 units.
inline void check_all(tally& all, const std::string& name, const elements_t& a,
                      const elements_t& b) {
  const uint32_t buffers[] = {0, BUFFER_BYTES_MIN, 16, 64, 1024};
  const uint32_t units[] = {1, 2, 3, 5, 8, 15};
  elements_t sorted_a = a;
  elements_t sorted_b = b;
  std::sort(sorted_a.begin(), sorted_a.end());
  std::sort(sorted_b.begin(), sorted_b.end());
  elements_t padded = b;
  padded.resize(a.size(), -3);
  for (entry way : {PLAIN, PIPELINED, TOP}) {
    for (uint32_t buffer_bytes : buffers) {
      for (uint32_t unit_count : units) {
        const variant how = {way, buffer_bytes, unit_count};
        check_count(all, name, a, a.empty() ? 0 : a[a.size() / 2], how);
        check_average(all, name, a, how);
        check_addition(all, name, a, padded, how);
        check_merge(all, name, sorted_a, sorted_b, how);
      }
    }
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
  check_all(all, "one behind the other", ascending(0, 70, 1), ascending(1000, 40, 1));
  check_all(all, "one before the other", ascending(1000, 33, 1), ascending(0, 70, 1));
  check_all(all, "a run across all cuts", {1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 9}, {3, 3, 3, 4});
  check_all(all, "the sum leaves 32 bits", elements_t(1000, GREATEST), elements_t(1000, 1));
  check_all(all, "the sum leaves 32 bits below", elements_t(1000, LEAST), elements_t(1000, -1));
  check_all(all, "extremes", {LEAST, GREATEST, 0, -1, LEAST, GREATEST}, {GREATEST, LEAST, -1});
  // Around the capacity of the buffers, for whole ones and for thirds of them.
  for (size_t count : {3, 4, 5, 15, 16, 17, 84, 85, 86, 255, 256, 257}) {
    check_all(all, std::to_string(count) + " elements", ascending(-7, count, 3),
              ascending(-8, count, 2));
  }
}

/// The largest buffers, on arrays that fill them more than once.
inline void large_buffers(tally& all) {
  random_source random(3);
  elements_t a, b;
  for (size_t at = 0; at < 300000; at++) {
    a.push_back(static_cast<int32_t>(random.next() & 0xffffffff));
    b.push_back(static_cast<int32_t>(random.below(200000)));
  }
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  for (uint32_t bytes : {256u * 1024, BUFFER_BYTES_MAX}) {
    // The hardware has 256 KiB.
    const variant how = {bytes == BUFFER_BYTES_MAX ? PIPELINED : TOP, bytes, 2};
    check_count(all, "long", b, 77, how);
    check_average(all, "long", a, how);
    check_addition(all, "long", a, b, how);
    check_merge(all, "long", a, b, how);
  }
}

inline void random_case(tally& all, uint64_t seed) {
  random_source random(seed);
  const int64_t range = random.below(2) == 0 ? 40 : GREATEST;
  elements_t arrays[2];
  for (elements_t& array : arrays) {
    const uint64_t count = random.below(500);
    for (uint64_t at = 0; at < count; at++) {
      array.push_back(static_cast<int32_t>(random.between(-range - 1, range)));
    }
  }
  const variant how = {
      static_cast<entry>(random.below(3)),
      random.below(4) == 0 ? 0 : static_cast<uint32_t>(random.between(BUFFER_BYTES_MIN, 600)),
      static_cast<uint32_t>(random.between(1, UNITS_MAX))};
  const std::string name = "seed " + std::to_string(seed);
  check_count(all, name, arrays[0], static_cast<int32_t>(random.between(-40, 40)), how);
  check_average(all, name, arrays[0], how);
  elements_t second = arrays[1];
  second.resize(arrays[0].size(), GREATEST);
  check_addition(all, name, arrays[0], second, how);
  std::sort(arrays[0].begin(), arrays[0].end());
  std::sort(arrays[1].begin(), arrays[1].end());
  check_merge(all, name, arrays[0], arrays[1], how);
}

/// Cuts of arrays without duplicates are even to an element; the runs of duplicates fall to one
/// side.
inline void cuts(tally& all) {
  const variant how = {PLAIN, 0, 7};
  const elements_t a = ascending(0, 1000, 3);
  const elements_t b = ascending(1, 500, 3);
  checker check = {all, "cuts"};
  const merge_run even = run_merge_units(a, b, how);
  for (uint32_t unit = 0; unit < how.units; unit++) {
    all.runs++;
    check.equal("share", even.records[unit].steps.iterations,
                even_slice(1500, unit, how.units).count);
    // Two cuts by halving at most: 10 + 10 probes in each array, and the values next to them.
    const study_steps& steps = even.records[unit].steps;
    const uint64_t probes = steps.a.singles + steps.b.singles - steps.iterations;
    if (probes > 2 * (2 * 10 + 10 + 10 + 2)) all.fail("cuts", "too many probes");
  }
  const merge_run run = run_merge_units(elements_t(900, 5), elements_t(600, 5), how);
  check.equal("elements of the first of one run", run.records[0].steps.iterations, 0);
  check.equal("elements of the last of one run", run.records[6].steps.iterations, 1500);
  check.equal("first of the last", run.records[6].first, 0);
}

/// Whether a record has the status, and tells of no work.
inline void check_refused(tally& all, const std::string& name, const study_record& record,
                          study_status status) {
  all.runs++;
  checker check = {all, name};
  check.equal("status", record.status, status);
  check.equal("elements", record.elements, 0);
  check.equal("iterations", record.steps.iterations, 0);
}

/// Buffers and slices that are not there; nothing else is touched, and the arrays are empty.
inline void refused_slices(tally& all) {
  const buffer_size wrong_sizes[] = {{BUFFER_BYTES_MIN - 1, 64}, {68, 64}, {1, 0}};
  const slice none = {0, 0};
  const slice wrong_slices[] = {
      {0, ELEMENTS_MAX + 1}, {ELEMENTS_MAX, 1}, {~static_cast<uint64_t>(0), 2}};
  unit_memories memories({PLAIN, 64, 1});
  uint64_t* records = memories.records.data();
  int32_t* local = memories.local.data();
  for (const buffer_size& size : wrong_sizes) {
    count_unit<true>(nullptr, records, none, 0, 0, local, size);
    check_refused(all, "count, wrong buffer", memories.record(0), STUDY_BUFFER);
    average_unit<true>(nullptr, records, none, 0, local, size);
    check_refused(all, "average, wrong buffer", memories.record(0), STUDY_BUFFER);
    addition_unit<true>(nullptr, nullptr, nullptr, records, none, 0, local, size);
    check_refused(all, "addition, wrong buffer", memories.record(0), STUDY_BUFFER);
    const merge_share share = {0, 1, {0, 0}};
    merge_unit<true>(nullptr, nullptr, nullptr, records, share, local, size);
    check_refused(all, "merge, wrong buffer", memories.record(0), STUDY_BUFFER);
  }
  for (const slice& part : wrong_slices) {
    count_unit<true>(nullptr, records, part, 0, 0, local, memories.size);
    check_refused(all, "count, wrong slice", memories.record(0), STUDY_ARGUMENTS);
    average_unit<true>(nullptr, records, part, 0, local, memories.size);
    check_refused(all, "average, wrong slice", memories.record(0), STUDY_ARGUMENTS);
    addition_unit<true>(nullptr, nullptr, nullptr, records, part, 0, local, memories.size);
    check_refused(all, "addition, wrong slice", memories.record(0), STUDY_ARGUMENTS);
  }
}

/// Shares and pieces that cannot be.
inline void refused_merges(tally& all) {
  const merge_share wrong_shares[] = {{0, 0, {0, 0}},
                                      {1, 1, {0, 0}},
                                      {0, 16, {0, 0}},
                                      {0, 1, {ELEMENTS_MAX + 1, 0}},
                                      {0, 1, {0, ELEMENTS_MAX + 1}}};
  unit_memories memories({PLAIN, 64, 2});
  uint64_t* records = memories.records.data();
  for (const merge_share& share : wrong_shares) {
    merge_unit<true>(nullptr, nullptr, nullptr, records, share, memories.local.data(),
                     memories.size);
    check_refused(all, "wrong share", memories.record(share.unit), STUDY_ARGUMENTS);
  }
  // A piece that failed, begins or ends outside, or finds no room behind the ones before it.
  const study_record wrong_pieces[] = {{STUDY_NOT_SORTED, 0, 0, 0, study_steps()},
                                       {STUDY_OK, 0, 0, 5, study_steps()},
                                       {STUDY_OK, 3, 0, 2, study_steps()},
                                       {STUDY_OK, ~static_cast<uint64_t>(0), 0, 2, study_steps()}};
  const elements_t pieces(4, 1);
  for (const study_record& piece : wrong_pieces) {
    elements_t joined(4, UNTOUCHED_ELEMENT);
    write_record(piece, records, 0);
    join_unit<true>(pieces.data(), joined.data(), records, 1, pieces.size());
    check_refused(all, "wrong piece", memories.record(1), STUDY_PIECES);
    if (joined != elements_t(4, UNTOUCHED_ELEMENT)) all.fail("wrong piece", "was moved");
  }
  unit_memories three({PLAIN, 0, 2});
  elements_t joined(4, UNTOUCHED_ELEMENT);
  write_record({STUDY_OK, 3, 0, 0, study_steps()}, three.records.data(), 0);
  write_record({STUDY_OK, 2, 0, 1, study_steps()}, three.records.data(), 1);
  join_unit<true>(pieces.data(), joined.data(), three.records.data(), 2, pieces.size());
  checker check = {all, "pieces without room"};
  check.equal("status", three.record(2).status, STUDY_PIECES);
  check.equal("elements", three.record(2).elements, 3);
  join_unit<true>(nullptr, nullptr, three.records.data(), 2, 2 * ELEMENTS_MAX + 1);
  check_refused(all, "too much room", three.record(2), STUDY_ARGUMENTS);
}

/// A unit that has no record leaves none.
inline void units_without_records(tally& all) {
  all.runs++;
  const slice none = {0, 0};
  const buffer_size size = {0, 0};
  std::vector<uint64_t> records((UNITS_MAX + 2) * RECORD_WORDS, UNTOUCHED_WORD);
  const std::vector<uint64_t> untouched = records;
  count_unit<true>(nullptr, records.data(), none, 0, UNITS_MAX, nullptr, size);
  average_unit<true>(nullptr, records.data(), none, UNITS_MAX, nullptr, size);
  addition_unit<true>(nullptr, nullptr, nullptr, records.data(), none, UNITS_MAX, nullptr, size);
  merge_unit<true>(nullptr, nullptr, nullptr, records.data(), {UNITS_MAX, 16, {0, 0}}, nullptr,
                   size);
  join_unit<true>(nullptr, nullptr, records.data(), 0, 0);
  join_unit<true>(nullptr, nullptr, records.data(), UNITS_MAX + 1, 0);
  ns_study_array_merge(nullptr, nullptr, nullptr, records.data(), 0, 0, 0, 1, 0, 2);
  if (records != untouched) all.fail("units without records", "a record was written");
}

/// Arrays that are not sorted give some answer or STUDY_NOT_SORTED, within their memories.
inline void unsorted(tally& all, uint64_t cases) {
  uint64_t refused = 0;
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
    const variant how = {PIPELINED, static_cast<uint32_t>(random.below(2) * 20),
                         static_cast<uint32_t>(random.between(1, UNITS_MAX))};
    const merge_run run = run_merge_units(arrays[0], arrays[1], how);
    for (uint32_t unit = 0; unit < how.units; unit++) {
      const uint64_t status = run.records[unit].status;
      if (status == STUDY_NOT_SORTED) refused++;
      if (status != STUDY_OK && status != STUDY_NOT_SORTED) {
        all.fail("unsorted, seed " + std::to_string(seed), "another status");
      }
    }
  }
  if (refused == 0) all.fail("unsorted", "no cuts crossed");
}

}  // namespace nearscan_tb
