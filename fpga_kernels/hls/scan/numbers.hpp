// SPDX-License-Identifier: Apache-2.0
// The numbers that stored bytes stand for.
//
// All of it is integer arithmetic. A float is never computed with here: it becomes its place in
// IEEE's total order, which compares as integers do and from which its bits can be had back.
#pragma once

#include "strings.hpp"

namespace nearscan {

/// A stored value of up to 16 bytes: the first eight, lowest first, and those behind them.
struct stored_value {
  uint64_t first;
  uint64_t second;
};

/// The bits of a 4-byte number as those of the 8-byte number that equals it. A NaN keeps its sign
/// and its payload.
inline uint64_t widen_float(uint32_t bits) {
  const uint64_t sign = static_cast<uint64_t>(bits >> 31) << 63;
  uint32_t exponent = (bits >> 23) & 0xff;
  uint64_t fraction = bits & 0x007fffff;
  if (exponent == 0xff) return sign | static_cast<uint64_t>(0x7ff) << 52 | fraction << 29;
  if (exponent == 0 && fraction == 0) return sign;
  if (exponent == 0) {
    // Too small for 4 bytes to be normal: the highest one becomes the hidden one. `exponent` wraps
    // below zero and comes back with the difference of the biases.
    exponent = 1;
  NORMALISE:
    for (int bit = 0; bit < 23; bit++) {
#pragma HLS UNROLL
      if ((fraction >> 23) == 0) {
        fraction <<= 1;
        exponent--;
      }
    }
  }
  const uint64_t biased = static_cast<uint32_t>(exponent + (1023 - 127));
  return sign | biased << 52 | (fraction & 0x007fffff) << 29;
}

/// The place of an 8-byte number in the total order.
inline int64_t float_order(uint64_t bits) {
  const uint64_t flipped = (bits >> 63) != 0 ? bits ^ 0x7fffffffffffffffu : bits;
  return static_cast<int64_t>(flipped);
}

/// The number whose `bits` (8 to 128) stand highest byte first. False when it does not fit.
inline bool read_big_endian(const stored_value& stored, uint32_t bits, int64_t& number) {
  const int64_t first = static_cast<int64_t>(byte_swap(stored.first));
  if (bits <= 64) {
    number = first >> (64 - bits);
    return true;
  }
  // The bytes in front may only repeat the sign of the last eight bytes.
  const uint32_t behind = bits - 64;
  const uint64_t low = behind == 64 ? byte_swap(stored.second)
                                    : static_cast<uint64_t>(first) << behind |
                                          byte_swap(stored.second) >> (64 - behind);
  const int64_t high = behind == 64 ? first : first >> (64 - behind);
  number = static_cast<int64_t>(low);
  return high == (number >> 63);
}

/// Whether a number fits in `bits` (1 to 64).
inline bool fits_bits(int64_t number, uint32_t bits, bool with_sign) {
  if (bits == 64) return true;
  if (!with_sign) return (static_cast<uint64_t>(number) >> bits) == 0;
  const int64_t above = number >> (bits - 1);
  return above == 0 || above == -1;
}

/// Converts a stored value to its number. Overflow when a column has no room for it, corrupt when
/// its annotation has none.
NS_APART uint32_t to_number(const reading_plan& plan, const stored_value& stored, int64_t& number) {
  switch (plan.read_as) {
    case READ_AS_UNSIGNED:
      number = static_cast<int64_t>(stored.first);
      break;
    case READ_AS_FLOAT_ORDER:
      number = float_order(plan.physical_type == PHYSICAL_FLOAT
                               ? widen_float(static_cast<uint32_t>(stored.first))
                               : stored.first);
      break;
    case READ_AS_BIG_ENDIAN:
      if (!read_big_endian(stored, plan.stored_bits, number)) {
        return plan.number_bits == 0 ? STATUS_OVERFLOW : STATUS_CORRUPT;
      }
      break;
    default:
      number = plan.physical_type == PHYSICAL_INT32
                   ? static_cast<int32_t>(static_cast<uint32_t>(stored.first))
                   : static_cast<int64_t>(stored.first);
      break;
  }
  const bool is_unsigned = plan.read_as == READ_AS_UNSIGNED;
  const bool fits = plan.number_bits == 0 || fits_bits(number, plan.number_bits, !is_unsigned);
  if (!fits) return STATUS_CORRUPT;
  // Operands have 64 bits with their sign.
  return is_unsigned && number < 0 ? STATUS_OVERFLOW : STATUS_OK;
}

}  // namespace nearscan
