// SPDX-License-Identifier: Apache-2.0
// Whether a merge stays within the memories it is run with: for whoever calls the kernel on a host.
//
// In hardware the runtime sees to it that the ranges of a command lie within its buffers; the
// kernel cannot know how large they are. No part of the kernel.
#pragma once

#include "plan.hpp"

namespace nearscan {
namespace merging {

/// Whether all ranges of a loaded command lie within memories of these sizes.
inline bool within_memories(const merge_plan& plan, uint64_t input_bytes, uint64_t output_bytes) {
  bool inside = plan.bytes_max <= output_bytes;
  for (uint32_t index = 0; index < plan.input_count; index++) {
    inside = inside && plan.inputs[index].end <= input_bytes / 8;
  }
  return inside;
}

}  // namespace merging
}  // namespace nearscan
