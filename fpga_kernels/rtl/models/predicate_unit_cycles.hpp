// SPDX-License-Identifier: Apache-2.0
// The cycles that the module `predicate_unit` takes, with input always there and no back-pressure.
//
// Words are gathered one a cycle into one of two batches, while the other one is evaluated: step by
// step, a place of 16 rows a cycle. A step takes at least as long as its first result is on its
// way, and a product is on its way longer.
//
// The bench of the module compares this with Verilator (docs/rtl.md).
#pragma once

#include <algorithm>
#include <cstdint>

namespace rtl {

/// What follows from the structure of the module; it runs with 16 rows a place.
struct predicate_unit_cycles {
  static constexpr uint64_t BATCH_WORDS = 32;
  static constexpr uint64_t WORDS_OF_PLACE = 2;
  static constexpr uint64_t STEP_DEPTH = 6;
  static constexpr uint64_t PRODUCT_EXTRA = 9;
  /// Cycles from a batch that is there, or from the end of the one before, to its first step.
  static constexpr uint64_t START = 1;
  /// Cycles from the last place of the last step to the end of a run, and in front of its program.
  static constexpr uint64_t FILL = 10;

  /// Cycles of a run of so many words, with so many steps, some of which are products.
  static uint64_t of_run(uint64_t steps, uint64_t products, uint64_t words) {
    uint64_t gathered = 0;
    uint64_t ended = 0;
    uint64_t ended_before = 0;
    for (uint64_t left = words; left > 0;) {
      const uint64_t here = std::min(left, BATCH_WORDS);
      const uint64_t places = (here + WORDS_OF_PLACE - 1) / WORDS_OF_PLACE;
      // Its place is that of the batch before the last one.
      gathered = std::max(gathered, ended_before) + here;
      ended_before = ended;
      ended = std::max(gathered, ended) + START + steps * std::max(places, STEP_DEPTH) +
              products * PRODUCT_EXTRA;
      left -= here;
    }
    return steps + ended + FILL;
  }
};

}  // namespace rtl
