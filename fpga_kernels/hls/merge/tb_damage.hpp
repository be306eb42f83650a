// SPDX-License-Identifier: Apache-2.0
// Tests of inputs and commands that lie: a merge refuses some, and none must lead it astray.
#pragma once

#include "tb_cases.hpp"

namespace nearscan_tb {

/// A merge of two inputs with numbers and strings.
inline merge_model plain_merge() {
  merge_model model;
  model.widths = {WIDTH_W64, WIDTH_BYTES};
  model.keys = {{0, false, false}, {1, false, false}};
  model.inputs.resize(2);
  model.bytes_max = 8192;
  for (int row = 0; row < 100; row++) {
    const std::string text(static_cast<size_t>(row % 9), 't');
    model.inputs[static_cast<size_t>(row % 2)].push_back({number_cell(row), text_cell(text)});
  }
  return model;
}

inline void stopped(tally& all) {
  merge_model model = plain_merge();
  model.cancelled = true;
  run_merge_model(all, "cancelled", model, STATUS_CANCELLED);
  model.cancelled = false;
  model.steps_max = 50;
  run_merge_model(all, "too many rows for its steps", model, STATUS_STEPS_EXCEEDED);
  model.steps_max = 0;
  run_merge_model(all, "no steps at all", model, STATUS_STEPS_EXCEEDED);
  // Strings that are written, and strings that are only compared.
  merge_model text = model;
  text.bytes_max = 1u << 20;
  text.steps_max = 15000;
  for (rows_t& rows : text.inputs)
    rows.assign(1, {number_cell(0), text_cell(std::string(90000, 'l'))});
  text.keys.pop_back();
  run_merge_model(all, "too long strings for its steps", text, STATUS_STEPS_EXCEEDED);
  text.keys.push_back({1, false, false});
  text.distinct = true;
  run_merge_model(all, "too long ties for its steps", text, STATUS_STEPS_EXCEEDED);
  // The steps are shared out: those that are enough for a whole are not enough for all parts.
  model = plain_merge();
  model.steps_max = 1000;
  run_cut_model(all, "steps enough", model, STATUS_OK);
  model.parts = 15;
  run_cut_model(all, "steps of a part", model, STATUS_STEPS_EXCEEDED);
  // Exactly as many bytes as the result needs are enough, and a word less is not.
  test_memories memories = bind_merge(plain_merge());
  const parsed_result whole = call_kernel(memories, plain_merge().widths);
  model = plain_merge();
  model.bytes_max = RESULT_RECORD_BYTES + whole.header.payload_bytes;
  run_merge_model(all, "room to the byte", model);
  model.bytes_max -= 8;
  run_merge_model(all, "room for a word less", model, STATUS_OUTPUT_FULL);
  model.bytes_max = RESULT_RECORD_BYTES;
  run_merge_model(all, "room for a header", model, STATUS_OUTPUT_FULL);
}

/// Runs a merge whose cancel word is set while the kernel runs, since it stands where the first
/// block is written; gives the header of the result.
inline result_record run_cancelled_midway(tally& all, const std::string& name,
                                          const merge_model& model) {
  test_memories memories = bind_merge(model);
  uint64_t& word = memories.output[RESULT_RECORD_BYTES / 8];
  word = 0;
  call_kernel_at(memories, depth_mode::declared, reinterpret_cast<const volatile uint32_t*>(&word));
  result_reader reader(memories.output);
  all.runs++;
  if (!reader.read_header()) all.fail(name, reader.result.error);
  if (reader.result.header.status != STATUS_CANCELLED) all.fail(name, "went on");
  return reader.result.header;
}

inline void cancelled_midway(tally& all) {
  const std::vector<int> numbers(3 * BLOCK_ROWS_MAX, 1);
  run_cancelled_midway(all, "cancelled midway", numbered({numbers}));
}

/// The same while strings are copied, and the process that polls the word waits for them: blocks of
/// 320 rows are too few for a poll after every so many steps. The copying ends.
inline void cancelled_copy(tally& all) {
  constexpr size_t COLUMNS = 6;
  constexpr size_t BYTES = 800;
  merge_model model;
  model.widths.assign(COLUMNS + 1, WIDTH_BYTES);
  model.widths[0] = WIDTH_W32;
  model.keys = {{0, false, false}};
  out_row row(COLUMNS + 1, text_cell(std::string(BYTES, 'c')));
  row[0] = number_cell(1);
  model.inputs.push_back(rows_t(1500, row));
  model.bytes_max = 8u << 20;
  const uint64_t words = run_cancelled_midway(all, "cancelled copy", model).string_words;
  if (words > 320 * COLUMNS * BYTES / 8 / 2) {
    all.fail("cancelled copy", std::to_string(words) + " words were copied");
  }
}

/// A wrong order is found by one of the parts, whole or cut.
inline void run_unsorted(tally& all, const std::string& name, const merge_model& model) {
  for (uint16_t parts : PARTS) {
    merge_model cut = model;
    cut.parts = parts;
    run_cut_model(all, name + " in " + std::to_string(parts), cut, STATUS_NOT_SORTED);
  }
}

inline void unsorted(tally& all) {
  merge_model model = plain_merge();
  std::swap(model.inputs[1][20], model.inputs[1][21]);
  run_unsorted(all, "two rows swapped", model);
  // On both sides of any cut.
  for (size_t row = 0; row + 1 < plain_merge().inputs[0].size(); row++) {
    model = plain_merge();
    std::swap(model.inputs[0][row], model.inputs[0][row + 1]);
    run_unsorted(all, "rows swapped at " + std::to_string(row), model);
  }
  model = plain_merge();
  std::swap(model.inputs[0].front(), model.inputs[0].back());
  model.block_rows = 1;
  run_unsorted(all, "the last row first", model);
  // Many halves of windows with keys are on their way when the wrong row is found.
  for (uint32_t inputs : {2u, 4u, 16u}) {
    for (uint32_t block_rows : {1u, 2u, 4u, 8u}) {
      model = merge_model();
      model.widths.assign(4, WIDTH_W64);
      model.keys = {{0, false, false}, {1, false, false}, {2, false, false}, {3, false, false}};
      model.block_rows = block_rows;
      model.bytes_max = 1u << 20;
      rows_t rows;
      for (int row = 0; row < 64; row++) rows.push_back(out_row(4, number_cell(row)));
      model.inputs.assign(inputs, rows);
      std::swap(model.inputs[0][1], model.inputs[0][2]);
      run_unsorted(all, "small blocks of " + std::to_string(inputs) + " inputs", model);
    }
  }
  model = plain_merge();
  model.inputs[0][3][0] = null_cell();
  run_unsorted(all, "a null among values", model);
  model = plain_merge();
  model.keys[0].descending = true;
  run_unsorted(all, "the other way round", model);
}

/// Runs a merge whose first input is changed, whole and in parts, one of which must find it; the
/// input's header gets the right checksum again.
template <typename Change>
void run_changed(tally& all, const std::string& name, const merge_model& model, uint32_t status,
                 const Change& change) {
  for (uint16_t parts : PARTS) {
    bool is_found = false;
    for (uint16_t part = 0; part < parts; part++) {
      merge_model cut = model;
      cut.parts = parts;
      cut.part = part;
      test_memories memories = bind_merge(cut);
      change(reinterpret_cast<uint8_t*>(&memories.input[0]) + memories.starts[0]);
      sign_input(memories, 0);
      const parsed_result result = call_kernel(memories, model.widths);
      all.runs++;
      if (!result.error.empty()) return all.fail(name, result.error);
      is_found = is_found || result.header.status == status;
      if (result.header.status != status && (parts == 1 || result.header.status != STATUS_OK)) {
        return all.fail(name, "status " + std::to_string(result.header.status) + " in part " +
                                  std::to_string(part) + " of " + std::to_string(parts));
      }
    }
    if (!is_found) all.fail(name, "is not found in " + std::to_string(parts) + " parts");
  }
}

/// Changes the 4-byte number at byte `at`.
template <typename Change>
void change_number(uint8_t* at, const Change& change) {
  uint32_t number;
  std::memcpy(&number, at, 4);
  number = change(number);
  std::memcpy(at, &number, 4);
}

inline void lying_inputs(tally& all) {
  const merge_model model = plain_merge();
  // Parts of the first input's only block of 50 rows: validity, numbers, validity, ends, bytes.
  const uint64_t block = RESULT_RECORD_BYTES;
  const uint64_t ends = block + 16 + 8 + 50 * 8 + 8;
  const auto set = [&](const std::string& name, uint64_t at, uint32_t value) {
    run_changed(all, name, model, STATUS_CORRUPT, [&](uint8_t* input) {
      change_number(input + at, [&](uint32_t) { return value; });
    });
  };
  const auto add = [&](const std::string& name, uint64_t at, uint32_t value) {
    run_changed(all, name, model, STATUS_CORRUPT, [&](uint8_t* input) {
      change_number(input + at, [&](uint32_t number) { return number + value; });
    });
  };
  set("another magic", offsetof(result_record, magic), 7);
  set("another major version", offsetof(result_record, format_major), 2);
  set("a status that there is not", offsetof(result_record, status), STATUS_NOT_SORTED + 1);
  add("a longer payload", offsetof(result_record, payload_bytes), 8);
  add("a shorter payload", offsetof(result_record, payload_bytes), static_cast<uint32_t>(-8));
  add("a crooked payload", offsetof(result_record, payload_bytes), 4);
  set("a payload beyond all memory", offsetof(result_record, payload_bytes) + 4, 0x10000);
  add("one more row announced", offsetof(result_record, rows_out), 1);
  add("one row less announced", offsetof(result_record, rows_out), static_cast<uint32_t>(-1));
  set("too many rows announced", offsetof(result_record, rows_out) + 4, 1);
  set("no rows in a block", block, 0);
  set("too many rows in a block", block, BLOCK_ROWS_MAX + 1);
  add("one row more in a block", block, 1);
  set("a block without bytes", block + 4, 0);
  add("a longer block", block + 4, 8);
  add("a shorter block", block + 4, static_cast<uint32_t>(-8));
  set("a block beyond the payload", block + 4, 0xfffffff8u);
  set("strings behind the block", ends + 49 * 4, 0xffffffffu);
  add("more bytes of strings", ends + 49 * 4, 8);
  set("a string behind the others", ends + 20 * 4, 0xffff);
  set("a string that ends before it starts", ends + 20 * 4, 0);
  merge_model wide = model;
  wide.keys.pop_back();
  test_memories wider = bind_merge(wide, {WIDTH_W64});
  all.runs++;
  if (call_kernel(wider, {WIDTH_W64}).header.status != STATUS_CORRUPT) {
    all.fail("a column that nobody told of", "is skipped");
  }
  run_changed(all, "a scan that failed", model, STATUS_OVERFLOW, [](uint8_t* input) {
    const uint32_t status = STATUS_OVERFLOW;
    std::memcpy(input + offsetof(result_record, status), &status, 4);
  });
  merge_model truths = model;
  truths.widths[0] = WIDTH_BOOL;
  for (rows_t& rows : truths.inputs) {
    for (out_row& row : rows) row[0] = number_cell(0);
    golden_sort(truths, rows);
  }
  run_changed(all, "a truth value that is none", truths, STATUS_CORRUPT,
              [&](uint8_t* input) { input[block + 16 + 8 + 5] = 2; });
  test_memories memories = bind_merge(model);
  reinterpret_cast<uint8_t*>(&memories.input[0])[memories.starts[1] + 64] ^= 1;
  const parsed_result result = call_kernel(memories, model.widths);
  all.runs++;
  if (result.header.status != STATUS_CORRUPT) all.fail("a header's checksum", "is not looked at");
}

/// What a row holds that is null is not looked at: neither compared, nor passed on.
inline void hidden_values(tally& all) {
  for (uint8_t width : {WIDTH_W64, WIDTH_W128, WIDTH_BOOL}) {
    merge_model model;
    model.widths = {width, WIDTH_W64};
    model.keys = {{0, false, false}};
    model.inputs.resize(2);
    for (rows_t& rows : model.inputs) {
      rows.push_back({number_cell(0), number_cell(1)});
      rows.push_back({null_cell(), number_cell(2)});
      rows.push_back({null_cell(), null_cell()});
    }
    test_memories memories = bind_merge(model);
    uint8_t* values = reinterpret_cast<uint8_t*>(&memories.input[0]) + memories.starts[0] +
                      RESULT_RECORD_BYTES + BLOCK_HEADER_BYTES + 8;
    const size_t bytes = width == WIDTH_BOOL ? 1 : width == WIDTH_W64 ? 8 : 16;
    values[bytes] = 1;
    all.runs++;
    const parsed_result result = call_kernel(memories, model.widths);
    if (!result.error.empty()) all.fail("hidden values", result.error);
    const rows_t expected = golden_merge(model);
    if (result.header.status != STATUS_OK || result.rows != expected) {
      all.fail("hidden values", "are compared");
    }
  }
}

/// Changes bytes of inputs by chance: whatever comes, it is a status or a sound result.
inline void damaged_inputs(tally& all, uint64_t count) {
  merge_model model = plain_merge();
  model.block_rows = 13;
  std::vector<test_memories> fresh;
  for (uint16_t parts : PARTS) {
    model.parts = parts;
    model.part = static_cast<uint16_t>(parts / 2);
    fresh.push_back(bind_merge(model));
  }
  for (uint64_t seed = 0; seed < count; seed++) {
    random_source random(seed);
    test_memories memories = fresh[seed % fresh.size()];
    uint8_t* bytes = reinterpret_cast<uint8_t*>(&memories.input[0]);
    const uint64_t changes = 1 + random.below(3);
    for (uint64_t i = 0; i < changes; i++) {
      bytes[random.below(memories.input.size() * 64)] ^=
          static_cast<uint8_t>(1 + random.below(255));
    }
    sign_input(memories, 0);
    sign_input(memories, 1);
    all.runs++;
    const parsed_result result = call_kernel(memories, model.widths);
    if (!result.error.empty()) all.fail("damage " + std::to_string(seed), result.error);
  }
}

inline void refused(tally& all) {
  merge_model model = plain_merge();
  model.keys.clear();
  run_merge_model(all, "no keys", model, STATUS_MALFORMED);
  model = plain_merge();
  model.keys[1].column = 0;
  run_merge_model(all, "a column twice", model, STATUS_MALFORMED);
  model.keys[1].column = 2;
  run_merge_model(all, "no such column", model, STATUS_MALFORMED);
  model = plain_merge();
  model.keys.pop_back();
  model.distinct = true;
  run_merge_model(all, "distinct by some columns", model, STATUS_MALFORMED);
  model = plain_merge();
  model.parts = MERGE_PARTS_MAX + 1;
  run_cut_model(all, "too many parts", model, STATUS_MALFORMED);
  model.parts = 0;
  test_memories no_parts = bind_merge(model);
  all.runs++;
  if (call_kernel(no_parts, model.widths).header.status != STATUS_MALFORMED) {
    all.fail("no parts", "are merged");
  }
  model.parts = 3;
  model.part = 3;
  test_memories no_part = bind_merge(model);
  all.runs++;
  if (call_kernel(no_part, model.widths).header.status != STATUS_MALFORMED) {
    all.fail("no such part", "is merged");
  }
  model = plain_merge();
  model.inputs.clear();
  test_memories none = bind_merge(model);
  const parsed_result result = call_kernel(none, model.widths);
  all.runs++;
  if (result.header.status != STATUS_MALFORMED) all.fail("no inputs", "are merged");
}

/// Changes bytes of the command by chance: what leads out of the memories is not run, as on a card.
inline void damaged_commands(tally& all, uint64_t count) {
  merge_model model = plain_merge();
  model.parts = 2;
  model.part = 1;
  const test_memories fresh = bind_merge(model);
  const uint64_t bytes = static_cast<uint32_t>(fresh.command[1]);
  static merging::merge_plan plan;
  for (uint64_t seed = 0; seed < count; seed++) {
    random_source random(seed);
    test_memories memories = fresh;
    uint8_t* command = reinterpret_cast<uint8_t*>(&memories.command[0]);
    command[random.below(bytes)] ^= static_cast<uint8_t>(1 + random.below(255));
    sign_command(memories.command);
    all.runs++;
    if (merging::load_merge(memories.command.data(), plan) == STATUS_OK &&
        !merging::within_memories(plan, memories.input.size() * 64, model.bytes_max)) {
      continue;
    }
    call_kernel_at(memories, depth_mode::declared, &memories.cancel);
    result_reader reader(memories.output);
    if (!reader.read_header()) all.fail("command " + std::to_string(seed), reader.result.error);
  }
}

}  // namespace nearscan_tb
