// SPDX-License-Identifier: Apache-2.0
// The filter of the HLS stages as a whole, which counts its iterations: what the time model charges
// for a predicate and for key filters.
#pragma once

#include <memory>
#include <vector>

#include "bench.hpp"
#include "scan/filter.hpp"

namespace rtl {

/// Words of some lanes, the predicate, and the sets of keys, each for a lane.
struct filter_input {
  nearscan::program_plan program = nearscan::program_plan();
  nearscan::key_plan keys = nearscan::key_plan();
  uint8_t key_column[nearscan::KEY_FILTERS_MAX] = {};
  /// The bits of the sets.
  nearscan::key_memory bits = {};
  /// Of each lane its words. All rows of a word are there.
  std::vector<std::vector<nearscan::value_token>> lanes;
};

namespace stage {

inline void feed_lane(const std::vector<nearscan::value_token>& words, nearscan::value_stream& lane,
                      nearscan::report_stream& reports) {
  for (nearscan::value_token word : words) {
    word.count = nearscan::ROWS;
    word.last = false;
    lane.write(word);
  }
  nearscan::value_token end = nearscan::EMPTY_WORD;
  end.last = true;
  lane.write(end);
  reports.write(nearscan::empty_report());
}

/// The bits of the sets, and no verdict on entries.
inline void feed_keys(const filter_input& input, nearscan::key_blocks& keys,
                      nearscan::verdict_blocks& of_entries, nearscan::report_stream& reports) {
  {
    hls::write_lock<nearscan::entry_verdicts> none(of_entries);
  }
  {
    hls::write_lock<nearscan::key_memory> lock(keys);
    nearscan::key_memory& memory = lock;
    for (uint32_t word = 0; word < nearscan::KEY_BLOCK_WORDS; word++) {
      for (uint32_t block = 0; block < nearscan::KEY_BLOCKS; block++) {
        memory[word][block] = input.bits[word][block];
      }
    }
  }
  reports.write(nearscan::empty_report());
}

inline void drop_kept(nearscan::keep_stream& kept) {
  while (!kept.read().last) continue;
}

}  // namespace stage

/// Runs the processes of the filter; gives what they report together.
inline nearscan::report filter_by_stage(const filter_input& input) {
  const uint32_t lane_count = static_cast<uint32_t>(input.lanes.size());
  nearscan::gather_plan gather = nearscan::gather_plan();
  gather.lane_count = lane_count;
  gather.rows = nearscan::ROWS * input.lanes[0].size();
  gather.steps_max = ~0ull;
  gather.key_count = input.keys.count;
  nearscan::keep_plan keep = nearscan::keep_plan();
  keep.lane_count = lane_count;
  for (uint32_t set = 0; set < input.keys.count; set++) {
    gather.key_column[set] = input.key_column[set];
  }
  nearscan::value_stream lanes[nearscan::LANES], looked_up[nearscan::LANES];
  nearscan::value_stream forwarded[nearscan::LANES];
  nearscan::key_word_stream key_words[nearscan::KEY_FILTERS_MAX];
  nearscan::report_stream decoded[nearscan::LANES];
  nearscan::evaluated_blocks to_evaluate;
  nearscan::passed_blocks to_pass;
  nearscan::batch_stream evaluated_batches, passed_batches;
  nearscan::slow_stream slow_words;
  nearscan::step_result_stream slow_results;
  nearscan::verdict_stream verdicts, found;
  nearscan::report_stream gathered, evaluated, entries, looked, reports;
  nearscan::keep_stream kept;
  // The blocks are large.
  const auto keys = std::make_unique<nearscan::key_blocks>();
  const auto of_entries = std::make_unique<nearscan::verdict_blocks>();
  NS_REGION(flow);
  for (uint32_t lane = 0; lane < lane_count; lane++) {
    NS_LANE_STAGE(flow, lane, true,
                  stage::feed_lane(input.lanes[lane], lanes[lane], decoded[lane]));
  }
  NS_STAGE(flow, nearscan::gather_words(gather, lanes, looked_up, to_evaluate, evaluated_batches,
                                        key_words, to_pass, passed_batches, gathered));
  NS_STAGE(flow, nearscan::evaluate_predicate(input.program, false, to_evaluate, evaluated_batches,
                                              slow_words, slow_results, verdicts, evaluated));
  NS_STAGE_IF(flow, input.keys.count != 0, stage::feed_keys(input, *keys, *of_entries, entries));
  NS_STAGE(flow, nearscan::look_keys_up(input.keys, *keys, *of_entries, verdicts, key_words, found,
                                        entries, looked));
  NS_STAGE(flow, nearscan::pass_on_kept(keep, to_pass, passed_batches, found, decoded, gathered,
                                        evaluated, looked, forwarded, kept, reports));
  NS_STAGE(flow, stage::drop_kept(kept));
  NS_RUN(flow);
  if (nearscan_portable::last_stuck()[0] != '\0') {
    fail("the filter is stuck: %s", nearscan_portable::last_stuck());
  }
  return reports.read();
}

}  // namespace rtl
