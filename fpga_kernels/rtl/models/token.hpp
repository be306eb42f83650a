// SPDX-License-Identifier: Apache-2.0
// Tokens of RTL black boxes, and the streams between them, in C++.
//
// Under Vitis (`__VITIS_HLS__`) they are the vendor's types. Elsewhere a token is an array of words
// and a stream a queue without a limit: a model of a black box takes all of its input and gives all
// of its output, and the RTL is what is held to depths.
#pragma once

#include <cstdint>

#ifdef __VITIS_HLS__
// The vendor's numbers have at most 1024 bits unless this is said before they are declared, and at
// most so many then. Where another file declares them first, the compiler has to be told.
#ifndef AP_INT_MAX_W
#define AP_INT_MAX_W 4096
#endif
#include <ap_int.h>
#include <hls_stream.h>
static_assert(AP_INT_MAX_W >= 4096, "-DAP_INT_MAX_W=4096 is missing");
#else
#include <cstdlib>
#include <deque>
#endif

#include "common/rtl_token.hpp"

namespace rtl {

#ifdef __VITIS_HLS__

template <int Bits>
using stream = hls::stream<ap_uint<Bits>>;

#else

template <int Bits>
class stream {
 public:
  bool empty() const { return tokens_.empty(); }
  size_t size() const { return tokens_.size(); }
  void write(const token<Bits>& value) { tokens_.push_back(value); }
  token<Bits> read() {
    if (tokens_.empty()) std::abort();
    const token<Bits> value = tokens_.front();
    tokens_.pop_front();
    return value;
  }
  /// The tokens, oldest first.
  const std::deque<token<Bits>>& tokens() const { return tokens_; }

 private:
  std::deque<token<Bits>> tokens_;
};

#endif

}  // namespace rtl
