// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of the study over N units, in every variant, with memories exactly as large as a
// run may touch.
#pragma once

#include <algorithm>

#include "array_merge.hpp"
#include "average.hpp"
#include "count.hpp"
#include "join.hpp"
#include "tb_units.hpp"
#include "vector_addition.hpp"

extern "C" {
void ns_study_count(const int32_t* a, uint64_t* records, uint64_t first, uint64_t count,
                    int32_t value, uint32_t unit, uint32_t buffer_bytes);
void ns_study_average(const int32_t* a, uint64_t* records, uint64_t first, uint64_t count,
                      uint32_t unit, uint32_t buffer_bytes);
void ns_study_vector_addition(const int32_t* a, const int32_t* b, int32_t* c, uint64_t* records,
                              uint64_t first, uint64_t count, uint32_t unit, uint32_t buffer_bytes);
void ns_study_array_merge(const int32_t* a, const int32_t* b, int32_t* c, uint64_t* records,
                          uint64_t a_count, uint64_t b_count, uint32_t unit, uint32_t units,
                          uint32_t buffer_bytes, uint32_t job);
}

namespace nearscan_tb {

using namespace nearscan::study;

/// The way of calling a kernel: as a template with or without pipelines, or as the hardware is.
enum entry { PLAIN, PIPELINED, TOP };

struct variant {
  entry way;
  /// 0 is none.
  uint32_t buffer_bytes;
  uint32_t units;

  std::string name() const {
    static const char* const ways[] = {"plain", "pipelined", "top"};
    return std::string(ways[way]) + ", buffer of " + std::to_string(buffer_bytes) + ", " +
           std::to_string(units) + " units";
  }
};

/// The memories that the units share, and those that each has of its own. Of a merge, the record of
/// the join is the last.
struct unit_memories {
  record_memory records;
  elements_t local;
  buffer_size size;

  explicit unit_memories(const variant& how)
      : records(how.units + 1),
        local(how.buffer_bytes / ELEMENT_BYTES),
        size{how.buffer_bytes, how.buffer_bytes} {}
};

/// The slice of `unit` where the others have as many elements or one more or less.
inline slice even_slice(uint64_t count, uint32_t unit, uint32_t units) {
  const uint64_t first = count * unit / units;
  return {first, count * (unit + 1) / units - first};
}

inline records_t run_count_units(const elements_t& a, int32_t value, const variant& how) {
  unit_memories memories(how);
  uint64_t* records = memories.records.words.data();
  for (uint32_t unit = 0; unit < how.units; unit++) {
    const slice part = even_slice(a.size(), unit, how.units);
    int32_t* local = memories.local.data();
    if (how.way == PLAIN) {
      count_unit<false>(a.data(), records, part, value, unit, local, memories.size);
    } else if (how.way == PIPELINED) {
      count_unit<true>(a.data(), records, part, value, unit, local, memories.size);
    } else {
      ns_study_count(a.data(), records, part.first, part.count, value, unit, how.buffer_bytes);
    }
  }
  return memories.records.first(how.units);
}

inline records_t run_average_units(const elements_t& a, const variant& how) {
  unit_memories memories(how);
  uint64_t* records = memories.records.words.data();
  for (uint32_t unit = 0; unit < how.units; unit++) {
    const slice part = even_slice(a.size(), unit, how.units);
    int32_t* local = memories.local.data();
    if (how.way == PLAIN) {
      average_unit<false>(a.data(), records, part, unit, local, memories.size);
    } else if (how.way == PIPELINED) {
      average_unit<true>(a.data(), records, part, unit, local, memories.size);
    } else {
      ns_study_average(a.data(), records, part.first, part.count, unit, how.buffer_bytes);
    }
  }
  return memories.records.first(how.units);
}

/// Adds one slice of two arrays.
inline void run_addition_unit(const elements_t& a, const elements_t& b, elements_t& c,
                              const slice& part, uint32_t unit, const variant& how,
                              unit_memories& memories) {
  uint64_t* records = memories.records.words.data();
  int32_t* local = memories.local.data();
  if (how.way == PLAIN) {
    addition_unit<false>(a.data(), b.data(), c.data(), records, part, unit, local, memories.size);
  } else if (how.way == PIPELINED) {
    addition_unit<true>(a.data(), b.data(), c.data(), records, part, unit, local, memories.size);
  } else {
    ns_study_vector_addition(a.data(), b.data(), c.data(), records, part.first, part.count, unit,
                             how.buffer_bytes);
  }
}

/// A merge: the pieces where the units left them, and the array they are joined to.
struct merge_run {
  records_t records;
  elements_t pieces;
  elements_t joined;
};

inline merge_run run_merge_units(const elements_t& a, const elements_t& b, const variant& how) {
  unit_memories memories(how);
  merge_run made;
  made.pieces.assign(a.size() + b.size(), UNTOUCHED_ELEMENT);
  made.joined.assign(a.size() + b.size(), UNTOUCHED_ELEMENT);
  uint64_t* records = memories.records.words.data();
  int32_t* local = memories.local.data();
  int32_t* pieces = made.pieces.data();
  const uint64_t room = made.pieces.size();
  for (uint32_t unit = 0; unit < how.units; unit++) {
    const merge_share share = {unit, how.units, {a.size(), b.size()}};
    if (how.way == PLAIN) {
      merge_unit<false>(a.data(), b.data(), pieces, records, share, local, memories.size);
    } else if (how.way == PIPELINED) {
      merge_unit<true>(a.data(), b.data(), pieces, records, share, local, memories.size);
    } else {
      ns_study_array_merge(a.data(), b.data(), pieces, records, a.size(), b.size(), unit, how.units,
                           how.buffer_bytes, JOB_MERGE);
    }
  }
  if (how.way == PLAIN) {
    join_unit<false>(pieces, made.joined.data(), records, how.units, room);
  } else if (how.way == PIPELINED) {
    join_unit<true>(pieces, made.joined.data(), records, how.units, room);
  } else {
    ns_study_array_merge(pieces, nullptr, made.joined.data(), records, room, 0, 0, how.units, 0,
                         JOB_JOIN);
  }
  made.records = memories.records.first(how.units + 1);
  return made;
}

}  // namespace nearscan_tb
