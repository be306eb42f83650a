// SPDX-License-Identifier: Apache-2.0
// Lays the inputs of a merge out, runs the kernel, and holds the result against what was expected.
#pragma once

#include "bounds.hpp"
#include "tb_model.hpp"

extern "C" void ns_merge(const uint64_t* command, nearscan::line_port input,
                         nearscan::line_port output, uint64_t* scratch,
                         const volatile uint32_t* cancel);

namespace nearscan_tb {

/// The memories of a kernel call. Each is exactly as large as the command may touch.
struct test_memories {
  std::vector<uint64_t> command;
  std::vector<line_t> input;
  std::vector<uint64_t> output;
  /// The beginning of each input, in bytes.
  std::vector<uint64_t> starts;
  uint32_t cancel = 0;
};

/// Rows of a unit whose scan keeps `rows`.
inline uint64_t unit_rows(size_t rows) { return 3 * rows + 7; }

/// Lays inputs and command out; the command says that the columns have these widths.
inline test_memories bind_merge(const merge_model& model, const std::vector<uint8_t>& widths) {
  test_memories made;
  bytes_t input(64, 0xcc);
  std::vector<input_record> inputs;
  for (const rows_t& rows : model.inputs) {
    const bytes_t result = write_result(model, rows, unit_rows(rows.size()));
    input_record where = input_record();
    where.kind = 1;
    where.offset = input.size();
    where.length = result.size();
    inputs.push_back(where);
    made.starts.push_back(input.size());
    input.insert(input.end(), result.begin(), result.end());
    while (input.size() % 64 != 0) input.push_back(0xdd);
  }
  std::vector<sort_key_record> keys;
  for (const key_model& key : model.keys) {
    const uint32_t flags =
        (key.descending ? SORT_DESCENDING : 0u) | (key.nulls_first ? SORT_NULLS_FIRST : 0u);
    keys.push_back({key.column, static_cast<uint16_t>(flags), 0});
  }
  std::vector<output_column_record> columns;
  for (uint8_t width : widths) columns.push_back({NONE, width, 0});
  output_record output = output_record();
  output.mode = OUTPUT_ROWS;
  output.kind = 2;
  output.bytes_max = model.bytes_max;
  output.rows_max = ~static_cast<uint64_t>(0);
  const uint16_t how = model.distinct ? MERGE_DISTINCT : static_cast<uint16_t>(0);
  section_builder builder;
  builder.records(SECTION_INPUTS, inputs);
  builder.records(SECTION_MERGE, std::vector<merge_record>(1, {how, 0, 0}));
  builder.records(SECTION_MERGE_KEYS, keys);
  if (model.parts != 1) {
    builder.records(SECTION_MERGE_PART,
                    std::vector<merge_part_record>(1, {model.part, model.parts, 0}));
  }
  builder.records(SECTION_OUTPUT_COLUMNS, columns);
  builder.records(SECTION_OUTPUT, std::vector<output_record>(1, output));
  command_header header = command_header();
  header.magic = COMMAND_MAGIC;
  header.format_major = FORMAT_MAJOR;
  header.opcode = OPCODE_MERGE;
  header.attempt = 3;
  header.command_id_low = 0x1122334455667788u;
  header.command_id_high = 0x99aabbccddeeff00u;
  header.epoch = 7;
  header.steps_max = model.steps_max;
  const bytes_t command = builder.finish(header);
  made.command.assign(COMMAND_BYTES_MAX / 8, 0);
  std::memcpy(&made.command[0], &command[0], command.size());
  sign_command(made.command);
  made.input.resize(input.size() / 64);
  std::memcpy(&made.input[0], &input[0], input.size());
  made.output.assign(model.bytes_max / 8 + GUARD_WORDS, UNTOUCHED);
  made.cancel = model.cancelled ? 1 : 0;
  return made;
}

inline test_memories bind_merge(const merge_model& model) {
  return bind_merge(model, model.widths);
}

using nearscan_portable::depth_mode;

/// Calls the kernel with FIFOs of these depths.
inline void call_kernel_at(test_memories& memories, depth_mode mode,
                           const volatile uint32_t* cancel) {
  nearscan_portable::set_depth_mode(mode);
  nearscan_portable::clear_stuck();
  ns_merge(memories.command.data(), memories.input.data(),
           reinterpret_cast<line_t*>(memories.output.data()), nullptr, cancel);
}

/// Calls the kernel and checks what holds for every run, whatever the command; gives the result as
/// far as it can be read.
///
/// The FIFOs are as deep as they are declared, which is what the hardware has.
inline parsed_result call_kernel(test_memories& memories, const std::vector<uint8_t>& widths) {
  call_kernel_at(memories, depth_mode::declared, &memories.cancel);
  result_reader reader(memories.output);
  const char* stuck = nearscan_portable::last_stuck();
  if (stuck[0] != '\0') {
    reader.refuse(std::string("deadlock: ") + stuck);
    return reader.result;
  }
  if (reader.read_header() && reader.result.header.status == STATUS_OK) {
    reader.read_blocks(widths);
  }
  for (uint64_t i = 0; i < GUARD_WORDS; i++) {
    if (memories.output[memories.output.size() - 1 - i] != UNTOUCHED) {
      reader.refuse("wrote behind the output");
    }
  }
  return reader.result;
}

/// Runs a merge again with deep FIFOs, which must change nothing of a result.
inline void check_roomy(tally& all, const std::string& name, test_memories& memories,
                        const result_record& header) {
  const size_t words = (RESULT_RECORD_BYTES + header.payload_bytes) / 8;
  const std::vector<uint64_t> ran(memories.output.begin(),
                                  memories.output.begin() + static_cast<ptrdiff_t>(words));
  call_kernel_at(memories, depth_mode::roomy, &memories.cancel);
  all.runs++;
  if (nearscan_portable::last_stuck()[0] != '\0') all.fail(name, "stuck with deep FIFOs");
  // What a failed merge did until it ended depends on how far ahead its processes were.
  if (header.status != STATUS_OK) return;
  if (!std::equal(ran.begin(), ran.end(), memories.output.begin())) {
    all.fail(name, "deep FIFOs change the result");
  }
}

/// Counters that follow from the inputs.
inline std::string check_counters(const merge_model& model, const result_record& header) {
  uint64_t rows_in = 0;
  for (const rows_t& rows : model.inputs) rows_in += unit_rows(rows.size());
  const uint64_t rows = rows_of_inputs(model);
  if (header.rows_in != rows_in || header.continuation_row != rows_in) return "rows_in";
  if (header.rows_kept != rows) return "rows_kept";
  if (header.payload_words * 8 != header.payload_bytes) return "payload_words";
  // Keys are read on their own, and all columns of what is put out. A part reads some rows to find
  // its cuts.
  const uint64_t values = rows * model.keys.size() + header.rows_out * model.widths.size();
  if (model.parts == 1 && header.values_decoded != values) return "values_decoded";
  // A choice for each row, and for the end of each input.
  if (model.parts == 1 && header.decode_steps_lane_max != rows + model.inputs.size()) {
    return "decode_steps_lane_max";
  }
  if (header.filter_iterations < header.decode_steps_lane_max) return "filter_iterations";
  if (header.decode_iterations_lane_max < header.rows_out * model.widths.size()) {
    return "decode_iterations_lane_max";
  }
  if (header.write_iterations < header.payload_words) return "write_iterations";
  if (header.lines_read < 4 * model.inputs.size()) return "lines_read";
  if (header.attempt != 3 || header.epoch != 7 || header.command_id_low != 0x1122334455667788u ||
      header.command_id_high != 0x99aabbccddeeff00u) {
    return "identity";
  }
  return "";
}

/// The parts that merges are cut into.
static const uint16_t PARTS[] = {1, 2, 3, 5};

/// Runs all parts of a merge, which end with `status`; of other statuses it is enough that one does
/// and the others end well. Gives the rows of all parts.
inline rows_t run_parts(tally& all, const std::string& name, const merge_model& model,
                        uint32_t status) {
  rows_t rows;
  bool has_failed = false;
  for (uint16_t part = 0; part < model.parts; part++) {
    merge_model of_part = model;
    of_part.part = part;
    test_memories memories = bind_merge(of_part);
    const parsed_result result = call_kernel(memories, model.widths);
    all.runs++;
    check_roomy(all, name, memories, result.header);
    if (!result.error.empty()) all.fail(name, result.error);
    has_failed = has_failed || result.header.status != STATUS_OK;
    if (result.header.status != STATUS_OK && result.header.status != status) {
      all.fail(name, "status " + std::to_string(result.header.status) + " instead of " +
                         std::to_string(status));
    }
    if (result.header.status != STATUS_OK) continue;
    const std::string counter = check_counters(of_part, result.header);
    if (!counter.empty()) all.fail(name, "counter " + counter);
    rows.insert(rows.end(), result.rows.begin(), result.rows.end());
    // Without distinct rows, shares differ by one row at most.
    const uint64_t total = rows_of_inputs(model);
    const uint64_t share =
        total * (part + 1u) / model.parts - total * static_cast<uint64_t>(part) / model.parts;
    if (status == STATUS_OK && !model.distinct && result.rows.size() != share) {
      all.fail(name, "a part has " + std::to_string(result.rows.size()) + " rows");
    }
  }
  if (has_failed != (status != STATUS_OK)) all.fail(name, "no part has failed");
  return rows;
}

/// Runs a merge in so many parts, which ends with `status`, and with the rows of the golden model
/// if that is ok.
inline void run_cut_model(tally& all, const std::string& name, const merge_model& model,
                          uint32_t status) {
  const rows_t rows = run_parts(all, name, model, status);
  if (status != STATUS_OK) return;
  const rows_t expected = golden_merge(model);
  if (rows.size() != expected.size()) {
    return all.fail(
        name, std::to_string(rows.size()) + " rows instead of " + std::to_string(expected.size()));
  }
  for (size_t row = 0; row < expected.size(); row++) {
    if (rows[row] == expected[row]) continue;
    return all.fail(name, "row " + std::to_string(row) + " is" + to_text(rows[row]) +
                              " instead of" + to_text(expected[row]));
  }
}

/// Runs a merge as a whole, and cut into parts if it ends well.
inline void run_merge_model(tally& all, const std::string& name, const merge_model& model,
                            uint32_t status = STATUS_OK) {
  for (uint16_t parts : PARTS) {
    if (parts > 1 && status != STATUS_OK) break;
    merge_model cut = model;
    cut.parts = parts;
    run_cut_model(all, name + " in " + std::to_string(parts), cut, status);
  }
}

/// Puts the right checksum into the header of an input.
inline void sign_input(test_memories& memories, size_t index) {
  uint64_t words[RESULT_RECORD_BYTES / 8];
  uint8_t* start = reinterpret_cast<uint8_t*>(&memories.input[0]) + memories.starts[index];
  std::memcpy(words, start, sizeof(words));
  finish_header(load_result_record(words, 0), words);
  std::memcpy(start, words, sizeof(words));
}

}  // namespace nearscan_tb
