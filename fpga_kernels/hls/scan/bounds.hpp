// SPDX-License-Identifier: Apache-2.0
// Whether a command stays within the memories it is run with: for whoever calls the kernel on a
// host.
//
// In hardware the runtime sees to it that the ranges of a command lie within its buffers; the
// kernel cannot know how large they are. No part of the kernel.
#pragma once

#include "load.hpp"

namespace nearscan {

/// Whether all ranges of a loaded command lie within memories of these sizes.
inline bool within_memories(const scan_plan& plan, uint64_t input_bytes, uint64_t output_bytes,
                            uint64_t scratch_bytes) {
  bool inside = plan.write.bytes_max <= output_bytes;
  for (uint32_t lane = 0; lane < plan.lane_count; lane++) {
    inside = inside && plan.fetch.range[lane][0].end <= input_bytes;
    inside = inside && plan.decode[lane].scratch_end <= scratch_bytes;
  }
  return inside;
}

}  // namespace nearscan
