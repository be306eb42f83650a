// SPDX-License-Identifier: Apache-2.0
// The sizes of the columns of a plain block.
#pragma once

#include "arithmetic.hpp"
#include "frame.hpp"

namespace nearscan {

/// Bytes of a column of a block, with so many bytes of strings.
inline uint64_t column_bytes(uint32_t rows, uint8_t width, uint64_t string_bytes) {
  return (rows + 63) / 64 * 8 + (rows * value_bytes(width) + 7) / 8 * 8 +
         (string_bytes + 7) / 8 * 8;
}

}  // namespace nearscan
