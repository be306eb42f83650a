// SPDX-License-Identifier: Apache-2.0
// Cases written by hand: one for each rule of the format that chance might miss.
#pragma once

#include "tb_run.hpp"

namespace nearscan_tb {

/// A column of numbers made by `value(row)`; every `null_every`-th row is null, 0 for none.
template <typename Value>
column_model number_column(uint64_t rows, uint64_t null_every, Value value,
                           uint8_t physical_type = PHYSICAL_INT64) {
  column_model column;
  column.physical_type = physical_type;
  column.nullable = null_every != 0;
  column.style.seed = rows + 17;
  for (uint64_t row = 0; row < rows; row++) {
    const bool null = null_every != 0 && row % null_every == null_every - 1;
    column.cells.push_back(null ? null_cell() : number_cell(value(row)));
  }
  return column;
}

template <typename Value>
column_model text_column(uint64_t rows, uint64_t null_every, Value value) {
  column_model column =
      number_column(rows, null_every, [](uint64_t) { return 0; }, PHYSICAL_BYTE_ARRAY);
  for (uint64_t row = 0; row < rows; row++) {
    if (!column.cells[row].null) column.cells[row].text = value(row);
  }
  return column;
}

inline int64_t as_row(uint64_t row) { return static_cast<int64_t>(row); }

/// SUM, COUNT, MIN and MAX of column `of`, and COUNT(*).
inline std::vector<slot_model> all_slots(uint16_t of) {
  return {make_slot(FUNCTION_SUM, of), make_slot(FUNCTION_COUNT, of, WIDTH_W64),
          make_slot(FUNCTION_MIN, of), make_slot(FUNCTION_MAX, of),
          make_slot(FUNCTION_COUNT_ROWS, NONE, WIDTH_W64)};
}

inline scan_model one_column(const column_model& column) {
  scan_model model;
  model.rows = column.cells.size();
  model.columns.push_back(column);
  return model;
}

inline void row_counts(tally& all) {
  for (uint64_t rows : {0, 1, 7, 8, 9, 1023, 1024, 1025}) {
    for (uint64_t null_every : {0, 1, 3}) {
      const std::string name = "rows " + std::to_string(rows) + "/" + std::to_string(null_every);
      scan_model model = one_column(number_column(rows, null_every, as_row));
      model.slots = all_slots(column_at(0));
      run_model(all, "states " + name, model);
      model.states = false;
      model.row_columns = {{column_at(0), WIDTH_W64}, {column_at(0), WIDTH_W128}};
      run_model(all, "out " + name, model);
      model.columns[0].style.values = layout::plain;
      model.columns[0].style.page_rows = 100;
      run_model(all, "plain " + name, model);
    }
    scan_model bare;
    bare.rows = rows;
    bare.slots = {make_slot(FUNCTION_COUNT_ROWS, NONE, WIDTH_W64)};
    run_model(all, "no columns " + std::to_string(rows), bare);
    bare.states = false;
    run_model(all, "no columns out " + std::to_string(rows), bare);
  }
}

/// Two keys with nulls, slots of every function, one with a filter.
inline void grouped(tally& all) {
  scan_model model;
  model.rows = 3000;
  model.columns = {text_column(3000, 11, [](uint64_t row) { return std::string(row % 3, 'k'); }),
                   number_column(
                       3000, 13, [](uint64_t row) { return as_row(row % 4) - 2; }, PHYSICAL_INT32),
                   number_column(3000, 7, [](uint64_t row) { return as_row(row * row) - 4000; })};
  model.keys = {0, 1};
  model.slots = all_slots(column_at(2));
  model.projection = {make_step(OP_LESS, column_at(2), literal_at(0))};
  model.literals = {0};
  model.slots.push_back(make_slot(FUNCTION_SUM, column_at(2), WIDTH_W128, step_at(0)));
  model.slots.push_back(make_slot(FUNCTION_COUNT_ROWS, NONE, WIDTH_W64, step_at(0)));
  model.slots.push_back(make_slot(FUNCTION_COUNT, step_at(0), WIDTH_W64));
  run_model(all, "two keys", model);
  model.predicate = {make_step(OP_GREATER, column_at(2), literal_at(1))};
  model.literals.push_back(8990000);
  run_model(all, "few groups left", model);
  model.literals[1] = i128(1) << 100;
  run_model(all, "no group left", model);
  model.keys = {1};
  run_model(all, "one key", model);
  model.slots.clear();
  model.literals[1] = -5000;
  run_model(all, "keys alone", model);
  // Four numbers, and a place for NULL.
  model.columns[1].style.spare_entries = GROUPS_MAX - 5;
  run_model(all, "as many codes as there may be", model);
  model.columns[1].style.spare_entries = GROUPS_MAX - 4;
  run_model(all, "a code too many", model);
  model.columns[1].style.spare_entries = 0;
  model.columns[1].style.values = layout::dictionary_then_plain;
  model.columns[1].style.plain_from = 2000;
  run_model(all, "a key that falls back", model);
}

inline void strings(tally& all) {
  const auto word = [](uint64_t row) {
    static const char* const words[] = {"", "a", "ab", "abc", "deposits", "carefully final"};
    return std::string(words[row % 6]) + (row % 5 == 0 ? std::string(row % 140, 'x') : "");
  };
  scan_model model = one_column(text_column(1500, 9, word));
  model.states = false;
  model.row_columns = {{column_at(0), WIDTH_BYTES},
                       {step_at(0), WIDTH_BOOL},
                       {null_operand(), WIDTH_BYTES},
                       {null_operand(), WIDTH_W32}};
  model.tests = {{0, TEST_IN, {"ab", "", std::string(128, 'x')}},
                 {0, TEST_LESS, {"abc"}},
                 {0, TEST_LESS_OR_EQUAL, {"abc"}},
                 {0, TEST_GREATER, {std::string("ab\0", 3)}},
                 {0, TEST_GREATER_OR_EQUAL, {"\xff"}}};
  for (uint32_t test = 0; test < model.tests.size(); test++) {
    model.projection = {make_step(OP_TEST, test_at(test))};
    for (layout values : {layout::dictionary, layout::plain, layout::dictionary_then_plain}) {
      model.columns[0].style.values = values;
      model.columns[0].style.plain_from = 700;
      model.columns[0].style.page_rows = 400;
      run_model(all, "string test " + std::to_string(test), model);
    }
    model.predicate = {make_step(OP_TEST, test_at(test)), make_step(OP_NOT, step_at(0))};
    run_model(all, "string filter " + std::to_string(test), model);
    model.predicate.clear();
  }
  model.columns[0] = text_column(40, 0, [](uint64_t row) { return std::string(row * 900, 's'); });
  model.rows = 40;
  run_model(all, "long strings", model);
  model.scratch_bytes = 64;
  run_model(all, "no room for strings", model, {STATUS_SCRATCH_FULL});
}

/// A dictionary that is larger than the command says, where nobody would look its entries up.
inline void dictionary_sizes(tally& all) {
  scan_model model;
  model.rows = 5000;
  model.columns = {text_column(5000, 0, [](uint64_t row) { return std::to_string(row); })};
  model.columns[0].style.values = layout::dictionary;
  model.columns[0].style.codec = CODEC_UNCOMPRESSED;
  model.slots = {make_slot(FUNCTION_COUNT, column_at(0))};
  model.dictionary_bytes = 4 * DICTIONARY_ENTRIES_ON_CHIP + 1;
  run_model(all, "dictionary that may be large", model);
  model.dictionary_bytes--;
  run_model(all, "dictionary that should be small", model, {STATUS_DICTIONARY_SIZE});
  model.columns[0].style.codec = CODEC_SNAPPY;
  run_model(all, "dictionary that is small before Snappy", model);
}

/// A dictionary of numbers that does not end where the command says: a loader finds its page cut
/// short, or more than one.
inline void dictionary_ends(tally& all) {
  scan_model model;
  model.rows = 5000;
  model.columns = {number_column(5000, 0, [](uint64_t row) { return static_cast<int64_t>(row); })};
  model.columns[0].style.values = layout::dictionary;
  model.slots = {make_slot(FUNCTION_SUM, column_at(0))};
  const written_chunk chunk = write_chunk(model.columns[0]);
  const uint32_t end = static_cast<uint32_t>(chunk.dictionary_bytes);
  model.dictionary_bytes = end;
  run_model(all, "dictionary that ends where it should", model);
  const uint32_t bytes = static_cast<uint32_t>(chunk.bytes.size());
  for (const uint32_t wrong : {1u, end / 2, end - 1, end + 1, bytes - 1}) {
    model.dictionary_bytes = wrong;
    run_model(all, "dictionary that ends elsewhere", model, {STATUS_CORRUPT});
  }
  // The chunk and nothing else: the lane loads it.
  model.dictionary_bytes = bytes;
  run_model(all, "dictionary that is the chunk", model);
}

/// Everything that a column can be stored as.
inline void storage(tally& all) {
  for (uint8_t codec : {CODEC_UNCOMPRESSED, CODEC_SNAPPY}) {
    for (packing snappy : {packing::literals, packing::greedy, packing::wild}) {
      for (layout values : {layout::plain, layout::dictionary, layout::dictionary_then_plain}) {
        for (uint64_t page_rows : {0, 1, 333}) {
          scan_model model = one_column(
              number_column(1200, 5, [](uint64_t row) { return as_row(row * row % 977) << 20; }));
          chunk_style& style = model.columns[0].style;
          style.codec = codec;
          style.snappy = snappy;
          style.values = values;
          style.plain_from = 600;
          style.page_rows = page_rows;
          style.old_names = page_rows == 1;
          style.rich_headers = page_rows == 333;
          style.index_page = page_rows == 333;
          style.wide_bits = page_rows == 1 ? 3 : 0;
          model.slots = all_slots(column_at(0));
          run_model(all, "storage", model);
        }
      }
    }
  }
  // More entries than fit on chip, with and without a fallback.
  for (uint64_t entries : {4095, 4096, 4097, 20000}) {
    scan_model model = one_column(number_column(
        30000, 50, [entries](uint64_t row) { return as_row(row * 7 % entries) * -1000003; }));
    model.slots = all_slots(column_at(0));
    run_model(all, "dictionary of " + std::to_string(entries), model);
    model.columns[0].style.values = layout::dictionary_then_plain;
    model.columns[0].style.plain_from = 25000;
    model.columns[0].style.page_rows = 6000;
    run_model(all, "fallback behind " + std::to_string(entries), model);
  }
  scan_model texts = one_column(text_column(
      12000, 0, [](uint64_t row) { return "comment " + std::to_string(row * 31 % 9001); }));
  texts.states = false;
  texts.row_columns = {{column_at(0), WIDTH_BYTES}};
  run_model(all, "large dictionary of strings", texts);
  texts.columns[0].style.values = layout::dictionary_then_plain;
  // The last look-ups before the plain page are of entries that are not on chip.
  texts.columns[0].style.plain_from = 9000;
  texts.columns[0].style.page_rows = 3001;
  run_model(all, "large dictionary of strings, then plain ones", texts);
  scan_model constant = one_column(number_column(5000, 0, [](uint64_t) { return 42; }));
  constant.slots = all_slots(column_at(0));
  run_model(all, "indexes of no bits", constant);
}

/// Three-valued logic: all pairs of true, false and null under every operation.
inline void logic(tally& all) {
  scan_model model;
  model.rows = 9;
  for (uint64_t divisor : {1, 3}) {
    column_model column =
        number_column(9, 0, [divisor](uint64_t row) { return as_row(row / divisor % 3); });
    column.nullable = true;
    for (cell& value : column.cells) value.null = value.number == 2;
    model.columns.push_back(column);
  }
  model.literals = {1, 0, 1};
  model.states = false;
  const uint16_t a = column_at(0);
  const uint16_t b = column_at(1);
  model.projection = {make_step(OP_EQUAL, a, literal_at(0)),
                      make_step(OP_EQUAL, b, literal_at(0)),
                      make_step(OP_AND, step_at(0), step_at(1)),
                      make_step(OP_OR, step_at(0), step_at(1)),
                      make_step(OP_NOT, step_at(0)),
                      make_step(OP_IS_NULL, step_at(2)),
                      make_step(OP_IS_NOT_NULL, step_at(3)),
                      make_step(OP_BETWEEN, a, b, literal_at(2)),
                      make_step(OP_BETWEEN, literal_at(1), a, b),
                      make_step(OP_IN, a, literal_at(0), literal_at(1)),
                      make_step(OP_NOT_EQUAL, a, b),
                      make_step(OP_LESS, a, b),
                      make_step(OP_LESS_OR_EQUAL, a, b),
                      make_step(OP_GREATER, a, b),
                      make_step(OP_GREATER_OR_EQUAL, a, b),
                      make_step(OP_AND, null_operand(), step_at(0)),
                      make_step(OP_OR, null_operand(), step_at(0)),
                      make_step(OP_EQUAL, a, null_operand())};
  for (uint32_t i = 0; i < model.projection.size(); i++) {
    model.row_columns.push_back({step_at(i), WIDTH_BOOL});
  }
  run_model(all, "logic, shown", model);
  for (size_t verdict = 1; verdict <= model.projection.size(); verdict++) {
    scan_model filtered = model;
    filtered.predicate.assign(model.projection.begin(),
                              model.projection.begin() + static_cast<long>(verdict));
    run_model(all, "logic, step " + std::to_string(verdict - 1) + " as the verdict", filtered);
  }
}

/// Widths, and what lies just outside of them.
inline void overflow(tally& all) {
  const i128 most = ~(i128(1) << 127);
  const int64_t largest = 0x7fffffffffffffff;
  const struct {
    uint8_t op;
    uint8_t width;
    int64_t value;
    i128 other;
  } cases[] = {
      {OP_ADD, WIDTH_W64, largest, 0},
      {OP_ADD, WIDTH_W64, largest, 1},
      {OP_SUBTRACT, WIDTH_W64, -largest, 1},
      {OP_SUBTRACT, WIDTH_W64, -largest, 2},
      {OP_ADD, WIDTH_W32, 0x7fffffff, 0},
      {OP_ADD, WIDTH_W32, 0x7fffffff, 1},
      {OP_MULTIPLY, WIDTH_W128, largest, -2},
      {OP_MULTIPLY, WIDTH_W64, largest, -1},
      {OP_MULTIPLY, WIDTH_W64, -largest - 1, -1},
      {OP_ADD, WIDTH_W128, 1, most},
      {OP_ADD, WIDTH_W128, 0, most},
      {OP_SUBTRACT, WIDTH_W128, -1, most},
      {OP_SUBTRACT, WIDTH_W128, -2, most},
      {OP_MULTIPLY, WIDTH_W128, -1, -most - 1},
      {OP_MULTIPLY, WIDTH_W128, 1, -most - 1},
      {OP_MULTIPLY, WIDTH_W128, 2, i128(1) << 126},
      {OP_MULTIPLY, WIDTH_W128, -2, i128(1) << 126},
      {OP_MULTIPLY, WIDTH_W128, 4, i128(1) << 126},
      {OP_MULTIPLY, WIDTH_W128, largest, i128(1) << 64},
      {OP_MULTIPLY, WIDTH_W128, largest, i128(1) << 65},
  };
  for (const auto& at : cases) {
    scan_model model =
        one_column(number_column(20, 4, [&at](uint64_t row) { return row == 12 ? at.value : 0; }));
    model.literals = {at.other};
    model.projection = {make_arithmetic(at.op, at.width, column_at(0), literal_at(0))};
    model.slots = {make_slot(FUNCTION_MAX, step_at(0))};
    const std::string name =
        "overflow " + std::to_string(at.op) + " " + to_text(at.value) + " and " + to_text(at.other);
    run_model(all, name, model);
    model.predicate = {model.projection[0], make_step(OP_IS_NULL, step_at(0))};
    run_model(all, name + " in the predicate", model);
    // Null operands overflow nothing.
    model.predicate.clear();
    model.columns[0].cells[12].null = true;
    run_model(all, name + " of a null", model);
  }
  scan_model sums = one_column(
      number_column(64, 0, [](uint64_t row) { return row % 2 == 0 ? INT64_MAX : INT64_MIN; }));
  sums.literals = {i128(1) << 63, i128(1) << 64};
  sums.projection = {make_arithmetic(OP_MULTIPLY, WIDTH_W128, column_at(0), literal_at(0))};
  sums.slots = {make_slot(FUNCTION_SUM, step_at(0)),
                make_slot(FUNCTION_SUM, column_at(0), WIDTH_W64)};
  run_model(all, "a sum that comes back", sums);
  sums.slots = {make_slot(FUNCTION_SUM, column_at(0), WIDTH_W32)};
  run_model(all, "a sum at its width", sums);
  sums.columns[0] = number_column(64, 0, [](uint64_t) { return INT64_MAX; });
  run_model(all, "a sum beyond its width", sums);
  sums.projection[0].b = literal_at(1);
  sums.slots = {make_slot(FUNCTION_SUM, step_at(0))};
  run_model(all, "a sum beyond 128 bits", sums);
  scan_model narrow =
      one_column(number_column(10, 0, [](uint64_t row) { return as_row(row) + 0x7ffffff6; }));
  narrow.states = false;
  narrow.row_columns = {{column_at(0), WIDTH_W32}};
  run_model(all, "the largest of 32 bits", narrow);
  narrow.columns[0].cells[9].number++;
  run_model(all, "beyond 32 bits", narrow);
}

/// Limits of output, rows and steps, and the cancel word.
inline void limits(tally& all) {
  scan_model model = one_column(number_column(5000, 0, as_row));
  model.states = false;
  model.row_columns = {{column_at(0), WIDTH_W64}};
  for (uint64_t rows_max : {0, 1, 1023, 1024, 1025, 4999, 5000}) {
    model.rows_max = rows_max;
    run_model(all, "row limit " + std::to_string(rows_max), model);
  }
  model.rows_max = ~static_cast<uint64_t>(0);
  // 256 of header, 4 blocks of 16 + 128 + 8192, one of 16 + 112 + 7232 for 904 rows.
  model.bytes_max = 256 + 4 * (16 + 128 + 8192) + 16 + 120 + 7232;
  run_model(all, "just room enough", model);
  model.bytes_max -= 8;
  run_model(all, "a word too little", model, {STATUS_OUTPUT_FULL});
  model.bytes_max = 256;
  run_model(all, "room for a header", model, {STATUS_OUTPUT_FULL});
  model.bytes_max = 1 << 20;
  model.cancelled = true;
  run_model(all, "cancelled", model, {STATUS_CANCELLED});
  model.cancelled = false;
  model.steps_max = 2000;
  run_model(all, "too many steps", model, {STATUS_STEPS_EXCEEDED});
  model.columns[0].style.values = layout::plain;
  run_model(all, "too many steps, plain", model, {STATUS_STEPS_EXCEEDED});
  // One run of a few bytes: it is the rows that are too many.
  scan_model dense = one_column(number_column(5000, 0, [](uint64_t) { return 7; }));
  dense.columns[0].style.common_runs = true;
  dense.slots = all_slots(column_at(0));
  dense.steps_max = 2000;
  run_model(all, "too many steps, whole words", dense, {STATUS_STEPS_EXCEEDED});
  scan_model bare;
  bare.rows = 1000000;
  bare.steps_max = 1000;
  run_model(all, "too many rows without columns", bare, {STATUS_STEPS_EXCEEDED});
}

/// The widest command: every lane, key, slot, step and column.
inline void widest(tally& all) {
  scan_model model;
  model.rows = 700;
  for (uint64_t i = 0; i < COLUMNS_MAX; i++) {
    model.columns.push_back(number_column(
        700, i % 3, [i](uint64_t row) { return as_row(row % (i < 4 ? 3 : 100 * i + 1)); }));
    model.columns.back().style.page_rows = 50 + 37 * i;
    model.columns.back().style.codec = i % 2 == 0 ? CODEC_SNAPPY : CODEC_UNCOMPRESSED;
  }
  for (uint32_t i = 0; i < STEPS_MAX; i++) {
    const uint16_t before = i == 0 ? column_at(4) : step_at(i - 1);
    model.projection.push_back(make_arithmetic(OP_ADD, WIDTH_W128, before, column_at(i % 16)));
  }
  for (uint32_t i = 0; i < AGGREGATES_MAX; i++) {
    model.slots.push_back(make_slot(static_cast<uint8_t>(FUNCTION_COUNT + i % 4), column_at(i)));
  }
  model.keys = {0, 1, 2, 3};
  run_model(all, "widest states", model);
  model.states = false;
  for (uint32_t i = 0; i < OUTPUT_COLUMNS_MAX; i++) {
    model.row_columns.push_back({i < 16 ? column_at(i) : step_at(i), WIDTH_W128});
  }
  run_model(all, "widest rows", model);
}

}  // namespace nearscan_tb
