// SPDX-License-Identifier: Apache-2.0
// Operands and steps of programs, for a word of eight rows.
//
// Truth values and validity are one bit a row, so that three-valued logic is bitwise.
#pragma once

#include "number_word.hpp"

namespace nearscan {

/// The results of the steps of a program for eight rows. A step has numbers or truth values, and
/// which of its rows are not null.
struct step_values {
  number_word number[STEPS_MAX];
  uint8_t truth[STEPS_MAX];
  uint8_t valid[STEPS_MAX];
};

inline uint32_t operand_index(uint16_t operand) {
  return operand & ((1u << OPERAND_KIND_SHIFT) - 1);
}

/// Which rows of an operand are not null.
inline uint8_t fetch_valid(const program_plan& plan, uint16_t operand,
                           const value_token columns[LANES], const step_values& steps) {
  const uint32_t index = operand_index(operand);
  switch (operand >> OPERAND_KIND_SHIFT) {
    case OPERAND_COLUMN:
      return columns[index].valid;
    case OPERAND_STEP:
      return steps.valid[index];
    case OPERAND_LITERAL:
      return 0xff;
    case OPERAND_TEST:
      return columns[plan.test_column[index]].valid;
    default:
      return 0;
  }
}

/// The truth values of an operand: a step, or a string test.
inline uint8_t fetch_truth(const program_plan& plan, uint16_t operand,
                           const value_token columns[LANES], const step_values& steps) {
  const uint32_t index = operand_index(operand);
  uint8_t truth = 0;
  switch (operand >> OPERAND_KIND_SHIFT) {
    case OPERAND_STEP:
      return steps.truth[index];
    case OPERAND_TEST:
    TEST_ROWS:
      for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
        const uint16_t outcomes = columns[plan.test_column[index]].tests[row];
        const uint32_t bit = (outcomes >> plan.test_bit[index]) & 1u;
        truth = static_cast<uint8_t>(truth | (bit << row));
      }
      return truth;
    default:
      return 0;
  }
}

/// Whether a column whose 64 bits are numbers without a sign has some that need the bit.
NS_RARE bool needs_sign_bit(const half_token& value) {
  int64_t signs = 0;
SIGNS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    signs |= value.row[row];
  }
  return signs < 0;
}

/// Whether the numbers of an operand are wide.
inline bool is_wide(const program_plan& plan, uint16_t operand, const value_token columns[LANES],
                    const step_values& steps) {
  const uint32_t index = operand_index(operand);
  switch (operand >> OPERAND_KIND_SHIFT) {
    case OPERAND_COLUMN:
      return ((plan.unsigned_columns >> index) & 1) != 0 && needs_sign_bit(columns[index].value);
    case OPERAND_STEP:
      return steps.number[index].wide;
    case OPERAND_LITERAL:
      return !fits_64(plan.literals[index]);
    default:
      return false;
  }
}

/// The numbers of an operand.
inline void fetch_numbers(const program_plan& plan, uint16_t operand,
                          const value_token columns[LANES], const step_values& steps,
                          number_word& out) {
  const uint32_t index = operand_index(operand);
  switch (operand >> OPERAND_KIND_SHIFT) {
    case OPERAND_COLUMN:
      out.low = columns[index].value;
      out.wide = is_wide(plan, operand, columns, steps);
      // Only numbers without a sign are wide.
      if (out.wide) out.high = half_token();
      break;
    case OPERAND_STEP:
      out.copy(steps.number[index]);
      break;
    case OPERAND_LITERAL:
      out.fill(plan.literals[index]);
      break;
    default:
      out.fill(0);
      break;
  }
}

/// Sends the numbers of an operand as they are.
inline void send_operand(const program_plan& plan, uint16_t operand,
                         const value_token columns[LANES], const step_values& steps,
                         half_stream& out) {
  const uint32_t index = operand_index(operand);
  switch (operand >> OPERAND_KIND_SHIFT) {
    case OPERAND_COLUMN:
      out.write(columns[index].value);
      // Only numbers without a sign are wide.
      if (is_wide(plan, operand, columns, steps)) out.write(half_token());
      break;
    case OPERAND_STEP:
      send_numbers(steps.number[index], out);
      break;
    default:
      number_word number;
      fetch_numbers(plan, operand, columns, steps, number);
      send_numbers(number, out);
      break;
  }
}

/// Operations that are not in the pipeline of the arithmetic unit, a bit each.
static constexpr uint64_t APART_STEPS =
    1ull << OP_DIVIDE | 1ull << OP_DIVIDE_ROUND | 1ull << OP_DIVIDE_FLOOR | 1ull << OP_REMAINDER |
    1ull << OP_YEAR | 1ull << OP_MONTH | 1ull << OP_DAY | 1ull << OP_IN;

/// Operations that common queries lack, a bit each.
static constexpr uint64_t RARE_STEPS =
    1ull << OP_DIVIDE | 1ull << OP_DIVIDE_ROUND | 1ull << OP_DIVIDE_FLOOR | 1ull << OP_REMAINDER |
    1ull << OP_SELECT | 1ull << OP_YEAR | 1ull << OP_MONTH | 1ull << OP_DAY |
    1ull << OP_IS_DISTINCT | 1ull << OP_IS_NOT_DISTINCT;

/// Operands of a step that are numbers, a bit each: `a`, `b`, `c`.
inline uint32_t number_operands(const step& at) {
  if (at.op >= OP_IS_NULL && at.op != OP_IS_DISTINCT && at.op != OP_IS_NOT_DISTINCT) return 0;
  if (at.op == OP_SELECT) return 6;
  if (at.op == OP_BETWEEN) return 7;
  return ((APART_STEPS >> at.op) & 1) != 0 ? 1 : 3;
}

inline bool is_literal(uint16_t operand) {
  return (operand >> OPERAND_KIND_SHIFT) == OPERAND_LITERAL;
}

/// The numbers that a step works on. Literals are the same for every word and are read once.
struct step_operands {
  number_word a;
  number_word b;
  number_word c;
  /// Which operands a word has to bring, a bit each.
  uint32_t moving;

  /// Reads the literals of a step.
  void start(const program_plan& plan, const step& at) {
    moving = number_operands(at);
    if ((moving & 1) != 0 && is_literal(at.a)) hold(plan, at.a, 1, a);
    if ((moving & 2) != 0 && is_literal(at.b)) hold(plan, at.b, 2, b);
    if ((moving & 4) != 0 && is_literal(at.c)) hold(plan, at.c, 4, c);
  }

  void hold(const program_plan& plan, uint16_t operand, uint32_t bit, number_word& number) {
    number.fill(plan.literals[operand_index(operand)]);
    moving &= ~bit;
  }

  /// Reads what a word brings.
  void fetch(const program_plan& plan, const step& at, const value_token columns[LANES],
             const step_values& steps) {
    if ((moving & 1) != 0) fetch_numbers(plan, at.a, columns, steps, a);
    if ((moving & 2) != 0) fetch_numbers(plan, at.b, columns, steps, b);
    if ((moving & 4) != 0) fetch_numbers(plan, at.c, columns, steps, c);
  }
};

/// `a IN (literals first ..= last)`.
inline uint8_t in_literals(const program_plan& plan, const number_word& a, uint32_t first,
                           uint32_t last) {
  uint32_t found = 0;
IN_LITERALS:
  for (uint32_t literal = first; literal <= last; literal++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1024
  IN_ROWS:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      found |= static_cast<uint32_t>(a.at(row) == plan.literals[literal]) << row;
    }
  }
  return static_cast<uint8_t>(found);
}

/// A step on truth values, or a question after NULL: bits alone.
inline void evaluate_logic(const program_plan& plan, const step& at, uint32_t index,
                           const value_token columns[LANES], step_values& steps) {
  const uint32_t a = fetch_truth(plan, at.a, columns, steps);
  const uint32_t b = fetch_truth(plan, at.b, columns, steps);
  const uint32_t a_valid = fetch_valid(plan, at.a, columns, steps);
  const uint32_t b_valid = fetch_valid(plan, at.b, columns, steps);
  uint32_t truth = 0;
  uint32_t valid = a_valid;
  switch (at.op) {
    case OP_IS_NULL:
      truth = ~a_valid;
      valid = 0xff;
      break;
    case OP_IS_NOT_NULL:
      truth = a_valid;
      valid = 0xff;
      break;
    case OP_AND:
      truth = a & b & a_valid & b_valid;
      valid = (a_valid & b_valid) | (a_valid & ~a) | (b_valid & ~b);
      break;
    case OP_OR:
      truth = (a & a_valid) | (b & b_valid);
      valid = (a_valid & b_valid) | truth;
      break;
    case OP_NOT:
      truth = ~a & a_valid;
      break;
    default:
      // A string test.
      truth = a & a_valid;
      break;
  }
  steps.truth[index] = static_cast<uint8_t>(truth);
  steps.valid[index] = static_cast<uint8_t>(valid);
}

/// `a IS [NOT] DISTINCT FROM b`: NULL is a value like any other.
inline void evaluate_distinct(const program_plan& plan, const step& at, uint32_t index,
                              const value_token columns[LANES], const step_operands& numbers,
                              step_values& steps) {
  const uint32_t a_valid = fetch_valid(plan, at.a, columns, steps);
  const uint32_t b_valid = fetch_valid(plan, at.b, columns, steps);
  const uint32_t same =
      (equal_rows(numbers.a, numbers.b) & a_valid & b_valid) | (~a_valid & ~b_valid);
  steps.truth[index] = static_cast<uint8_t>(at.op == OP_IS_DISTINCT ? ~same : same);
  steps.valid[index] = 0xff;
}

/// `CASE WHEN a THEN b ELSE c END`; true when a number of `rows` left the width, taken or not.
inline bool evaluate_select(const program_plan& plan, const step& at, uint32_t index,
                            const value_token columns[LANES], uint8_t rows,
                            const step_operands& numbers, step_values& steps) {
  const number_word& b = numbers.b;
  const number_word& c = numbers.c;
  const uint32_t b_valid = fetch_valid(plan, at.b, columns, steps);
  const uint32_t c_valid = fetch_valid(plan, at.c, columns, steps);
  const uint32_t taken =
      fetch_truth(plan, at.a, columns, steps) & fetch_valid(plan, at.a, columns, steps);
SELECT_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    steps.number[index].set(row, ((taken >> row) & 1) != 0 ? b.at(row) : c.at(row));
  }
  steps.number[index].settle();
  steps.truth[index] = 0;
  steps.valid[index] = static_cast<uint8_t>((taken & b_valid) | (~taken & c_valid));
  return (((misfits(b, at.width) & b_valid) | (misfits(c, at.width) & c_valid)) & rows) != 0;
}

/// A comparison of numbers.
inline void evaluate_comparison(const program_plan& plan, const step& at, uint32_t index,
                                const value_token columns[LANES], const step_operands& numbers,
                                step_values& steps) {
  const number_word& a = numbers.a;
  const uint8_t a_valid = fetch_valid(plan, at.a, columns, steps);
  uint8_t truth;
  uint8_t valid = a_valid;
  if (at.op == OP_IN) {
    truth = in_literals(plan, a, operand_index(at.b), operand_index(at.c));
  } else {
    const uint8_t b_valid = a_valid & fetch_valid(plan, at.b, columns, steps);
    truth = compare_rows(at.op == OP_BETWEEN ? OP_GREATER_OR_EQUAL : at.op, a, numbers.b);
    valid = b_valid;
    if (at.op == OP_BETWEEN) {
      const uint8_t c_valid = a_valid & fetch_valid(plan, at.c, columns, steps);
      const uint8_t below = compare_rows(OP_LESS_OR_EQUAL, a, numbers.c);
      // FALSE wins over NULL on either side, as in a AND b.
      valid = static_cast<uint8_t>((b_valid & c_valid) | (b_valid & ~truth) | (c_valid & ~below));
      truth = truth & below & b_valid & c_valid;
    }
  }
  steps.truth[index] = truth & valid;
  steps.valid[index] = valid;
}

/// A quotient, or a part of a date; true when a result of `rows` left its width.
inline bool evaluate_part(const program_plan& plan, const step& at, uint32_t index,
                          const value_token columns[LANES], uint8_t rows,
                          const step_operands& numbers, step_values& steps) {
  const uint8_t valid = fetch_valid(plan, at.a, columns, steps);
  uint8_t misfit;
  if (at.op > OP_SELECT) {
    misfit = date_rows(at, numbers.a, steps.number[index]);
  } else {
    const int64_t divisor = static_cast<int64_t>(plan.literals[operand_index(at.b)]);
    misfit = divide_rows(at, numbers.a, divisor, steps.number[index]);
  }
  steps.truth[index] = 0;
  steps.valid[index] = valid;
  return (misfit & valid & rows) != 0;
}

/// A step that is none of the common ones; true when a result of `rows` left its width.
NS_RARE bool evaluate_rare_step(const program_plan& plan, const step& at, uint32_t index,
                                const value_token columns[LANES], uint8_t rows,
                                const step_operands& numbers, step_values& steps) {
  switch (at.op) {
    case OP_SELECT:
      return evaluate_select(plan, at, index, columns, rows, numbers, steps);
    case OP_IS_DISTINCT:
    case OP_IS_NOT_DISTINCT:
      evaluate_distinct(plan, at, index, columns, numbers, steps);
      return false;
    default:
      return evaluate_part(plan, at, index, columns, rows, numbers, steps);
  }
}

/// Evaluates step `index` for a word whose numbers were fetched; true when a result of `rows` left
/// its width. A null operand overflows nothing.
NS_HOT bool evaluate_fetched(const program_plan& plan, const step& at, uint32_t index,
                             const value_token columns[LANES], uint8_t rows,
                             const step_operands& numbers, step_values& steps) {
  if (((RARE_STEPS >> at.op) & 1) != 0) {
    return evaluate_rare_step(plan, at, index, columns, rows, numbers, steps);
  }
  if (at.op > OP_MULTIPLY) {
    evaluate_comparison(plan, at, index, columns, numbers, steps);
    return false;
  }
  const uint8_t valid =
      fetch_valid(plan, at.a, columns, steps) & fetch_valid(plan, at.b, columns, steps);
  steps.truth[index] = 0;
  steps.valid[index] = valid;
  return (compute_rows(at, numbers.a, numbers.b, steps.number[index]) & valid & rows) != 0;
}

// The numbers of the operations are in this order: arithmetic, comparisons, then logic, among which
// are the two questions whether numbers are distinct.
static_assert(OP_ADD < OP_MULTIPLY && OP_MULTIPLY < OP_DIVIDE && OP_REMAINDER < OP_SELECT &&
                  OP_SELECT < OP_YEAR && OP_DAY < OP_EQUAL,
              "arithmetic comes first: sums and products, divisions, CASE, dates");
static_assert(OP_EQUAL < OP_IN && OP_BETWEEN < OP_IS_NULL && OP_IN < OP_IS_NULL, "then order");
static_assert(OP_IS_NULL < OP_TEST && OP_TEST < OP_AND && OP_AND < OP_NOT, "then logic");

}  // namespace nearscan
