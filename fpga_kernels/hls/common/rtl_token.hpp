// SPDX-License-Identifier: Apache-2.0
// Tokens of RTL black boxes: numbers of any width, and fields in them.
//
// Under Vitis (`__VITIS_HLS__`) a token is the vendor's number, for a black box takes no structs.
// Elsewhere it is an array of words.
#pragma once

#include <cstdint>

#ifdef __VITIS_HLS__
#include <ap_int.h>
#endif

namespace rtl {

/// Where a field of a token is.
struct field {
  int first;
  int bits;

  /// Element `index` of a field that is an array of elements of so many bits.
  constexpr field at(int index, int element_bits) const {
    return {first + index * element_bits, element_bits};
  }
};

#ifdef __VITIS_HLS__

template <int Bits>
using token = ap_uint<Bits>;

/// The bits of a field, at most 64.
template <typename Token>
inline uint64_t get(const Token& from, field place) {
  return from.range(place.first + place.bits - 1, place.first).to_uint64();
}

/// Sets the bits of a field, at most 64.
template <typename Token>
inline void set(Token& to, field place, uint64_t value) {
  to.range(place.first + place.bits - 1, place.first) = value;
}

#else

template <int Bits>
struct token {
  static constexpr int WORDS = (Bits + 31) / 32;
  uint32_t word[WORDS] = {};

  bool operator==(const token& other) const {
    for (int i = 0; i < WORDS; i++) {
      if (word[i] != other.word[i]) return false;
    }
    return true;
  }
  bool operator!=(const token& other) const { return !(*this == other); }
};

/// The bits of a field, at most 64. (Of a place that a compiler knows, a shift and a mask are
/// left.)
template <int Bits>
inline uint64_t get(const token<Bits>& from, field place) {
  const int at = place.first / 32;
  const int shift = place.first % 32;
  uint64_t value = from.word[at];
  if (at + 1 < token<Bits>::WORDS) value |= static_cast<uint64_t>(from.word[at + 1]) << 32;
  value >>= shift;
  if (shift != 0 && at + 2 < token<Bits>::WORDS) {
    value |= static_cast<uint64_t>(from.word[at + 2]) << (64 - shift);
  }
  return place.bits == 64 ? value : value & ((static_cast<uint64_t>(1) << place.bits) - 1);
}

/// Sets the bits of a field, at most 64.
template <int Bits>
inline void set(token<Bits>& to, field place, uint64_t value) {
  const int at = place.first / 32;
  const int shift = place.first % 32;
  const uint64_t mask =
      place.bits == 64 ? ~static_cast<uint64_t>(0) : (static_cast<uint64_t>(1) << place.bits) - 1;
  const uint64_t bits = value & mask;
  const auto put = [&to](int word, uint64_t some_mask, uint64_t some_bits) {
    to.word[word] =
        (to.word[word] & ~static_cast<uint32_t>(some_mask)) | static_cast<uint32_t>(some_bits);
  };
  put(at, mask << shift, bits << shift);
  // In two shifts, for one by 64 is none.
  const uint64_t higher = mask >> 1 >> (31 - shift);
  if (higher != 0) put(at + 1, higher, bits >> 1 >> (31 - shift));
  if (shift != 0 && mask >> (64 - shift) != 0)
    put(at + 2, mask >> (64 - shift), bits >> (64 - shift));
}

#endif

}  // namespace rtl
