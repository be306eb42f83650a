// SPDX-License-Identifier: Apache-2.0
// Copies between global memory and a kernel's own, a block at a time.
//
// Each loop of the study stands twice, with and without a pipeline: a pragma cannot be chosen by a
// template parameter, a loop can.
#pragma once

#include "record.hpp"

namespace nearscan {
namespace study {

/// Elements of the next block.
inline uint32_t block_elements(uint64_t left, uint32_t capacity) {
  return left < capacity ? static_cast<uint32_t>(left) : capacity;
}

/// Copies `count` elements of global memory from `first` on to `local` from `at` on.
template <bool Pipelined>
inline void copy_in(const int32_t* memory, uint64_t first, int32_t* local, uint32_t at,
                    uint32_t count, access_counts& counts) {
  if (Pipelined) {
  COPY_IN_PIPELINED:
    for (uint32_t index = 0; index < count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 262144
#pragma HLS PIPELINE II = 1
      local[at + index] = memory[first + index];
    }
  } else {
  COPY_IN:
    for (uint32_t index = 0; index < count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 262144
#pragma HLS PIPELINE off
      local[at + index] = memory[first + index];
    }
  }
  counts.bursts++;
  counts.beats += count;
}

/// Copies `count` elements of `local` from `at` on to global memory from `first` on.
template <bool Pipelined>
inline void copy_out(const int32_t* local, uint32_t at, int32_t* memory, uint64_t first,
                     uint32_t count, access_counts& counts) {
  if (Pipelined) {
  COPY_OUT_PIPELINED:
    for (uint32_t index = 0; index < count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 262144
#pragma HLS PIPELINE II = 1
      memory[first + index] = local[at + index];
    }
  } else {
  COPY_OUT:
    for (uint32_t index = 0; index < count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 262144
#pragma HLS PIPELINE off
      memory[first + index] = local[at + index];
    }
  }
  counts.bursts++;
  counts.beats += count;
}

}  // namespace study
}  // namespace nearscan
