// SPDX-License-Identifier: Apache-2.0
// Computes the output columns (or the operands of the aggregate slots) of the kept rows, and leaves
// out those that cannot be among the first when only these are wanted.
#pragma once

#include "top.hpp"

namespace nearscan {

/// The numbers of an output column: codes of a key, truth values, or numbers as they are.
inline number_token project_numbers(const columns_plan& plan, const output_plan& column,
                                    uint32_t copy, const value_token columns[LANES],
                                    const step_values& steps) {
  if (!(column.is_key && !column.is_range) && column.width != WIDTH_BOOL) {
    return fetch_numbers(plan.tables, column.operand, copy, columns, steps);
  }
  const uint32_t truth = fetch_truth(plan.tables, column.operand, copy, columns, steps);
  number_token numbers;
CODES_OR_TRUTH:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    const int64_t code = columns[column.lane].code[row];
    numbers.row[row] = column.is_key ? code : static_cast<int64_t>((truth >> row) & 1);
  }
  return numbers;
}

/// Which of the kept rows an output column is about.
inline uint8_t used_rows(const columns_plan& plan, const output_plan& column, uint8_t keep,
                         uint32_t copy, const value_token columns[LANES],
                         const step_values& steps) {
  if (column.filter == NONE) return keep;
  return keep & fetch_truth(plan.tables, column.filter, copy, columns, steps) &
         fetch_valid(plan.tables, column.filter, copy, columns, steps);
}

/// The place of each row in the range of a key: 0 for null, else one more than the distance from
/// the first number. Gives the rows that are outside of it; their place is 0 too.
NS_RARE uint8_t place_in_range(const output_plan& column, uint8_t valid, number_token& number) {
  uint32_t outside = 0;
PLACES:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    const uint64_t distance =
        static_cast<uint64_t>(number.row[row]) - static_cast<uint64_t>(column.first);
    const bool inside = number.row[row] >= column.first && distance < column.count;
    const bool is_null = ((valid >> row) & 1) == 0;
    outside |= static_cast<uint32_t>(!inside && !is_null) << row;
    number.row[row] = inside && !is_null ? static_cast<int64_t>(distance) + 1 : 0;
  }
  return static_cast<uint8_t>(outside);
}

/// The faults that the stage has found.
struct project_faults {
  bool overflowed;
  /// A kept row has a key outside of its range.
  bool outside;
};

/// Fills in the properties of an output column that are known before its numbers.
inline void describe_column(const columns_plan& plan, const output_plan& column, uint8_t keep,
                            uint32_t copy, const value_token columns[LANES],
                            const step_values& steps, row_token& rows) {
  rows.use[column.index] = used_rows(plan, column, keep, copy, columns, steps);
  // The codes and places of a key tell nulls themselves, and rows are counted whatever they hold.
  const bool always = column.is_key || column.function == FUNCTION_COUNT_ROWS;
  rows.valid[column.index] =
      always ? 0xff : fetch_valid(plan.tables, column.operand, copy, columns, steps);
}

/// The numbers of a key, of an output column of rows, or for a slot.
inline number_token compute_column(const columns_plan& plan, const output_plan& column,
                                   uint8_t keep, uint32_t copy, const value_token columns[LANES],
                                   const step_values& steps, const row_token& rows,
                                   project_faults& faults) {
  // A slot's state is checked at the end.
  if (column.function != 0) return fetch_numbers(plan.tables, column.operand, copy, columns, steps);
  number_token number = project_numbers(plan, column, copy, columns, steps);
  if (column.is_range) {
    const uint8_t not_null = fetch_valid(plan.tables, column.operand, copy, columns, steps);
    if ((place_in_range(column, not_null, number) & keep) != 0) faults.outside = true;
  }
  if ((misfits(number, column.width) & rows.use[column.index] & rows.valid[column.index]) != 0) {
    faults.overflowed = true;
  }
  return number;
}

/// Gathers kept rows into two blocks; false when these were the last.
inline bool gather_kept_batch(const kept_plan& plan, keep_stream& kept_in,
                              value_stream forwarded[LANES], value_stream looked_up[LANES],
                              value_token evaluated[BATCH_WORDS][LANES],
                              value_token passed[BATCH_WORDS][LANES], batch_token& batch) {
#pragma HLS ARRAY_PARTITION variable = evaluated dim = 2 complete
#pragma HLS ARRAY_PARTITION variable = passed dim = 2 complete
  batch.words = 0;
  batch.last = false;
GATHER:
  while (batch.words < BATCH_WORDS) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    const keep_token kept = kept_in.read();
    if (kept.last) return false;
  FORWARDED:
    for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
      if (lane >= plan.lane_count) break;
      if (is_among(plan.forwarded, lane)) {
        value_token column;
        read_either(is_among(plan.late, lane), looked_up[lane], forwarded[lane], column);
        evaluated[batch.words][lane] = column;
        passed[batch.words][lane] = column;
      }
    }
    batch.rows[batch.words] = kept.keep;
    batch.words++;
  }
  return true;
}

/// Process: kept rows in, in batches out: to be evaluated, and to be passed on.
inline void gather_kept(const kept_plan& plan, keep_stream& kept_in, value_stream forwarded[LANES],
                        value_stream looked_up[LANES], evaluated_blocks& to_evaluate,
                        batch_stream& evaluated_batches, passed_blocks& to_pass,
                        batch_stream& passed_batches, report_stream& reports) {
  report own = empty_report();
  bool more = true;
BATCHES:
  while (more) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777216
    batch_token batch;
    {
      hls::write_lock<column_block> evaluated(to_evaluate);
      hls::write_lock<column_block> passed(to_pass);
      more = gather_kept_batch(plan, kept_in, forwarded, looked_up, evaluated, passed, batch);
    }
    evaluated_batches.write(batch);
    passed_batches.write(batch);
    own.project_iterations += batch.words;
  }
  evaluated_batches.write(last_batch());
  passed_batches.write(last_batch());
  reports.write(own);
}

/// Process: batches in, the results of their steps out.
inline void evaluate_projection(const program_plan& plan, bool has_slow_steps,
                                evaluated_blocks& blocks, batch_stream& batches,
                                slow_stream& slow_words, step_result_stream& slow_results,
                                step_blocks& results, report_stream& reports) {
  slow_unit unit(slow_words, slow_results);
  report own = empty_report();
BATCHES:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777216
    const batch_token batch = batches.read();
    if (batch.last) break;
    hls::read_lock<column_block> columns(blocks);
    hls::write_lock<step_block> steps(results);
    if (evaluate_program<PROJECT_WORDS>(plan, columns, batch, unit, steps,
                                        own.project_iterations)) {
      fail(own, STATUS_OVERFLOW);
    }
  }
  if (has_slow_steps) unit.end();
  reports.write(own);
}

static_assert(SIDES + 1 == STEP_COPIES, "each has a copy of the results of steps");

/// The rows of each word of a batch that can be among the first, if only these are wanted.
struct batch_rows {
  uint8_t keep[BATCH_WORDS];
};

/// Finds the rows of a batch that can be among the first; gives the iterations.
inline uint64_t admit_batch(const columns_plan& plan, const batch_token& batch,
                            const value_token columns[BATCH_WORDS][LANES],
                            const step_values steps[BATCH_WORDS], top_chain& chain,
                            batch_rows& going) {
  uint64_t iterations = 0;
ADMIT_WORDS:
  for (uint32_t word = 0; word < batch.words; word++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    going.keep[word] =
        admit_rows(plan, batch.rows[word], columns[word], steps[word], chain, iterations);
  }
  return iterations;
}

/// The iterations that a word needs for its columns.
inline uint32_t columns_of_longest(const columns_plan& plan) {
  uint32_t most = 0;
LONGEST:
  for (uint32_t list = 0; list < SIDES + 1; list++) {
#pragma HLS UNROLL
    if (plan.count[list] > most) most = plan.count[list];
  }
  return most;
}

/// Sends the words of a batch, in a flat loop: a column of each side and one beside them, each with
/// a copy of the results of steps; behind the last columns of a word which rows have them. Adds the
/// rows, gives the iterations.
inline uint64_t send_batch(const columns_plan& plan, const batch_token& batch,
                           const batch_rows& going, const value_token columns[BATCH_WORDS][LANES],
                           const step_values steps[BATCH_WORDS], row_stream& rows_out,
                           number_stream numbers[SIDES][SIDE_COLUMNS], side_stream passed[SIDES],
                           uint64_t& rows, project_faults& faults) {
#pragma HLS ARRAY_PARTITION variable = columns dim = 2 complete
  uint64_t iterations = 0;
  uint32_t word = 0;
  const uint32_t most = columns_of_longest(plan);
  uint32_t at = 0;
  row_token out = row_token();
SEND:
  while (word < batch.words) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 160
    const uint8_t keep = batch.rows[word];
    out.keep = plan.top.count == 0 ? keep : going.keep[word];
    const bool passes = out.keep != 0;
  SEND_LISTS:
    for (uint32_t list = 0; list < SIDES + 1; list++) {
#pragma HLS UNROLL
      if (at >= plan.count[list]) continue;
      const output_plan& column = plan.columns[list][at];
      describe_column(plan, column, keep, list, columns[word], steps[word], out);
      if (list == SIDES || column.counts) continue;
      // Rows that a top leaves out overflow like any others.
      const number_token number =
          compute_column(plan, column, keep, list, columns[word], steps[word], out, faults);
      if (passes && plan.states) numbers[list][column.stream.place].write(number);
      if (passes && !plan.states) passed[list].write(side_token{number});
    }
    iterations++;
    at++;
    if (at >= most) {
      if (passes) rows_out.write(out);
      rows += count_bits(keep);
      word++;
      at = 0;
    }
  }
  return iterations;
}

/// Process: batches in, and the results of their steps; output columns out. No batch is sent once a
/// key was outside of its range or a number left its column; of an overflow of a step, which is
/// found while this goes on, whoever comes next learns from the report.
inline void send_kept(const columns_plan& plan, passed_blocks& blocks, batch_stream& batches,
                      step_blocks& results, report_stream& filtered, report_stream& gathered,
                      report_stream& evaluated, row_stream& rows_out,
                      number_stream numbers[SIDES][SIDE_COLUMNS], side_stream passed[SIDES],
                      report_stream& reports_out) {
  uint64_t rows = 0;
  uint64_t iterations = 0;
  project_faults faults = {false, false};
  top_chain chain;
BATCHES:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777216
    const batch_token batch = batches.read();
    if (batch.last) break;
    hls::read_lock<column_block> column_lock(blocks);
    hls::read_lock<step_block> step_lock(results);
    if (faults.overflowed || faults.outside) continue;
    batch_rows going;
    if (plan.top.count != 0) {
      iterations += admit_batch(plan, batch, column_lock, step_lock, chain, going);
    }
    iterations += send_batch(plan, batch, going, column_lock, step_lock, rows_out, numbers, passed,
                             rows, faults);
  }
  row_token end = row_token();
  end.last = true;
  rows_out.write(end);
  report own = filtered.read();
  const report words = gathered.read();
  const report steps = evaluated.read();
  fail(own, steps.status);
  if (faults.outside) fail(own, STATUS_GROUP_CARDINALITY);
  if (faults.overflowed) fail(own, STATUS_OVERFLOW);
  own.rows_projected = rows;
  own.project_iterations =
      max_u64(iterations, max_u64(words.project_iterations, steps.project_iterations));
  reports_out.write(own);
}

}  // namespace nearscan
