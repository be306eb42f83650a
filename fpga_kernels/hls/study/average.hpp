// SPDX-License-Identifier: Apache-2.0
// Average of the SmartSSD study: the sum of a slice and how many elements it has.
//
// The units' sums and counts are added up and divided on the host, once: a divider in each unit
// would stand idle for the whole run.
#pragma once

#include "local_memory.hpp"

namespace nearscan {
namespace study {

/// The sum of `count` elements from `first` on, in global memory or in the buffer.
template <bool Pipelined>
inline int64_t sum_elements(const int32_t* elements, uint64_t first, uint64_t count) {
  int64_t sum = 0;
  if (Pipelined) {
  SUM_PIPELINED:
    for (uint64_t index = 0; index < count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1073741824
#pragma HLS PIPELINE II = 1
      sum += elements[first + index];
    }
  } else {
  SUM:
    for (uint64_t index = 0; index < count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1073741824
#pragma HLS PIPELINE off
      sum += elements[first + index];
    }
  }
  return sum;
}

/// Adds a slice of `a` up, through `buffer_bytes` of `local`, or without where they are 0.
template <bool Pipelined>
inline study_record run_average(const int32_t* a, const slice& part, int32_t* local,
                                uint32_t buffer_bytes) {
  study_record record = study_record();
  record.elements = part.count;
  record.steps.iterations = part.count;
  if (buffer_bytes == 0) {
    record.sum = sum_elements<Pipelined>(a, part.first, part.count);
    record.steps.a.singles = part.count;
    return record;
  }
  uint64_t done = 0;
BLOCKS:
  while (done < part.count) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1048576
    const uint32_t count = block_elements(part.count - done, buffer_bytes / ELEMENT_BYTES);
    copy_in<Pipelined>(a, part.first + done, local, 0, count, record.steps.a);
    record.sum += sum_elements<Pipelined>(local, 0, count);
    record.steps.blocks++;
    done += count;
  }
  return record;
}

/// The kernel: checks its arguments, runs, and leaves the record of `unit`.
template <bool Pipelined>
inline void average_unit(const int32_t* a, uint64_t* records, const slice& part, uint32_t unit,
                         int32_t* local, const buffer_size& size) {
  if (unit >= UNITS_MAX) return;
  study_record record = study_record();
  record.status = is_slice(part) ? check_buffer(size) : STUDY_ARGUMENTS;
  if (record.status == STUDY_OK) record = run_average<Pipelined>(a, part, local, size.bytes);
  write_record(record, records, unit);
}

}  // namespace study
}  // namespace nearscan
