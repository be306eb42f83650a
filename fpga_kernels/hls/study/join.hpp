// SPDX-License-Identifier: Apache-2.0
// The join pass of Array Merge: moves the pieces of all units into one array.
//
// One unit does it when all have ended, an element at a time: one read, one write. It is a second
// job of the same kernel, not a kernel of its own, because fifteen units leave no port for one.
// That the study did it so is a guess; it names no cause for the share of its merge that does not
// scale.
#pragma once

#include "local_memory.hpp"

namespace nearscan {
namespace study {

/// The jobs that a unit of Array Merge is started for.
static constexpr uint32_t JOB_MERGE = 0;
static constexpr uint32_t JOB_JOIN = 1;

/// Moves `count` elements.
template <bool Pipelined>
inline void move_elements(const int32_t* pieces, uint64_t from, int32_t* joined, uint64_t to,
                          uint64_t count) {
  if (Pipelined) {
  MOVE_PIPELINED:
    for (uint64_t index = 0; index < count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1073741824
#pragma HLS PIPELINE II = 1
      joined[to + index] = pieces[from + index];
    }
  } else {
  MOVE:
    for (uint64_t index = 0; index < count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1073741824
#pragma HLS PIPELINE off
      joined[to + index] = pieces[from + index];
    }
  }
}

/// Moves the pieces that the first `units` records tell of. Both arrays have room for `room`
/// elements.
template <bool Pipelined>
inline study_record run_join(const int32_t* pieces, int32_t* joined, const uint64_t* records,
                             uint32_t units, uint64_t room) {
  study_record record = study_record();
PIECES:
  for (uint32_t unit = 0; unit < UNITS_MAX; unit++) {
    if (unit >= units) break;
    const uint64_t* words = records + unit * RECORD_WORDS;
    const uint64_t status = words[0];
    const uint64_t count = words[1];
    const uint64_t first = words[3];
    if (status != STUDY_OK || first > room || count > room - first ||
        count > room - record.elements) {
      record.status = STUDY_PIECES;
      break;
    }
    move_elements<Pipelined>(pieces, first, joined, record.elements, count);
    record.elements += count;
  }
  record.steps.a.singles = record.elements;
  record.steps.c.singles = record.elements;
  record.steps.joined = record.elements;
  return record;
}

/// The kernel's second job: checks its arguments, runs, and leaves its record behind the units'.
template <bool Pipelined>
inline void join_unit(const int32_t* pieces, int32_t* joined, uint64_t* records, uint32_t units,
                      uint64_t room) {
  if (units == 0 || units > UNITS_MAX) return;
  study_record record = study_record();
  record.status = room <= 2 * ELEMENTS_MAX ? STUDY_OK : STUDY_ARGUMENTS;
  if (record.status == STUDY_OK) {
    record = run_join<Pipelined>(pieces, joined, records, units, room);
  }
  write_record(record, records, units);
}

}  // namespace study
}  // namespace nearscan
