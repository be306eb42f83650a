// SPDX-License-Identifier: Apache-2.0
// Loads programs with their literals, and checks that every operand exists and is of the right
// kind.
#pragma once

#include "../common/sections.hpp"
#include "plan.hpp"

namespace nearscan {

/// The objects that programs may refer to.
struct program_scope {
  uint32_t column_count;
  uint8_t column_kind[LANES];
  /// Bytes of the dictionary page, or what there is room for.
  uint64_t dictionary_bytes[LANES];
  /// Columns whose dictionary a loader may load, a bit each.
  uint32_t may_be_loaded;
  /// Columns of which all pages have indexes, a bit each, and the most entries that a dictionary
  /// may have then.
  uint32_t has_indexes;
  uint64_t entries_max[LANES];
  uint32_t literal_count;
  uint32_t test_count;
};

// Kinds of an operand's value.
static constexpr uint8_t IS_NUMBER = 1;
static constexpr uint8_t IS_TRUTH = 2;
static constexpr uint8_t IS_BYTES = 4;
static constexpr uint8_t IS_TEST = 8;
static constexpr uint8_t IS_ANY = 7;

/// Kind of an operand; 0 when it does not exist. NULL is of every kind.
inline uint8_t operand_kind(const program_scope& scope, const uint8_t step_kind[STEPS_MAX],
                            uint32_t step_count, uint16_t operand) {
  if (operand == NONE) return 0;
  const uint32_t index = operand & ((1u << OPERAND_KIND_SHIFT) - 1);
  switch (operand >> OPERAND_KIND_SHIFT) {
    case OPERAND_COLUMN:
      if (index >= scope.column_count) return 0;
      return scope.column_kind[index] == KIND_BYTES ? IS_BYTES : IS_NUMBER;
    case OPERAND_STEP:
      return index < step_count ? step_kind[index] : 0;
    case OPERAND_LITERAL:
      return index < scope.literal_count ? IS_NUMBER : 0;
    case OPERAND_TEST:
      return index < scope.test_count ? IS_TEST : 0;
    case OPERAND_NULL:
      return index == 0 ? IS_ANY : 0;
    default:
      return 0;
  }
}

inline bool is_numeric_width(uint8_t width) {
  return width == WIDTH_W32 || width == WIDTH_W64 || width == WIDTH_W128;
}

/// Whether a step of that width is a number.
inline uint8_t number_kind(bool right, uint8_t width) {
  return right && is_numeric_width(width) ? IS_NUMBER : 0;
}

/// Whether an operand is a literal that a divider takes: not 0.
inline bool is_divisor(const program_plan& program, uint16_t operand, uint8_t kind) {
  if (kind != IS_NUMBER || (operand >> OPERAND_KIND_SHIFT) != OPERAND_LITERAL) return false;
  return program.tables.literals[operand & ((1u << OPERAND_KIND_SHIFT) - 1)] != 0;
}

/// Checks one step; gives the kind of its value, 0 when it is wrong.
inline uint8_t check_step(const program_plan& program, const step& at, uint8_t a, uint8_t b,
                          uint8_t c) {
  const bool no_b = at.b == NONE;
  const bool no_c = at.c == NONE;
  bool right = false;
  switch (at.op) {
    case OP_ADD:
    case OP_SUBTRACT:
    case OP_MULTIPLY:
      return number_kind((a & IS_NUMBER) && (b & IS_NUMBER) && no_c, at.width);
    case OP_DIVIDE:
    case OP_DIVIDE_ROUND:
    case OP_DIVIDE_FLOOR:
    case OP_REMAINDER:
      return number_kind((a & IS_NUMBER) && is_divisor(program, at.b, b) && no_c, at.width);
    case OP_SELECT:
      return number_kind((a & IS_TRUTH) && (b & IS_NUMBER) && (c & IS_NUMBER), at.width);
    case OP_YEAR:
    case OP_MONTH:
    case OP_DAY:
      return number_kind((a & IS_NUMBER) && no_b && no_c, at.width);
    case OP_IS_DISTINCT:
    case OP_IS_NOT_DISTINCT:
      right = (a & IS_NUMBER) && (b & IS_NUMBER) && no_c;
      break;
    case OP_BETWEEN:
      right = (a & IS_NUMBER) && (b & IS_NUMBER) && (c & IS_NUMBER);
      break;
    case OP_IN:
      right = (a & IS_NUMBER) && b == IS_NUMBER && c == IS_NUMBER &&
              (at.b >> OPERAND_KIND_SHIFT) == OPERAND_LITERAL &&
              (at.c >> OPERAND_KIND_SHIFT) == OPERAND_LITERAL && at.b <= at.c;
      break;
    case OP_IS_NULL:
    case OP_IS_NOT_NULL:
      right = (a & IS_ANY) && no_b && no_c;
      break;
    case OP_TEST:
      right = a == IS_TEST && no_b && no_c;
      break;
    case OP_AND:
    case OP_OR:
      right = (a & IS_TRUTH) && (b & IS_TRUTH) && no_c;
      break;
    case OP_NOT:
      right = (a & IS_TRUTH) && no_b && no_c;
      break;
    default:
      right = at.op >= OP_EQUAL && at.op <= OP_GREATER_OR_EQUAL && (a & IS_NUMBER) &&
              (b & IS_NUMBER) && no_c;
      break;
  }
  return right && at.width == WIDTH_BOOL ? IS_TRUTH : 0;
}

/// Loads and checks a program; fills the kinds of its steps, and tells whether some are slow ones.
inline uint32_t load_program(const uint64_t* words, const section_range& range,
                             const program_scope& scope, program_plan& program,
                             uint8_t step_kind[STEPS_MAX], bool& has_slow_steps) {
  program.step_count = range.count;
  has_slow_steps = false;
STEPS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 32
    const step_record record = load_step_record(words, range.offset + index * STEP_RECORD_BYTES);
    step at = {record.op, record.width, record.a, record.b, record.c};
    const uint8_t a = operand_kind(scope, step_kind, index, at.a);
    const uint8_t b = operand_kind(scope, step_kind, index, at.b);
    const uint8_t c = operand_kind(scope, step_kind, index, at.c);
    step_kind[index] = check_step(program, at, a, b, c);
    if (step_kind[index] == 0) return STATUS_MALFORMED;
    program.steps[index] = at;
    has_slow_steps = has_slow_steps || ((SLOW_STEPS >> at.op) & 1) != 0;
  }
  return STATUS_OK;
}

/// Loads the literals; false when some have more than 64 bits, as no operand has. These are 0, so
/// that nothing is divided by one.
inline bool load_literals(const uint64_t* words, const section_range& range, scan_plan& plan) {
  bool all_fit = true;
LITERALS:
  for (uint32_t index = 0; index < range.count; index++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1024
    const literal_record record =
        load_literal_record(words, range.offset + index * LITERAL_RECORD_BYTES);
    const bool fits = fits_64(make_i128(record.low, record.high));
    const int64_t literal = fits ? static_cast<int64_t>(record.low) : 0;
    // Each stage has its own.
    plan.predicate.tables.literals[index] = literal;
    plan.predicate_slow.literals[index] = literal;
    plan.projection.tables.literals[index] = literal;
    plan.projection_slow.literals[index] = literal;
    plan.columns.tables.literals[index] = literal;
    all_fit = all_fit && fits;
  }
  return all_fit;
}

}  // namespace nearscan
