// SPDX-License-Identifier: Apache-2.0
// Tokens of RTL black boxes, and the streams between them, in C++.
//
// Under Vitis (`__VITIS_HLS__`) they are the vendor's types. Elsewhere a token is an array of words
// and a stream a queue without a limit: a model of a black box takes all of its input and gives all
// of its output, and the RTL is what is held to depths.
#pragma once

#include <cstdint>

#ifdef __VITIS_HLS__
// The vendor's numbers have at most 1024 bits unless this is said before they are declared, and at
// most so many then. Where another file declares them first, the compiler has to be told.
#ifndef AP_INT_MAX_W
#define AP_INT_MAX_W 4096
#endif
#include <ap_int.h>
#include <hls_stream.h>
static_assert(AP_INT_MAX_W >= 4096, "-DAP_INT_MAX_W=4096 is missing");
#else
#include <cstdlib>
#include <deque>
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
template <int Bits>
using stream = hls::stream<ap_uint<Bits>>;

/// The bits of a field, at most 64.
template <int Bits>
inline uint64_t get(const token<Bits>& from, field place) {
  return from.range(place.first + place.bits - 1, place.first).to_uint64();
}

/// Sets the bits of a field, at most 64.
template <int Bits>
inline void set(token<Bits>& to, field place, uint64_t value) {
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

/// The bits of a field, at most 64.
template <int Bits>
inline uint64_t get(const token<Bits>& from, field place) {
  uint64_t value = 0;
  for (int bit = 0; bit < place.bits; bit++) {
    const int at = place.first + bit;
    value |= static_cast<uint64_t>((from.word[at / 32] >> (at % 32)) & 1u) << bit;
  }
  return value;
}

/// Sets the bits of a field, at most 64.
template <int Bits>
inline void set(token<Bits>& to, field place, uint64_t value) {
  for (int bit = 0; bit < place.bits; bit++) {
    const int at = place.first + bit;
    const uint32_t one = 1u << (at % 32);
    if (((value >> bit) & 1) != 0) {
      to.word[at / 32] |= one;
    } else {
      to.word[at / 32] &= ~one;
    }
  }
}

template <int Bits>
class stream {
 public:
  bool empty() const { return tokens_.empty(); }
  size_t size() const { return tokens_.size(); }
  void write(const token<Bits>& value) { tokens_.push_back(value); }
  token<Bits> read() {
    if (tokens_.empty()) std::abort();
    const token<Bits> value = tokens_.front();
    tokens_.pop_front();
    return value;
  }
  /// The tokens, oldest first.
  const std::deque<token<Bits>>& tokens() const { return tokens_; }

 private:
  std::deque<token<Bits>> tokens_;
};

#endif

}  // namespace rtl
