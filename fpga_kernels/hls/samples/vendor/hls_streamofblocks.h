// SPDX-License-Identifier: Apache-2.0
// Declarations of the vendor's hls_streamofblocks.h for a parser. Only the check of the syntax tree
// reads it.
#pragma once

namespace hls {

template <typename Block, int Depth = 2>
class stream_of_blocks {
 public:
  bool empty() const;
  bool full() const;
};

template <typename Block>
class write_lock {
 public:
  template <int Depth>
  explicit write_lock(stream_of_blocks<Block, Depth>& blocks);
  operator Block&();
};

template <typename Block>
class read_lock {
 public:
  template <int Depth>
  explicit read_lock(stream_of_blocks<Block, Depth>& blocks);
  operator const Block&();
};

}  // namespace hls
