// SPDX-License-Identifier: Apache-2.0
// Arrays that each show one thing, arrays by chance, cuts, and what the kernels refuse.
#pragma once

#include "tb_golden.hpp"

namespace nearscan_tb {

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

inline void shapes(tally& all) {
  for (const array_pair& pair : special_pairs()) check_all(all, pair.name, pair.a, pair.b);
  // Around the capacity of the buffers, for whole ones and for thirds of them.
  for (const array_pair& pair : pairs_of({3, 4, 5, 15, 16, 17, 84, 85, 86, 255, 256, 257})) {
    check_all(all, pair.name, pair.a, pair.b);
  }
}

/// The largest buffers, on arrays that fill them more than once.
inline void large_buffers(tally& all) {
  array_pair pair = long_pair(300000);
  elements_t& a = pair.a;
  elements_t& b = pair.b;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  for (uint32_t bytes : {256u * 1024, BUFFER_BYTES_MAX}) {
    // The hardware has 256 KiB.
    const variant how = {bytes == BUFFER_BYTES_MAX ? PIPELINED : TOP, bytes, 2};
    check_count(all, pair.name, b, 77, how);
    check_average(all, pair.name, a, how);
    check_addition(all, pair.name, a, b, how);
    check_merge(all, pair.name, a, b, how);
  }
}

inline void random_case(tally& all, uint64_t seed) {
  random_source random(seed);
  const int64_t range = random.below(2) == 0 ? 40 : GREATEST;
  elements_t arrays[2];
  for (elements_t& array : arrays) {
    array = random_array(random, random.below(500), -range - 1, range);
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

inline void cuts(tally& all) {
  const auto merge = [](const elements_t& a, const elements_t& b) {
    return run_merge_units(a, b, {PLAIN, 0, CUT_UNITS}).records;
  };
  // Elements that are merged are read one by one too.
  const auto probes = [](const study_record& record) {
    return record.steps.a.singles + record.steps.b.singles - record.steps.iterations;
  };
  check_cuts(all, merge, probes);
}

/// Buffers and slices that are not there; nothing else is touched, and the arrays are empty.
inline void refused_slices(tally& all) {
  const buffer_size wrong_sizes[] = {{BUFFER_BYTES_MIN - 1, 64}, {68, 64}, {1, 0}};
  const slice none = {0, 0};
  const slice wrong_slices[] = {
      {0, ELEMENTS_MAX + 1}, {ELEMENTS_MAX, 1}, {~static_cast<uint64_t>(0), 2}};
  unit_memories memories({PLAIN, 64, 1});
  uint64_t* records = memories.records.words.data();
  int32_t* local = memories.local.data();
  for (const buffer_size& size : wrong_sizes) {
    count_unit<true>(nullptr, records, none, 0, 0, local, size);
    check_refused(all, "count, wrong buffer", memories.records.of(0), STUDY_BUFFER);
    average_unit<true>(nullptr, records, none, 0, local, size);
    check_refused(all, "average, wrong buffer", memories.records.of(0), STUDY_BUFFER);
    addition_unit<true>(nullptr, nullptr, nullptr, records, none, 0, local, size);
    check_refused(all, "addition, wrong buffer", memories.records.of(0), STUDY_BUFFER);
    const merge_share share = {0, 1, {0, 0}};
    merge_unit<true>(nullptr, nullptr, nullptr, records, share, local, size);
    check_refused(all, "merge, wrong buffer", memories.records.of(0), STUDY_BUFFER);
  }
  for (const slice& part : wrong_slices) {
    count_unit<true>(nullptr, records, part, 0, 0, local, memories.size);
    check_refused(all, "count, wrong slice", memories.records.of(0), STUDY_ARGUMENTS);
    average_unit<true>(nullptr, records, part, 0, local, memories.size);
    check_refused(all, "average, wrong slice", memories.records.of(0), STUDY_ARGUMENTS);
    addition_unit<true>(nullptr, nullptr, nullptr, records, part, 0, local, memories.size);
    check_refused(all, "addition, wrong slice", memories.records.of(0), STUDY_ARGUMENTS);
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
  uint64_t* records = memories.records.words.data();
  for (const merge_share& share : wrong_shares) {
    merge_unit<true>(nullptr, nullptr, nullptr, records, share, memories.local.data(),
                     memories.size);
    check_refused(all, "wrong share", memories.records.of(share.unit), STUDY_ARGUMENTS);
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
    check_refused(all, "wrong piece", memories.records.of(1), STUDY_PIECES);
    if (joined != elements_t(4, UNTOUCHED_ELEMENT)) all.fail("wrong piece", "was moved");
  }
  unit_memories three({PLAIN, 0, 2});
  elements_t joined(4, UNTOUCHED_ELEMENT);
  write_record({STUDY_OK, 3, 0, 0, study_steps()}, three.records.words.data(), 0);
  write_record({STUDY_OK, 2, 0, 1, study_steps()}, three.records.words.data(), 1);
  join_unit<true>(pieces.data(), joined.data(), three.records.words.data(), 2, pieces.size());
  checker check = {all, "pieces without room"};
  check.equal("status", three.records.of(2).status, STUDY_PIECES);
  check.equal("elements", three.records.of(2).elements, 3);
  join_unit<true>(nullptr, nullptr, three.records.words.data(), 2, 2 * ELEMENTS_MAX + 1);
  check_refused(all, "too much room", three.records.of(2), STUDY_ARGUMENTS);
}

/// A unit that has no record leaves none.
inline void units_without_records(tally& all) {
  all.runs++;
  const slice none = {0, 0};
  const buffer_size size = {0, 0};
  record_memory memory(UNITS_MAX + 2);
  const std::vector<uint64_t> untouched = memory.words;
  uint64_t* records = memory.words.data();
  count_unit<true>(nullptr, records, none, 0, UNITS_MAX, nullptr, size);
  average_unit<true>(nullptr, records, none, UNITS_MAX, nullptr, size);
  addition_unit<true>(nullptr, nullptr, nullptr, records, none, UNITS_MAX, nullptr, size);
  merge_unit<true>(nullptr, nullptr, nullptr, records, {UNITS_MAX, 16, {0, 0}}, nullptr, size);
  join_unit<true>(nullptr, nullptr, records, 0, 0);
  join_unit<true>(nullptr, nullptr, records, UNITS_MAX + 1, 0);
  ns_study_array_merge(nullptr, nullptr, nullptr, records, 0, 0, 0, 1, 0, 2);
  if (memory.words != untouched) all.fail("units without records", "a record was written");
}

inline void unsorted(tally& all, uint64_t cases) {
  check_unsorted(all, cases, [](random_source& random, const elements_t& a, const elements_t& b) {
    const variant how = {PIPELINED, static_cast<uint32_t>(random.below(2) * 20),
                         static_cast<uint32_t>(random.between(1, UNITS_MAX))};
    records_t records = run_merge_units(a, b, how).records;
    // The last one is of the join.
    records.pop_back();
    return records;
  });
}

}  // namespace nearscan_tb
