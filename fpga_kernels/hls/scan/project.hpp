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
    out.wide = false;
  CODES:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      out.low.row[row] = columns[column.lane].code[row];
    }
  } else if (column.width == WIDTH_BOOL) {
    const uint32_t truth = fetch_truth(plan.program, column.operand, columns, steps);
    out.wide = false;
  TRUTH:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      out.low.row[row] = (truth >> row) & 1;
    }
  } else {
    fetch_numbers(plan.program, column.operand, columns, steps, out);
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
  half_token place;
PLACES:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    i128 distance;
    const bool too_far = subtract_overflows(number.at(row), column.first, &distance);
    const bool inside = !too_far && distance >= 0 && distance < static_cast<i128>(column.count);
    const bool is_null = ((valid >> row) & 1) == 0;
    outside |= static_cast<uint32_t>(!inside && !is_null) << row;
    place.row[row] = inside && !is_null ? static_cast<int64_t>(distance) + 1 : 0;
  }
  number.low = place;
  number.wide = false;
  return static_cast<uint8_t>(outside);
}

/// What the stage has found wrong.
struct project_faults {
  bool overflowed;
  /// A kept row has a key outside of its range.
  bool outside;
};

/// What is known of an output column before its numbers.
inline void describe_column(const project_plan& plan, uint32_t index, uint8_t keep,
                            const value_token columns[LANES], const step_values& steps,
                            row_token& rows) {
  const output_plan& column = plan.columns[index];
  rows.use[index] = used_rows(plan, column, keep, columns, steps);
  // The codes and places of a key tell nulls themselves, and rows are counted whatever they hold.
  const bool always = column.is_key || column.function == FUNCTION_COUNT_ROWS;
  rows.valid[index] = always ? 0xff : fetch_valid(plan.program, column.operand, columns, steps);
  const bool numbers = !column.is_key && !column.counts && column.width != WIDTH_BOOL;
  if (numbers && is_wide(plan.program, column.operand, columns, steps)) rows.wide |= 1u << index;
}

/// The numbers of a key, or of an output column of rows.
inline void compute_column(const project_plan& plan, uint32_t index, uint8_t keep,
                           const value_token columns[LANES], const step_values& steps,
                           const row_token& rows, number_word& number, project_faults& faults) {
  const output_plan& column = plan.columns[index];
  project_numbers(plan, column, columns, steps, number);
  if (column.is_range) {
    const uint8_t not_null = fetch_valid(plan.program, column.operand, columns, steps);
    if ((place_in_range(column, not_null, number) & keep) != 0) faults.outside = true;
  }
  // What is wider than 128 bits has been found before.
  if ((misfits(number, column.width) & rows.use[index] & rows.valid[index]) != 0) {
    faults.overflowed = true;
  }
}

/// Stage: kept rows in, their output columns out.
inline void project(const project_plan& plan, keep_stream& kept_in, value_stream forwarded[LANES],
                    report_stream& reports_in, row_stream& rows_out, half_stream numbers[SLOTS],
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
    const keep_token kept = kept_in.read();
    if (kept.last) break;
  FORWARDED:
    for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
      if (lane >= plan.lane_count) break;
      if (plan.forwarded[lane]) columns[lane] = forwarded[lane].read();
    }
    rows += count_bits(kept.keep);
    faults.overflowed =
        evaluate_program(plan.program, columns, kept.keep, steps) || faults.overflowed;
    if (faults.overflowed || faults.outside) continue;
    row_token out;
    out.wide = 0;
    out.keep = kept.keep;
    out.last = false;
  DESCRIBE:
    for (uint32_t index = 0; index < static_cast<uint32_t>(SLOTS); index++) {
#pragma HLS UNROLL
      if (index >= plan.column_count) break;
      describe_column(plan, index, kept.keep, columns, steps, out);
    }
    if (plan.top.count != 0) out.keep = admit_rows(plan, kept.keep, columns, steps, chain);
    const bool passes = out.keep != 0;
    if (passes) rows_out.write(out);
  COLUMNS:
    for (uint32_t index = 0; index < static_cast<uint32_t>(SLOTS); index++) {
#pragma HLS UNROLL
      if (index >= plan.column_count) break;
      const output_plan& column = plan.columns[index];
      if (column.counts) continue;
      // A slot's state is checked at the end, and slots have no top.
      if (column.function != 0) {
        send_operand(plan.program, column.operand, columns, steps, numbers[index]);
        continue;
      }
      // What a top leaves out overflows like any other row.
      number_word number;
      compute_column(plan, index, kept.keep, columns, steps, out, number, faults);
      if (passes) send_numbers(number, numbers[index]);
    }
  }
  row_token end = row_token();
  end.last = true;
  rows_out.write(end);
  report own = reports_in.read();
  if (faults.outside) fail(own, STATUS_GROUP_CARDINALITY);
  if (faults.overflowed) fail(own, STATUS_OVERFLOW);
  own.rows_projected = rows;
  reports_out.write(own);
}

}  // namespace nearscan
