// SPDX-License-Identifier: Apache-2.0
// Declarations of the vendor's hls_stream.h for a parser. Only the check of the syntax tree reads
// it.
#pragma once

namespace hls {

template <typename T, int Depth = 2>
class stream {
 public:
  bool empty() const;
  bool full() const;
  T read();
  void read(T& value);
  void write(const T& value);
};

}  // namespace hls
