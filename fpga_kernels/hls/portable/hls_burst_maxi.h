// SPDX-License-Identifier: Apache-2.0
// Stand-in for the vendor's hls_burst_maxi.h: a port that is asked for bursts and gives or takes
// their words later, in the order of the requests. As much of it as our kernels use.
//
// It is strict where hardware would hang or lose words: a request too many, a word without a
// request, an answer that is awaited before all words were written, or words that a kernel leaves
// behind for its next call end the program. What is written is in memory once its answer came, so
// whoever reads sooner reads what was there before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "dataflow.hpp"

namespace hls {

template <typename T>
class burst_maxi {
 public:
  // A kernel is called with the address of its memory. It writes only to one that it may write to.
  burst_maxi(const T* memory) : read_from_(memory), write_to_(nullptr) {}
  burst_maxi(T* memory) : read_from_(memory), write_to_(memory) {}
  ~burst_maxi() {
    if (!reads_.is_empty() || announced_ != answered_) std::abort();
  }

  /// Asks for `count` words from `first` on. Does not wait.
  void read_request(size_t first, size_t count) { reads_.push(first, count); }

  /// The next word of the oldest request.
  T read() { return read_from_[reads_.next()]; }

  /// Announces `count` words from `first` on. Does not wait.
  void write_request(size_t first, size_t count) {
    if (count > BURST_WORDS_MAX || announced_ - answered_ == REQUESTS_MAX) std::abort();
    bursts_[announced_ % REQUESTS_MAX] = {first, count, 0, {}, {}};
    announced_++;
  }

  /// The next word of the oldest request that has not got all of its words.
  void write(const T& word) { write(word, ~static_cast<uint64_t>(0)); }

  /// The same for the bytes of the word that have their bit set in `bytes`.
  void write(const T& word, uint64_t bytes) {
    if (filled_ == announced_) std::abort();
    pending_burst& burst = bursts_[filled_ % REQUESTS_MAX];
    burst.words[burst.held] = word;
    burst.bytes[burst.held] = bytes;
    burst.held++;
    if (burst.held == burst.count) filled_++;
  }

  /// Waits until the words of the oldest request are in memory; they are there no sooner.
  void write_response() {
    if (answered_ == filled_) std::abort();
    nearscan_portable::take_time();
    const pending_burst& burst = bursts_[answered_ % REQUESTS_MAX];
    for (size_t word = 0; word < burst.count; word++) {
      put(burst.first + word, burst.words[word], burst.bytes[word]);
    }
    answered_++;
  }

 private:
  /// Requests in flight each way, the tool's default.
  static constexpr size_t REQUESTS_MAX = 16;

  /// Words of the longest burst that a kernel writes.
  static constexpr size_t BURST_WORDS_MAX = 64;

  /// A burst that is written, on its way to memory.
  struct pending_burst {
    size_t first;
    size_t count;
    size_t held;
    T words[BURST_WORDS_MAX];
    uint64_t bytes[BURST_WORDS_MAX];
  };

  void put(size_t at, const T& word, uint64_t bytes) {
    unsigned char* to = reinterpret_cast<unsigned char*>(write_to_ + at);
    const unsigned char* from = reinterpret_cast<const unsigned char*>(&word);
    for (size_t byte = 0; byte < sizeof(T); byte++) {
      if (((bytes >> byte) & 1) != 0) to[byte] = from[byte];
    }
  }

  /// Bursts whose words have not all been read.
  class burst_queue {
   public:
    bool is_empty() const { return asked_ == moved_; }

    void push(size_t first, size_t count) {
      if (asked_ - moved_ == REQUESTS_MAX || count == 0) std::abort();
      bursts_[asked_ % REQUESTS_MAX] = {first, count};
      asked_++;
    }

    /// The place of the next word.
    size_t next() {
      if (is_empty()) std::abort();
      burst& oldest = bursts_[moved_ % REQUESTS_MAX];
      const size_t place = oldest.first;
      oldest.first++;
      oldest.count--;
      if (oldest.count == 0) moved_++;
      return place;
    }

   private:
    struct burst {
      size_t first;
      size_t count;
    };

    burst bursts_[REQUESTS_MAX];
    size_t asked_ = 0;
    size_t moved_ = 0;
  };

  const T* read_from_;
  T* write_to_;
  burst_queue reads_;
  pending_burst bursts_[REQUESTS_MAX];
  size_t announced_ = 0;
  size_t filled_ = 0;
  size_t answered_ = 0;
};

}  // namespace hls
