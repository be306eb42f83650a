// SPDX-License-Identifier: Apache-2.0
// Evaluates predicate and projection programs.
//
// All steps share one arithmetic unit. A batch of words is evaluated step by step, and within a
// step one or two words per iteration: none waits for the one before, since the first result of a
// step is needed no sooner than the next step begins. Words that the unit does not do in its
// pipeline come again in a loop behind, one at a time: divisions, dates, IN, products of more than
// 64 bits a side.
#pragma once

#include "batch.hpp"
#include "steps.hpp"

namespace nearscan {

/// Iterations of a word that comes again.
inline uint32_t iterations_apart(const step& at) {
  switch (at.op) {
    case OP_IN:
      // A literal per iteration.
      return operand_index(at.c) - operand_index(at.b) + 1;
    case OP_MULTIPLY:
    case OP_YEAR:
    case OP_MONTH:
    case OP_DAY:
      // A row per iteration.
      return ROWS;
    default:
      return DIVIDE_ITERATIONS;
  }
}

/// Evaluates step `index` for the words `again` of a batch, a bit each, one after the other; true
/// when a result left its width.
NS_RARE bool evaluate_again(const program_plan& plan, const step& at, uint32_t index,
                            const word_batch& batch, uint32_t again, step_operands& numbers,
                            step_values steps[BATCH_WORDS], uint32_t& iterations) {
  bool overflowed = false;
AGAIN:
  for (uint32_t word = 0; word < batch.words; word++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    if (((again >> word) & 1) == 0) continue;
    const value_token* columns = batch.columns[word];
    numbers.fetch(plan, at, columns, steps[word]);
    overflowed |=
        evaluate_fetched(plan, at, index, columns, batch.rows[word], numbers, steps[word]);
    iterations += iterations_apart(at);
  }
  return overflowed;
}

/// Evaluates step `index` for a batch, `Words` per iteration, and adds its iterations; true when a
/// result left its width.
template <uint32_t Words>
inline bool evaluate_step(const program_plan& plan, uint32_t index, const word_batch& batch,
                          step_values steps[BATCH_WORDS], uint64_t& iterations) {
  const step at = plan.steps[index];
  const bool is_logic = at.op >= OP_IS_NULL && ((RARE_STEPS >> at.op) & 1) == 0;
  const bool is_apart = ((APART_STEPS >> at.op) & 1) != 0;
  step_operands numbers;
  numbers.start(plan, at);
  bool overflowed = false;
  uint32_t again = is_apart ? (1u << batch.words) - 1 : 0;
  uint32_t step_iterations = 0;
IN_PIPELINE:
  for (uint32_t first = 0; first < batch.words && !is_apart; first += Words) {
#pragma HLS PIPELINE II = 1
#pragma HLS DEPENDENCE variable = steps type = inter dependent = false
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
  SIDE_BY_SIDE:
    for (uint32_t word = first; word < first + Words; word++) {
#pragma HLS UNROLL
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2
      if (word >= batch.words) break;
      const value_token* columns = batch.columns[word];
      if (is_logic) {
        evaluate_logic(plan, at, index, columns, steps[word]);
        continue;
      }
      numbers.fetch(plan, at, columns, steps[word]);
      // The multipliers have 64 bits a side.
      if (at.op == OP_MULTIPLY && (numbers.a.wide || numbers.b.wide)) {
        again |= 1u << word;
        continue;
      }
      overflowed |=
          evaluate_fetched(plan, at, index, columns, batch.rows[word], numbers, steps[word]);
    }
    step_iterations++;
  }
  if (again != 0) {
    overflowed |= evaluate_again(plan, at, index, batch, again, numbers, steps, step_iterations);
  }
  const uint32_t depth = at.op == OP_MULTIPLY ? MULTIPLY_DEPTH : STEP_DEPTH;
  iterations += max_u64(step_iterations, depth);
  return overflowed;
}

/// Evaluates a whole program for a batch, `Words` per iteration, and adds its iterations; true when
/// a result left its width.
template <uint32_t Words>
inline bool evaluate_program(const program_plan& plan, const word_batch& batch,
                             step_values steps[BATCH_WORDS], uint64_t& iterations) {
  bool overflowed = false;
STEPS:
  for (uint32_t index = 0; index < plan.step_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 32
    overflowed = evaluate_step<Words>(plan, index, batch, steps, iterations) || overflowed;
  }
  return overflowed;
}

static_assert(BATCH_WORDS < 32, "words of a batch are bits of a number");

}  // namespace nearscan
