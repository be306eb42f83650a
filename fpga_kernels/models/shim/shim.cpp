// SPDX-License-Identifier: Apache-2.0
// The functions that Rust calls: the kernels with the sizes of the memories they are given, and the
// constants that both sides must agree on.
//
// In hardware the runtime sees to it that a command's ranges lie within its buffers. Here the
// command is loaded once more for that, so that no command can reach outside of them.
#include "merge/bounds.hpp"
#include "merge/merge.hpp"
#include "scan/bounds.hpp"
#include "scan/pipeline.hpp"

using namespace nearscan;

/// 0 done, 1 a range lies outside of its memory, 2 the stages wait for each other.
extern "C" uint32_t ns_model_scan(const uint64_t* command, const line_t* input,
                                  uint64_t input_bytes, uint64_t* output, uint64_t output_bytes,
                                  uint64_t* scratch, uint64_t scratch_bytes, const uint32_t* cancel,
                                  uint32_t declared_depths) {
  static thread_local scan_plan plan;
  if (load_command(command, plan) == STATUS_OK &&
      !within_memories(plan, input_bytes, output_bytes, scratch_bytes)) {
    return 1;
  }
  nearscan_portable::set_depth_mode(declared_depths != 0 ? nearscan_portable::depth_mode::declared
                                                         : nearscan_portable::depth_mode::roomy);
  nearscan_portable::clear_stuck();
  line_port chunks(input);
  line_port result(reinterpret_cast<line_t*>(output));
  word_port words(scratch);
  line_port dictionaries(input);
  word_port entries(scratch);
  pair_port pairs(reinterpret_cast<u128*>(scratch));
  run_scan(command, chunks, result, words, dictionaries, entries, pairs, cancel);
  return nearscan_portable::last_stuck()[0] == '\0' ? 0 : 2;
}

/// 0 done, 1 a range lies outside of its memory, 2 the processes wait for each other.
extern "C" uint32_t ns_model_merge(const uint64_t* command, const line_t* input,
                                   uint64_t input_bytes, uint64_t* output, uint64_t output_bytes,
                                   const uint32_t* cancel) {
  static thread_local merging::merge_plan plan;
  if (merging::load_merge(command, plan) == STATUS_OK &&
      !merging::within_memories(plan, input_bytes, output_bytes)) {
    return 1;
  }
  nearscan_portable::set_depth_mode(nearscan_portable::depth_mode::roomy);
  nearscan_portable::clear_stuck();
  line_port results(input);
  line_port merged(reinterpret_cast<line_t*>(output));
  merging::run_merge(command, results, merged, cancel);
  return nearscan_portable::last_stuck()[0] == '\0' ? 0 : 2;
}

/// Size of record `index` as C++ sees it, in the order of the generated header; 0 behind the last.
extern "C" uint32_t ns_model_record_bytes(uint32_t index) {
  static const uint32_t sizes[] = {
      sizeof(command_header),       sizeof(section_entry),     sizeof(input_record),
      sizeof(extent_record),        sizeof(column_record),     sizeof(step_record),
      sizeof(literal_record),       sizeof(test_record),       sizeof(string_record),
      sizeof(aggregate_record),     sizeof(key_record),        sizeof(key_range_record),
      sizeof(reading_record),       sizeof(top_record),        sizeof(merge_record),
      sizeof(sort_key_record),      sizeof(merge_part_record), sizeof(key_filter_record),
      sizeof(output_record),        sizeof(output_column_record), sizeof(result_record),
      sizeof(block_header),         sizeof(compact_column_record),
  };
  return index < sizeof(sizes) / sizeof(sizes[0]) ? sizes[index] : 0;
}
