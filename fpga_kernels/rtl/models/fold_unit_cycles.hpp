// SPDX-License-Identifier: Apache-2.0
// The cycles that the module `fold_unit` takes, with input always there and no back-pressure.
//
// A token of two rows or of a state takes a cycle, whatever its groups are. While a group is shown
// no token is taken: its state goes through the stages and one more cycle, and leaves.
//
// The bench of the module compares this with Verilator (docs/rtl.md).
#pragma once

#include <cstdint>

namespace rtl {

/// What follows from the structure of the module.
struct fold_unit_cycles {
  /// Six stages of a sum, and from the last one to the port and back to the next token.
  static constexpr uint64_t SHOW = 6 + 2;
  /// The groups are made empty, a cycle each, while the wrapper starts a run.
  static constexpr uint64_t FILL = 31;

  /// Cycles of a run of so many tokens, so many of which show a group.
  static constexpr uint64_t of_run(uint64_t tokens, uint64_t shows) {
    return tokens - shows + shows * SHOW + FILL;
  }
};

}  // namespace rtl
