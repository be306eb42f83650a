// SPDX-License-Identifier: Apache-2.0
// The cycles that the module `dictionary_lookup` takes, with input always there and no
// back-pressure.
//
// An entry is loaded a cycle, and then two rows are looked up a cycle: a word of any rows takes one
// for each two of them.
//
// The bench of the module compares this with Verilator (docs/rtl.md).
#pragma once

#include <cstdint>

namespace rtl {

/// The cycles of a run. They are told of all its words.
class dictionary_lookup_cycles {
 public:
  static constexpr uint64_t ROWS_AT_ONCE = 2;
  /// From the start of a run to its first entry, and from its last look-up to the end.
  static constexpr uint64_t FILL = 9;

  explicit dictionary_lookup_cycles(uint64_t entries) : cycles_(entries + FILL) {}

  void add_word(uint64_t rows) { cycles_ += (rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE; }

  uint64_t total() const { return cycles_; }

 private:
  uint64_t cycles_;
};

}  // namespace rtl
