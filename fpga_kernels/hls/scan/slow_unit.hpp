// SPDX-License-Identifier: Apache-2.0
// The slow unit: divisions, parts of dates and IN, which are not in the arithmetic pipeline.
//
// Each program has one, a process of its own that is asked for the words of a batch one after the
// other, and gives their results in that order. It ends at once if the program has no such steps.
#pragma once

#include "steps.hpp"

namespace nearscan {

/// A word of a slow step: its numbers, and the literals that it names.
struct slow_word {
  number_token number;
  uint16_t first;
  uint16_t last_literal;
  uint8_t op;
  uint8_t width;
  bool last;
};

/// Its result: numbers or truth values, and the rows that do not fit the width.
struct result_of_step {
  number_token number;
  uint8_t truth;
  uint8_t misfit;
};

typedef hls::stream<slow_word, 4> slow_stream;
typedef hls::stream<result_of_step, 4> step_result_stream;

/// Iterations of a division: eight dividers side by side, each makes one bit per iteration.
static constexpr uint32_t DIVIDE_ITERATIONS = 64;

/// Iterations of a word in the slow unit.
inline uint32_t slow_iterations(const step& at) {
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

/// `a IN (literals first ..= last)`.
inline uint8_t in_literals(const int64_t literals[LITERALS_MAX], const number_token& a,
                           uint32_t first, uint32_t last) {
  uint32_t found = 0;
IN_LITERALS:
  for (uint32_t literal = first; literal <= last; literal++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1024
    found |= equal_rows(a, repeat(literals[literal]));
  }
  return static_cast<uint8_t>(found);
}

/// Process: words of slow steps in, their results out.
inline void compute_slow_steps(const slow_plan& plan, slow_stream& words,
                               step_result_stream& results) {
  if (!plan.active) return;
SLOW_STEPS_OF_PROGRAM:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777216
    slow_word word;
    words.read(word);
    if (word.last) break;
    const step at = {word.op, word.width, NONE, NONE, NONE};
    result_of_step result = result_of_step();
    if (word.op == OP_IN) {
      result.truth = in_literals(plan.literals, word.number, word.first, word.last_literal);
    } else if (word.op > OP_SELECT) {
      result.misfit = date_rows(at, word.number, result.number);
    } else {
      result.misfit = divide_rows(at, word.number, plan.literals[word.first], result.number);
    }
    results.write(result);
  }
}

}  // namespace nearscan
