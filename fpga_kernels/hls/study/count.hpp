// SPDX-License-Identifier: Apache-2.0
// Count of the SmartSSD study: how many elements equal a value.
//
// It reaches one array only, so a buffer adds a copy and takes nothing away.
#pragma once

#include "local_memory.hpp"

namespace nearscan {
namespace study {

/// Elements that equal `value`, of `count` from `first` on, in global memory or in the buffer.
template <bool Pipelined>
inline uint64_t count_equal(const int32_t* elements, uint64_t first, uint64_t count,
                            int32_t value) {
  uint64_t equal = 0;
  if (Pipelined) {
  COUNT_PIPELINED:
    for (uint64_t index = 0; index < count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1073741824
#pragma HLS PIPELINE II = 1
      equal += elements[first + index] == value ? 1 : 0;
    }
  } else {
  COUNT:
    for (uint64_t index = 0; index < count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1073741824
#pragma HLS PIPELINE off
      equal += elements[first + index] == value ? 1 : 0;
    }
  }
  return equal;
}

/// Counts a slice of `a`, through `buffer_bytes` of `local`, or without where they are 0.
template <bool Pipelined>
inline study_record run_count(const int32_t* a, const slice& part, int32_t value, int32_t* local,
                              uint32_t buffer_bytes) {
  study_record record = study_record();
  record.steps.iterations = part.count;
  record.steps.comparisons = part.count;
  if (buffer_bytes == 0) {
    record.elements = count_equal<Pipelined>(a, part.first, part.count, value);
    record.steps.a.singles = part.count;
    return record;
  }
  uint64_t done = 0;
BLOCKS:
  while (done < part.count) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1048576
    const uint32_t count = block_elements(part.count - done, buffer_bytes / ELEMENT_BYTES);
    copy_in<Pipelined>(a, part.first + done, local, 0, count, record.steps.a);
    record.elements += count_equal<Pipelined>(local, 0, count, value);
    record.steps.blocks++;
    done += count;
  }
  return record;
}

/// The kernel: checks its arguments, runs, and leaves the record of `unit`.
template <bool Pipelined>
inline void count_unit(const int32_t* a, uint64_t* records, const slice& part, int32_t value,
                       uint32_t unit, int32_t* local, const buffer_size& size) {
  if (unit >= UNITS_MAX) return;
  study_record record = study_record();
  record.status = is_slice(part) ? check_buffer(size) : STUDY_ARGUMENTS;
  if (record.status == STUDY_OK) {
    record = run_count<Pipelined>(a, part, value, local, size.bytes);
  }
  write_record(record, records, unit);
}

}  // namespace study
}  // namespace nearscan
