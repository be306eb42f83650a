// SPDX-License-Identifier: Apache-2.0
// Stand-in for the vendor's hls_stream.h: a FIFO with the depth that the kernel declares.
//
// `read` on an empty and `write` to a full FIFO give way to the other stages (see dataflow.hpp).
#pragma once

#include <cstdlib>

#include "dataflow.hpp"

namespace hls {

template <typename T, int Depth>
class stream : nearscan_portable::fifo_state {
 public:
  stream() {
    const size_t roomy = ROOMY_BYTES / sizeof(T);
    const bool exact = nearscan_portable::current_depth_mode() ==
                       nearscan_portable::depth_mode::declared;
    capacity = exact || roomy < Depth ? Depth : roomy;
    slots_ = static_cast<T*>(std::malloc(capacity * sizeof(T)));
    if (slots_ == nullptr) std::abort();
  }
  ~stream() { std::free(slots_); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  bool empty() const { return count == 0; }
  bool full() const { return count == capacity; }

  T read() {
    while (count == 0) nearscan_portable::wait_to_read(this);
    T value = slots_[head_];
    head_ = head_ + 1 == capacity ? 0 : head_ + 1;
    count--;
    return value;
  }

  void write(const T& value) {
    while (count == capacity) nearscan_portable::wait_to_write(this);
    slots_[tail_] = value;
    tail_ = tail_ + 1 == capacity ? 0 : tail_ + 1;
    count++;
  }

 private:
  /// Half of a small first-level cache: producer and consumer meet in it.
  static constexpr size_t ROOMY_BYTES = 16 * 1024;

  T* slots_;
  size_t head_ = 0;
  size_t tail_ = 0;
};

}  // namespace hls
