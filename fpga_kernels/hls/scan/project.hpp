// SPDX-License-Identifier: Apache-2.0
// Computes the output columns (or the operands of the aggregate slots) of the kept rows, and leaves
// out those that cannot be among the first when only these are wanted.
#pragma once

#include "top.hpp"

namespace nearscan {

/// The numbers of an output column: codes of a key, truth values, or numbers as they are.
inline void project_numbers(const project_plan& plan, const output_plan& column,
                            const value_token columns[LANES], const step_values& steps,
                            number_word& out) {
  if (column.is_key && !column.is_range) {
  CODES:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      out.set_narrow(row, columns[column.lane].code[row]);
    }
  } else if (column.width == WIDTH_BOOL) {
    const uint32_t truth = fetch_truth(plan.program, column.operand, columns, steps);
  TRUTH:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      out.set_narrow(row, (truth >> row) & 1);
    }
  } else {
    // COUNT asks which rows have a value, not for the value, which may be none.
    const uint16_t operand = column.counts ? operand_of_null() : column.operand;
    fetch_numbers(plan.program, operand, columns, steps, out);
  }
}

/// Which of the kept rows an output column is about.
inline uint8_t used_rows(const project_plan& plan, const output_plan& column, uint8_t keep,
                         const value_token columns[LANES], const step_values& steps) {
  if (column.filter == NONE) return keep;
  return keep & fetch_truth(plan.program, column.filter, columns, steps) &
         fetch_valid(plan.program, column.filter, columns, steps);
}

/// The place of each row in the range of a key: 0 for null, else one more than the distance from
/// the first number. Gives the rows that are outside of it; their place is 0 too.
NS_RARE uint8_t place_in_range(const output_plan& column, uint8_t valid, number_word& number) {
  uint32_t outside = 0;
PLACES:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    i128 distance;
    const bool too_far = subtract_overflows(number.at(row), column.first, &distance);
    const bool inside = !too_far && distance >= 0 && distance < static_cast<i128>(column.count);
    const bool is_null = ((valid >> row) & 1) == 0;
    outside |= static_cast<uint32_t>(!inside && !is_null) << row;
    number.set_narrow(row, inside && !is_null ? static_cast<int64_t>(distance) + 1 : 0);
  }
  return static_cast<uint8_t>(outside);
}

/// What the stage has found wrong.
struct project_faults {
  bool overflowed;
  /// A kept row has a key outside of its range.
  bool outside;
};

/// One output column of a word.
inline number_token project_column(const project_plan& plan, const output_plan& column,
                                   uint8_t keep, const value_token columns[LANES],
                                   const step_values& steps, project_faults& faults) {
  number_token token;
  project_numbers(plan, column, columns, steps, token.number);
  const uint8_t use = used_rows(plan, column, keep, columns, steps);
  uint8_t valid = 0xff;
  if (!column.is_key) {
    valid = fetch_valid(plan.program, column.operand, columns, steps);
  } else if (column.is_range) {
    const uint8_t not_null = fetch_valid(plan.program, column.operand, columns, steps);
    if ((place_in_range(column, not_null, token.number) & keep) != 0) faults.outside = true;
  }
  // A slot's state is checked at the end. What is wider than 128 bits has been found before.
  if (column.function == 0 && column.width != WIDTH_W128 &&
      (misfits(token.number, column.width) & use & valid) != 0) {
    faults.overflowed = true;
  }
  token.flags = number_flags(valid, use);
  return token;
}

/// Stage: kept rows in, their output columns out.
inline void project(const project_plan& plan, keep_stream& kept_in, value_stream forwarded[LANES],
                    report_stream& reports_in, keep_stream& kept_out, number_stream numbers[SLOTS],
                    report_stream& reports_out) {
  value_token columns[LANES];
  step_values steps;
  uint64_t rows = 0;
  project_faults faults = {false, false};
  top_chain chain;
WORDS:
  while (true) {
#pragma HLS PIPELINE II = 8
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    keep_token kept = kept_in.read();
    if (kept.last) break;
  FORWARDED:
    for (int lane = 0; lane < LANES; lane++) {
#pragma HLS UNROLL
      if (plan.forwarded[lane]) columns[lane] = forwarded[lane].read();
    }
    rows += count_bits(kept.keep);
    faults.overflowed =
        evaluate_program(plan.program, columns, kept.keep, steps) || faults.overflowed;
    if (faults.overflowed || faults.outside) continue;
    const uint8_t keep = kept.keep;
    if (plan.top.count != 0) {
      kept.keep = admit_rows(plan, keep, columns, steps, chain);
    }
    const bool passes = kept.keep != 0;
    if (passes) kept_out.write(kept);
  COLUMNS:
    for (uint32_t index = 0; index < static_cast<uint32_t>(SLOTS); index++) {
#pragma HLS UNROLL
      if (index < plan.column_count) {
        // What a top leaves out overflows like any other row.
        number_token token =
            project_column(plan, plan.columns[index], keep, columns, steps, faults);
        if (passes) numbers[index].write(token);
      }
    }
  }
  keep_token end = keep_token();
  end.last = true;
  kept_out.write(end);
  report own = reports_in.read();
  if (faults.outside) fail(own, STATUS_GROUP_CARDINALITY);
  if (faults.overflowed) fail(own, STATUS_OVERFLOW);
  own.rows_projected = rows;
  reports_out.write(own);
}

}  // namespace nearscan
