// SPDX-License-Identifier: Apache-2.0
// Stand-in for the vendor's hls_stream.h: a FIFO with the depth that the kernel declares.
//
// `read` on an empty and `write` to a full FIFO give way to the other stages (see dataflow.hpp).
//
// A FIFO whose writer may rely on some places, because its reader asks for no more tokens than
// that or does not begin before, has so many of them in the mode `smallest`, too: see
// NS_NEEDED_DEPTH in platform.hpp.
#pragma once

#include <cstdlib>
#include <type_traits>

#include "dataflow.hpp"

namespace nearscan_portable {

/// Places that every FIFO of these tokens needs.
template <typename T>
struct needed_depth {
  static constexpr size_t value = 1;
};

}  // namespace nearscan_portable

namespace hls {

template <typename T, int Depth>
class stream : nearscan_portable::fifo_state {
  static_assert(std::is_trivially_copyable<T>::value, "a token is bits");

 public:
  stream() {
    const size_t roomy = ROOMY_BYTES / sizeof(T);
    switch (nearscan_portable::current_depth_mode()) {
      case nearscan_portable::depth_mode::roomy:
        depth_ = Depth;
        while (2 * depth_ <= roomy) depth_ *= 2;
        break;
      case nearscan_portable::depth_mode::declared:
        depth_ = Depth;
        break;
      case nearscan_portable::depth_mode::smallest:
        depth_ = nearscan_portable::needed_depth<T>::value;
        break;
    }
  }
  ~stream() { std::free(slots_); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  bool empty() const { return !holds_some(); }
  bool full() const { return !has_room() && slots_ != nullptr; }

  T read() {
    while (!holds_some()) nearscan_portable::wait_to_read(this);
    const size_t at = taken & slot_mask_;
    taken++;
    return slots_[at];
  }

  /// The same into a variable: what is large is copied once.
  void read(T& value) {
    while (!holds_some()) nearscan_portable::wait_to_read(this);
    value = slots_[taken & slot_mask_];
    taken++;
  }

  void write(const T& value) {
    while (!has_room()) make_room();
    slots_[written & slot_mask_] = value;
    written++;
  }

 private:
  /// Half of a small first-level cache: producer and consumer meet in it.
  static constexpr size_t ROOMY_BYTES = 8 * 1024;

  /// Waits for a reader. The first to write finds a FIFO of capacity 0 and makes its slots: most
  /// streams of a region belong to lanes that a command does not use. There are as many slots as
  /// the next power of two, so that a place is found without a division.
  __attribute__((noinline, cold)) void make_room() {
    if (slots_ != nullptr) {
      nearscan_portable::wait_to_write(this);
      return;
    }
    size_t slot_count = 1;
    while (slot_count < depth_) slot_count *= 2;
    slots_ = static_cast<T*>(std::malloc(slot_count * sizeof(T)));
    if (slots_ == nullptr) std::abort();
    slot_mask_ = slot_count - 1;
    capacity = depth_;
  }

  T* slots_ = nullptr;
  size_t slot_mask_ = 0;
  size_t depth_ = 0;
};

}  // namespace hls
