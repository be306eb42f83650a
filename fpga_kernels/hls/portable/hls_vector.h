// SPDX-License-Identifier: Apache-2.0
// Stand-in for the vendor's hls_vector.h: some numbers side by side, all at hand at once.
//
// In hardware it is one word, so that a memory or a stream of it has all of them in one access,
// where an array of as many would be a memory of two ports.
#pragma once

#include <cstddef>

namespace hls {

template <typename T, size_t Size>
class vector {
 public:
  constexpr T& operator[](size_t at) { return elements_[at]; }
  constexpr const T& operator[](size_t at) const { return elements_[at]; }

 private:
  T elements_[Size];
};

}  // namespace hls
