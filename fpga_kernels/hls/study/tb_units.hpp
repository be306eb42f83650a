// SPDX-License-Identifier: Apache-2.0
// Shared parts of the test benches of the study's kernels and of the fast set: the same jobs, so
// the same arrays, records and cuts.
#pragma once

#include <limits>

#include "../common/tb_frame.hpp"
#include "record.hpp"

namespace nearscan_tb {

using nearscan::study::RECORD_WORDS;
using nearscan::study::study_record;
using nearscan::study::study_status;

typedef std::vector<int32_t> elements_t;
typedef std::vector<study_record> records_t;

static constexpr int32_t LEAST = std::numeric_limits<int32_t>::min();
static constexpr int32_t GREATEST = std::numeric_limits<int32_t>::max();

/// Values that no kernel writes on its own account.
static constexpr int32_t UNTOUCHED_ELEMENT = 0x5a5a5a5a;
static constexpr uint64_t UNTOUCHED_WORD = 0x5a5a5a5a5a5a5a5au;

/// The memory that units leave their records in.
struct record_memory {
  std::vector<uint64_t> words;

  explicit record_memory(uint32_t count) : words(count * RECORD_WORDS, UNTOUCHED_WORD) {}

  study_record of(uint32_t unit) const {
    study_record read;
    std::memcpy(&read, &words[unit * RECORD_WORDS], sizeof(read));
    return read;
  }

  records_t first(uint32_t count) const {
    records_t made;
    for (uint32_t unit = 0; unit < count; unit++) made.push_back(of(unit));
    return made;
  }
};

/// Counts failures of one run; each check names what it held.
struct checker {
  tally& all;
  std::string where;

  void equal(const std::string& what, uint64_t found, uint64_t expected) {
    if (found == expected) return;
    all.fail(where,
             what + " is " + std::to_string(found) + " instead of " + std::to_string(expected));
  }
};

/// Two arrays that show one thing.
struct array_pair {
  std::string name;
  elements_t a;
  elements_t b;
};

inline elements_t ascending(int32_t first, size_t count, int32_t step) {
  elements_t made;
  for (size_t at = 0; at < count; at++) made.push_back(first + static_cast<int32_t>(at) * step);
  return made;
}

/// Pairs that are special whatever a kernel is like inside.
inline std::vector<array_pair> special_pairs() {
  return {
      {"both empty", {}, {}},
      {"one element", {7}, {}},
      {"one element of the other", {}, {7}},
      {"one element each", {-1}, {1}},
      {"the same element", {4}, {4}},
      {"all equal", elements_t(100, 5), elements_t(57, 5)},
      {"all equal, negative", elements_t(64, -5), elements_t(64, -6)},
      {"all duplicates", ascending(-50, 101, 1), ascending(-50, 101, 1)},
      {"evens and odds", ascending(-100, 97, 2), ascending(-99, 103, 2)},
      {"one behind the other", ascending(0, 700, 1), ascending(1000, 400, 1)},
      {"one before the other", ascending(1000, 330, 1), ascending(0, 700, 1)},
      {"one side empty", ascending(0, 2000, 1), {}},
      {"a run across all cuts", {1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 9}, {3, 3, 3, 4}},
      {"the sum leaves 32 bits", elements_t(1000, GREATEST), elements_t(1000, 1)},
      {"the sum leaves 32 bits below", elements_t(1000, LEAST), elements_t(1000, -1)},
      {"extremes", {LEAST, GREATEST, 0, -1, LEAST, GREATEST}, {GREATEST, LEAST, -1}},
  };
}

/// Pairs of arrays of these lengths: around what a kernel holds on chip.
inline std::vector<array_pair> pairs_of(const std::vector<size_t>& counts) {
  std::vector<array_pair> made;
  for (size_t count : counts) {
    made.push_back(
        {std::to_string(count) + " elements", ascending(-7, count, 3), ascending(-8, count, 2)});
  }
  return made;
}

/// Long arrays: numbers of any size, and some of which are equal.
inline array_pair long_pair(size_t count) {
  random_source random(3);
  array_pair made = {"long", {}, {}};
  for (size_t at = 0; at < count; at++) {
    made.a.push_back(static_cast<int32_t>(random.next() & 0xffffffff));
    made.b.push_back(static_cast<int32_t>(random.below(200000)));
  }
  return made;
}

inline elements_t random_array(random_source& random, uint64_t count, int64_t first, int64_t last) {
  elements_t made;
  for (uint64_t at = 0; at < count; at++) {
    made.push_back(static_cast<int32_t>(random.between(first, last)));
  }
  return made;
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

/// Units that `check_cuts` asks for.
static constexpr uint32_t CUT_UNITS = 7;

/// Cuts of arrays without duplicates are even to an element, and found with few probes; a run of
/// duplicates falls to one side. `merge` gives the records of CUT_UNITS units, `probes_of` the
/// reads of one of them in search of its cuts.
template <typename Merge, typename Probes>
inline void check_cuts(tally& all, Merge merge, Probes probes_of) {
  checker check = {all, "cuts"};
  const records_t even = merge(ascending(0, 1000, 3), ascending(1, 500, 3));
  for (uint32_t unit = 0; unit < CUT_UNITS; unit++) {
    all.runs++;
    const uint64_t share = 1500 * (unit + 1) / CUT_UNITS - 1500 * unit / CUT_UNITS;
    check.equal("share", even[unit].steps.iterations, share);
    // Two cuts by halving at most: 10 + 10 probes in each array, and the values next to them.
    const uint64_t probes = probes_of(even[unit]);
    const bool is_whole_search = unit > 0 && unit + 1 < CUT_UNITS;
    if (probes > 2 * (2 * 10 + 10 + 10 + 2)) all.fail("cuts", "too many probes");
    if (is_whole_search && probes < 4 * 9) all.fail("cuts", "too few probes");
  }
  const records_t run = merge(elements_t(900, 5), elements_t(600, 5));
  check.equal("iterations of the first of one run", run[0].steps.iterations, 0);
  check.equal("iterations of the last of one run", run[CUT_UNITS - 1].steps.iterations, 1500);
  check.equal("elements of the last", run[CUT_UNITS - 1].elements, 1);
  check.equal("first of the last", run[CUT_UNITS - 1].first, 0);
}

/// Arrays that are not sorted give some answer or STUDY_NOT_SORTED, within their memories. `merge`
/// gives the records of as many units as it likes.
template <typename Merge>
inline void check_unsorted(tally& all, uint64_t cases, Merge merge) {
  uint64_t refused = 0;
  for (uint64_t seed = 0; seed < cases; seed++) {
    all.runs++;
    random_source random(seed);
    const elements_t a = random_array(random, random.below(60), -20, 20);
    const elements_t b = random_array(random, random.below(60), -20, 20);
    for (const study_record& record : merge(random, a, b)) {
      if (record.status == nearscan::study::STUDY_OK) continue;
      if (record.status != nearscan::study::STUDY_NOT_SORTED) {
        all.fail("unsorted, seed " + std::to_string(seed), "another status");
      }
      refused++;
    }
  }
  if (refused == 0) all.fail("unsorted", "no cuts crossed");
}

}  // namespace nearscan_tb
