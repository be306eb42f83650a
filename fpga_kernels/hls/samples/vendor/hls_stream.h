// SPDX-License-Identifier: Apache-2.0
// Declarations of the vendor's hls_stream.h for a parser. Only the check of the syntax tree reads
// it.
#pragma once

namespace hls {

template <typename T, int Depth = 0>
class stream;

template <typename T>
class stream<T, 0> {
 public:
  bool empty() const;
  bool full() const;
  T read();
  void read(T& value);
  void write(const T& value);
};

template <typename T, int Depth>
class stream : public stream<T, 0> {};

}  // namespace hls
