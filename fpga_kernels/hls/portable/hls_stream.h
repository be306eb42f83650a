// SPDX-License-Identifier: Apache-2.0
// Stand-in for the vendor's hls_stream.h: a FIFO with the depth that the kernel declares.
//
// `read` on an empty and `write` to a full FIFO give way to the other stages (see dataflow.hpp).
#pragma once

#include <cstdlib>
#include <type_traits>

#include "dataflow.hpp"

namespace hls {

template <typename T, int Depth>
class stream : nearscan_portable::fifo_state {
  static_assert(std::is_trivially_copyable<T>::value, "a token is bits");

 public:
  stream() {
    const size_t roomy = ROOMY_BYTES / sizeof(T);
    switch (nearscan_portable::current_depth_mode()) {
      case nearscan_portable::depth_mode::roomy:
        capacity = roomy < Depth ? Depth : roomy;
        break;
      case nearscan_portable::depth_mode::declared:
        capacity = Depth;
        break;
      case nearscan_portable::depth_mode::smallest:
        capacity = 1;
        break;
    }
  }
  ~stream() { std::free(slots_); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  bool empty() const { return count == 0; }
  bool full() const { return count == capacity; }

  T read() {
    while (count == 0) nearscan_portable::wait_to_read(this);
    const size_t at = head_;
    head_ = at + 1 == capacity ? 0 : at + 1;
    count--;
    return slots_[at];
  }

  void write(const T& value) {
    while (count == capacity) nearscan_portable::wait_to_write(this);
    if (slots_ == nullptr) make_slots();
    slots_[tail_] = value;
    tail_ = tail_ + 1 == capacity ? 0 : tail_ + 1;
    count++;
  }

 private:
  /// Half of a small first-level cache: producer and consumer meet in it.
  static constexpr size_t ROOMY_BYTES = 8 * 1024;

  /// Most streams of a region belong to lanes that a command does not use.
  void make_slots() {
    slots_ = static_cast<T*>(std::malloc(capacity * sizeof(T)));
    if (slots_ == nullptr) std::abort();
  }

  T* slots_ = nullptr;
  size_t head_ = 0;
  size_t tail_ = 0;
};

}  // namespace hls
