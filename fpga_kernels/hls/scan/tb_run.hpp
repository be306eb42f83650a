// SPDX-License-Identifier: Apache-2.0
// Runs a command in every depth mode and holds the result against what was expected.
#pragma once

#include "bounds.hpp"
#include "tb_command.hpp"
#include "tb_golden.hpp"

extern "C" void ns_scan(const uint64_t* command, nearscan::line_port input,
                        nearscan::line_port output, nearscan::word_port scratch,
                        const volatile uint32_t* cancel, nearscan::line_port dictionaries,
                        nearscan::word_port entries, nearscan::pair_port scratch_out);

namespace nearscan_tb {

using nearscan_portable::depth_mode;

static const depth_mode ALL_DEPTHS[] = {depth_mode::roomy, depth_mode::declared,
                                        depth_mode::smallest};

inline const char* name_of(depth_mode mode) {
  switch (mode) {
    case depth_mode::roomy:
      return "roomy";
    case depth_mode::declared:
      return "declared";
    case depth_mode::smallest:
      return "smallest";
  }
  return "";
}

/// Widths of the output's columns.
inline std::vector<uint8_t> widths_of(const scan_model& model) {
  std::vector<uint8_t> widths;
  if (model.states) {
    for (const key_model& key : model.keys) {
      const bool bytes =
          !key.ranged && model.columns[key.operand].physical_type == PHYSICAL_BYTE_ARRAY;
      widths.push_back(bytes ? WIDTH_BYTES : WIDTH_W64);
    }
    for (const slot_model& slot : model.slots) {
      widths.push_back(slot.width == WIDTH_BYTES ? WIDTH_BYTES : WIDTH_W128);
    }
  } else {
    for (const row_column& column : model.row_columns) widths.push_back(column.width);
  }
  return widths;
}

/// Checks what holds for every run, whatever the command; gives the result as far as it can be
/// read.
inline parsed_result check_frame(const test_memories& memories, const std::vector<uint8_t>& widths,
                                 bool is_compact) {
  result_reader reader(memories.output);
  const char* stuck = nearscan_portable::last_stuck();
  if (stuck[0] != '\0') {
    reader.refuse(std::string("deadlock: ") + stuck);
    return reader.result;
  }
  if (reader.read_header() && reader.result.header.status == STATUS_OK) {
    reader.read_blocks(widths, is_compact);
  }
  for (uint64_t i = 0; i < GUARD_WORDS; i++) {
    if (memories.output[memories.output.size() - 1 - i] != UNTOUCHED) {
      reader.refuse("wrote behind the output");
    }
  }
  if (memories.scratch.back() != UNTOUCHED) reader.refuse("wrote behind the scratch");
  return reader.result;
}

/// Counters that follow from what was written and what was found.
inline std::string check_counters(const scan_model& model, const std::vector<written_chunk>& chunks,
                                  const test_memories& memories, const expectation& expected,
                                  const result_record& header) {
  uint64_t pages = 0;
  uint64_t page_bytes = 0;
  uint64_t values = 0;
  uint64_t entries = 0;
  for (const written_chunk& chunk : chunks) {
    pages += chunk.pages;
    page_bytes += chunk.page_bytes;
    values += chunk.values;
    entries += chunk.dictionary_entries;
  }
  if (header.rows_in != model.rows || header.continuation_row != model.rows) return "rows_in";
  if (header.rows_kept != expected.rows_kept) return "rows_kept";
  if (header.rows_filtered != model.rows) return "rows_filtered";
  if (header.rows_projected != expected.rows_kept) return "rows_projected";
  if (header.rows_aggregated != (model.states ? expected.rows_kept : 0)) return "rows_aggregated";
  if (header.pages != pages) return "pages";
  if (header.bytes_decompressed != page_bytes) return "bytes_decompressed";
  if (header.values_decoded != values) return "values_decoded";
  if (header.dictionary_entries != entries) return "dictionary_entries";
  if (header.lines_read != memories.lines_expected) return "lines_read";
  uint64_t key_words = 0;
  for (const key_filter_model& filter : model.key_filters) {
    key_words += make_key_bits(filter).size();
  }
  if (header.key_words != key_words) return "key_words";
  if (header.payload_words * 8 != header.payload_bytes) return "payload_words";
  if (header.attempt != 3 || header.epoch != 7 || header.command_id_low != 0x1122334455667788u ||
      header.command_id_high != 0x99aabbccddeeff00u) {
    return "identity";
  }
  return "";
}

/// Calls the kernel.
inline void call_kernel(test_memories& memories, depth_mode mode) {
  nearscan_portable::set_depth_mode(mode);
  nearscan_portable::clear_stuck();
  ns_scan(memories.command.data(), memories.input.data(),
          reinterpret_cast<line_t*>(memories.output.data()), memories.scratch.data(),
          &memories.cancel, memories.input.data(), memories.scratch.data(),
          reinterpret_cast<nearscan::u128*>(memories.scratch.data()));
}

/// Runs a model in every depth mode. `statuses` replaces what the golden model allows, if not
/// empty.
inline void run_form(tally& all, const std::string& name, const scan_model& model,
                     const std::vector<uint32_t>& statuses) {
  std::vector<written_chunk> chunks;
  for (const column_model& column : model.columns) chunks.push_back(write_chunk(column));
  expectation expected = evaluate_model(model, chunks);
  if (!statuses.empty()) expected.statuses = statuses;
  if (model.columns.size() > static_cast<size_t>(LANES)) expected.statuses = {STATUS_UNSUPPORTED};
  const test_memories fresh = bind_model(model, chunks);
  for (depth_mode mode : ALL_DEPTHS) {
    test_memories memories = fresh;
    const std::string where = name + " (" + name_of(mode) + ")";
    call_kernel(memories, mode);
    all.runs++;
    parsed_result result = check_frame(memories, widths_of(model), model.compact);
    if (!result.error.empty()) {
      all.fail(where, result.error);
      continue;
    }
    const uint32_t status = result.header.status;
    if (!expected.allows(status)) {
      all.fail(where, "status " + std::to_string(status) + " in column " +
                          std::to_string(static_cast<int>(result.header.detail_column)) + " page " +
                          std::to_string(result.header.detail_page));
      continue;
    }
    if (status != STATUS_OK) continue;
    const std::string counter = check_counters(model, chunks, memories, expected, result.header);
    if (!counter.empty()) all.fail(where, "counter " + counter);
    if (!expected.ordered) std::sort(result.rows.begin(), result.rows.end());
    if (result.rows.size() != expected.rows.size()) {
      all.fail(where, std::to_string(result.rows.size()) + " rows instead of " +
                          std::to_string(expected.rows.size()));
      continue;
    }
    for (size_t row = 0; row < expected.rows.size(); row++) {
      if (result.rows[row] == expected.rows[row]) continue;
      all.fail(where, "row " + std::to_string(row) + " is" + to_text(result.rows[row]) +
                          " instead of" + to_text(expected.rows[row]));
      break;
    }
    all.answered++;
  }
}

/// Runs a model in every depth mode; one that returns rows in compact blocks too.
inline void run_model(tally& all, const std::string& name, const scan_model& model,
                      const std::vector<uint32_t>& statuses = std::vector<uint32_t>()) {
  run_form(all, name, model, statuses);
  if (model.states || model.compact) return;
  scan_model compact = model;
  compact.compact = true;
  run_form(all, name + ", compact", compact, statuses);
}

}  // namespace nearscan_tb
