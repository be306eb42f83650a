// SPDX-License-Identifier: Apache-2.0
// Stands in for ap_uint of up to 64 bits: the narrowest unsigned type of C++ that holds it.
//
// Hardware keeps the low bits of a number that is too large, and these types keep more of it. So
// test benches define NS_CHECKED_WIDTHS, which ends the program at the first number that does not
// fit.
#pragma once

#include <cstdint>

#ifdef NS_CHECKED_WIDTHS
#include <cstdio>
#include <cstdlib>
#endif

namespace nearscan_portable {

/// The narrowest type of those with 8, 16, 32 and 64 bits, by its place among them.
template <int Place>
struct uint_at;
template <>
struct uint_at<0> {
  typedef uint8_t type;
};
template <>
struct uint_at<1> {
  typedef uint16_t type;
};
template <>
struct uint_at<2> {
  typedef uint32_t type;
};
template <>
struct uint_at<3> {
  typedef uint64_t type;
};

template <int Bits>
struct least_uint : uint_at<(Bits > 8) + (Bits > 16) + (Bits > 32)> {
  static_assert(Bits > 0 && Bits <= 64, "a number of up to 64 bits");
};

#ifdef NS_CHECKED_WIDTHS

/// A number that ends the program when it is given one of more bits.
template <int Bits>
class checked_uint {
  typedef typename least_uint<Bits>::type number_t;

 public:
  checked_uint() = default;
  constexpr checked_uint(uint64_t number) : number_(fit(number)) {}
  constexpr operator number_t() const { return number_; }
  checked_uint& operator++() { return *this = checked_uint(uint64_t(number_) + 1); }
  checked_uint operator++(int) {
    const checked_uint before = *this;
    ++*this;
    return before;
  }
  checked_uint& operator|=(uint64_t other) { return *this = checked_uint(number_ | other); }
  checked_uint& operator&=(uint64_t other) { return *this = checked_uint(number_ & other); }

 private:
  static constexpr number_t fit(uint64_t number) {
    return Bits == 64 || number >> (Bits % 64) == 0 ? static_cast<number_t>(number)
                                                    : too_large(number);
  }
  static number_t too_large(uint64_t number) {
    std::fprintf(stderr, "%llu does not fit in %d bits\n", static_cast<unsigned long long>(number),
                 Bits);
    std::abort();
  }

  number_t number_;
};

template <int Bits>
struct small_uint_of {
  typedef checked_uint<Bits> type;
};

#else

template <int Bits>
struct small_uint_of : least_uint<Bits> {};

#endif

}  // namespace nearscan_portable
