// SPDX-License-Identifier: Apache-2.0
// Operands and steps of programs, for a word of eight rows.
//
// Truth values and validity are one bit a row, so that three-valued logic is bitwise.
#pragma once

#include "row_numbers.hpp"

namespace nearscan {

/// The copies of the results of steps: one for each operand of a step, since all three are read in
/// an iteration, and a memory has a port to read and one to write.
static constexpr uint32_t READ_A = 0;
static constexpr uint32_t READ_B = 1;
static constexpr uint32_t READ_C = 2;
static constexpr uint32_t STEP_COPIES = 3;

/// The results of the steps of a program for eight rows. A step has numbers or truth values, and
/// which of its rows are not null.
struct step_values {
  number_token number[STEP_COPIES][STEPS_MAX];
  uint8_t truth[STEP_COPIES][STEPS_MAX];
  uint8_t valid[STEP_COPIES][STEPS_MAX];

  void put_numbers(uint32_t step, const number_token& numbers) {
  COPY_NUMBERS:
    for (uint32_t copy = 0; copy < STEP_COPIES; copy++) {
#pragma HLS UNROLL
      number[copy][step] = numbers;
    }
  }

  void put_rows(uint32_t step, uint32_t truth_of_rows, uint32_t valid_rows) {
  COPY_ROWS:
    for (uint32_t copy = 0; copy < STEP_COPIES; copy++) {
#pragma HLS UNROLL
      truth[copy][step] = static_cast<uint8_t>(truth_of_rows);
      valid[copy][step] = static_cast<uint8_t>(valid_rows);
    }
  }
};

inline uint32_t operand_index(uint16_t operand) {
  return operand & ((1u << OPERAND_KIND_SHIFT) - 1);
}

/// Which rows of an operand are not null.
inline uint8_t fetch_valid(const operand_tables& tables, uint16_t operand, uint32_t copy,
                           const value_token columns[LANES], const step_values& steps) {
  const uint32_t index = operand_index(operand);
  switch (operand >> OPERAND_KIND_SHIFT) {
    case OPERAND_COLUMN:
      return columns[index].valid;
    case OPERAND_STEP:
      return steps.valid[copy][index];
    case OPERAND_LITERAL:
      return 0xff;
    case OPERAND_TEST:
      return columns[tables.test_column[index]].valid;
    default:
      return 0;
  }
}

/// The truth values of an operand: a step, or a string test.
inline uint8_t fetch_truth(const operand_tables& tables, uint16_t operand, uint32_t copy,
                           const value_token columns[LANES], const step_values& steps) {
  const uint32_t index = operand_index(operand);
  uint8_t truth = 0;
  switch (operand >> OPERAND_KIND_SHIFT) {
    case OPERAND_STEP:
      return steps.truth[copy][index];
    case OPERAND_TEST:
    TEST_ROWS:
      for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
        const uint16_t outcomes = columns[tables.test_column[index]].tests[row];
        const uint32_t bit = (outcomes >> tables.test_bit[index]) & 1u;
        truth = static_cast<uint8_t>(truth | (bit << row));
      }
      return truth;
    default:
      return 0;
  }
}

/// The numbers of an operand.
inline number_token fetch_numbers(const operand_tables& tables, uint16_t operand, uint32_t copy,
                                  const value_token columns[LANES], const step_values& steps) {
  const uint32_t index = operand_index(operand);
  switch (operand >> OPERAND_KIND_SHIFT) {
    case OPERAND_COLUMN:
      return columns[index].value;
    case OPERAND_STEP:
      return steps.number[copy][index];
    case OPERAND_LITERAL:
      return repeat(tables.literals[index]);
    default:
      return number_token();
  }
}

/// Operations of the pipeline that common queries lack, a bit each.
static constexpr uint64_t RARE_STEPS =
    1ull << OP_SELECT | 1ull << OP_IS_DISTINCT | 1ull << OP_IS_NOT_DISTINCT;

/// Operands of a step that are numbers, a bit each: `a`, `b`, `c`.
inline uint32_t number_operands(const step& at) {
  if (at.op >= OP_IS_NULL && at.op != OP_IS_DISTINCT && at.op != OP_IS_NOT_DISTINCT) return 0;
  if (at.op == OP_SELECT) return 6;
  if (at.op == OP_BETWEEN) return 7;
  return ((SLOW_STEPS >> at.op) & 1) != 0 ? 1 : 3;
}

inline bool is_literal(uint16_t operand) {
  return (operand >> OPERAND_KIND_SHIFT) == OPERAND_LITERAL;
}

/// The numbers that a step works on. Literals are the same for every word and are read once.
struct step_operands {
  number_token a;
  number_token b;
  number_token c;
  /// Which operands a word has to bring, a bit each.
  uint32_t moving;

  /// Reads the literals of a step.
  void start(const operand_tables& tables, const step& at) {
    moving = number_operands(at);
    if ((moving & 1) != 0 && is_literal(at.a)) hold(tables, at.a, 1, a);
    if ((moving & 2) != 0 && is_literal(at.b)) hold(tables, at.b, 2, b);
    if ((moving & 4) != 0 && is_literal(at.c)) hold(tables, at.c, 4, c);
  }

  void hold(const operand_tables& tables, uint16_t operand, uint32_t bit, number_token& number) {
    number = repeat(tables.literals[operand_index(operand)]);
    moving &= ~bit;
  }

  /// Reads what a word brings.
  void fetch(const step& at, const value_token columns[LANES], const step_values& steps) {
    if ((moving & 1) != 0) a = moving_numbers(at.a, READ_A, columns, steps);
    if ((moving & 2) != 0) b = moving_numbers(at.b, READ_B, columns, steps);
    if ((moving & 4) != 0) c = moving_numbers(at.c, READ_C, columns, steps);
  }

  /// The numbers of an operand that is no literal.
  static number_token moving_numbers(uint16_t operand, uint32_t copy,
                                     const value_token columns[LANES], const step_values& steps) {
    const uint32_t index = operand_index(operand);
    switch (operand >> OPERAND_KIND_SHIFT) {
      case OPERAND_COLUMN:
        return columns[index].value;
      case OPERAND_STEP:
        return steps.number[copy][index];
      default:
        return number_token();
    }
  }
};

/// A step on truth values, or a question after NULL: bits alone.
inline void evaluate_logic(const operand_tables& tables, const step& at, uint32_t index,
                           const value_token columns[LANES], step_values& steps) {
  const uint32_t a = fetch_truth(tables, at.a, READ_A, columns, steps);
  const uint32_t b = fetch_truth(tables, at.b, READ_B, columns, steps);
  const uint32_t a_valid = fetch_valid(tables, at.a, READ_A, columns, steps);
  const uint32_t b_valid = fetch_valid(tables, at.b, READ_B, columns, steps);
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
  steps.put_rows(index, truth, valid);
}

/// `a IS [NOT] DISTINCT FROM b`: NULL is a value like any other.
inline void evaluate_distinct(const operand_tables& tables, const step& at, uint32_t index,
                              const value_token columns[LANES], const step_operands& numbers,
                              step_values& steps) {
  const uint32_t a_valid = fetch_valid(tables, at.a, READ_A, columns, steps);
  const uint32_t b_valid = fetch_valid(tables, at.b, READ_B, columns, steps);
  const uint32_t same =
      (equal_rows(numbers.a, numbers.b) & a_valid & b_valid) | (~a_valid & ~b_valid);
  steps.put_rows(index, at.op == OP_IS_DISTINCT ? ~same : same, 0xff);
}

/// `CASE WHEN a THEN b ELSE c END`; true when a number of `rows` left the width, taken or not.
inline bool evaluate_select(const operand_tables& tables, const step& at, uint32_t index,
                            const value_token columns[LANES], uint8_t rows,
                            const step_operands& numbers, step_values& steps) {
  const number_token& b = numbers.b;
  const number_token& c = numbers.c;
  const uint32_t b_valid = fetch_valid(tables, at.b, READ_B, columns, steps);
  const uint32_t c_valid = fetch_valid(tables, at.c, READ_C, columns, steps);
  const uint32_t taken = fetch_truth(tables, at.a, READ_A, columns, steps) &
                         fetch_valid(tables, at.a, READ_A, columns, steps);
  number_token chosen;
SELECT_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    chosen.row[row] = ((taken >> row) & 1) != 0 ? b.row[row] : c.row[row];
  }
  steps.put_numbers(index, chosen);
  steps.put_rows(index, 0, (taken & b_valid) | (~taken & c_valid));
  return (((misfits(b, at.width) & b_valid) | (misfits(c, at.width) & c_valid)) & rows) != 0;
}

/// A comparison of numbers, but for IN.
inline void evaluate_comparison(const operand_tables& tables, const step& at, uint32_t index,
                                const value_token columns[LANES], const step_operands& numbers,
                                step_values& steps) {
  const uint8_t a_valid = fetch_valid(tables, at.a, READ_A, columns, steps);
  const uint8_t b_valid = a_valid & fetch_valid(tables, at.b, READ_B, columns, steps);
  uint8_t truth =
      compare_rows(at.op == OP_BETWEEN ? OP_GREATER_OR_EQUAL : at.op, numbers.a, numbers.b);
  uint8_t valid = b_valid;
  if (at.op == OP_BETWEEN) {
    const uint8_t c_valid = a_valid & fetch_valid(tables, at.c, READ_C, columns, steps);
    const uint8_t below = compare_rows(OP_LESS_OR_EQUAL, numbers.a, numbers.c);
    // FALSE wins over NULL on either side, as in a AND b.
    valid = static_cast<uint8_t>((b_valid & c_valid) | (b_valid & ~truth) | (c_valid & ~below));
    truth = truth & below & b_valid & c_valid;
  }
  steps.put_rows(index, truth & valid, valid);
}

/// A sum, a difference or a product; true when a result of `rows` left its width.
inline bool evaluate_arithmetic(const operand_tables& tables, const step& at, uint32_t index,
                                const value_token columns[LANES], uint8_t rows,
                                const step_operands& numbers, step_values& steps) {
  const uint8_t valid = fetch_valid(tables, at.a, READ_A, columns, steps) &
                        fetch_valid(tables, at.b, READ_B, columns, steps);
  number_token result;
  const uint8_t misfit = compute_rows(at, numbers.a, numbers.b, result);
  steps.put_numbers(index, result);
  steps.put_rows(index, 0, valid);
  return (misfit & valid & rows) != 0;
}

/// The operations of the pipeline that common queries lack.
NS_RARE bool evaluate_rare_step(const operand_tables& tables, const step& at, uint32_t index,
                                const value_token columns[LANES], uint8_t rows,
                                const step_operands& numbers, step_values& steps) {
  if (at.op == OP_SELECT) {
    return evaluate_select(tables, at, index, columns, rows, numbers, steps);
  }
  evaluate_distinct(tables, at, index, columns, numbers, steps);
  return false;
}

/// Evaluates step `index`, which is none of the slow ones, for a word whose numbers were fetched;
/// true when a result of `rows` left its width. A null operand overflows nothing.
NS_HOT bool evaluate_fetched(const operand_tables& tables, const step& at, uint32_t index,
                             const value_token columns[LANES], uint8_t rows,
                             const step_operands& numbers, step_values& steps) {
  if (((RARE_STEPS >> at.op) & 1) != 0) {
    return evaluate_rare_step(tables, at, index, columns, rows, numbers, steps);
  }
  if (at.op > OP_MULTIPLY) {
    evaluate_comparison(tables, at, index, columns, numbers, steps);
    return false;
  }
  return evaluate_arithmetic(tables, at, index, columns, rows, numbers, steps);
}

// The numbers of the operations are in this order: arithmetic, comparisons, then logic, among which
// are the two questions whether numbers are distinct.
static_assert(OP_ADD < OP_MULTIPLY && OP_MULTIPLY < OP_DIVIDE && OP_REMAINDER < OP_SELECT &&
                  OP_SELECT < OP_YEAR && OP_DAY < OP_EQUAL,
              "arithmetic comes first: sums and products, divisions, CASE, dates");
static_assert(OP_EQUAL < OP_IN && OP_BETWEEN < OP_IS_NULL && OP_IN < OP_IS_NULL, "then order");
static_assert(OP_IS_NULL < OP_TEST && OP_TEST < OP_AND && OP_AND < OP_NOT, "then logic");

}  // namespace nearscan
