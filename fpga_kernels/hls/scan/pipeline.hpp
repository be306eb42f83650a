// SPDX-License-Identifier: Apache-2.0
// The scan pipeline as a dataflow region: the stages and the streams between them.
//
//     load_plan: for each of the others what it has to do
//     fetch -+-> read_pages -> decompress -> decode -+-> filter -> project -> aggregate -> write
//            +-> ... one lane a column ...          -+                                       |
//              decode -> write_memory -> decode                  write_lines <- pack_parts <-+
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
#include "entry_keys.hpp"
#include "entry_store.hpp"
#include "fetch.hpp"
#include "filter.hpp"
#include "load.hpp"
#include "loaders.hpp"
#include "look_ups.hpp"
#include "page_reader.hpp"
#include "project.hpp"
#include "read_memory.hpp"
#include "write.hpp"
#include "write_memory.hpp"
#include "write_slots.hpp"

namespace nearscan {

/// Runs a command; the result's first words hold the status, whatever happened.
///
/// `input`, `output`, `dictionaries` [lines], `scratch` and `entries_out` [8-byte words] and
/// `scratch_out` [pairs of them] are device memory. Input ranges, output size and scratch size are
/// those of the command. No process waits for the end of the command, so that the next one is
/// loaded meanwhile, and its dictionaries.
inline void run_scan(const uint64_t* command, line_port& input, line_port& output,
                     word_port& scratch, line_port& dictionaries, word_port& entries_out,
                     pair_port& scratch_out, const volatile uint32_t* cancel) {
#pragma HLS DATAFLOW
  scan_plan plan;
  // A process has its own part of the plan, and of what is once for each lane the lane's.
#pragma HLS DISAGGREGATE variable = plan
#pragma HLS ARRAY_PARTITION variable = plan.pages dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.decompress dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.decode dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.tests dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.look_up dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.entries dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.loaders dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.loader_codecs dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.loader_runs dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.loader_takes dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.loader_entries dim = 1 complete
  // An iteration looks up the bytes of a word.
#pragma HLS ARRAY_PARTITION variable = plan.tests.patterns.filter.table dim = 1 complete
#pragma HLS BIND_STORAGE variable = plan.tests.patterns.filter.table type = ram_s2p impl = lutram
  // A side has columns of its own.
#pragma HLS ARRAY_PARTITION variable = plan.columns.columns dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = plan.columns.tables.test_column complete
#pragma HLS ARRAY_PARTITION variable = plan.columns.tables.test_bit complete
  // An iteration reads the tables of all operands.
#pragma HLS ARRAY_PARTITION variable = plan.predicate.tables.test_column complete
#pragma HLS ARRAY_PARTITION variable = plan.predicate.tables.test_bit complete
  line_stream lines[LANES];
  page_stream pages[LANES];
  byte_stream page_bytes[LANES];
  page_stream plain_pages[LANES];
  byte_stream plain_bytes[LANES];
  value_stream values[LANES];
  key_stream keys[LANES];
  pair_stream pairs[LANES][LANE_WRITERS];
  burst_stream bursts[LANES][LANE_WRITERS];
  written_stream written[LANES];
  spread_stream requests[LANES];
  found_stream found[LANES];
  line_stream dictionary_lines[LOADERS];
  report_stream dictionary_fetched[LOADERS];
  page_stream dictionary_pages[LOADERS];
  byte_stream dictionary_bytes[LOADERS];
  report_stream dictionary_parsed[LOADERS];
  page_stream sent_dictionaries[LOADERS];
  byte_stream sent_bytes[LOADERS];
  snappy_page_stream packed_pages[LOADERS];
  snappy_byte_stream packed_bytes[LOADERS];
  snappy_answer_stream unpacked_bytes[LOADERS];
  page_stream plain_dictionaries[LOADERS];
  byte_stream plain_dictionary_bytes[LOADERS];
  report_stream dictionary_decompressed[LOADERS];
  chip_stream loaded_chips[LOADERS][LANES];
  dictionary_stream loaded[LOADERS][LANES];
  store_stream store_tokens[LOADERS];
  slot_run_stream slot_runs[LOADERS];
  slot_word_stream slot_words[LOADERS];
  slots_written_stream slots_written[LOADERS];
  chip_stream own_chips[LANES];
  chip_blocks chips[LANES];
  store_blocks store;
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
  key_blocks entry_keys;
  key_blocks row_keys;
  key_entry_stream key_entries[LOADERS];
  verdict_blocks verdicts_on_entries;
  report_stream entry_key_report;
  key_word_stream key_words[KEY_FILTERS_MAX];
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
  number_stream operands[SIDES][SIDE_COLUMNS];
  side_stream passed_columns[SIDES];
  report_stream project_report;
  row_stream results;
  number_stream columns[SIDES];
  report_stream aggregate_report;
  scratch_stream state_requests;
  string_stream states;
  piece_stream string_requests;
  string_stream strings;
  part_stream parts;
  record_stream record;
  result_lines result;
  memory_report_stream memory_read;
  memory_report_stream memory_written;
  memory_report_stream slots_report;
  memory_report_stream store_report;

  load_plan(command, plan, entry_keys, row_keys);
  NS_REGION(flow);
  NS_STAGE(flow, read_memory(plan.memory, slots, entries, requests, found, state_requests, states,
                             string_requests, strings, scratch, memory_read));
  NS_STAGE_IF(flow, plan.store_fill.active, fill_store(plan.store_fill, store_tokens, store));
  NS_STAGE_IF(flow, plan.store.active,
              look_up_store(plan.store, store, places, stored, store_report));
  NS_STAGE(flow,
           write_memory(plan.lane_count, pairs, bursts, written, scratch_out, memory_written));
  NS_STAGE(flow, pack_parts(parts, record, result));
  NS_STAGE(flow, write_lines(result, output));
  NS_STAGE(flow, fetch(dictionaries, plan.fetch_dictionaries, no_cancel_word(), dictionary_lines,
                       dictionary_fetched));
LOADER_STAGES:
  for (int loader = 0; loader < LOADERS; loader++) {
#pragma HLS UNROLL
    NS_LANE_STAGE(flow, loader, plan.loaders[loader].count != 0,
                  read_dictionary_pages(plan.loaders[loader], dictionary_lines[loader],
                                        dictionary_fetched[loader], dictionary_pages[loader],
                                        dictionary_bytes[loader], dictionary_parsed[loader]));
    NS_LANE_STAGE(
        flow, loader, plan.loaders[loader].count != 0,
        send_dictionaries(plan.loader_codecs[loader], dictionary_pages[loader],
                          dictionary_bytes[loader], sent_dictionaries[loader], sent_bytes[loader],
                          packed_pages[loader], packed_bytes[loader]));
    NS_LANE_STAGE(flow, loader, plan.loaders[loader].count != 0,
                  unpack_dictionaries(plan.loader_runs[loader], packed_pages[loader],
                                      packed_bytes[loader], unpacked_bytes[loader]));
    NS_LANE_STAGE(flow, loader, plan.loaders[loader].count != 0,
                  take_dictionaries(
                      plan.loader_takes[loader], sent_dictionaries[loader], sent_bytes[loader],
                      unpacked_bytes[loader], dictionary_parsed[loader], plain_dictionaries[loader],
                      plain_dictionary_bytes[loader], dictionary_decompressed[loader]));
    NS_LANE_STAGE(
        flow, loader, true,
        load_entries(plan.loader_entries[loader], plain_dictionaries[loader],
                     plain_dictionary_bytes[loader], dictionary_decompressed[loader],
                     loaded_chips[loader], store_tokens[loader], key_entries[loader],
                     slot_runs[loader], slot_words[loader], slots_written[loader], loaded[loader]));
  }
  NS_STAGE_IF(flow, plan.entry_keys.active,
              filter_entries(plan.entry_keys, entry_keys, key_entries, verdicts_on_entries,
                             entry_key_report));
  NS_STAGE(flow, write_slots(slot_runs, slot_words, slots_written, entries_out, slots_report));
  NS_STAGE(flow, fetch(input, plan.fetch, cancel_word{cancel}, lines, fetched));
LANE_STAGES:
  for (int lane = 0; lane < LANES; lane++) {
#pragma HLS UNROLL
    NS_LANE_STAGE(flow, lane, plan.pages[lane].active,
                  read_pages(plan.pages[lane], lines[lane], fetched[lane], pages[lane],
                             page_bytes[lane], parsed[lane]));
    NS_LANE_STAGE(flow, lane, plan.decompress[lane].active,
                  decompress(plan.decompress[lane], pages[lane], page_bytes[lane], parsed[lane],
                             plain_pages[lane], plain_bytes[lane], decompressed[lane]));
    NS_LANE_STAGE(flow, lane, plan.entries[lane].active,
                  fill_chip(plan.entries[lane], own_chips[lane], loaded_chips[0][lane],
                            loaded_chips[1][lane], chips[lane]));
    NS_LANE_STAGE(flow, lane, plan.look_up[lane].active,
                  ask_entries(plan.look_up[lane], values[lane], forwarded[lane], pending[lane],
                              slots[lane], places[lane], credits[lane]));
    NS_LANE_STAGE(flow, lane, plan.look_up[lane].active,
                  take_entries(plan.look_up[lane], pending[lane], entries[lane], stored[lane],
                               credits[lane], early_words[lane], late_words[lane]));
  }
TESTED_LANES:
  for (int lane = 0; lane < TEST_LANES; lane++) {
#pragma HLS UNROLL
    NS_LANE_STAGE(flow, lane, plan.decode[lane].active,
                  decode(plan.decode[lane], plan.tests[lane], plain_pages[lane], plain_bytes[lane],
                         decompressed[lane], pairs[lane], bursts[lane], written[lane],
                         requests[lane], found[lane], own_chips[lane], chips[lane], loaded[0][lane],
                         loaded[1][lane], values[lane], keys[lane], decoded[lane]));
  }
UNTESTED_LANES:
  for (int lane = TEST_LANES; lane < LANES; lane++) {
#pragma HLS UNROLL
    NS_LANE_STAGE(flow, lane, plan.decode[lane].active,
                  decode(plan.decode[lane], no_tests(), plain_pages[lane], plain_bytes[lane],
                         decompressed[lane], pairs[lane], bursts[lane], written[lane],
                         requests[lane], found[lane], own_chips[lane], chips[lane], loaded[0][lane],
                         loaded[1][lane], values[lane], keys[lane], decoded[lane]));
  }
  NS_STAGE(flow,
           gather_words(plan.gather, values, early_words, filter_eval_blocks, filter_eval_batches,
                        key_words, filter_pass_blocks, filter_pass_batches, gather_report));
  NS_STAGE(flow, evaluate_predicate(plan.predicate, plan.predicate_slow.active, filter_eval_blocks,
                                    filter_eval_batches, predicate_words, predicate_results,
                                    verdicts, predicate_report));
  NS_STAGE_IF(flow, plan.predicate_slow.active,
              compute_slow_steps(plan.predicate_slow, predicate_words, predicate_results));
  NS_STAGE(flow, look_keys_up(plan.keys, row_keys, verdicts_on_entries, verdicts, key_words,
                              keys_found, entry_key_report, key_report));
  NS_STAGE(flow, pass_on_kept(plan.keep, filter_pass_blocks, filter_pass_batches, keys_found,
                              decoded, gather_report, predicate_report, key_report, forwarded,
                              filtered, filter_report));
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
                           passed_columns, project_report));
  NS_STAGE(flow,
           aggregate(plan.aggregate, keys, projected, operands, passed_columns, project_report,
                     state_requests, states, results, columns, aggregate_report));
  NS_STAGE(flow,
           write_result(plan.write, results, columns, aggregate_report, string_requests, strings,
                        memory_read, memory_written, slots_report, store_report, parts, record));
  NS_RUN(flow);
}

}  // namespace nearscan
