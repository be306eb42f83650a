// SPDX-License-Identifier: Apache-2.0
// The filter: joins the lanes row by row, evaluates the predicate, looks up the keys of the rows
// that it keeps, and passes on what is kept. Four processes, each on a batch of its own.
#pragma once

#include "keys.hpp"
#include "program.hpp"

namespace nearscan {

/// Reads the lanes that have not ended to their end.
NS_APART void drain_lanes(const gather_plan& plan, value_stream lanes[LANES],
                          value_stream looked_up[LANES], const value_token columns[LANES]) {
DRAIN_LANES:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
    if (lane >= plan.lane_count) break;
    bool ended = columns[lane].last;
  DRAIN:
    while (!ended) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      value_token word;
      read_either(is_among(plan.early, lane), looked_up[lane], lanes[lane], word);
      ended = word.last;
    }
  }
}

/// One word of every lane; false when a lane has ended.
inline bool read_lanes(const gather_plan& plan, value_stream lanes[LANES],
                       value_stream looked_up[LANES], value_token columns[LANES], uint32_t* count) {
  uint32_t least = ROWS;
  bool any_ended = false;
READ_LANES:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
    if (lane >= plan.lane_count) break;
    read_either(is_among(plan.early, lane), looked_up[lane], lanes[lane], columns[lane]);
    const uint32_t rows = columns[lane].count;
    least = rows < least ? rows : least;
    any_ended |= columns[lane].last;
  }
  *count = least;
  return !any_ended;
}

/// The words of the lanes as they are gathered.
struct gather_progress {
  uint64_t rows;
  uint64_t words;
  bool too_long;

  gather_progress() : rows(0), words(0), too_long(false) {}
};

/// Rows of the next word, 0 when there is none.
inline uint32_t next_word(const gather_plan& plan, value_stream lanes[LANES],
                          value_stream looked_up[LANES], value_token columns[LANES],
                          gather_progress& progress) {
  uint32_t count = 0;
  if (plan.lane_count != 0) return read_lanes(plan, lanes, looked_up, columns, &count) ? count : 0;
  const uint64_t left = plan.rows - progress.rows;
  // Without a lane there is no stage before this one to give up.
  progress.too_long = left != 0 && progress.rows > plan.steps_max;
  if (progress.too_long) return 0;
  return left < ROWS ? static_cast<uint32_t>(left) : ROWS;
}

/// Gathers words of all lanes into two blocks; false when these were the last. Lanes that go on
/// then are read to their end.
inline bool gather_batch(const gather_plan& plan, value_stream lanes[LANES],
                         value_stream looked_up[LANES], value_token evaluated[BATCH_WORDS][LANES],
                         value_token passed[BATCH_WORDS][LANES],
                         key_word_stream key_words[KEY_FILTERS_MAX], batch_token& batch,
                         gather_progress& progress) {
#pragma HLS ARRAY_PARTITION variable = evaluated dim = 2 complete
#pragma HLS ARRAY_PARTITION variable = passed dim = 2 complete
  value_token columns[LANES];
#pragma HLS ARRAY_PARTITION variable = columns complete
  batch.words = 0;
  batch.last = false;
GATHER:
  while (batch.words < BATCH_WORDS) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    const uint32_t count = next_word(plan, lanes, looked_up, columns, progress);
    if (count == 0) break;
  INTO_BLOCKS:
    for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
      if (lane >= plan.lane_count) break;
      evaluated[batch.words][lane] = columns[lane];
      passed[batch.words][lane] = columns[lane];
    }
  TO_KEYS:
    for (uint32_t index = 0; index < KEY_FILTERS_MAX; index++) {
#pragma HLS UNROLL
      if (index >= plan.key_count) break;
      const value_token& column = columns[plan.key_column[index]];
      key_words[index].write(key_token{column.value, column.code, column.far, column.valid});
    }
    progress.rows += count;
    batch.rows[batch.words] = row_mask(count);
    batch.words++;
  }
  progress.words += batch.words;
  const bool more = batch.words == BATCH_WORDS;
  if (!more) drain_lanes(plan, lanes, looked_up, columns);
  return more;
}

/// Process: words of all lanes in, in batches out: to be evaluated, to be looked up, to be passed
/// on.
inline void gather_words(const gather_plan& plan, value_stream lanes[LANES],
                         value_stream looked_up[LANES], evaluated_blocks& to_evaluate,
                         batch_stream& evaluated_batches,
                         key_word_stream key_words[KEY_FILTERS_MAX], passed_blocks& to_pass,
                         batch_stream& passed_batches, report_stream& reports) {
  gather_progress progress;
  bool more = true;
BATCHES:
  while (more) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777216
    batch_token batch;
    {
      hls::write_lock<column_block> evaluated(to_evaluate);
      hls::write_lock<column_block> passed(to_pass);
      more = gather_batch(plan, lanes, looked_up, evaluated, passed, key_words, batch, progress);
    }
    evaluated_batches.write(batch);
    passed_batches.write(batch);
  }
  evaluated_batches.write(last_batch());
  passed_batches.write(last_batch());
  report own = empty_report();
  if (progress.too_long) fail(own, STATUS_STEPS_EXCEEDED);
  own.rows_in = progress.rows;
  own.filter_iterations = progress.words;
  reports.write(own);
}

/// Process: batches in, out which rows the predicate keeps. None once a result left its width.
inline void evaluate_predicate(const program_plan& plan, bool has_slow_steps,
                               evaluated_blocks& blocks, batch_stream& batches,
                               slow_stream& slow_words, step_result_stream& slow_results,
                               verdict_stream& verdicts, report_stream& reports) {
  step_values steps[BATCH_WORDS];
#pragma HLS ARRAY_PARTITION variable = steps.number dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = steps.truth dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = steps.valid dim = 1 complete
  slow_unit unit(slow_words, slow_results);
  bool overflowed = false;
  uint64_t iterations = 0;
BATCHES:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777216
    const batch_token batch = batches.read();
    if (batch.last) break;
    hls::read_lock<column_block> columns(blocks);
    const bool beyond =
        evaluate_program<FILTER_WORDS>(plan, columns, batch, unit, steps, iterations);
    overflowed = overflowed || beyond;
    verdict_token verdict;
    verdict.words = batch.words;
    verdict.failed = overflowed;
    verdict.last = false;
  VERDICTS:
    for (uint32_t word = 0; word < BATCH_WORDS; word++) {
#pragma HLS UNROLL
      const uint32_t step = plan.step_count == 0 ? 0 : plan.step_count - 1;
      const uint8_t passes =
          plan.step_count == 0 ? 0xff
                               : steps[word].truth[READ_A][step] & steps[word].valid[READ_A][step];
      verdict.rows[word] = passes;
    }
    verdicts.write(verdict);
  }
  verdict_token end = verdict_token();
  end.last = true;
  verdicts.write(end);
  if (has_slow_steps) unit.end();
  report own = empty_report();
  if (overflowed) fail(own, STATUS_OVERFLOW);
  own.filter_iterations = iterations;
  reports.write(own);
}

/// What the processes before have found, in one report: the busiest of them is what the filter
/// costs.
inline report merge_filter_reports(const keep_plan& plan, report_stream lanes[LANES],
                                   report_stream& gathered, report_stream& evaluated,
                                   report_stream& looked_up) {
  report own = empty_report();
REPORTS:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS PIPELINE II = 1
    if (lane < plan.lane_count) merge_lane(own, lanes[lane].read());
  }
  const report words = gathered.read();
  const report steps = evaluated.read();
  fail(own, steps.status);
  fail(own, words.status);
  own.rows_in = words.rows_in;
  const report keys = looked_up.read();
  own.filter_iterations = max_u64(words.filter_iterations, steps.filter_iterations);
  own.filter_iterations = max_u64(own.filter_iterations, keys.filter_iterations);
  own.loader_iterations = max_u64(own.loader_iterations, keys.loader_iterations);
  return own;
}

/// Passes on what is kept of a batch; gives the rows.
inline uint64_t pass_on_words(const keep_plan& plan, const batch_token& batch,
                              const value_token columns[BATCH_WORDS][LANES],
                              const verdict_token& passed, value_stream forwarded[LANES],
                              keep_stream& kept) {
#pragma HLS ARRAY_PARTITION variable = columns dim = 2 complete
  uint64_t rows_kept = 0;
PASS_ON:
  for (uint32_t word = 0; word < batch.words; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    const uint8_t keep = passed.rows[word] & batch.rows[word];
    if (keep == 0) continue;
    rows_kept += count_bits(keep);
    kept.write(keep_token{keep, false});
  FORWARD:
    for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
      if (lane >= plan.lane_count) break;
      if (!is_among(plan.forwarded, lane)) continue;
      value_token column = columns[word][lane];
      // The values of other rows are not used.
      column.far &= keep;
      forwarded[lane].write(column);
    }
  }
  return rows_kept;
}

/// Process: batches in, and which rows pass; words with kept rows of the forwarded lanes out, and
/// which rows are kept.
inline void pass_on_kept(const keep_plan& plan, passed_blocks& blocks, batch_stream& batches,
                         verdict_stream& verdicts, report_stream lane_reports[LANES],
                         report_stream& gathered, report_stream& evaluated,
                         report_stream& looked_up, value_stream forwarded[LANES], keep_stream& kept,
                         report_stream& reports_out) {
  uint64_t rows_kept = 0;
BATCHES:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777216
    const batch_token batch = batches.read();
    if (batch.last) break;
    hls::read_lock<column_block> columns(blocks);
    const verdict_token passed = verdicts.read();
    if (passed.failed) continue;
    rows_kept += pass_on_words(plan, batch, columns, passed, forwarded, kept);
  }
  keep_token end = keep_token();
  end.last = true;
  kept.write(end);
  // Whoever looks a lane up is told, too.
  value_token last = value_token();
  last.last = true;
LATE_ENDS:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
    if (is_among(plan.late, lane)) forwarded[lane].write(last);
  }
  report own = merge_filter_reports(plan, lane_reports, gathered, evaluated, looked_up);
  own.rows_kept = rows_kept;
  reports_out.write(own);
}

}  // namespace nearscan
