// SPDX-License-Identifier: Apache-2.0
// Tests the counts of the stages: iterations worked out by hand, the same in every depth mode.
#pragma once

#include "tb_run.hpp"

namespace nearscan_tb {

/// 128 rows: a batch of 16 words.
constexpr uint64_t TURN_ROWS = 128;

/// A required column of `distinct` numbers, uncompressed, one page.
inline column_model make_turn_column(uint64_t rows, uint64_t distinct, layout values,
                                     uint8_t physical_type = PHYSICAL_INT64) {
  column_model column;
  column.physical_type = physical_type;
  column.style.codec = CODEC_UNCOMPRESSED;
  column.style.values = values;
  for (uint64_t row = 0; row < rows; row++) {
    column.cells.push_back(number_cell(static_cast<int64_t>(row % distinct)));
  }
  return column;
}

/// All rows of one plain column, counted.
inline scan_model make_turn_model(uint64_t rows = TURN_ROWS) {
  scan_model model;
  model.rows = rows;
  model.columns = {make_turn_column(rows, rows, layout::plain)};
  model.slots = {make_slot(FUNCTION_COUNT_ROWS, NONE, WIDTH_W64)};
  return model;
}

/// Runs a model in every depth mode and compares a counter of its result.
template <typename Counter>
inline void check_turns(tally& all, const std::string& name, const scan_model& model,
                        Counter counter, uint64_t expected) {
  std::vector<written_chunk> chunks;
  for (const column_model& column : model.columns) chunks.push_back(write_chunk(column));
  const test_memories fresh = bind_model(model, chunks);
  for (depth_mode mode : ALL_DEPTHS) {
    test_memories memories = fresh;
    call_kernel(memories, mode);
    all.runs++;
    const parsed_result result = check_frame(memories, widths_of(model));
    const uint64_t counted = counter(result.header);
    if (result.error.empty() && result.header.status == STATUS_OK && counted == expected) continue;
    all.fail("turns of " + name + " (" + name_of(mode) + ")",
             result.error + " status " + std::to_string(result.header.status) + ", " +
                 std::to_string(counted) + " instead of " + std::to_string(expected));
  }
}

inline uint64_t filter_turns(const result_record& header) { return header.filter_turns; }
inline uint64_t project_turns(const result_record& header) { return header.project_turns; }
inline uint64_t aggregate_turns(const result_record& header) { return header.aggregate_turns; }
inline uint64_t write_turns(const result_record& header) { return header.write_turns; }
inline uint64_t decode_turns(const result_record& header) { return header.decode_turns_lane_max; }
inline uint64_t dictionary_reads(const result_record& header) { return header.dictionary_reads; }
inline uint64_t dictionary_turns(const result_record& header) {
  return header.dictionary_turns_lane_max;
}

/// A step over 16 words takes 8 iterations; over one word as many as it is deep.
inline void turns_of_programs(tally& all) {
  const step below = make_step(OP_LESS, column_at(0), literal_at(0));
  scan_model model = make_turn_model();
  model.literals = {1000, 7, static_cast<i128>(1) << 64};
  check_turns(all, "no predicate", model, filter_turns, 16);
  model.predicate = {below, below, make_step(OP_AND, step_at(0), step_at(1))};
  check_turns(all, "three steps", model, filter_turns, 24);
  model.predicate = {make_step(OP_IN, column_at(0), literal_at(0), literal_at(2))};
  check_turns(all, "three literals", model, filter_turns, 16 * 3);
  const step last = make_step(OP_LESS, step_at(0), literal_at(0));
  model.predicate = {make_arithmetic(OP_MULTIPLY, WIDTH_W128, column_at(0), column_at(0)), last};
  check_turns(all, "a product", model, filter_turns, 12 + 8);
  model.predicate = {make_arithmetic(OP_MULTIPLY, WIDTH_W128, column_at(0), literal_at(2)), last};
  // All words go through the pipeline before they come again.
  check_turns(all, "a wide product", model, filter_turns, 8 + 16 * 8 + 8);
  model.predicate = {make_arithmetic(OP_DIVIDE, WIDTH_W64, column_at(0), literal_at(1)), last};
  check_turns(all, "a division", model, filter_turns, 16 * 128 + 8);
  model.predicate = {make_part(OP_YEAR, WIDTH_W32, column_at(0)), last};
  check_turns(all, "a year", model, filter_turns, 16 * 8 + 8);
  scan_model small = make_turn_model(1);
  small.literals = model.literals;
  small.predicate = {below, below};
  check_turns(all, "one word", small, filter_turns, 6 + 6);
}

/// Two output columns of a word are sent per iteration, and wide ones twice.
inline void turns_of_output(tally& all) {
  scan_model model = make_turn_model();
  model.states = false;
  model.slots.clear();
  model.literals = {static_cast<i128>(1) << 64};
  model.row_columns = {
      {column_at(0), WIDTH_W64}, {column_at(0), WIDTH_W64}, {column_at(0), WIDTH_W64}};
  check_turns(all, "three columns", model, project_turns, 16 * 2);
  check_turns(all, "three columns passed on", model, aggregate_turns, 16);
  // Rows, the block's header, and of each column two words of validity and the numbers.
  check_turns(all, "three columns written", model, write_turns, 128 + 2 + 3 * (2 + 128));
  model.projection = {make_arithmetic(OP_ADD, WIDTH_W128, column_at(0), literal_at(0))};
  model.row_columns = {
      {step_at(0), WIDTH_W128}, {column_at(0), WIDTH_W64}, {step_at(0), WIDTH_W128}};
  check_turns(all, "wide columns", model, project_turns, 16 * 3);
  check_turns(all, "wide columns passed on", model, aggregate_turns, 16 * 2);
  check_turns(all, "wide columns written", model, write_turns,
              128 + 2 + (2 + 256) + (2 + 128) + (2 + 256));
  model.top.count = 3;
  model.top.operand = column_at(0);
  // The first three rows are the least: no other comes before one of them.
  check_turns(all, "a top", model, project_turns, 128);
  // The other way round each row comes before all others: before none, one and then two.
  model.top.descending = true;
  check_turns(all, "a top in the other order", model, project_turns, 128 + 0 + 1 + 126 * 2);
}

/// Two kept rows per iteration. Beside them: a group to clear, to bring to hand (4) and to show (1,
/// and 1 a column).
inline void turns_of_groups(tally& all) {
  scan_model model = make_turn_model();
  model.slots = {make_slot(FUNCTION_SUM, column_at(0))};
  model.literals = {2};
  check_turns(all, "one group", model, aggregate_turns, 16 * 4 + 1 + 4 + 2);
  check_turns(all, "one group shown", model, write_turns, 8 + 2 + 1 + 2);
  // Of each word the first two rows: of 64 rows 8, a pair each.
  for (cell& value : model.columns[0].cells) value.number %= 8;
  model.predicate = {make_step(OP_LESS, column_at(0), literal_at(0))};
  check_turns(all, "a pair a word", model, aggregate_turns, 16 + 1 + 4 + 2);
  model.predicate.clear();
  // Eight groups, which stay at hand: a range of 8 numbers has 9 with null.
  model.keys = {key_model(column_at(0), 0, 8)};
  check_turns(all, "eight groups", model, aggregate_turns, 16 * 4 + 9 + (8 + 3) + (9 + 8 * 2));
  // Sixteen of them take turns: each word brings all of its eight.
  for (uint64_t row = 0; row < TURN_ROWS; row++) {
    model.columns[0].cells[row].number = static_cast<int64_t>(row % 16);
  }
  model.keys = {key_model(column_at(0), 0, 16)};
  check_turns(all, "sixteen groups", model, aggregate_turns, 16 * (4 + 8 + 3) + 17 + (17 + 16 * 2));
}

/// Two rows of a word per iteration, unless 64 bits hold fewer.
inline void turns_of_pages(tally& all) {
  scan_model model = make_turn_model();
  check_turns(all, "8-byte numbers", model, decode_turns, 128);
  model.columns = {make_turn_column(TURN_ROWS, 100, layout::plain, PHYSICAL_INT32)};
  check_turns(all, "4-byte numbers", model, decode_turns, 64);
  check_turns(all, "no dictionary", model, dictionary_turns, 0);
  // The page's header has two numbers of two bytes and two of one; its block a least difference of
  // -99 in two bytes, and four widths.
  model.columns[0].style.other = direct::differences;
  check_turns(all, "differences", model, decode_turns, 64 + 6 + 2 + 4);
  // All entries are on chip: an entry per iteration. Two 4-byte entries are a token.
  model.columns = {make_turn_column(1000, 1000, layout::dictionary, PHYSICAL_INT32)};
  model.rows = 1000;
  check_turns(all, "a dictionary", model, dictionary_turns, 1000);
  model.columns = {make_turn_column(5000, 5000, layout::dictionary, PHYSICAL_INT32)};
  model.rows = 5000;
  check_turns(all, "a large dictionary in the store", model, dictionary_turns, 5000);
  check_turns(all, "look-ups in the store", model, dictionary_reads, 0);
  // From the first entry that needs more than 32 bits on all go to device memory, in two iterations
  // each.
  model.columns = {make_turn_column(5000, 5000, layout::dictionary)};
  model.columns[0].cells[4500].number = static_cast<int64_t>(1) << 31;
  check_turns(all, "a large dictionary beside the store", model, dictionary_turns,
              4500 + 2 * (5000 - 4500));
  check_turns(all, "look-ups beside the store", model, dictionary_reads, 5000 - 4500);
}

inline void turns(tally& all) {
  turns_of_programs(all);
  turns_of_output(all);
  turns_of_groups(all);
  turns_of_pages(all);
}

}  // namespace nearscan_tb
