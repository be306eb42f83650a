// SPDX-License-Identifier: Apache-2.0
// The scan pipeline as a dataflow region: the stages and the streams between them.
//
//     fetch -+-> read_pages -> decompress -> decode -+-> filter -> project -> aggregate -> write
//            +-> ... one lane a column ...          -+                                       |
//              decode -> write_memory -> decode                                 write_lines <+
//              decode, aggregate, write <-> read_memory -> fetch
//              read_memory, write_memory, look_up_store -> write
//
// A lane with a large dictionary is looked up on its way from decode to filter, or from filter to
// project:
//
//              ask_entries -> take_entries
//              ask_entries -> read_memory, look_up_store -> take_entries
//
// Assumed of the synthesis tool, which was not there to ask: that a loop which is unrolled may hold
// the calls of a dataflow region, that a struct of arrays which one stage reads may be handed to it
// by reference, that a stage may keep references to its streams in a struct, that streams may run
// against the order of the stages, and that of a bundle of ports one stage may read and another
// one write. What is known of it is kept to: a variable that is not a stream has one stage that
// writes and one that reads it, and stages return nothing.
#pragma once

#include "aggregate.hpp"
#include "decode.hpp"
#include "decompress.hpp"
#include "entry_store.hpp"
#include "fetch.hpp"
#include "filter.hpp"
#include "load.hpp"
#include "look_ups.hpp"
#include "page_reader.hpp"
#include "project.hpp"
#include "read_memory.hpp"
#include "write.hpp"
#include "write_memory.hpp"

namespace nearscan {

/// Runs the pipeline.
///
/// `input`, `output` [lines] and `scratch` [8-byte words] are device memory. Input ranges, output
/// size and scratch size are those of the command.
inline void run_pipeline(const scan_plan& plan, const key_memory& key_bits, line_port& input,
                         line_port& output, word_port& scratch, const volatile uint32_t* cancel) {
#pragma HLS DATAFLOW
  line_stream lines[LANES];
  page_stream pages[LANES];
  byte_stream page_bytes[LANES];
  page_stream plain_pages[LANES];
  byte_stream plain_bytes[LANES];
  value_stream values[LANES];
  key_stream keys[LANES];
  scratch_stream writes[LANES];
  written_stream written[LANES];
  scratch_stream requests[LANES];
  string_stream found[LANES];
  store_stream store_entries[LANES];
  pending_stream pending[LANES];
  slot_stream slots[LANES];
  entry_stream entries[LANES];
  place_stream places[LANES];
  stored_stream stored[LANES];
  credit_stream credits[LANES];
  value_stream early_words[LANES];
  value_stream forwarded[LANES];
  value_stream late_words[LANES];
  report_stream fetched[LANES];
  report_stream parsed[LANES];
  report_stream decompressed[LANES];
  report_stream decoded[LANES];
  evaluated_blocks filter_eval_blocks;
  passed_blocks filter_pass_blocks;
  batch_stream filter_eval_batches;
  batch_stream filter_pass_batches;
  key_mark_stream key_marks;
  value_stream key_words[KEY_FILTERS_MAX];
  slow_stream predicate_words;
  step_result_stream predicate_results;
  verdict_stream verdicts;
  verdict_stream keys_found;
  report_stream gather_report;
  report_stream predicate_report;
  report_stream key_report;
  keep_stream filtered;
  report_stream filter_report;
  evaluated_blocks project_eval_blocks;
  passed_blocks project_send_blocks;
  batch_stream project_eval_batches;
  batch_stream project_send_batches;
  slow_stream projection_words;
  step_result_stream projection_results;
  step_blocks projected_steps;
  report_stream kept_report;
  report_stream projection_report;
  row_stream projected;
  number_stream operands[SLOTS];
  report_stream project_report;
  row_stream results;
  number_stream columns[SLOTS];
  report_stream aggregate_report;
  scratch_stream state_requests;
  string_stream states;
  scratch_stream string_requests;
  string_stream strings;
  result_lines result;
  stop_stream stop;
  memory_report_stream memory_read;
  memory_report_stream memory_written;
  memory_report_stream store_report;

  NS_REGION(flow);
  NS_STAGE(flow, read_memory(plan.memory, slots, entries, requests, found, state_requests, states,
                             string_requests, strings, stop, scratch, cancel, memory_read));
  NS_STAGE_IF(flow, plan.store.active,
              look_up_store(plan.store, store_entries, places, stored, store_report));
  NS_STAGE(flow, write_memory(plan.lane_count, writes, written, scratch, memory_written));
  NS_STAGE(flow, write_lines(result, output));
  NS_STAGE(flow, fetch(input, plan.fetch, stop, lines, fetched));
LANE_STAGES:
  for (int lane = 0; lane < LANES; lane++) {
#pragma HLS UNROLL
    NS_LANE_STAGE(flow, lane, plan.pages[lane].active,
                  read_pages(plan.pages[lane], lines[lane], fetched[lane], pages[lane],
                             page_bytes[lane], parsed[lane]));
    NS_LANE_STAGE(flow, lane, plan.decompress[lane].active,
                  decompress(plan.decompress[lane], pages[lane], page_bytes[lane], parsed[lane],
                             plain_pages[lane], plain_bytes[lane], decompressed[lane]));
    NS_LANE_STAGE(
        flow, lane, plan.decode[lane].active,
        decode(plan.decode[lane], plain_pages[lane], plain_bytes[lane], decompressed[lane],
               writes[lane], written[lane], requests[lane], found[lane], store_entries[lane],
               values[lane], keys[lane], decoded[lane]));
    NS_LANE_STAGE(flow, lane, plan.look_up[lane].active,
                  ask_entries(plan.look_up[lane], values[lane], forwarded[lane], pending[lane],
                              slots[lane], places[lane], credits[lane]));
    NS_LANE_STAGE(flow, lane, plan.look_up[lane].active,
                  take_entries(plan.look_up[lane], pending[lane], entries[lane], stored[lane],
                               credits[lane], early_words[lane], late_words[lane]));
  }
  NS_STAGE(flow, gather_words(plan.gather, values, early_words, filter_eval_blocks,
                              filter_eval_batches, key_words, key_marks, filter_pass_blocks,
                              filter_pass_batches, gather_report));
  NS_STAGE(flow, evaluate_predicate(plan.predicate, plan.predicate_slow.active, filter_eval_blocks,
                                    filter_eval_batches, predicate_words, predicate_results,
                                    verdicts, predicate_report));
  NS_STAGE_IF(flow, plan.predicate_slow.active,
              compute_slow_steps(plan.predicate_slow, predicate_words, predicate_results));
  NS_STAGE_IF(flow, plan.keys.count != 0,
              look_keys_up(plan.keys, key_bits, key_marks, key_words, keys_found, key_report));
  NS_STAGE(flow, pass_on_kept(plan.keep, filter_pass_blocks, filter_pass_batches, verdicts,
                              keys_found, decoded, gather_report, predicate_report, key_report,
                              forwarded, filtered, filter_report));
  NS_STAGE(flow, gather_kept(plan.kept, filtered, forwarded, late_words, project_eval_blocks,
                             project_eval_batches, project_send_blocks, project_send_batches,
                             kept_report));
  NS_STAGE(flow, evaluate_projection(plan.projection, plan.projection_slow.active,
                                     project_eval_blocks, project_eval_batches, projection_words,
                                     projection_results, projected_steps, projection_report));
  NS_STAGE_IF(flow, plan.projection_slow.active,
              compute_slow_steps(plan.projection_slow, projection_words, projection_results));
  NS_STAGE(flow, send_kept(plan.columns, project_send_blocks, project_send_batches, projected_steps,
                           filter_report, kept_report, projection_report, projected, operands,
                           project_report));
  NS_STAGE(flow, aggregate(plan.aggregate, keys, projected, operands, project_report,
                           state_requests, states, results, columns, aggregate_report));
  NS_STAGE(flow, write_result(plan.write, results, columns, aggregate_report, string_requests,
                              strings, memory_read, memory_written, store_report, result));
  NS_RUN(flow);
}

/// Loads the command and runs it; the result's first words hold the status, whatever happened.
inline void run_scan(const uint64_t* command, line_port& input, line_port& output,
                     word_port& scratch, const volatile uint32_t* cancel) {
  uint64_t words[COMMAND_BYTES_MAX / 8];
#pragma HLS BIND_STORAGE variable = words type = ram_2p impl = bram
  scan_plan plan;
  // A lane's stages have the lane's part, and no other's.
#pragma HLS ARRAY_PARTITION variable = plan.pages dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.decompress dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.decode dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.look_up dim = 1 complete
  // An iteration reads the tables of all operands.
#pragma HLS ARRAY_PARTITION variable = plan.predicate.tables.test_column complete
#pragma HLS ARRAY_PARTITION variable = plan.predicate.tables.test_bit complete
  key_memory key_bits;
#pragma HLS BIND_STORAGE variable = key_bits.word type = ram_2p impl = uram
#pragma HLS ARRAY_PARTITION variable = key_bits.word dim = 1 complete
  copy_command(command, words);
  uint32_t status = load_command(words, plan);
  if (status == STATUS_OK && !load_key_bits(command, plan.keys, key_bits)) {
    status = STATUS_MALFORMED;
  }
  if (status != STATUS_OK) {
    report own = empty_report();
    own.status = status;
    refuse(make_header(plan.write, own), output);
  } else {
    run_pipeline(plan, key_bits, input, output, scratch, cancel);
  }
}

}  // namespace nearscan
