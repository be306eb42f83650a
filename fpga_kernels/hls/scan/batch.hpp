// SPDX-License-Identifier: Apache-2.0
// Words that go through a program together, and what the arithmetic unit takes for them.
//
// Each of the loops begins an iteration each cycle. A stage with a program has three loops, which
// gather a batch, evaluate it and pass it on. In hardware they overlap: while one batch is
// evaluated the next is gathered and the one before is passed on, each in a third of the batch's
// memory, so that the busiest of the three loops is what a batch costs. Here they are called one
// after the other.
#pragma once

#include "row_numbers.hpp"

namespace nearscan {

/// Words of a batch: with two per iteration, a step takes more iterations than a sum or a
/// comparison is deep, and a lane's batches fit the small memories of 32 places that LUTs make.
static constexpr uint32_t BATCH_WORDS = 16;
/// Words that the arithmetic unit of the filter takes per iteration, and that of the projection:
/// predicates have more steps.
static constexpr uint32_t FILTER_WORDS = 2;
static constexpr uint32_t PROJECT_WORDS = 1;
/// Iterations until the next step may read the first result of one: operands read 2, computed 3,
/// written 1; a product of 64 by 64 bits is computed in 9. Assumed.
static constexpr uint32_t STEP_DEPTH = 6;
static constexpr uint32_t MULTIPLY_DEPTH = 12;
/// Iterations of a division: eight dividers side by side, each makes one bit per iteration.
static constexpr uint32_t DIVIDE_ITERATIONS = 64;

/// Words of all columns, and the rows of each that are looked at.
struct word_batch {
  value_token columns[BATCH_WORDS][LANES];
  uint8_t rows[BATCH_WORDS];
  uint32_t words;
};

/// The iterations of loops that overlap.
struct overlapped_iterations {
  uint64_t gather;
  uint64_t evaluate;
  uint64_t pass_on;
  /// Of the filter: looking keys up, beside evaluating.
  uint64_t look_up;

  overlapped_iterations() : gather(0), evaluate(0), pass_on(0), look_up(0) {}

  uint64_t busiest() const { return max_u64(max_u64(gather, look_up), max_u64(evaluate, pass_on)); }
};

}  // namespace nearscan
