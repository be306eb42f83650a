// SPDX-License-Identifier: Apache-2.0
// Vector Addition of the SmartSSD study: c[i] = a[i] + b[i], which wraps.
//
// Without a buffer an iteration has three accesses to one port, of three arrays in turn. With one,
// as in the study, there is a single buffer: a block of `a` is copied in, the block of `b` is added
// to it, and the sums are copied out to `c`.
#pragma once

#include "local_memory.hpp"

namespace nearscan {
namespace study {

inline int32_t wrapping_sum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

/// Adds a slice, an element at a time.
template <bool Pipelined>
inline void add_elements(const int32_t* a, const int32_t* b, int32_t* c, const slice& part) {
  if (Pipelined) {
  ADD_PIPELINED:
    for (uint64_t index = part.first; index < part.first + part.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1073741824
#pragma HLS PIPELINE II = 1
      c[index] = wrapping_sum(a[index], b[index]);
    }
  } else {
  ADD:
    for (uint64_t index = part.first; index < part.first + part.count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1073741824
#pragma HLS PIPELINE off
      c[index] = wrapping_sum(a[index], b[index]);
    }
  }
}

/// Adds `count` elements of `b` from `first` on to those of the buffer. It is a copy with an adder
/// in its way: a block of `b` crosses the port as a block of `a` does.
template <bool Pipelined>
inline void add_block(const int32_t* b, uint64_t first, int32_t* local, uint32_t count,
                      access_counts& counts) {
  if (Pipelined) {
  ADD_BLOCK_PIPELINED:
    for (uint32_t index = 0; index < count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 262144
#pragma HLS PIPELINE II = 1
      local[index] = wrapping_sum(local[index], b[first + index]);
    }
  } else {
  ADD_BLOCK:
    for (uint32_t index = 0; index < count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 262144
#pragma HLS PIPELINE off
      local[index] = wrapping_sum(local[index], b[first + index]);
    }
  }
  counts.bursts++;
  counts.beats += count;
}

/// Adds a slice, through `buffer_bytes` of `local`, or without where they are 0.
template <bool Pipelined>
inline study_record run_addition(const int32_t* a, const int32_t* b, int32_t* c, const slice& part,
                                 int32_t* local, uint32_t buffer_bytes) {
  study_record record = study_record();
  study_steps& steps = record.steps;
  record.elements = part.count;
  steps.iterations = part.count;
  if (buffer_bytes == 0) {
    add_elements<Pipelined>(a, b, c, part);
    steps.a.singles = part.count;
    steps.b.singles = part.count;
    steps.c.singles = part.count;
    return record;
  }
  uint64_t done = 0;
BLOCKS:
  while (done < part.count) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1048576
    const uint64_t first = part.first + done;
    const uint32_t count = block_elements(part.count - done, buffer_bytes / ELEMENT_BYTES);
    copy_in<Pipelined>(a, first, local, 0, count, steps.a);
    add_block<Pipelined>(b, first, local, count, steps.b);
    copy_out<Pipelined>(local, 0, c, first, count, steps.c);
    steps.blocks++;
    done += count;
  }
  return record;
}

/// The kernel: checks its arguments, runs, and leaves the record of `unit`.
template <bool Pipelined>
inline void addition_unit(const int32_t* a, const int32_t* b, int32_t* c, uint64_t* records,
                          const slice& part, uint32_t unit, int32_t* local,
                          const buffer_size& size) {
  if (unit >= UNITS_MAX) return;
  study_record record = study_record();
  record.status = is_slice(part) ? check_buffer(size) : STUDY_ARGUMENTS;
  if (record.status == STUDY_OK) {
    record = run_addition<Pipelined>(a, b, c, part, local, size.bytes);
  }
  write_record(record, records, unit);
}

}  // namespace study
}  // namespace nearscan
