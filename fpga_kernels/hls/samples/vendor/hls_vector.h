// SPDX-License-Identifier: Apache-2.0
// Declarations of the vendor's hls_vector.h for a parser. Only the check of the syntax tree reads
// it.
#pragma once

#include <stddef.h>

namespace hls {

template <typename T, size_t Size>
class vector {
 public:
  T& operator[](size_t at);
  const T& operator[](size_t at) const;
};

}  // namespace hls
