// SPDX-License-Identifier: Apache-2.0
// Computes the output columns (or the operands of the aggregate slots) of the kept rows.
#pragma once

#include "program.hpp"

namespace nearscan {

/// One output column of eight rows.
inline void project_column(const project_plan& plan, const output_plan& column, uint8_t keep,
                           const value_token columns[LANES], const operand_word steps[STEPS_MAX],
                           number_token& out) {
  operand_word value = operand_word();
  if (column.is_key) {
  CODES:
    for (int row = 0; row < ROWS; row++) value.number[row] = columns[column.lane].code[row];
    value.valid = 0xff;
  } else if (column.operand != NONE) {
    fetch_operand(plan.program, column.operand, columns, steps, value);
    if (column.width == WIDTH_BOOL) {
    TRUTH:
      for (int row = 0; row < ROWS; row++) value.number[row] = (value.truth >> row) & 1;
    }
  }
VALUES:
  for (int row = 0; row < ROWS; row++) out.value[row] = value.number[row];
  out.valid = value.valid;
  out.use = keep;
  if (column.filter != NONE) {
    operand_word only;
    fetch_operand(plan.program, column.filter, columns, steps, only);
    out.use = keep & only.truth & only.valid;
  }
}

/// Stage: kept rows in, their output columns out.
inline void project(const project_plan& plan, keep_stream& kept_in, value_stream forwarded[LANES],
                    report_stream& reports_in, keep_stream& kept_out, number_stream numbers[SLOTS],
                    report_stream& reports_out) {
  value_token columns[LANES];
  operand_word steps[STEPS_MAX];
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
        number_token token;
        project_column(plan, plan.columns[index], kept.keep, columns, steps, token);
        // What leaves its width can only be a number that no step has checked.
        const uint8_t shown = token.use & token.valid;
      WIDTHS:
        for (int row = 0; row < ROWS; row++) {
          const bool fits = fits_width(token.value[row], plan.columns[index].width);
          if (((shown >> row) & 1) != 0 && plan.columns[index].function == 0 && !fits) {
            overflowed = true;
          }
        }
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
