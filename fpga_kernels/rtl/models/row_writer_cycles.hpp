// SPDX-License-Identifier: Apache-2.0
// The cycles that the module `row_writer` takes, with input always there and no back-pressure.
//
// A token becomes a part, which takes a cycle; of a column of 128 bits two, of which the second one
// leaves beside the low halves of the next. A line of 64 bytes leaves a cycle, be it of numbers or
// of bits, and parts are ahead of lines by no more than there is room for. At the end of a run all
// columns end, a cycle each, and what is on its way arrives.
//
// The HLS stage `write_result` is built otherwise: it puts eight rows of two columns an iteration
// into a block, and then writes eight narrow numbers of the block, or four, or two, an iteration.
// So its iterations are no measure of the module.
//
// The bench of the module compares this with Verilator (docs/rtl.md).
#pragma once

#include <algorithm>
#include <cstdint>

namespace rtl {

/// The clocks of the module's parts and lines. They are told of all tokens of a run.
class row_writer_cycles {
 public:
  static constexpr int COLUMNS = 32;
  static constexpr uint64_t LINE_BYTES = 64;
  static constexpr uint64_t LINE_ROWS = 8 * LINE_BYTES;
  /// Lines that may wait for the output before no part is made: 32 places, of which 14 are for what
  /// still comes then.
  static constexpr uint64_t PARTS_AHEAD = 32 - 14;
  /// The end of each column, and cycles until the stages are empty.
  static constexpr uint64_t END = COLUMNS + 15;
  /// From the start of a run to its first part, and from its last line to its end.
  static constexpr uint64_t FILL = 8;

  /// A word of a column whose numbers have so many bytes: how many rows are kept of it, and whether
  /// a token of high halves follows.
  void add_word(int column, uint64_t number_bytes, uint64_t kept, bool has_high) {
    const bool is_double = number_bytes == 16;
    if (has_high && is_double) {
      // The low halves come first, beside the second part of the word before.
      parts_++;
      has_second_ = false;
    }
    parts_ += has_second_ ? 2 : 1;
    has_second_ = is_double;
    // High halves that are not needed are dropped.
    if (has_high && !is_double) parts_++;
    const uint64_t rows = rows_[column];
    rows_[column] = rows + kept;
    leave(crossed(rows * number_bytes, kept * number_bytes, LINE_BYTES) +
          crossed(rows, kept, LINE_ROWS));
  }

  /// Cycles of the run.
  uint64_t total() const { return parts_ + (has_second_ ? 1 : 0) + END + FILL; }

 private:
  /// Lines that are whole with what is added.
  static uint64_t crossed(uint64_t held, uint64_t added, uint64_t line) {
    return (held + added) / line - held / line;
  }

  void leave(uint64_t count) {
    if (count == 0) return;
    lines_ = std::max(lines_, parts_ - 1) + count;
    if (parts_ + PARTS_AHEAD < lines_) parts_ = lines_ - PARTS_AHEAD;
  }

  uint64_t parts_ = 0;
  uint64_t lines_ = 0;
  bool has_second_ = false;
  uint64_t rows_[COLUMNS] = {};
};

}  // namespace rtl
