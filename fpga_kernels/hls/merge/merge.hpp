// SPDX-License-Identifier: Apache-2.0
// The merge: results of scans in, one result in the same order out.
//
//     inputs -> waiting rows, one an input -> tournament -> block -> output
//
// A part of a merge finds its two cuts in the inputs (cut.hpp) and merges what lies between them.
// Of each input it also reads the row before its cut: the order across the cut is checked, and what
// equals the last row of the part before is known to be no first one.
//
// One loop with an iteration for each row: the next row of the input that won is read and held
// against the one before it, then its matches are played again. An iteration depends on the one
// before it, so there is no pipeline of stages to gain from; the lines of each column are there
// when they are needed (windows.hpp).
#pragma once

#include "cut.hpp"
#include "output.hpp"
#include "tournament.hpp"

namespace nearscan {
namespace merging {

/// Everything that a merge holds on chip.
struct merge_state {
  merge_inputs inputs;
  waiting_rows rows;
  tournament matches;
  /// The row that was put out last, to leave out those that equal it.
  row_state last;
  bool has_last;
  block_rows block;
};

/// Moves an input on by a row, which must not come before the one it had.
inline void advance(const merge_plan& plan, line_port& input, uint32_t index, bool is_first,
                    const volatile uint32_t* cancel, merge_state& state, progress& done) {
  waiting_rows& rows = state.rows;
  const uint8_t before = rows.current[index];
  const uint8_t next = static_cast<uint8_t>(1 - before);
  next_row(plan, input, state.inputs.cursors[index], state.inputs.store, rows.row[index][next],
           done);
  rows.ended[index] = state.inputs.cursors[index].ended;
  if (rows.ended[index]) return;
  if (!is_first && compare_rows(plan, rows.row[index][next], rows.row[index][before], input,
                                state.inputs.store, cancel, done) < 0) {
    fail(done, STATUS_NOT_SORTED);
  }
  rows.current[index] = next;
}

/// Opens all inputs; of each it is known then how many rows it has, and for a part where they lie.
inline input_rows open_inputs(const merge_plan& plan, line_port& input,
                              const volatile uint32_t* cancel, merge_state& state, progress& done) {
  input_rows rows = input_rows();
OPEN:
  for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    input_cursor& cursor = state.inputs.cursors[index];
    cursor.index = index;
    state.rows.current[index] = 0;
    state.rows.ended[index] = true;
    open_input(input, plan.inputs[index], state.inputs.store, cursor, rows, done);
    if (plan.parts > 1 && done.status == STATUS_OK) {
      index_blocks(plan, input, cursor, state.inputs.store, cancel, state.inputs.blocks[index],
                   done);
    }
  }
  return rows;
}

/// Puts the cursor of an input before the rows of the part, of which there are `count` from row
/// `first` on, and reads the row before them.
inline void enter_input(const merge_plan& plan, line_port& input, uint32_t index, uint64_t first,
                        uint64_t count, const volatile uint32_t* cancel, merge_state& state,
                        progress& done) {
  input_cursor& cursor = state.inputs.cursors[index];
  const uint64_t from = first > 0 ? first - 1 : 0;
  cursor.wanted = count + (first - from);
  if (!seek_row(plan, input, state.inputs.blocks[index], from, cursor, state.inputs.store, done)) {
    return fail(done, STATUS_CORRUPT);
  }
  if (first == 0) return;
  advance(plan, input, index, true, cancel, state, done);
  const row_state& before = state.rows.row[index][state.rows.current[index]];
  if (done.status != STATUS_OK || !plan.distinct) return;
  if (!state.has_last ||
      compare_rows(plan, state.last, before, input, state.inputs.store, cancel, done) < 0) {
    state.last = before;
    state.has_last = true;
  }
}

/// Finds the rows of the part in all inputs.
inline void enter_inputs(const merge_plan& plan, line_port& input, uint64_t total,
                         const volatile uint32_t* cancel, merge_state& state, merge_cut& low,
                         progress& done) {
  merge_cut high;
  find_cut(plan, input, total * plan.part / plan.parts, cancel, state.inputs, low, done);
  find_cut(plan, input, total * (plan.part + 1) / plan.parts, cancel, state.inputs, high, done);
  state.inputs.store.is_ahead = true;
ENTER:
  for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    // Cuts cross in inputs that are not sorted.
    if (high.rows[index] < low.rows[index]) fail(done, STATUS_NOT_SORTED);
    if (done.status != STATUS_OK) return;
    enter_input(plan, input, index, low.rows[index], high.rows[index] - low.rows[index], cancel,
                state, done);
  }
}

/// Reads the first row of each input.
inline void first_rows(const merge_plan& plan, line_port& input, uint64_t total,
                       const volatile uint32_t* cancel, merge_state& state, progress& done) {
  merge_cut low = merge_cut();
  if (plan.parts > 1) enter_inputs(plan, input, total, cancel, state, low, done);
  state.inputs.store.is_ahead = true;
FIRST_ROWS:
  for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    if (done.status != STATUS_OK) return;
    advance(plan, input, index, low.rows[index] == 0, cancel, state, done);
  }
}

/// Puts the row of the winner out, unless it is one too many.
inline void put_winner(const merge_plan& plan, line_port& input, uint64_t* output,
                       const volatile uint32_t* cancel, merge_state& state, result_writer& writer,
                       progress& done) {
  const uint32_t winner = state.matches.winner;
  const row_state& row = state.rows.row[winner][state.rows.current[winner]];
  if (plan.distinct) {
    if (state.has_last &&
        compare_rows(plan, state.last, row, input, state.inputs.store, cancel, done) == 0) {
      return;
    }
    state.last = row;
    state.has_last = true;
  }
  put_row(plan, row, state.block);
  if (state.block.rows == BLOCK_ROWS_MAX) {
    flush_block(plan, state.block, input, state.inputs.store, output, cancel, writer, done);
  }
}

/// Merges all rows.
inline input_rows merge_rows(const merge_plan& plan, line_port& input, uint64_t* output,
                             const volatile uint32_t* cancel, merge_state& state,
                             result_writer& writer, progress& done) {
  state.has_last = false;
  clear_store(state.inputs.store);
  clear_block(plan, state.block);
  if (*cancel != 0) fail(done, STATUS_CANCELLED);
  const input_rows rows = open_inputs(plan, input, cancel, state, done);
  first_rows(plan, input, rows.rows_kept, cancel, state, done);
  if (done.status == STATUS_OK) {
    begin(plan, state.rows, state.matches, input, state.inputs.store, cancel, done);
  }
ROWS:
  while (done.status == STATUS_OK && !state.rows.ended[state.matches.winner]) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 34359738368
    put_winner(plan, input, output, cancel, state, writer, done);
    advance(plan, input, state.matches.winner, false, cancel, state, done);
    play_again(plan, state.rows, state.matches, input, state.inputs.store, cancel, done);
    may_go_on(done, 1, plan.steps_max, cancel);
  }
  if (done.status == STATUS_OK) {
    flush_block(plan, state.block, input, state.inputs.store, output, cancel, writer, done);
  }
  take_all(input, state.inputs.store);
  return rows;
}

/// Loads the command and runs it; the result's first words hold the status, whatever happened.
///
/// `input` [lines] and `output` [8-byte words] are device memory. Input ranges and output size are
/// those of the command.
inline void run_merge(const uint64_t* command, line_port& input, uint64_t* output,
                      const volatile uint32_t* cancel, merge_state& state) {
  uint64_t words[COMMAND_BYTES_MAX / 8];
#pragma HLS BIND_STORAGE variable = words type = ram_2p impl = bram
  merge_plan plan;
  copy_command(command, words);
  progress done = no_progress();
  result_writer writer;
  input_rows rows = input_rows();
  done.status = load_merge(words, plan);
  if (done.status == STATUS_OK) {
    rows = merge_rows(plan, input, output, cancel, state, writer, done);
  }
  result_record record = answer_to(plan.header, done.status);
  record.rows_in = rows.rows_in;
  record.rows_kept = rows.rows_kept;
  record.lines_read = done.lines_read;
  record.values_decoded = done.values_read;
  record.decode_steps_lane_max = done.order_steps;
  record.dictionary_reads = done.waits;
  record.string_words = done.string_words;
  record.payload_words = writer.at - RESULT_RECORD_BYTES / 8;
  record.blocks = static_cast<uint32_t>(writer.blocks);
  if (done.status == STATUS_OK) {
    record.rows_out = writer.rows_out;
    record.payload_bytes = writer.at * 8 - RESULT_RECORD_BYTES;
    record.payload_checksum = crc32c_end(writer.checksum);
    record.continuation_row = rows.rows_in;
  }
  uint64_t header[RESULT_RECORD_BYTES / 8];
  finish_header(record, header);
WRITE_HEADER:
  for (uint32_t word = 0; word < RESULT_RECORD_BYTES / 8; word++) {
#pragma HLS PIPELINE II = 1
    output[word] = header[word];
  }
}

}  // namespace merging
}  // namespace nearscan
