// SPDX-License-Identifier: Apache-2.0
// Evaluates predicate and projection programs on eight rows at a time.
//
// A step is a place in space: the loop over steps is unrolled, and each step works on one row a
// cycle. Numbers are 128-bit; truth values and validity are one bit a row, so that three-valued
// logic is bitwise.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Values of one operand or step for eight rows; of a truth value only `truth` and `valid` count.
struct operand_word {
  i128 number[ROWS];
  uint8_t truth;
  uint8_t valid;
};

/// Fetches an operand.
inline void fetch_operand(const program_plan& plan, uint16_t operand,
                          const value_token columns[LANES], const operand_word steps[STEPS_MAX],
                          operand_word& out) {
  const uint16_t index = operand & ((1u << OPERAND_KIND_SHIFT) - 1);
  switch (operand >> OPERAND_KIND_SHIFT) {
    case OPERAND_COLUMN:
    COLUMN_ROWS:
      for (int row = 0; row < ROWS; row++) out.number[row] = columns[index].value[row];
      out.valid = columns[index].valid;
      out.truth = 0;
      break;
    case OPERAND_STEP:
      out = steps[index];
      break;
    case OPERAND_LITERAL:
    LITERAL_ROWS:
      for (int row = 0; row < ROWS; row++) out.number[row] = plan.literals[index];
      out.valid = 0xff;
      out.truth = 0;
      break;
    case OPERAND_TEST:
      out.truth = 0;
    TEST_ROWS:
      for (int row = 0; row < ROWS; row++) {
        const uint16_t outcomes = columns[plan.test_column[index]].tests[row];
        const uint32_t bit = (outcomes >> plan.test_bit[index]) & 1u;
        out.truth = static_cast<uint8_t>(out.truth | (bit << row));
      }
      out.valid = columns[plan.test_column[index]].valid;
      break;
    default:
      out = operand_word();
      break;
  }
}

/// One comparison of eight rows, as bits.
inline uint8_t compare_rows(uint8_t op, const operand_word& a, const operand_word& b) {
  uint8_t less = 0;
  uint8_t equal = 0;
COMPARE_ROWS:
  for (int row = 0; row < ROWS; row++) {
    less = static_cast<uint8_t>(less | ((a.number[row] < b.number[row] ? 1u : 0u) << row));
    equal = static_cast<uint8_t>(equal | ((a.number[row] == b.number[row] ? 1u : 0u) << row));
  }
  switch (op) {
    case OP_EQUAL:
      return equal;
    case OP_NOT_EQUAL:
      return static_cast<uint8_t>(~equal);
    case OP_LESS:
      return less;
    case OP_LESS_OR_EQUAL:
      return static_cast<uint8_t>(less | equal);
    case OP_GREATER:
      return static_cast<uint8_t>(~(less | equal));
    default:
      return static_cast<uint8_t>(~less);
  }
}

/// Arithmetic on eight rows. A null operand overflows nothing, nor does a row outside `rows`.
inline bool arithmetic_overflows(const step& at, const operand_word& a, const operand_word& b,
                                 uint8_t rows, operand_word& out) {
  uint8_t overflowed = 0;
ARITHMETIC_ROWS:
  for (int row = 0; row < ROWS; row++) {
    i128 result = 0;
    bool too_large;
    switch (at.op) {
      case OP_ADD:
        too_large = add_overflows(a.number[row], b.number[row], &result);
        break;
      case OP_SUBTRACT:
        too_large = subtract_overflows(a.number[row], b.number[row], &result);
        break;
      default:
        too_large = multiply_overflows(a.number[row], b.number[row], &result);
        break;
    }
    too_large = too_large || !fits_width(result, at.width);
    out.number[row] = result;
    overflowed = static_cast<uint8_t>(overflowed | ((too_large ? 1u : 0u) << row));
  }
  out.valid = a.valid & b.valid;
  out.truth = 0;
  return (overflowed & out.valid & rows) != 0;
}

/// `a IN (literals first ..= last)`.
inline uint8_t in_literals(const program_plan& plan, const operand_word& a, uint32_t first,
                           uint32_t last) {
  uint8_t found = 0;
IN_LITERALS:
  for (uint32_t literal = first; literal <= last; literal++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1024
  IN_ROWS:
    for (int row = 0; row < ROWS; row++) {
      const bool equal = a.number[row] == plan.literals[literal];
      found = static_cast<uint8_t>(found | ((equal ? 1u : 0u) << row));
    }
  }
  return found;
}

/// Evaluates step `index`; true when a result of `rows` left its width.
inline bool evaluate_step(const program_plan& plan, uint32_t index,
                          const value_token columns[LANES], uint8_t rows,
                          operand_word steps[STEPS_MAX]) {
  const step& at = plan.steps[index];
  operand_word& out = steps[index];
  operand_word a;
  operand_word b;
  operand_word c;
  fetch_operand(plan, at.a, columns, steps, a);
  b.truth = b.valid = 0;
  if (at.b != NONE && at.op != OP_IN) fetch_operand(plan, at.b, columns, steps, b);
  switch (at.op) {
    case OP_ADD:
    case OP_SUBTRACT:
    case OP_MULTIPLY:
      return arithmetic_overflows(at, a, b, rows, out);
    case OP_BETWEEN: {
      fetch_operand(plan, at.c, columns, steps, c);
      // FALSE wins over NULL on either side, as in a AND b.
      const uint8_t low = compare_rows(OP_GREATER_OR_EQUAL, a, b);
      const uint8_t high = compare_rows(OP_LESS_OR_EQUAL, a, c);
      const uint8_t low_valid = a.valid & b.valid;
      const uint8_t high_valid = a.valid & c.valid;
      out.truth = low & high & low_valid & high_valid;
      out.valid = static_cast<uint8_t>((low_valid & high_valid) | (low_valid & ~low) |
                                       (high_valid & ~high));
      return false;
    }
    case OP_IN:
      out.truth = in_literals(plan, a, at.b & ((1u << OPERAND_KIND_SHIFT) - 1),
                              at.c & ((1u << OPERAND_KIND_SHIFT) - 1)) &
                  a.valid;
      out.valid = a.valid;
      return false;
    case OP_IS_NULL:
      out.truth = static_cast<uint8_t>(~a.valid);
      out.valid = 0xff;
      return false;
    case OP_IS_NOT_NULL:
      out.truth = a.valid;
      out.valid = 0xff;
      return false;
    case OP_TEST:
      out.truth = a.truth & a.valid;
      out.valid = a.valid;
      return false;
    case OP_AND:
      out.truth = a.truth & b.truth & a.valid & b.valid;
      out.valid =
          static_cast<uint8_t>((a.valid & b.valid) | (a.valid & ~a.truth) | (b.valid & ~b.truth));
      return false;
    case OP_OR:
      out.truth = static_cast<uint8_t>((a.truth & a.valid) | (b.truth & b.valid));
      out.valid = static_cast<uint8_t>((a.valid & b.valid) | out.truth);
      return false;
    case OP_NOT:
      out.truth = static_cast<uint8_t>(~a.truth & a.valid);
      out.valid = a.valid;
      return false;
    default:
      out.valid = a.valid & b.valid;
      out.truth = compare_rows(at.op, a, b) & out.valid;
      return false;
  }
}

/// Evaluates a whole program; true when a result of `rows` left its width.
inline bool evaluate_program(const program_plan& plan, const value_token columns[LANES],
                             uint8_t rows, operand_word steps[STEPS_MAX]) {
  bool overflowed = false;
STEPS:
  for (uint32_t index = 0; index < STEPS_MAX; index++) {
#pragma HLS UNROLL
    if (index < plan.step_count) {
      overflowed = evaluate_step(plan, index, columns, rows, steps) || overflowed;
    }
  }
  return overflowed;
}

inline uint8_t row_mask(uint32_t count) { return static_cast<uint8_t>((1u << count) - 1u); }

inline uint32_t count_bits(uint8_t mask) {
  uint32_t count = 0;
BITS:
  for (int bit = 0; bit < 8; bit++) {
#pragma HLS UNROLL
    count += (mask >> bit) & 1u;
  }
  return count;
}

}  // namespace nearscan
