// SPDX-License-Identifier: Apache-2.0
// Exact arithmetic, and the widths of results.
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

/// The place of the lowest of some (<= 8) bits that is set; 0 if none is.
inline uint32_t lowest_bit(uint32_t bits) {
  uint32_t lowest = 0;
PLACES_DOWN:
  for (uint32_t place = 8; place > 0; place--) {
#pragma HLS UNROLL
    if (((bits >> (place - 1)) & 1) != 0) lowest = place - 1;
  }
  return lowest;
}

/// The lowest of the first `Width` bits that is set from `turn` on, or else of those in front of
/// it, or `none`.
template <uint32_t Width>
inline uint32_t round_robin(uint32_t bits, uint32_t turn, uint32_t none) {
  uint32_t first = none;
PLACES_FROM_TURN:
  for (uint32_t place = 0; place < Width; place++) {
#pragma HLS UNROLL
    const bool is_set = ((bits >> place) & 1) != 0;
    const bool is_better = first == none || (place >= turn && first < turn);
    if (is_set && is_better) first = place;
  }
  return first;
}

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

/// The absolute value; that of the least number fits, because the result has no sign.
inline uint64_t magnitude(int64_t value) {
  const uint64_t bits = static_cast<uint64_t>(value);
  return value < 0 ? static_cast<uint64_t>(0) - bits : bits;
}

/// The quotient or remainder of `op`, of `a` and a `b` that is not 0; true when it leaves 64 bits,
/// as one quotient does.
///
/// A divider goes round a bit a cycle: 64 cycles a number, whatever its size.
inline bool divide_overflows(uint8_t op, int64_t a, int64_t b, int64_t* out) {
  // Done by negation: the least number divided by -1 would trap.
  if (b == -1) {
    const int64_t negative =
        static_cast<int64_t>(static_cast<uint64_t>(0) - static_cast<uint64_t>(a));
    *out = op == OP_REMAINDER ? 0 : negative;
    return op != OP_REMAINDER && a < 0 && negative < 0;
  }
  const int64_t quotient = a / b;
  const int64_t rest = a % b;
  const bool opposite = (a < 0) != (b < 0);
  bool away = false;
  if (op == OP_DIVIDE_FLOOR) away = rest != 0 && opposite;
  // Twice the rest against the divisor, without doubling anything.
  if (op == OP_DIVIDE_ROUND) {
    away = rest != 0 && magnitude(rest) >= magnitude(b) - magnitude(rest);
  }
  const int64_t rounded = away ? quotient + (opposite ? -1 : 1) : quotient;
  *out = op == OP_REMAINDER ? rest : rounded;
  return false;
}

}  // namespace nearscan
