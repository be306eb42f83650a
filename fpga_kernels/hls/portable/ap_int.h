// SPDX-License-Identifier: Apache-2.0
// Stand-in for the vendor's ap_int.h: as much of it as our kernels use, on a plain C++ compiler.
//
// Widths up to 64 and 128 are the compiler's own integers, so a simulation runs at native speed;
// wider ones are arrays of 64-bit words with access to aligned fields. Under Vitis the vendor's
// header is included instead (see common/platform.hpp).
#pragma once

#include <cstdint>

namespace nearscan_portable {

template <int Width>
struct signed_of;
template <>
struct signed_of<128> {
  __extension__ typedef __int128 type;
};

/// An unsigned number of `Width` bits, a multiple of 64. `word(i)` stands for `range(64 i + 63, 64
/// i)`.
template <int Width>
struct wide {
  static_assert(Width % 64 == 0, "whole words");
  uint64_t words[Width / 64];

  uint64_t word(int index) const { return words[index]; }
};

template <int Width>
struct unsigned_of {
  typedef wide<Width> type;
};
template <>
struct unsigned_of<128> {
  __extension__ typedef unsigned __int128 type;
};

}  // namespace nearscan_portable

template <int Width>
using ap_int = typename nearscan_portable::signed_of<Width>::type;
template <int Width>
using ap_uint = typename nearscan_portable::unsigned_of<Width>::type;
