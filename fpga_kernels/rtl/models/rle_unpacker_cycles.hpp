// SPDX-License-Identifier: Apache-2.0
// The cycles that the module `rle_unpacker` takes for a page that is whole, with input always there
// and no back-pressure.
//
// The parser makes a token of a run or of a share of a group a cycle. A header takes none of its
// own where it is in one byte and a word holds it and the share behind it, else one, and one more
// of groups in more bytes or of a run in five. The expander makes a word of a token a cycle, and of
// a run as many as it has eights. The parser is ahead of it by no more tokens than there is room
// for.
//
// The bench of the module compares this with Verilator (docs/rtl.md).
#pragma once

#include <algorithm>
#include <cstdint>

namespace rtl {

/// The clocks of the parser and of the expander. They are told of all runs of a page.
class rle_unpacker_cycles {
 public:
  /// Tokens between the parser and the expander.
  static constexpr uint32_t TOKENS = 16;
  /// The most bytes of a header.
  static constexpr uint32_t HEADER_BYTES_MAX = 5;
  /// From the start of a page to its first token, and from its last number to the end of the run.
  static constexpr uint64_t FILL = 26;

  explicit rle_unpacker_cycles(uint32_t width)
      : shares_(width <= 8    ? 1
                : width <= 16 ? 2
                              : 4),
        is_apart_(width / shares_ == 8) {}

  /// A number that is repeated.
  void add_run(uint64_t count, uint32_t header_bytes) {
    const uint64_t words = (count + 7) / 8;
    add_token(header_bytes == HEADER_BYTES_MAX ? 2 : 1, std::max<uint64_t>(words, 1));
  }

  /// So many groups of eight numbers.
  void add_groups(uint64_t count, uint32_t header_bytes) {
    if (header_bytes > 1) {
      parser_ += 2;
    } else if (is_apart_ || count == 0) {
      parser_++;
    }
    for (uint64_t share = 0; share < shares_ * count; share++) add_token(1, 1);
  }

  /// Cycles of the page.
  uint64_t total() const { return expander_ + FILL; }

 private:
  void add_token(uint64_t steps, uint64_t words) {
    // The token whose place it takes has been begun.
    uint64_t& place = begun_[token_++ % TOKENS];
    parser_ = std::max(parser_, place) + steps;
    place = std::max(parser_, expander_);
    expander_ = place + words;
  }

  uint64_t shares_;
  /// Whether a word does not hold a header and a share.
  bool is_apart_;
  uint64_t parser_ = 0;
  uint64_t expander_ = 0;
  uint32_t token_ = 0;
  uint64_t begun_[TOKENS] = {};
};

}  // namespace rtl
