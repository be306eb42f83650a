// SPDX-License-Identifier: Apache-2.0
// Bits on their way through a stage: tokens of up to 64 come in, numbers of up to 64 go out.
#pragma once

#include "tokens.hpp"

namespace nearscan {

/// Up to 128 bits, the first one lowest. Two words and not one number of 128 bits: that is what a
/// simulation's registers are.
struct bit_window {
  uint64_t low;
  uint64_t high;
  uint32_t held;

  bit_window() : low(0), high(0), held(0) {}

  void clear() {
    low = 0;
    high = 0;
    held = 0;
  }

  /// Adds the `bits` (<= 64) of `data`, which has no others; at most 64 are held before.
  void push(uint64_t data, uint32_t bits) {
    if (held < 64) {
      low |= data << held;
      if (held != 0) high |= data >> (64 - held);
    } else {
      high |= data;
    }
    held += bits;
  }

  /// The next `bits` (<= 64) of those held.
  uint64_t take(uint32_t bits) {
    if (bits == 0) return 0;
    const uint64_t taken = low & (~static_cast<uint64_t>(0) >> (64 - bits));
    // In two shifts, for one by 64 is none.
    low = low >> 1 >> (bits - 1) | high << (64 - bits);
    high = high >> 1 >> (bits - 1);
    held -= bits;
    return taken;
  }
};

}  // namespace nearscan
