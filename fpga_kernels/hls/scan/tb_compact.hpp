// SPDX-License-Identifier: Apache-2.0
// Cases of compact blocks: numbers of every range, strings with and without codes. Each is run in
// plain blocks too.
#pragma once

#include "tb_cases.hpp"

namespace nearscan_tb {

/// Columns of numbers as a result packs them: equal, near, over the whole range, null.
inline void compact_numbers(tally& all) {
  const auto equal = [](uint64_t) { return static_cast<int64_t>(-5); };
  const auto dates = [](uint64_t row) { return as_row(8035 + row * 7 % 2526); };
  const auto whole_range = [](uint64_t row) { return row % 2 == 0 ? INT64_MIN : INT64_MAX; };
  const auto one_far = [](uint64_t row) { return row == 1500 ? INT64_MAX : -1; };
  for (uint64_t rows : {1, 2, 63, 1024, 2500}) {
    for (uint64_t null_every : {0, 1, 2, 700}) {
      scan_model model;
      model.rows = rows;
      model.columns = {number_column(rows, null_every, equal),
                       number_column(rows, null_every, dates, PHYSICAL_INT32),
                       number_column(rows, null_every, whole_range),
                       number_column(rows, null_every, one_far)};
      model.states = false;
      model.literals = {8036, INT64_MIN};
      model.projection = {make_step(OP_LESS, column_at(1), literal_at(0))};
      model.row_columns = {{column_at(0), WIDTH_W32},  {column_at(1), WIDTH_W32},
                           {column_at(2), WIDTH_W64},  {column_at(2), WIDTH_W128},
                           {column_at(3), WIDTH_W128}, {step_at(0), WIDTH_BOOL},
                           {literal_at(1), WIDTH_W64}, {null_operand(), WIDTH_W128}};
      const std::string name = std::to_string(rows) + "/" + std::to_string(null_every);
      run_model(all, "numbers " + name, model);
      model.predicate = {make_step(OP_LESS, column_at(1), literal_at(0))};
      run_model(all, "few numbers " + name, model);
    }
  }
  // Differences of every width.
  for (uint32_t bits = 0; bits < 64; bits++) {
    const int64_t most = static_cast<int64_t>(static_cast<uint64_t>(1) << bits >> 1);
    scan_model model = one_column(
        number_column(70, 0, [most](uint64_t row) { return row % 3 == 1 ? most : as_row(0); }));
    model.states = false;
    model.row_columns = {{column_at(0), WIDTH_W64}};
    run_model(all, "differences of " + std::to_string(bits) + " bits", model);
  }
}

/// Strings out of dictionaries and pages of each kind.
inline void compact_strings(tally& all) {
  const auto few = [](uint64_t row) {
    static const char* const words[] = {"AIR", "", "MAIL", "REG AIR", "TRUCK"};
    return std::string(words[row % 5]);
  };
  // Those of the later blocks are used for the first time there.
  const auto later = [](uint64_t row) { return "number " + std::to_string(row / 300); };
  const auto many = [](uint64_t row) { return "customer " + std::to_string(row * 7 % 4096); };
  const auto too_many = [](uint64_t row) { return "customer " + std::to_string(row * 7 % 4097); };
  for (layout values : {layout::dictionary, layout::plain, layout::dictionary_then_plain}) {
    for (uint64_t null_every : {0, 1, 3}) {
      scan_model model;
      model.rows = 4500;
      model.columns = {text_column(4500, null_every, few), text_column(4500, null_every, later),
                       text_column(4500, null_every, many),
                       text_column(4500, null_every, too_many)};
      for (column_model& column : model.columns) {
        column.style.values = values;
        column.style.page_rows = 900;
        column.style.plain_from = 1800;
      }
      model.states = false;
      model.row_columns = {{column_at(0), WIDTH_BYTES}, {column_at(1), WIDTH_BYTES},
                           {column_at(2), WIDTH_BYTES}, {column_at(3), WIDTH_BYTES},
                           {column_at(0), WIDTH_BYTES}, {null_operand(), WIDTH_BYTES}};
      const std::string name =
          std::to_string(static_cast<int>(values)) + "/" + std::to_string(null_every);
      run_model(all, "strings " + name, model);
      model.tests = {{0, TEST_IN, {"MAIL", ""}}};
      model.predicate = {make_step(OP_TEST, test_at(0))};
      run_model(all, "some strings " + name, model);
      model.rows_max = 1500;
      run_model(all, "the first strings " + name, model);
    }
  }
  // Behind a plain page there are no codes any more, also where there could be.
  scan_model between = one_column(text_column(4500, 0, later));
  between.states = false;
  between.row_columns = {{column_at(0), WIDTH_BYTES}};
  between.columns[0].style.page_rows = 500;
  for (uint64_t page : {1, 2, 4}) {
    between.columns[0].style.plain_page = page;
    run_model(all, "a plain page between indexes " + std::to_string(page), between);
  }
}

/// More columns of strings than there are tables for codes, and strings longer than a line.
inline void compact_columns(tally& all) {
  scan_model model;
  model.rows = 1100;
  model.states = false;
  for (uint64_t i = 0; i < COLUMNS_MAX; i++) {
    model.columns.push_back(text_column(1100, i % 4, [i](uint64_t row) {
      return std::string(row % (i + 2) * 23, static_cast<char>('a' + row % 5));
    }));
    model.columns.back().style.page_rows = i % 3 == 0 ? 0 : 400;
    model.row_columns.push_back({column_at(static_cast<uint32_t>(i)), WIDTH_BYTES});
  }
  run_model(all, "sixteen columns of strings", model);
}

/// A result has to fit its room when it is plain, too.
inline void compact_room(tally& all) {
  scan_model model =
      one_column(text_column(1000, 0, [](uint64_t) { return std::string(80, 'x'); }));
  model.states = false;
  model.row_columns = {{column_at(0), WIDTH_BYTES}};
  model.bytes_max = 256 + 16 + 128 + 4 * 1000 + 80 * 1000;
  run_model(all, "room enough for equal strings", model);
  model.bytes_max -= 8;
  run_model(all, "a word too little for equal strings", model, {STATUS_OUTPUT_FULL});
  // Three numbers of 64 bits take a word less when they are plain.
  scan_model numbers = one_column(
      number_column(3, 0, [](uint64_t row) { return row == 0 ? INT64_MIN : INT64_MAX; }));
  numbers.states = false;
  numbers.compact = true;
  numbers.row_columns = {{column_at(0), WIDTH_W64}};
  numbers.bytes_max = 256 + 16 + 16 + 24;
  run_model(all, "room enough for wide numbers", numbers);
  numbers.bytes_max -= 8;
  run_model(all, "a word too little for wide numbers", numbers, {STATUS_OUTPUT_FULL});
}

/// A reference keeps its string with an entry beside it, and goes without one where the string lies
/// too far behind in scratch.
inline void references(tally& all) {
  const uint64_t near_end = (1ull << CODED_WORD_BITS) - 1;
  const uint64_t far_end = (1ull << (63 - STRING_LENGTH_BITS)) - 1;
  for (uint64_t word : {0ull, near_end + 0ull, near_end + 1ull, far_end + 0ull}) {
    for (uint32_t entry : {0u, CODED_STRINGS_MAX - 1}) {
      for (uint64_t length : {0u, (1u << STRING_LENGTH_BITS) - 1}) {
        const int64_t plain = static_cast<int64_t>(word << STRING_LENGTH_BITS | length);
        const uint64_t named = static_cast<uint64_t>(coded_reference(plain, entry));
        const bool is_near = word <= near_end;
        all.runs++;
        if (is_coded(named) != is_near || reference_word(named) != word ||
            reference_length(named) != length || (is_near && coded_entry(named) != entry)) {
          all.fail("reference to word " + std::to_string(word),
                   "entry " + std::to_string(entry) + ", length " + std::to_string(length));
        }
      }
    }
  }
}

inline void compact(tally& all) {
  references(all);
  compact_numbers(all);
  compact_strings(all);
  compact_columns(all);
  compact_room(all);
}

}  // namespace nearscan_tb
