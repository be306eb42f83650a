// SPDX-License-Identifier: Apache-2.0
// The tokens of the black box that decompresses raw Snappy (snappy_decoder.hpp): as
// fpga_kernels/rtl/modules/snappy_decoder.toml describes them, which the module's model checks.
#pragma once

#include "../common/rtl_token.hpp"
#include "tokens.hpp"

namespace nearscan {

/// A page: the bytes that it is stored in, and that it becomes. The one marked `last` is no page.
struct snappy_page {
  static constexpr int BITS = 65;
  static constexpr rtl::field stored() { return {0, 32}; }
  static constexpr rtl::field whole() { return {32, 32}; }
  static constexpr rtl::field last() { return {64, 1}; }
};

/// Up to eight bytes of a page; the token that `ends` it may have none.
struct snappy_bytes {
  static constexpr int BITS = 69;
  static constexpr rtl::field data() { return {0, 64}; }
  static constexpr rtl::field count() { return {64, 4}; }
  static constexpr rtl::field ends() { return {68, 1}; }
};

/// Eight bytes of what a page becomes, or what is left at its end, with how it went. The one marked
/// `last` has no bytes but the cycles of the run, 0 if it had no page.
struct snappy_answer {
  static constexpr int BITS = 72;
  static constexpr rtl::field data() { return {0, 64}; }
  static constexpr rtl::field count() { return {64, 4}; }
  static constexpr rtl::field ends() { return {68, 1}; }
  static constexpr rtl::field is_corrupt() { return {69, 1}; }
  static constexpr rtl::field is_too_far() { return {70, 1}; }
  static constexpr rtl::field last() { return {71, 1}; }
};

typedef rtl::token<snappy_page::BITS> snappy_page_token;
typedef rtl::token<snappy_bytes::BITS> snappy_byte_token;
typedef rtl::token<snappy_answer::BITS> snappy_answer_token;
typedef hls::stream<snappy_page_token, PAGE_DEPTH> snappy_page_stream;
typedef hls::stream<snappy_byte_token, BYTE_DEPTH> snappy_byte_stream;
typedef hls::stream<snappy_answer_token, BYTE_DEPTH> snappy_answer_stream;

}  // namespace nearscan
