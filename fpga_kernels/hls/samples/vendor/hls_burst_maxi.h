// SPDX-License-Identifier: Apache-2.0
// Declarations of the vendor's hls_burst_maxi.h for a parser. Only the check of the syntax tree
// reads it.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace hls {

template <typename T>
class burst_maxi {
 public:
  void read_request(size_t first, size_t count);
  T read();
  void write_request(size_t first, size_t count);
  void write(const T& word);
  void write(const T& word, uint64_t bytes);
  void write_response();
};

}  // namespace hls
