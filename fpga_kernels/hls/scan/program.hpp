// SPDX-License-Identifier: Apache-2.0
// Evaluates predicate and projection programs.
//
// All steps share one arithmetic unit. A batch of words is evaluated step by step, and within a
// step one or two words per iteration: none waits for the one before, since the first result of a
// step is needed no sooner than the next step begins. Divisions, dates and IN are done by units of
// their own, one word after the other.
#pragma once

#include "batch.hpp"
#include "steps.hpp"

namespace nearscan {

/// Iterations of a word in a unit apart.
inline uint32_t iterations_apart(const step& at) {
  switch (at.op) {
    case OP_IN:
      // A literal per iteration.
      return operand_index(at.c) - operand_index(at.b) + 1;
    case OP_YEAR:
    case OP_MONTH:
    case OP_DAY:
      // A row per iteration.
      return ROWS;
    default:
      return DIVIDE_ITERATIONS;
  }
}

/// Evaluates step `index`, which is done apart, for a batch, and adds its iterations; true when a
/// result left its width.
NS_RARE bool evaluate_step_apart(const program_plan& plan, const step& at, uint32_t index,
                                 const word_batch& batch, step_values steps[BATCH_WORDS],
                                 uint32_t& iterations) {
  bool overflowed = false;
APART:
  for (uint32_t word = 0; word < batch.words; word++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    const value_token* columns = batch.columns[word];
    const number_token number = fetch_numbers(plan, at.a, columns, steps[word]);
    overflowed |= evaluate_apart(plan, at, index, columns, batch.rows[word], number, steps[word]);
    iterations += iterations_apart(at);
  }
  return overflowed;
}

/// Evaluates step `index` in the pipeline for a batch, `Words` per iteration, and adds its
/// iterations; true when a result left its width.
template <uint32_t Words>
NS_HOT bool evaluate_in_pipeline(const program_plan& plan, const step& at, uint32_t index,
                                 const word_batch& batch, step_values steps[BATCH_WORDS],
                                 uint32_t& iterations) {
  const bool is_logic = at.op >= OP_IS_NULL && ((RARE_STEPS >> at.op) & 1) == 0;
  step_operands numbers;
  numbers.start(plan, at);
  bool overflowed = false;
IN_PIPELINE:
  for (uint32_t first = 0; first < batch.words; first += Words) {
#pragma HLS PIPELINE II = 1
#pragma HLS DEPENDENCE variable = steps type = inter dependent = false
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
  SIDE_BY_SIDE:
    for (uint32_t word = first; word < first + Words; word++) {
#pragma HLS UNROLL
      if (word >= batch.words) break;
      const value_token* columns = batch.columns[word];
      if (is_logic) {
        evaluate_logic(plan, at, index, columns, steps[word]);
        continue;
      }
      numbers.fetch(at, columns, steps[word]);
      overflowed |=
          evaluate_fetched(plan, at, index, columns, batch.rows[word], numbers, steps[word]);
    }
    iterations++;
  }
  return overflowed;
}

/// Evaluates step `index` for a batch, `Words` per iteration of the pipeline, and adds its
/// iterations; true when a result left its width.
template <uint32_t Words>
inline bool evaluate_step(const program_plan& plan, uint32_t index, const word_batch& batch,
                          step_values steps[BATCH_WORDS], uint64_t& iterations) {
  const step at = plan.steps[index];
  uint32_t step_iterations = 0;
  const bool overflowed =
      ((APART_STEPS >> at.op) & 1) != 0
          ? evaluate_step_apart(plan, at, index, batch, steps, step_iterations)
          : evaluate_in_pipeline<Words>(plan, at, index, batch, steps, step_iterations);
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

}  // namespace nearscan
