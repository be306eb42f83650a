// SPDX-License-Identifier: Apache-2.0
// Joins the lanes row by row, evaluates the predicate, looks keys up, and passes on what both keep.
#pragma once

#include "keys.hpp"
#include "program.hpp"

namespace nearscan {

/// Reads the lanes that have not ended to their end.
NS_APART void drain_lanes(value_stream lanes[LANES], uint32_t lane_count,
                          const value_token columns[LANES]) {
DRAIN_LANES:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
    if (lane >= lane_count) break;
    bool ended = columns[lane].last;
  DRAIN:
    while (!ended) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      ended = lanes[lane].read().last;
    }
  }
}

/// One word of every lane; false when a lane has ended.
inline bool read_lanes(value_stream lanes[LANES], uint32_t lane_count, value_token columns[LANES],
                       uint32_t* count) {
  uint32_t least = ROWS;
  bool any_ended = false;
READ_LANES:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
    if (lane >= lane_count) break;
    lanes[lane].read(columns[lane]);
    least = columns[lane].count < least ? columns[lane].count : least;
    any_ended |= columns[lane].last;
  }
  *count = least;
  return !any_ended;
}

/// The progress of the filter.
struct filter_progress {
  uint64_t rows_in;
  uint64_t rows_kept;
  uint64_t iterations;
  bool too_long;

  filter_progress() : rows_in(0), rows_kept(0), iterations(0), too_long(false) {}
};

/// Rows of the next word, 0 when there is none.
inline uint32_t next_word(const filter_plan& plan, value_stream lanes[LANES],
                          value_token columns[LANES], filter_progress& progress) {
  uint32_t count = 0;
  if (plan.lane_count != 0) return read_lanes(lanes, plan.lane_count, columns, &count) ? count : 0;
  const uint64_t left = plan.rows - progress.rows_in;
  // Without a lane there is no stage before this one to give up.
  progress.too_long = left != 0 && progress.rows_in > plan.steps_max;
  if (progress.too_long) return 0;
  return left < ROWS ? static_cast<uint32_t>(left) : ROWS;
}

/// Gathers words of all lanes; false when these were the last. Lanes that go on then are read to
/// their end.
inline bool gather_words(const filter_plan& plan, value_stream lanes[LANES], word_batch& batch,
                         filter_progress& progress) {
  batch.words = 0;
GATHER:
  while (batch.words < BATCH_WORDS) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    const uint32_t count = next_word(plan, lanes, batch.columns[batch.words], progress);
    if (count == 0) break;
    progress.rows_in += count;
    batch.rows[batch.words] = row_mask(count);
    batch.words++;
  }
  const bool more = batch.words == BATCH_WORDS;
  if (!more) drain_lanes(lanes, plan.lane_count, batch.columns[batch.words]);
  return more;
}

/// Passes on what is kept of a batch; gives the rows.
inline uint64_t pass_on_words(const filter_plan& plan, const word_batch& batch,
                              const step_values steps[BATCH_WORDS],
                              const uint8_t found[BATCH_WORDS], value_stream forwarded[LANES],
                              keep_stream& kept) {
  const bool all = plan.program.step_count == 0;
  const uint32_t verdict = all ? 0 : plan.program.step_count - 1;
  uint64_t rows_kept = 0;
PASS_ON:
  for (uint32_t word = 0; word < batch.words; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    const uint8_t passed = all ? 0xff : steps[word].truth[verdict] & steps[word].valid[verdict];
    const uint8_t keep = passed & found[word] & batch.rows[word];
    if (keep == 0) continue;
    rows_kept += count_bits(keep);
    kept.write(keep_token{keep, false});
  FORWARD:
    for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS UNROLL
      if (lane >= plan.lane_count) break;
      if (((plan.forwarded >> lane) & 1) != 0) forwarded[lane].write(batch.columns[word][lane]);
    }
  }
  return rows_kept;
}

/// Stage: words of all lanes in; words with kept rows of the forwarded lanes out, and which rows
/// are kept.
inline void filter(const filter_plan& plan, const key_memory& keys, value_stream lanes[LANES],
                   report_stream reports_in[LANES], value_stream forwarded[LANES],
                   keep_stream& kept, report_stream& reports_out) {
  word_batch batch;
#pragma HLS ARRAY_PARTITION variable = batch.columns dim = 2 complete
  step_values steps[BATCH_WORDS];
  uint8_t found[BATCH_WORDS];
  filter_progress progress;
  bool overflowed = false;
  bool more = true;
BATCHES:
  while (more) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777216
    overlapped_iterations iterations;
    more = gather_words(plan, lanes, batch, progress);
    if (batch.words == 0) break;
    iterations.gather = batch.words;
    overflowed = evaluate_program<FILTER_WORDS>(plan.program, batch, steps, iterations.evaluate) ||
                 overflowed;
    look_keys_up(plan.keys, keys, batch, found, iterations.look_up);
    if (!overflowed) {
      progress.rows_kept += pass_on_words(plan, batch, steps, found, forwarded, kept);
    }
    iterations.pass_on = batch.words;
    progress.iterations += iterations.busiest();
  }
  keep_token end = keep_token();
  end.last = true;
  kept.write(end);
  report own = empty_report();
REPORTS:
  for (uint32_t lane = 0; lane < static_cast<uint32_t>(LANES); lane++) {
#pragma HLS PIPELINE II = 1
    if (lane < plan.lane_count) merge_lane(own, reports_in[lane].read());
  }
  if (overflowed) fail(own, STATUS_OVERFLOW);
  if (progress.too_long) fail(own, STATUS_STEPS_EXCEEDED);
  own.rows_in = progress.rows_in;
  own.rows_kept = progress.rows_kept;
  own.filter_iterations = progress.iterations;
  reports_out.write(own);
}

}  // namespace nearscan
