// SPDX-License-Identifier: Apache-2.0
// Evaluates predicate and projection programs.
//
// All steps share one arithmetic unit. A batch of words is evaluated step by step, and within a
// step one or two words per iteration: none waits for the one before, since the first result of a
// step is needed no sooner than the next step begins. Divisions, dates and IN are done by a process
// of their own, one word after the other: see slow_unit.hpp.
#pragma once

#include "batch.hpp"
#include "slow_unit.hpp"

namespace nearscan {

/// The streams to the slow unit and back.
struct slow_unit {
  slow_stream& words;
  step_result_stream& results;

  slow_unit(slow_stream& words_out, step_result_stream& results_in)
      : words(words_out), results(results_in) {}

  /// Ends the unit.
  void end() {
    slow_word nothing = slow_word();
    nothing.last = true;
    words.write(nothing);
  }
};

/// Evaluates step `index`, a slow one, for a batch, and adds its iterations; true when a
/// result left its width. Words are asked for ahead of their results.
NS_RARE bool evaluate_slow_step(const operand_tables& tables, const step& at, uint32_t index,
                                const value_token columns[BATCH_WORDS][LANES],
                                const batch_token& batch, slow_unit& unit,
                                step_values steps[BATCH_WORDS], uint32_t& iterations) {
  bool overflowed = false;
  uint32_t asked = 0;
  uint32_t done = 0;
SLOW_WORDS:
  while (done < batch.words) {
// A result may only be waited for behind the word that asks for it, which the tool cannot see.
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 32
    if (asked < batch.words && (asked == done || !unit.words.full())) {
      slow_word word;
      word.number = fetch_numbers(tables, at.a, READ_A, columns[asked], steps[asked]);
      word.first = static_cast<uint16_t>(operand_index(at.b));
      word.last_literal = static_cast<uint16_t>(operand_index(at.c));
      word.op = at.op;
      word.width = at.width;
      word.last = false;
      unit.words.write(word);
      asked++;
      continue;
    }
    const result_of_step result = unit.results.read();
    const uint8_t valid = fetch_valid(tables, at.a, READ_A, columns[done], steps[done]);
    steps[done].put_numbers(index, result.number);
    steps[done].put_rows(index, result.truth & valid, valid);
    overflowed |= (result.misfit & valid & batch.rows[done]) != 0;
    iterations += slow_iterations(at);
    done++;
  }
  return overflowed;
}

/// Evaluates step `index` in the pipeline for a batch, `Words` per iteration, and adds its
/// iterations; true when a result left its width.
template <uint32_t Words>
NS_HOT bool evaluate_in_pipeline(const operand_tables& tables, const step& at, uint32_t index,
                                 const value_token columns[BATCH_WORDS][LANES],
                                 const batch_token& batch, step_values steps[BATCH_WORDS],
                                 uint32_t& iterations) {
#pragma HLS ARRAY_PARTITION variable = columns dim = 2 complete
  const bool is_logic = at.op >= OP_IS_NULL && ((RARE_STEPS >> at.op) & 1) == 0;
  step_operands numbers;
  numbers.start(tables, at);
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
      if (is_logic) {
        evaluate_logic(tables, at, index, columns[word], steps[word]);
        continue;
      }
      numbers.fetch(at, columns[word], steps[word]);
      overflowed |= evaluate_fetched(tables, at, index, columns[word], batch.rows[word], numbers,
                                     steps[word]);
    }
    iterations++;
  }
  return overflowed;
}

/// Evaluates a whole program for a batch, `Words` per iteration of the pipeline, and adds its
/// iterations; true when a result left its width.
template <uint32_t Words>
inline bool evaluate_program(const program_plan& plan,
                             const value_token columns[BATCH_WORDS][LANES],
                             const batch_token& batch, slow_unit& unit,
                             step_values steps[BATCH_WORDS], uint64_t& iterations) {
  bool overflowed = false;
STEPS:
  for (uint32_t index = 0; index < plan.step_count && batch.words != 0; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 32
    const step at = plan.steps[index];
    const bool is_slow = ((SLOW_STEPS >> at.op) & 1) != 0;
    uint32_t step_iterations = 0;
    const bool beyond = is_slow ? evaluate_slow_step(plan.tables, at, index, columns, batch, unit,
                                                     steps, step_iterations)
                                : evaluate_in_pipeline<Words>(plan.tables, at, index, columns,
                                                              batch, steps, step_iterations);
    overflowed = overflowed || beyond;
    const uint32_t depth = at.op == OP_MULTIPLY ? MULTIPLY_DEPTH : STEP_DEPTH;
    iterations += max_u64(step_iterations, depth);
  }
  return overflowed;
}

}  // namespace nearscan
