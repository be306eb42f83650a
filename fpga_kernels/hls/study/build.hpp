// SPDX-License-Identifier: Apache-2.0
// The options of a bitstream of the study: whether loops are pipelined, and how much memory of its
// own each unit has. `-D` of the synthesis tool sets them.
#pragma once

#include "record.hpp"

#ifndef NS_STUDY_PIPELINED
#define NS_STUDY_PIPELINED 1
#endif

// The study's best. It is the total of a unit: fifteen of them are 120 of the part's 128 URAM.
#ifndef NS_STUDY_BUFFER_BYTES
#define NS_STUDY_BUFFER_BYTES (256 * 1024)
#endif

namespace nearscan {
namespace study {

static constexpr bool BUILT_PIPELINED = NS_STUDY_PIPELINED != 0;
static constexpr uint32_t BUILT_BUFFER_BYTES = NS_STUDY_BUFFER_BYTES;
static_assert(BUILT_BUFFER_BYTES >= BUFFER_BYTES_MIN && BUILT_BUFFER_BYTES <= BUFFER_BYTES_MAX,
              "a buffer within the limits of record.hpp");

}  // namespace study
}  // namespace nearscan
