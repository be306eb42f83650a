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

/// The low `bytes` (1 to 8) of a word.
inline uint64_t low_bytes(uint64_t word, uint32_t bytes) {
  return word & (~static_cast<uint64_t>(0) >> (64 - 8 * bytes));
}

/// A signed number out of one whose lowest bit is the sign.
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

/// The bytes of a word in the other order: the first one highest, so that words compare as bytes.
inline uint64_t byte_swap(uint64_t word) {
  uint64_t swapped = 0;
SWAP:
  for (int i = 0; i < 8; i++) {
#pragma HLS UNROLL
    swapped = (swapped << 8) | ((word >> (8 * i)) & 0xff);
  }
  return swapped;
}

/// The lowest `count` (<= 8) bits set.
inline uint8_t row_mask(uint32_t count) { return static_cast<uint8_t>((1u << count) - 1u); }

/// Counts the bits that are set: sums of two bits side by side, then of four, then of eight.
inline uint32_t count_bits(uint8_t mask) {
  const uint32_t twos = mask - ((mask >> 1) & 0x55u);
  const uint32_t fours = (twos & 0x33u) + ((twos >> 2) & 0x33u);
  return (fours + (fours >> 4)) & 0xfu;
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

/// A number without its sign; that of the least one has no positive counterpart with one.
inline u128 magnitude(i128 value) {
  return value < 0 ? static_cast<u128>(0) - static_cast<u128>(value) : static_cast<u128>(value);
}

/// The quotient or remainder of `op`, of `a` and a `b` that is not 0; true when it leaves 128 bits.
///
/// A divider of 128 by 64 bits goes round a bit a cycle: 128 cycles a number, whatever its size.
/// Most dividends have 64 bits, and a simulation divides those as they are.
inline bool divide_overflows(uint8_t op, i128 a, int64_t b, i128* out) {
  const bool overflows = b == -1 && magnitude(a) >> 127 != 0;
  // The divisor is 1 if the division overflows, so that nothing traps.
  const int64_t divisor = overflows ? 1 : b;
  i128 quotient;
  i128 rest;
  if (fits_64(a) && divisor != -1) {
    quotient = static_cast<int64_t>(a) / divisor;
    rest = static_cast<int64_t>(a) % divisor;
  } else {
    quotient = a / divisor;
    rest = a % divisor;
  }
  const bool opposite = (a < 0) != (divisor < 0);
  bool away = false;
  if (op == OP_DIVIDE_FLOOR) away = rest != 0 && opposite;
  // Twice the rest against the divisor, without doubling anything.
  if (op == OP_DIVIDE_ROUND) {
    away = rest != 0 && magnitude(rest) >= magnitude(divisor) - magnitude(rest);
  }
  const i128 rounded = away ? quotient + (opposite ? -1 : 1) : quotient;
  *out = op == OP_REMAINDER ? rest : rounded;
  return overflows;
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
  const u128 x = magnitude(a);
  const u128 y = magnitude(b);
  const u128 x_low = static_cast<uint64_t>(x);
  const u128 x_high = x >> 64;
  const u128 y_low = static_cast<uint64_t>(y);
  const u128 y_high = y >> 64;
  const u128 cross = x_high != 0 ? x_high * y_low : x_low * y_high;
  const u128 low = x_low * y_low;
  const u128 high = cross + (low >> 64);
  const u128 result = (high << 64) | static_cast<u128>(static_cast<uint64_t>(low));
  const bool too_long = (x_high != 0 && y_high != 0) || (cross >> 64) != 0 || (high >> 64) != 0;
  // -2^127 has no positive counterpart.
  const u128 limit = (static_cast<u128>(1) << 127) - (negative ? 0 : 1);
  *product = static_cast<i128>(negative ? static_cast<u128>(0) - result : result);
  return too_long || result > limit;
}

}  // namespace nearscan
