// SPDX-License-Identifier: Apache-2.0
// Merges that each show one thing, and merges by chance.
#pragma once

#include "tb_run.hpp"

namespace nearscan_tb {

/// Rows of one key and the number of their input, so that the order of ties shows.
inline merge_model numbered(const std::vector<std::vector<int>>& inputs) {
  merge_model model;
  model.widths = {WIDTH_W64, WIDTH_W32};
  model.keys = {{0, false, false}};
  for (size_t index = 0; index < inputs.size(); index++) {
    model.inputs.push_back(rows_t());
    for (int number : inputs[index]) {
      model.inputs.back().push_back({number_cell(number), number_cell(static_cast<int>(index))});
    }
    golden_sort(model, model.inputs.back());
  }
  return model;
}

inline void sizes(tally& all) {
  run_merge_model(all, "one empty input", numbered({{}}));
  run_merge_model(all, "only empty inputs", numbered({{}, {}, {}}));
  run_merge_model(all, "one row", numbered({{5}}));
  run_merge_model(all, "one input", numbered({{1, 2, 2, 3}}));
  run_merge_model(all, "an empty input between others", numbered({{1, 4}, {}, {2, 3}}));
  run_merge_model(all, "one row each", numbered({{3}, {2}, {1}}));
  run_merge_model(all, "one behind the other", numbered({{1, 2, 3}, {4, 5, 6}}));
  run_merge_model(all, "ties", numbered({{2, 2, 2}, {1, 2, 3}, {2, 2}}));
  for (size_t count = 1; count <= MERGE_INPUTS_MAX; count++) {
    std::vector<std::vector<int>> inputs(count);
    for (size_t row = 0; row < 97; row++) {
      inputs[row * 7 % count].push_back(static_cast<int>(row * 31 % 41));
    }
    run_merge_model(all, std::to_string(count) + " inputs", numbered(inputs));
  }
  const size_t edges[] = {63, 64, 65, 1023, 1024, 1025, 2048, 3000};
  for (size_t rows : edges) {
    std::vector<int> even, odd;
    for (size_t row = 0; row < rows; row++) {
      (row % 2 == 0 ? even : odd).push_back(static_cast<int>(row));
    }
    merge_model model = numbered({even, odd});
    run_merge_model(all, std::to_string(rows) + " rows", model);
    model.block_rows = 7;
    run_merge_model(all, std::to_string(rows) + " rows in small blocks", model);
    // More blocks than a search has places for.
    model.block_rows = 1;
    run_merge_model(all, std::to_string(rows) + " rows in blocks of one", model);
  }
}

/// Long columns are read ahead: what is waited for is the beginning of each block, and hardly a
/// line is read twice. What the processes did is worked out by hand.
inline void reads_ahead(tally& all) {
  std::vector<int> even, odd;
  for (int row = 0; row < 20000; row++) (row % 2 == 0 ? even : odd).push_back(row);
  merge_model model = numbered({even, odd});
  test_memories memories = bind_merge(model);
  const result_record header = call_kernel(memories, model.widths).header;
  all.runs++;
  const auto check = [&](const std::string& what, uint64_t found, uint64_t least, uint64_t most) {
    if (found < least || found > most) {
      all.fail("reads ahead", std::to_string(found) + " " + what);
    }
  };
  const uint64_t blocks = 2 * ((10000 + BLOCK_ROWS_MAX - 1) / BLOCK_ROWS_MAX);
  const uint64_t waits = blocks + 2 * RESULT_RECORD_BYTES / LINE_BYTES;
  check("waits", header.dictionary_reads, waits, waits);
  // Of each 128 rows and of the fewer at the end of an input the validity and the values of two
  // columns, each of which may begin within a line.
  const uint64_t bursts = 2 * ((10000 + 127) / 128) * 2 * 2;
  check("bursts", header.pages, waits + bursts, waits + bursts);
  const uint64_t lines = memories.input.size();
  check("lines", header.lines_read, lines - 4, lines + bursts + blocks);
  // A key and two values a row, and a turn; the last turn, and the halves that keys enter.
  check("iterations of rows", header.decode_iterations_lane_max, 20000 * 4 + 1,
        20000 * 4 + 1 + bursts / 4 + 20);
  check("iterations of the choice", header.filter_iterations, 20002, 20002);
  // A column of 64 bits and one of 32, and validity.
  const uint64_t written = header.payload_words;
  check("iterations of the output", header.write_iterations, written, written);
  check("iterations of the reads", header.project_iterations, written - 100, written + 100);
  // A search reads the lines that it looks at, and waits for each.
  model.parts = 2;
  memories = bind_merge(model);
  const result_record part = call_kernel(memories, model.widths).header;
  all.runs++;
  check("lines of a part", part.lines_read, lines / 2,
        (lines + bursts + blocks) / 2 + part.dictionary_reads);
}

/// Keys of which no more is read than their beginnings: what was asked for behind them is late, or
/// never looked at.
inline void skipped_strings(tally& all) {
  random_source random(5);
  merge_model model;
  model.widths = {WIDTH_BYTES};
  model.keys = {{0, false, false}};
  model.inputs.resize(3);
  for (rows_t& rows : model.inputs) {
    for (int row = 0; row < 500; row++) {
      std::string text(100 + random.below(700), ' ');
      for (char& letter : text) letter = static_cast<char>('a' + random.below(26));
      rows.push_back({text_cell(text)});
    }
    golden_sort(model, rows);
  }
  model.bytes_max = 4u << 20;
  run_merge_model(all, "long strings", model);
}

inline void orders(tally& all) {
  const out_cell null = null_cell();
  for (int flags = 0; flags < 4; flags++) {
    const bool descending = (flags & 1) != 0;
    const bool nulls_first = (flags & 2) != 0;
    const std::string name = std::string(descending ? "descending" : "ascending") +
                             (nulls_first ? ", nulls first" : ", nulls last");
    merge_model model;
    model.widths = {WIDTH_W128, WIDTH_BYTES};
    model.keys = {{0, descending, nulls_first}, {1, !descending, !nulls_first}};
    const i128 large = static_cast<i128>(1) << 100;
    model.inputs = {{{number_cell(-large), text_cell("b")},
                     {null, null},
                     {number_cell(large), text_cell("a")},
                     {number_cell(0), null}},
                    {{null, text_cell("")},
                     {number_cell(large), text_cell("ab")},
                     {number_cell(0), text_cell("z")},
                     {null, null}}};
    for (rows_t& rows : model.inputs) golden_sort(model, rows);
    run_merge_model(all, name, model);
  }
}

inline void widths(tally& all) {
  const i128 one = 1;
  const i128 greatest[] = {1, (one << 31) - 1, (one << 63) - 1,
                           static_cast<i128>(~static_cast<u128>(0) >> 1)};
  const uint8_t kinds[] = {WIDTH_BOOL, WIDTH_W32, WIDTH_W64, WIDTH_W128};
  for (int index = 0; index < 4; index++) {
    const i128 most = greatest[index];
    const i128 least = index == 0 ? 0 : -most - 1;
    merge_model model;
    model.widths = {kinds[index]};
    model.keys = {{0, false, true}};
    model.inputs = {{{null_cell()}, {number_cell(least)}, {number_cell(most)}},
                    {{number_cell(least)}, {number_cell(index == 0 ? 1 : -1)}},
                    {{null_cell()}, {number_cell(1)}}};
    run_merge_model(all, "width " + std::to_string(kinds[index]), model);
    model.distinct = true;
    run_merge_model(all, "distinct of width " + std::to_string(kinds[index]), model);
  }
  // Halves that are equal, and halves that would be negative on their own.
  merge_model halves;
  halves.widths = {WIDTH_W128};
  halves.keys = {{0, false, false}};
  halves.inputs.resize(3);
  for (int high = -2; high < 2; high++) {
    for (uint32_t low = 0; low < 12; low++) {
      const uint64_t bits = (static_cast<uint64_t>(low / 3) << 62) + low % 3;
      halves.inputs[low % 3].push_back(
          {number_cell(make_i128(bits, static_cast<uint64_t>(static_cast<int64_t>(high))))});
    }
  }
  for (int descending = 0; descending < 2; descending++) {
    halves.keys[0].descending = descending != 0;
    for (rows_t& rows : halves.inputs) golden_sort(halves, rows);
    run_merge_model(all, "halves of numbers", halves);
  }
  merge_model widest;
  for (uint32_t column = 0; column < OUTPUT_COLUMNS_MAX; column++) {
    widest.widths.push_back(column % 5 == 4 ? WIDTH_BYTES : kinds[column % 4]);
  }
  widest.keys = {{19, false, false}, {1, true, false}, {2, false, true}, {4, false, false}};
  for (int input = 0; input < 3; input++) {
    widest.inputs.push_back(rows_t());
    for (int row = 0; row < 50; row++) {
      out_row cells;
      for (uint32_t column = 0; column < OUTPUT_COLUMNS_MAX; column++) {
        const std::string text(static_cast<size_t>(row % 3), static_cast<char>('a' + input));
        cells.push_back(widest.widths[column] == WIDTH_BYTES ? text_cell(text)
                                                             : number_cell(row % 2));
      }
      widest.inputs.back().push_back(cells);
    }
    golden_sort(widest, widest.inputs.back());
  }
  run_merge_model(all, "as many columns as there may be", widest);
}

inline void strings(tally& all) {
  // Ends at every place of a word and around what is kept on chip, and ties beyond that.
  std::vector<std::string> texts = {
      "", std::string(1, '\0'), std::string(2, '\0'), "\x7f", "\x80", "\xff"};
  for (size_t length = 1; length < 300; length += length < 40 ? 1 : 13) {
    texts.push_back(std::string(length, 'x'));
    texts.push_back(std::string(length, 'x') + '\0');
  }
  for (size_t length = 120; length < 140; length++) {
    texts.push_back(std::string(length, 'y'));
    texts.push_back(std::string(length, 'y') + '\0');
    texts.push_back(std::string(length, 'y') + "z");
    texts.push_back(std::string(length, 'y') + "\xff");
  }
  texts.push_back(std::string(5000, 'y') + "a");
  texts.push_back(std::string(5000, 'y') + "b");
  texts.push_back(std::string(5000, 'y'));
  for (int descending = 0; descending < 2; descending++) {
    merge_model model;
    model.widths = {WIDTH_W32, WIDTH_BYTES};
    model.keys = {{1, descending != 0, false}};
    model.inputs.resize(3);
    for (size_t index = 0; index < texts.size() * 3; index++) {
      // A prime, so that each text has its turn.
      const out_cell text = text_cell(texts[index * 10007 % texts.size()]);
      model.inputs[index % 3].push_back({number_cell(static_cast<int>(index)), text});
    }
    for (rows_t& rows : model.inputs) golden_sort(model, rows);
    run_merge_model(all, "strings", model);
    model.block_rows = 3;
    run_merge_model(all, "strings in small blocks", model);
    model.keys.push_back({0, false, false});
    for (rows_t& rows : model.inputs) golden_sort(model, rows);
    run_merge_model(all, "strings, then numbers", model);
    for (rows_t& rows : model.inputs) {
      for (out_row& row : rows) row[0] = number_cell(0);
    }
    model.distinct = true;
    run_merge_model(all, "distinct strings", model);
  }
}

inline void distinct(tally& all) {
  merge_model same = numbered({{7, 7, 7}, {7, 7}, {7}});
  for (rows_t& rows : same.inputs) {
    for (out_row& row : rows) row[1] = number_cell(1);
  }
  run_merge_model(all, "all rows are equal", same);
  same.keys.push_back({1, false, false});
  same.distinct = true;
  run_merge_model(all, "one distinct row", same);
  merge_model nulls = same;
  for (rows_t& rows : nulls.inputs) {
    for (out_row& row : rows) row[0] = null_cell();
  }
  run_merge_model(all, "nulls are equal", nulls);
  merge_model empty = same;
  for (rows_t& rows : empty.inputs) rows.clear();
  run_merge_model(all, "no distinct rows", empty);
  // Duplicates on both sides of the end of a block.
  merge_model many = same;
  for (rows_t& rows : many.inputs) {
    rows.clear();
    for (int row = 0; row < 2000; row++)
      rows.push_back({number_cell(row / 2), number_cell(row % 2)});
  }
  run_merge_model(all, "each row six times", many);
}

/// Blocks hold fewer rows where these are wide, or have many strings.
inline void small_blocks(tally& all) {
  for (size_t strings = 0; strings <= OUTPUT_COLUMNS_MAX; strings += 5) {
    merge_model model;
    model.widths.assign(OUTPUT_COLUMNS_MAX - strings, WIDTH_W128);
    model.widths.insert(model.widths.end(), strings, WIDTH_BYTES);
    model.keys = {{static_cast<uint16_t>(strings / 2), false, false}};
    model.bytes_max = 4u << 20;
    model.inputs.resize(2);
    for (int row = 0; row < 1500; row++) {
      out_row cells;
      for (uint8_t width : model.widths) {
        cells.push_back(width == WIDTH_BYTES ? text_cell(std::to_string(row * 7 % 1500))
                                             : number_cell(row * 7 % 1500));
      }
      model.inputs[static_cast<size_t>(row % 2)].push_back(cells);
    }
    for (rows_t& rows : model.inputs) golden_sort(model, rows);
    run_merge_model(all, std::to_string(strings) + " columns of strings", model);
    // A few columns of strings, so that rows are narrow and strings many.
    model.widths.resize(4);
    if (strings != OUTPUT_COLUMNS_MAX) continue;
    model.keys = {{0, false, false}};
    for (rows_t& rows : model.inputs) {
      for (out_row& row : rows) row.resize(4);
    }
    run_merge_model(all, "four columns of strings", model);
  }
}

/// A merge by chance.
inline void random_case(tally& all, uint64_t seed) {
  random_source random(seed);
  merge_model model;
  const uint8_t kinds[] = {WIDTH_BOOL, WIDTH_W32, WIDTH_W64, WIDTH_W128, WIDTH_BYTES};
  const uint64_t column_count = 1 + random.below(6);
  for (uint64_t i = 0; i < column_count; i++) model.widths.push_back(kinds[random.below(5)]);
  const uint64_t key_count = 1 + random.below(std::min<uint64_t>(column_count, MERGE_KEYS_MAX));
  const uint64_t first_key = random.below(column_count);
  for (uint64_t i = 0; i < key_count; i++) {
    const uint64_t column = (first_key + i) % column_count;
    model.keys.push_back({static_cast<uint16_t>(column), random.once_in(2), random.once_in(2)});
  }
  model.distinct = key_count == column_count && random.once_in(2);
  model.block_rows = static_cast<uint32_t>(random.once_in(2) ? 1024 : 1 + random.below(100));
  const uint64_t variety = 1 + random.below(random.once_in(3) ? 1000 : 6);
  const uint64_t nulls_one_in = 1 + random.below(9);
  const std::string stem(random.once_in(2) ? random.below(140) : 0, 's');
  const uint64_t rows_max = random.once_in(4) ? 2500 : 40;
  model.bytes_max = 16u << 20;
  model.inputs.resize(1 + random.below(MERGE_INPUTS_MAX));
  for (rows_t& rows : model.inputs) {
    rows.resize(random.below(rows_max));
    for (out_row& row : rows) {
      for (uint8_t width : model.widths) {
        const int64_t number = static_cast<int64_t>(random.below(variety)) - 2;
        if (random.once_in(nulls_one_in + 1)) {
          row.push_back(null_cell());
        } else if (width == WIDTH_BYTES) {
          row.push_back(text_cell(stem + std::to_string(number)));
        } else if (width == WIDTH_BOOL) {
          row.push_back(number_cell(number & 1));
        } else {
          row.push_back(number_cell(width == WIDTH_W128
                                        ? static_cast<i128>(number) * (static_cast<i128>(1) << 70)
                                        : static_cast<i128>(number)));
        }
      }
    }
    golden_sort(model, rows);
  }
  const std::string name = "seed " + std::to_string(seed);
  run_cut_model(all, name, model, STATUS_OK);
  model.parts = static_cast<uint16_t>(random.between(2, MERGE_PARTS_MAX));
  run_cut_model(all, name + " in " + std::to_string(model.parts), model, STATUS_OK);
}

}  // namespace nearscan_tb
