// SPDX-License-Identifier: Apache-2.0
// Computes the output columns (or the operands of the aggregate slots) of the kept rows.
#pragma once

#include "program.hpp"

namespace nearscan {

/// The numbers of an output column: codes of a key, truth values, or numbers as they are.
inline void project_numbers(const project_plan& plan, const output_plan& column,
                            const value_token columns[LANES], const step_values& steps,
                            number_word& out) {
  if (column.is_key) {
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

/// Rows of a number that do not fit their column.
inline uint8_t misfits(const number_word& number, uint8_t width) {
  uint32_t rows = 0;
WIDTHS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    rows |= static_cast<uint32_t>(!fits_width(number.at(row), width)) << row;
  }
  return static_cast<uint8_t>(rows);
}

/// Stage: kept rows in, their output columns out.
inline void project(const project_plan& plan, keep_stream& kept_in, value_stream forwarded[LANES],
                    report_stream& reports_in, keep_stream& kept_out, number_stream numbers[SLOTS],
                    report_stream& reports_out) {
  value_token columns[LANES];
  step_values steps;
  uint64_t rows = 0;
  bool overflowed = false;
WORDS:
  while (true) {
#pragma HLS PIPELINE II = 8
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const keep_token kept = kept_in.read();
    if (kept.last) break;
  FORWARDED:
    for (int lane = 0; lane < LANES; lane++) {
#pragma HLS UNROLL
      if (plan.forwarded[lane]) columns[lane] = forwarded[lane].read();
    }
    rows += count_bits(kept.keep);
    overflowed = evaluate_program(plan.program, columns, kept.keep, steps) || overflowed;
    if (overflowed) continue;
    kept_out.write(kept);
  COLUMNS:
    for (uint32_t index = 0; index < static_cast<uint32_t>(SLOTS); index++) {
#pragma HLS UNROLL
      if (index < plan.column_count) {
        const output_plan& column = plan.columns[index];
        number_token token;
        project_numbers(plan, column, columns, steps, token.number);
        const uint8_t use = used_rows(plan, column, kept.keep, columns, steps);
        const uint8_t valid = column.is_key
                                  ? static_cast<uint8_t>(0xff)
                                  : fetch_valid(plan.program, column.operand, columns, steps);
        // A slot's state is checked at the end. What is wider than 128 bits has been found before.
        if (column.function == 0 && column.width != WIDTH_W128 &&
            (misfits(token.number, column.width) & use & valid) != 0) {
          overflowed = true;
        }
        token.flags = number_flags(valid, use);
        numbers[index].write(token);
      }
    }
  }
  keep_token end = keep_token();
  end.last = true;
  kept_out.write(end);
  report own = reports_in.read();
  if (overflowed) fail(own, STATUS_OVERFLOW);
  own.rows_projected = rows;
  reports_out.write(own);
}

}  // namespace nearscan
