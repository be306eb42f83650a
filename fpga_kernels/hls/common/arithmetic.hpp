// SPDX-License-Identifier: Apache-2.0
// Exact arithmetic in 128 bits, and the widths of results.
#pragma once

#include "../command_format.hpp"
#include "platform.hpp"

namespace nearscan {

/// The low `bits` (<= 64) of a word.
inline uint64_t low_bits(uint64_t word, uint32_t bits) {
  return bits >= 64 ? word : word & ((static_cast<uint64_t>(1) << bits) - 1);
}

/// A signed number out of one whose lowest bit is the sign.
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

/// The lowest `count` (<= 8) bits set.
inline uint8_t row_mask(uint32_t count) { return static_cast<uint8_t>((1u << count) - 1u); }

inline uint32_t count_bits(uint8_t mask) {
  uint32_t count = 0;
BITS:
  for (int bit = 0; bit < 8; bit++) {
#pragma HLS UNROLL
    count += (mask >> bit) & 1u;
  }
  return count;
}

/// Two's complement number of two halves.
inline i128 make_i128(uint64_t low, uint64_t high) {
  return static_cast<i128>((static_cast<u128>(high) << 64) | static_cast<u128>(low));
}

inline bool fits_64(i128 value) { return value == static_cast<i128>(static_cast<int64_t>(value)); }

/// Whether a number fits in a width of the format.
inline bool fits_width(i128 value, uint8_t width) {
  switch (width) {
    case WIDTH_W32:
      return value == static_cast<i128>(static_cast<int32_t>(value));
    case WIDTH_W64:
      return fits_64(value);
    case WIDTH_BOOL:
      return value == 0 || value == 1;
    default:
      return true;
  }
}

/// `*sum = a + b`; true when it leaves 128 bits.
inline bool add_overflows(i128 a, i128 b, i128* sum) {
  const i128 wrapped = static_cast<i128>(static_cast<u128>(a) + static_cast<u128>(b));
  *sum = wrapped;
  return ((a ^ wrapped) & (b ^ wrapped)) < 0;
}

/// `*difference = a - b`; true when it leaves 128 bits.
inline bool subtract_overflows(i128 a, i128 b, i128* difference) {
  const i128 wrapped = static_cast<i128>(static_cast<u128>(a) - static_cast<u128>(b));
  *difference = wrapped;
  return ((a ^ b) & (a ^ wrapped)) < 0;
}

/// `*product = a * b`; true when it leaves 128 bits.
///
/// Two operands of 64 bits need one multiplier and cannot overflow; wider ones are rare and take
/// the longer way over magnitudes in halves.
inline bool multiply_overflows(i128 a, i128 b, i128* product) {
  if (fits_64(a) && fits_64(b)) {
    *product = static_cast<i128>(static_cast<int64_t>(a)) * static_cast<int64_t>(b);
    return false;
  }
  const bool negative = (a < 0) != (b < 0);
  const u128 x = a < 0 ? static_cast<u128>(0) - static_cast<u128>(a) : static_cast<u128>(a);
  const u128 y = b < 0 ? static_cast<u128>(0) - static_cast<u128>(b) : static_cast<u128>(b);
  const u128 x_low = static_cast<uint64_t>(x);
  const u128 x_high = x >> 64;
  const u128 y_low = static_cast<uint64_t>(y);
  const u128 y_high = y >> 64;
  const u128 cross = x_high != 0 ? x_high * y_low : x_low * y_high;
  const u128 low = x_low * y_low;
  const u128 high = cross + (low >> 64);
  const u128 magnitude = (high << 64) | static_cast<u128>(static_cast<uint64_t>(low));
  const bool too_long = (x_high != 0 && y_high != 0) || (cross >> 64) != 0 || (high >> 64) != 0;
  // -2^127 has no positive counterpart.
  const u128 limit = (static_cast<u128>(1) << 127) - (negative ? 0 : 1);
  *product = static_cast<i128>(negative ? static_cast<u128>(0) - magnitude : magnitude);
  return too_long || magnitude > limit;
}

}  // namespace nearscan
