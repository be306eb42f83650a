// SPDX-License-Identifier: Apache-2.0
// The merge: results of scans in, one result in the same order out.
//
//     fetch -> read_rows -> make_keys -> choose      which input has the next row
//       ^      ^  |  ^                     |
//       |      |  |  +---------------------+
//      ask ----+  +-> gather -> write_blocks -> write_lines
//                         +-> list_strings -> ask_strings -> pack_strings -> write_blocks
//
// A part of a merge first finds its two cuts in the inputs (cut.hpp) and merges the rows between
// them. Of each input it also merges the row before its cut, which it does not put out: the order
// across the cut is checked, and what equals the last row of the part before is known to be no
// first one.
//
// Then processes run side by side, each an iteration per cycle but for the choice of a row, which
// has to be made before the next one begins. So a row takes as long as a choice, or as its values
// in the process that has most to do with them.
//
// Assumed of the synthesis tool, which was not there to ask: what scan/pipeline.hpp says. What is
// known of it is kept to: a variable that is not a stream has one process that writes and one that
// reads it, and so has each direction of a port.
#pragma once

#include "ask.hpp"
#include "choose.hpp"
#include "cut.hpp"
#include "fetch.hpp"
#include "gather.hpp"
#include "keys.hpp"
#include "output.hpp"
#include "rows.hpp"
#include "strings.hpp"

namespace nearscan {
namespace merging {

/// Opens all inputs; of each it is known then how many rows it has, and for a part where they lie.
inline input_rows open_inputs(const merge_plan& plan, line_port& input,
                              const volatile uint32_t* cancel, merge_inputs& inputs,
                              progress& done) {
  input_rows rows = input_rows();
OPEN:
  for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    open_input(input, plan.inputs[index], inputs.store, inputs.cursors[index], rows, done);
    if (done.status != STATUS_OK) break;
  }
  if (plan.parts > 1 && done.status == STATUS_OK) {
    index_blocks(plan, input, inputs.cursors, cancel, inputs.blocks, done);
  }
  return rows;
}

/// Finds the rows of an input that the part begins with: `count` of them from row `first` on, and
/// the one before.
inline void begin_input(line_port& input, uint32_t index, uint64_t first, uint64_t count,
                        merge_inputs& inputs, process_plans& plans, progress& done) {
  const uint64_t from = first > 0 ? first - 1 : 0;
  input_start& start = plans.ask.start[index];
  start.wanted = count + (first - from);
  if (first > 0) plans.choose.skips |= 1u << index;
  if (start.wanted == 0) return;
  input_cursor& cursor = inputs.cursors[index];
  if (!seek_block(input, inputs.blocks[index], from, cursor, inputs.store, done)) {
    return fail(done, STATUS_CORRUPT);
  }
  start.block = cursor.next_block;
  start.rows_left = cursor.rows_left;
  start.row = static_cast<uint32_t>(from - cursor.next_row);
}

/// Finds the rows of the part in all inputs.
inline void begin_part(const merge_plan& plan, line_port& input, uint64_t total,
                       const volatile uint32_t* cancel, merge_inputs& inputs, process_plans& plans,
                       progress& done) {
  merge_cut low;
  merge_cut high;
  find_cut(plan, input, total * plan.part / plan.parts, cancel, inputs, low, done);
  find_cut(plan, input, total * (plan.part + 1) / plan.parts, cancel, inputs, high, done);
BEGIN_PART:
  for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    // Cuts cross in inputs that are not sorted.
    if (high.rows[index] < low.rows[index]) fail(done, STATUS_NOT_SORTED);
    if (done.status != STATUS_OK) return;
    begin_input(input, index, low.rows[index], high.rows[index] - low.rows[index], inputs, plans,
                done);
  }
}

/// Finds out where the merge begins in all inputs.
inline input_rows begin_merge(const merge_plan& plan, line_port& input,
                              const volatile uint32_t* cancel, process_plans& plans,
                              progress& done) {
  merge_inputs inputs;
  clear_store(inputs.store);
  if (*cancel != 0) fail(done, STATUS_CANCELLED);
  const input_rows rows = open_inputs(plan, input, cancel, inputs, done);
  if (done.status != STATUS_OK) return rows;
BEGIN_WHOLE:
  for (uint32_t index = 0; index < plan.input_count; index++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    const input_cursor& cursor = inputs.cursors[index];
    plans.ask.start[index] =
        input_start{cursor.next_block, cursor.end, cursor.rows_left, ~static_cast<uint64_t>(0), 0};
  }
  if (plan.parts > 1) begin_part(plan, input, rows.rows_kept, cancel, inputs, plans, done);
  plans.choose.steps = done.steps;
  return rows;
}

/// Merges: `header` has what is known before.
inline void run_processes(const process_plans& plans, const result_record& header, line_port& input,
                          line_port& output, const volatile uint32_t* cancel) {
#pragma HLS DATAFLOW
  request_stream requests[ASKERS];
  word_stream heads;
  word_stream row_words;
  word_stream key_words;
  word_stream tie_words;
  word_stream string_words;
  place_stream places;
  freed_stream freed;
  turn_stream turns;
  key_stream keys;
  order_stream order_words[MERGE_INPUTS_MAX];
  value_stream values;
  value_blocks blocks_of_values;
  validity_blocks blocks_of_validity;
  reference_blocks blocks_of_strings;
  block_stream blocks;
  block_stream string_blocks;
  string_stream strings;
  stop_stream stop;
  piece_stream pieces;
  packed_stream packed;
  result_lines lines;
  report_stream fetched;
  report_stream asked;
  report_stream read;
  report_stream keyed;
  report_stream chosen;
  report_stream strings_asked;
  report_stream strings_packed;

  NS_REGION(flow);
  NS_STAGE(flow, write_lines(lines, output));
  NS_STAGE(flow,
           fetch(input, requests, heads, row_words, key_words, tie_words, string_words, fetched));
  NS_STAGE(flow, ask(plans.ask, freed, heads, requests[0], places, asked));
  NS_STAGE(flow,
           read_rows(plans.rows, places, row_words, turns, freed, keys, requests[1], values, read));
  NS_STAGE(flow, make_keys(plans.keys, keys, key_words, order_words, keyed));
  NS_STAGE(flow,
           choose(plans.choose, order_words, cancel, requests[2], tie_words, turns, stop, chosen));
  NS_STAGE(flow, gather(plans.gather, values, blocks_of_values, blocks_of_validity,
                        blocks_of_strings, blocks, string_blocks));
  NS_STAGE(flow, list_strings(plans.listing, blocks_of_strings, string_blocks, strings));
  NS_STAGE(flow, ask_strings(plans.strings, strings, stop, requests[3], pieces, strings_asked));
  NS_STAGE(flow, pack_strings(pieces, string_words, packed, strings_packed));
  NS_STAGE(flow,
           write_blocks(plans.output, header, blocks_of_values, blocks_of_validity, blocks, packed,
                        fetched, asked, read, keyed, chosen, strings_asked, strings_packed, lines));
  NS_RUN(flow);
}

/// Loads the command and runs it; the result's first words hold the status, whatever happened.
///
/// `input` and `output` [lines] are device memory. Input ranges and output size are those of the
/// command.
inline void run_merge(const uint64_t* command, line_port& input, line_port& output,
                      const volatile uint32_t* cancel) {
  uint64_t words[COMMAND_BYTES_MAX / 8];
#pragma HLS BIND_STORAGE variable = words type = ram_2p impl = bram
  merge_plan plan;
  process_plans plans;
  copy_command(command, words);
  progress done = no_progress();
  input_rows rows = input_rows();
  done.status = load_merge(words, plan);
  if (done.status == STATUS_OK) {
    allocate(plan, plans);
    rows = begin_merge(plan, input, cancel, plans, done);
  }
  result_record record = answer_to(plan.header, done.status);
  record.rows_in = rows.rows_in;
  record.rows_kept = rows.rows_kept;
  record.lines_read = done.lines_read;
  record.pages = in_32_bits(done.waits);
  record.dictionary_reads = done.waits;
  record.values_decoded = done.values_read;
  record.string_words = done.string_words;
  if (done.status == STATUS_OK) {
    run_processes(plans, record, input, output, cancel);
  } else {
    refuse(record, output);
  }
}

}  // namespace merging
}  // namespace nearscan
