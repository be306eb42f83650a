// SPDX-License-Identifier: Apache-2.0
// Tests key filters over the entries of dictionaries: what they pass, when rows are looked up all
// the same, and what either costs.
#pragma once

#include "tb_iterations.hpp"
#include "tb_malformed.hpp"

namespace nearscan_tb {

static constexpr uint64_t ENTRY_ROWS = 6000;

/// A key column with more entries than fit on chip, and one of small numbers.
inline scan_model make_entry_model(uint64_t null_every, uint64_t rows = ENTRY_ROWS,
                                   uint64_t entries = 5500) {
  scan_model model;
  model.rows = rows;
  const auto key = [=](uint64_t row) { return static_cast<int64_t>(row * 7 % entries * 3); };
  model.columns = {number_column(rows, null_every, key),
                   number_column(rows, 0, [](uint64_t row) { return as_row(row % 50); })};
  for (column_model& column : model.columns) {
    column.style.values = layout::dictionary;
    column.style.seed = 1;
  }
  model.slots.clear();
  model.states = false;
  model.row_columns = {{column_at(1), WIDTH_W64}};
  return model;
}

inline std::vector<int64_t> keys_up_to(int64_t end, int64_t step) {
  std::vector<int64_t> keys;
  for (int64_t key = 0; key < end; key += step) keys.push_back(key);
  return keys;
}

/// Entries on chip and far ones, NULLs, two sets, and a column that is shown too.
inline void entries_pass_as_rows_do(tally& all) {
  const key_filter_model bloom = {0, KEY_SET_BLOOM, 100, 16000, 64, keys_up_to(16000, 21)};
  const key_filter_model bitmap = {0, KEY_SET_BITMAP, 3000, 14999, 0, keys_up_to(15000, 12)};
  const key_filter_model small = {1, KEY_SET_BITMAP, 0, 255, 0, keys_up_to(50, 2)};
  for (const uint64_t null_every : {0, 5}) {
    const std::string name = null_every == 0 ? "entries" : "entries and NULL";
    scan_model model = make_entry_model(null_every);
    for (const key_filter_model& filter : {bloom, bitmap}) {
      model.key_filters = {filter};
      run_model(all, name + " in a set", model);
    }
    model.key_filters = {bloom, bitmap};
    run_model(all, name + " in two sets", model);
    // The other column's dictionary is on chip, so that its rows are looked up.
    model.key_filters = {small, bitmap};
    run_model(all, name + " and rows", model);
    model.key_filters = {bloom, small, bitmap};
    run_model(all, name + " in two sets and rows", model);
    model.row_columns.push_back({column_at(0), WIDTH_W64});
    run_model(all, name + " that are shown", model);
    model.literals = {9000};
    model.predicate = {make_step(OP_LESS, column_at(0), literal_at(0))};
    run_model(all, name + " that are compared", model);
  }
  // Plain values have no entry, so all rows are looked up.
  scan_model mixed = make_entry_model(0);
  mixed.columns[0].style.values = layout::dictionary_then_plain;
  mixed.columns[0].style.plain_from = 5800;
  mixed.key_filters = {bitmap};
  run_model(all, "entries and plain values in a set", mixed);
}

/// Each takes more than a third of the room for verdicts, so rows of the third are looked up.
inline void third_column_has_no_room(tally& all) {
  const uint64_t rows = 90000;
  const uint64_t entries = 80000;
  scan_model model = make_entry_model(0, rows, entries);
  model.columns.push_back(model.columns[0]);
  model.columns.push_back(model.columns[0]);
  const key_filter_model filter = {0, KEY_SET_BLOOM, 100, 200000, 64, keys_up_to(200000, 2100)};
  model.key_filters.assign(3, filter);
  model.key_filters[1].column = 2;
  model.key_filters[2].column = 3;
  run_model(all, "entries of three columns", model);
  // The first entries are on chip, and the first rows have them, as those have behind the last
  // entry.
  const uint64_t far_rows = rows - 2 * DICTIONARY_ENTRIES_ON_CHIP;
  // They are in the store, of which an iteration looks two up.
  check_iterations(all, "look-ups of the third column", model, memory_read_iterations,
                   far_rows / 2);
}

/// An entry is looked up once, beside the loading; before the filter no row is looked up in device
/// memory.
inline void iterations_of_entry_keys(tally& all) {
  scan_model model = make_entry_model(0);
  const uint64_t entries = 5500;
  model.columns[0].style.codec = CODEC_UNCOMPRESSED;
  model.row_columns = {{column_at(1), WIDTH_W64}};
  model.key_filters = {{0, KEY_SET_BITMAP, 0, 16499, 0, {}}};
  check_iterations(all, "look-ups of a key by entry", model, dictionary_reads, 0);
  check_iterations(all, "scratch read for a key by entry", model, memory_read_iterations, 0);
  check_iterations(all, "scratch written for a key by entry", model, memory_write_iterations, 0);
  model.key_filters.assign(2, model.key_filters[0]);
  check_iterations(all, "two sets for each entry", model, loader_iterations, 2 * entries);
  // Of each word four pairs of rows in the one verdict, and a word that is dropped.
  check_iterations(all, "one verdict for two sets", model, filter_iterations, ENTRY_ROWS / 8 * 5);
  // And so are words of another column, of which no row is left.
  model.key_filters[1] = {1, KEY_SET_BITMAP, 0, 255, 0, {}};
  check_iterations(all, "rows whose entries are dropped", model, filter_iterations,
                   ENTRY_ROWS / 8 * 5);
  std::swap(model.key_filters[0], model.key_filters[1]);
  check_iterations(all, "entries of dropped rows", model, filter_iterations, ENTRY_ROWS / 8 * 5);
}

/// What a command must not claim, and a set that was damaged.
inline void refused_entry_keys(tally& all) {
  scan_model model = make_entry_model(0);
  model.key_filters = {{0, KEY_SET_BITMAP, 0, 16499, 0, keys_up_to(16000, 6)}};
  std::vector<written_chunk> chunks;
  for (const column_model& column : model.columns) chunks.push_back(write_chunk(column));
  uint64_t statuses[STATUS_STEPS_EXCEEDED + 1] = {0};
  const auto expect = [&](const std::string& name, const test_memories& memories, uint32_t status) {
    for (depth_mode mode : ALL_DEPTHS) {
      const uint64_t before = statuses[status];
      run_damaged(all, name, memories, model, mode, statuses);
      if (statuses[status] == before) all.fail(name, "is not refused as it should be");
    }
  };
  expect("entries as they are", bind_model(model, chunks), STATUS_OK);
  std::vector<written_chunk> fewer = chunks;
  fewer[0].page_bytes = 5000 * 8;
  expect("more entries than the chunk has room for", bind_model(model, fewer),
         STATUS_DICTIONARY_SIZE);
  std::vector<written_chunk> plain = chunks;
  model.columns[0].style.values = layout::dictionary_then_plain;
  model.columns[0].style.plain_from = 5800;
  plain[0] = write_chunk(model.columns[0]);
  if (!plain[0].plain_data_pages) all.fail("pages without indexes", "there are none");
  plain[0].plain_data_pages = false;
  expect("pages without indexes", bind_model(model, plain), STATUS_ENCODING);
  test_memories damaged = bind_model(model, chunks);
  // The bits stand behind the command.
  damaged.command[static_cast<uint32_t>(damaged.command[1]) / 8] ^= 1;
  expect("a set with another bit", damaged, STATUS_MALFORMED);
}

inline void entry_keys(tally& all) {
  entries_pass_as_rows_do(all);
  third_column_has_no_room(all);
  iterations_of_entry_keys(all);
  refused_entry_keys(all);
}

}  // namespace nearscan_tb
