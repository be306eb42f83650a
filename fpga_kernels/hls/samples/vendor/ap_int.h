// SPDX-License-Identifier: Apache-2.0
// Declarations of the vendor's ap_int.h for a parser: names, shapes, no behaviour. Only the check
// of the syntax tree reads it.
#pragma once

#include <stdint.h>

struct ap_range {
  uint64_t to_uint64() const;
  ap_range& operator=(uint64_t bits);
};

template <int Width>
struct ap_bits {
  ap_bits() = default;
  ap_bits(uint64_t bits);
  operator uint64_t() const;
  ap_bits& operator++();
  ap_bits operator++(int);
  ap_range range(int high, int low) const;
  ap_range range(int high, int low);
};

template <int Width>
struct ap_chosen {
  typedef ap_bits<Width> is_signed;
  typedef ap_bits<Width> is_unsigned;
};
template <>
struct ap_chosen<128> {
  __extension__ typedef __int128 is_signed;
  __extension__ typedef unsigned __int128 is_unsigned;
};

template <int Width>
using ap_int = typename ap_chosen<Width>::is_signed;
template <int Width>
using ap_uint = typename ap_chosen<Width>::is_unsigned;
