// SPDX-License-Identifier: Apache-2.0
// Floats as bits, and as places in IEEE's total order.
#pragma once

#include <cstdint>
#include <cstring>

namespace nearscan {

static_assert(sizeof(double) == 8, "double precision is 8 bytes");

/// The bits of the number at a place in the total order; also the other way round.
inline uint64_t order_bits(uint64_t place) {
  const uint64_t sign = place >> 63;
  // All bits but the sign are flipped where it is set.
  return place ^ ((static_cast<uint64_t>(0) - sign) >> 1);
}

/// The bits of the sum of two numbers given as bits.
inline uint64_t add_floats(uint64_t a, uint64_t b) {
  double left;
  double right;
  std::memcpy(&left, &a, sizeof(left));
  std::memcpy(&right, &b, sizeof(right));
  const double sum = left + right;
  uint64_t bits;
  std::memcpy(&bits, &sum, sizeof(bits));
  return bits;
}

/// The place of a sum in the total order: of every NaN that of the quiet one without a sign.
inline uint64_t sum_order(uint64_t bits) {
  const uint64_t infinity = static_cast<uint64_t>(0x7ff) << 52;
  const uint64_t quiet = static_cast<uint64_t>(0xfff) << 51;
  const bool is_nan = (bits << 1) > (infinity << 1);
  return order_bits(is_nan ? quiet : bits);
}

}  // namespace nearscan
