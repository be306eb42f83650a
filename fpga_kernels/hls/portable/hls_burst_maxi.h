// SPDX-License-Identifier: Apache-2.0
// Stand-in for the vendor's hls_burst_maxi.h: a port that is asked for bursts and gives their words
// later, in the order of the requests. As much of it as our kernels use: they read.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace hls {

template <typename T>
class burst_maxi {
 public:
  // A kernel is called with the address of its memory.
  burst_maxi(const T* memory) : memory_(memory) {}
  // Words that a kernel leaves behind would be handed to its next call.
  ~burst_maxi() {
    if (asked_ != taken_) std::abort();
  }

  /// Asks for `count` words from `first` on. Does not wait.
  void read_request(size_t first, size_t count) {
    // A kernel that asks for more than the port keeps in flight would hang in hardware.
    if (asked_ - taken_ == REQUESTS_MAX || count == 0) std::abort();
    requests_[asked_ % REQUESTS_MAX] = {first, count};
    asked_++;
  }

  /// The next word of the oldest request.
  T read() {
    if (asked_ == taken_) std::abort();
    request& oldest = requests_[taken_ % REQUESTS_MAX];
    const T word = memory_[oldest.first];
    oldest.first++;
    oldest.count--;
    if (oldest.count == 0) taken_++;
    return word;
  }

 private:
  /// Requests in flight, the tool's default.
  static constexpr size_t REQUESTS_MAX = 16;

  struct request {
    size_t first;
    size_t count;
  };

  const T* memory_;
  request requests_[REQUESTS_MAX];
  size_t asked_ = 0;
  size_t taken_ = 0;
};

}  // namespace hls
