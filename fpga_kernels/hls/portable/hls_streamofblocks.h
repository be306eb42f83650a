// SPDX-License-Identifier: Apache-2.0
// Stand-in for the vendor's hls_streamofblocks.h: arrays on their way from one stage to another.
//
// The producer fills a block in any order while the consumer reads the one before; a lock is held
// for as long as a block is used. `Depth` counts all blocks, also those that are locked.
#pragma once

#include "dataflow.hpp"

namespace hls {

template <typename Block, int Depth = 2>
class stream_of_blocks : nearscan_portable::fifo_state {
 public:
  stream_of_blocks() : blocks_(nullptr) { capacity = Depth; }
  ~stream_of_blocks() { delete[] blocks_; }
  stream_of_blocks(const stream_of_blocks&) = delete;
  stream_of_blocks& operator=(const stream_of_blocks&) = delete;

  Block& acquire_to_write() {
    while (!has_room()) nearscan_portable::wait_to_write(this);
    // Most streams of a kernel have no user in a run, and a block may be half a megabyte.
    if (blocks_ == nullptr) blocks_ = new holder[Depth];
    return blocks_[written % Depth].block;
  }
  void release_written() { written++; }
  const Block& acquire_to_read() {
    while (!holds_some()) nearscan_portable::wait_to_read(this);
    return blocks_[taken % Depth].block;
  }
  void release_read() { taken++; }

 private:
  struct holder {
    Block block;
  };

  holder* blocks_;
};

template <typename Block>
class write_lock {
 public:
  template <int Depth>
  explicit write_lock(stream_of_blocks<Block, Depth>& blocks)
      : block_(blocks.acquire_to_write()), blocks_(&blocks), release_(&release<Depth>) {}
  ~write_lock() { release_(blocks_); }
  write_lock(const write_lock&) = delete;
  write_lock& operator=(const write_lock&) = delete;

  operator Block&() { return block_; }

 private:
  template <int Depth>
  static void release(void* blocks) {
    static_cast<stream_of_blocks<Block, Depth>*>(blocks)->release_written();
  }

  Block& block_;
  void* blocks_;
  void (*release_)(void*);
};

template <typename Block>
class read_lock {
 public:
  template <int Depth>
  explicit read_lock(stream_of_blocks<Block, Depth>& blocks)
      : block_(blocks.acquire_to_read()), blocks_(&blocks), release_(&release<Depth>) {}
  ~read_lock() { release_(blocks_); }
  read_lock(const read_lock&) = delete;
  read_lock& operator=(const read_lock&) = delete;

  operator const Block&() { return block_; }

 private:
  template <int Depth>
  static void release(void* blocks) {
    static_cast<stream_of_blocks<Block, Depth>*>(blocks)->release_read();
  }

  const Block& block_;
  void* blocks_;
  void (*release_)(void*);
};

}  // namespace hls
