// SPDX-License-Identifier: Apache-2.0
// Commands that break one rule each: what a host would not have made, and the kernel must not run.
#pragma once

#include "tb_malformed.hpp"
#include "tb_shapes.hpp"

namespace nearscan_tb {

/// Runs a command that is to be refused.
struct refusals {
  tally& all;
  scan_model good;
  std::vector<written_chunk> chunks;

  explicit refusals(tally& of) : all(of) {
    good.rows = 60;
    good.columns = {number_column(60, 0, as_row),
                    text_column(60, 0, [](uint64_t row) { return std::to_string(row % 7); }),
                    number_column(60, 0, as_row, PHYSICAL_INT32)};
    good.literals = {7, 0, 5, 1};
    good.projection = {make_step(OP_LESS, column_at(0), literal_at(0)),
                       make_part(OP_YEAR, WIDTH_W32, column_at(2))};
    good.slots = {make_slot(FUNCTION_COUNT_ROWS, NONE, WIDTH_W64)};
    for (const column_model& column : good.columns) chunks.push_back(write_chunk(column));
  }

  void expect(const std::string& name, const scan_model& model, uint32_t status) {
    expect(name, model, chunks, status);
  }

  void expect(const std::string& name, const scan_model& model,
              const std::vector<written_chunk>& of_columns, uint32_t status) {
    uint64_t statuses[STATUS_STEPS_EXCEEDED + 1] = {0};
    run_damaged(all, name, bind_model(model, of_columns), model, depth_mode::roomy, statuses);
    if (statuses[status] != 1) all.fail(name, "is not refused as it should be");
  }

  void malformed_step(const std::string& name, const step& at) {
    scan_model wrong = good;
    wrong.projection.push_back(at);
    expect(name, wrong, STATUS_MALFORMED);
  }

  void malformed_slot(const std::string& name, const slot_model& slot) {
    scan_model wrong = good;
    wrong.slots.push_back(slot);
    expect(name, wrong, STATUS_MALFORMED);
  }

  void malformed_keys(const std::string& name, const std::vector<key_model>& keys) {
    scan_model wrong = good;
    wrong.keys = keys;
    expect(name, wrong, STATUS_MALFORMED);
  }

  void malformed_top(const std::string& name, uint16_t operand, uint32_t count) {
    scan_model wrong = good;
    wrong.states = false;
    wrong.top.operand = operand;
    wrong.top.count = count;
    expect(name, wrong, STATUS_MALFORMED);
  }

  void malformed_reading(const std::string& name, uint32_t column, uint8_t rule, uint8_t bits,
                         uint8_t length) {
    scan_model wrong = good;
    wrong.columns[column].read_as = rule;
    wrong.columns[column].number_bits = bits;
    wrong.columns[column].length = length;
    expect(name, wrong, STATUS_MALFORMED);
  }

  void steps() {
    const uint16_t a = column_at(0);
    malformed_step("by zero", make_arithmetic(OP_DIVIDE, WIDTH_W64, a, literal_at(1)));
    scan_model by_65_bits = good;
    by_65_bits.literals[2] = i128(1) << 64;
    by_65_bits.projection.push_back(make_arithmetic(OP_REMAINDER, WIDTH_W64, a, literal_at(2)));
    expect("by 65 bits", by_65_bits, STATUS_MALFORMED);
    malformed_step("by a column", make_arithmetic(OP_DIVIDE_ROUND, WIDTH_W64, a, column_at(2)));
    malformed_step("by NULL", make_arithmetic(OP_DIVIDE_FLOOR, WIDTH_W64, a, null_operand()));
    malformed_step("a quotient of three", {OP_DIVIDE, WIDTH_W64, a, literal_at(0), a});
    malformed_step("a quotient as truth", make_arithmetic(OP_DIVIDE, WIDTH_BOOL, a, literal_at(0)));
    malformed_step("CASE of a number", make_select(WIDTH_W64, a, a, a));
    malformed_step("CASE of strings", make_select(WIDTH_W64, step_at(0), column_at(1), a));
    malformed_step("CASE without ELSE", make_select(WIDTH_W64, step_at(0), a, NONE));
    malformed_step("CASE as truth", make_select(WIDTH_BOOL, step_at(0), a, a));
    malformed_step("the year of a string", make_part(OP_YEAR, WIDTH_W32, column_at(1)));
    malformed_step("the month of two", {OP_MONTH, WIDTH_W32, a, a, NONE});
    malformed_step("a day as truth", make_part(OP_DAY, WIDTH_BOOL, a));
    malformed_step("distinct strings", make_step(OP_IS_DISTINCT, column_at(1), column_at(1)));
    malformed_step("distinct of one", make_step(OP_IS_NOT_DISTINCT, a));
    malformed_step("no operation", make_step(12, a, a));
    malformed_step("no question", make_step(29, a, a));
  }

  void slots() {
    malformed_slot("a least string as a number", make_slot(FUNCTION_MIN, column_at(1)));
    malformed_slot("a greatest number as a string",
                   make_slot(FUNCTION_MAX, column_at(0), WIDTH_BYTES));
    malformed_slot("a sum of strings", make_slot(FUNCTION_SUM, column_at(1), WIDTH_BYTES));
    malformed_slot("a count as a string", make_slot(FUNCTION_COUNT, column_at(1), WIDTH_BYTES));
    malformed_slot("a sum of integers as floats",
                   make_slot(FUNCTION_SUM_FLOAT, column_at(0), WIDTH_W64));
    malformed_slot("a sum of a step as floats",
                   make_slot(FUNCTION_SUM_FLOAT, step_at(1), WIDTH_W64));
    scan_model wrong = good;
    wrong.slots[0].function = FUNCTION_SUM_FLOAT + 1;
    expect("a function that is not there", wrong, STATUS_UNSUPPORTED);
  }

  void keys() {
    malformed_keys("a step by its codes", {key_model(step_at(1))});
    malformed_keys("a range of nothing", {key_model(column_at(0), 0, 0)});
    malformed_keys("a range too wide", {key_model(column_at(0), 0, GROUPS_MAX)});
    malformed_keys("a range beyond 64 bits", {key_model(column_at(0), INT64_MAX, 1)});
    malformed_keys("a range of strings", {key_model(column_at(1), 0, 1)});
    malformed_keys("a range of truth", {key_model(step_at(0), 0, 1)});
    malformed_keys("a range of a literal", {key_model(literal_at(0), 0, 1)});
    malformed_keys("a range of NULL", {key_model(null_operand(), 0, 1)});
    malformed_keys("a key twice", {0, key_model(column_at(0), 0, 9)});
    malformed_keys("a range twice", {key_model(step_at(1), 0, 9), key_model(step_at(1), 1, 9)});
    // A range of a key that is not there, and two of one key.
    scan_model two = good;
    two.keys = {key_model(column_at(0), 0, 9), key_model(step_at(1), 1960, 50)};
    for (uint64_t key : {0, 2}) {
      test_memories memories = bind_model(two, chunks);
      uint64_t& word =
          memories
              .command[find_section(memories, SECTION_KEY_RANGES) / 8 + KEY_RANGE_RECORD_BYTES / 8];
      word = (word & ~static_cast<uint64_t>(0xffff)) | key;
      sign_command(memories.command);
      uint64_t statuses[STATUS_STEPS_EXCEEDED + 1] = {0};
      run_damaged(all, "a range of another key", memories, two, depth_mode::roomy, statuses);
      if (statuses[STATUS_MALFORMED] != 1) all.fail("a range of another key", "is taken");
    }
  }

  void limits() {
    test_memories memories = bind_model(good, chunks);
    memories.command[find_section(memories, SECTION_OUTPUT) / 8 + 4] = 3;
    sign_command(memories.command);
    uint64_t statuses[STATUS_STEPS_EXCEEDED + 1] = {0};
    run_damaged(all, "states with a limit", memories, good, depth_mode::roomy, statuses);
    if (statuses[STATUS_MALFORMED] != 1) all.fail("states with a limit", "are taken");
  }

  void forms() {
    scan_model wrong = good;
    wrong.compact = true;
    expect("compact states", wrong, STATUS_MALFORMED);
    wrong.states = false;
    expect("compact rows", wrong, STATUS_OK);
    test_memories memories = bind_model(wrong, chunks);
    memories.command[find_section(memories, SECTION_OUTPUT) / 8] += static_cast<uint64_t>(1) << 32;
    sign_command(memories.command);
    uint64_t statuses[STATUS_STEPS_EXCEEDED + 1] = {0};
    run_damaged(all, "an unknown form", memories, wrong, depth_mode::roomy, statuses);
    if (statuses[STATUS_UNSUPPORTED] != 1) all.fail("an unknown form", "is taken");
  }

  void tops() {
    malformed_top("a top of too many", column_at(0), TOP_MAX + 1);
    malformed_top("a top of strings", column_at(1), 1);
    malformed_top("a top of truth", step_at(0), 1);
    malformed_top("a top of a literal", literal_at(0), 1);
    malformed_top("a top of NULL", null_operand(), 1);
    malformed_top("a top of nothing", NONE, 1);
    scan_model wrong = good;
    wrong.states = false;
    wrong.top.operand = column_at(0);
    wrong.top.count = 3;
    wrong.rows_max = 10;
    expect("a top with a limit", wrong, STATUS_MALFORMED);
    wrong.rows_max = ~static_cast<uint64_t>(0);
    test_memories memories = bind_model(wrong, chunks);
    memories.command[find_section(memories, SECTION_TOP) / 8] |= 4u << 16;
    sign_command(memories.command);
    uint64_t statuses[STATUS_STEPS_EXCEEDED + 1] = {0};
    run_damaged(all, "a top with another flag", memories, wrong, depth_mode::roomy, statuses);
    if (statuses[STATUS_MALFORMED] != 1) all.fail("a top with another flag", "is taken");
  }

  void malformed_key_filter(const std::string& name, const key_filter_model& filter) {
    scan_model wrong = good;
    wrong.key_filters = {filter};
    expect(name, wrong, STATUS_MALFORMED);
  }

  /// Changes a word of the record of the first filter, or with `at` 4 of the bits behind the
  /// command.
  void changed_filter(const std::string& name, uint32_t at, uint64_t bits, uint32_t status) {
    scan_model right = good;
    right.key_filters = {{0, KEY_SET_BITMAP, 5, 600, 0, {7, 300}}};
    test_memories memories = bind_model(right, chunks);
    const uint32_t record = find_section(memories, SECTION_KEY_FILTERS) / 8;
    const uint32_t behind = static_cast<uint32_t>(memories.command[1]) / 8;
    memories.command[at == 4 ? behind : record + at] ^= bits;
    sign_command(memories.command);
    uint64_t statuses[STATUS_STEPS_EXCEEDED + 1] = {0};
    run_damaged(all, name, memories, right, depth_mode::roomy, statuses);
    if (statuses[status] != 1) all.fail(name, "does not end as it should");
  }

  void key_filters() {
    const key_filter_model right = {0, KEY_SET_BLOOM, 0, 9, KEY_BLOCKS, {7}};
    scan_model most = good;
    most.key_filters = {right};
    expect("as many bits as there may be", most, STATUS_OK);
    most.key_filters = {right, {0, KEY_SET_BLOOM, 0, 9, 1, {7}}};
    expect("a block too many", most, STATUS_MALFORMED);
    malformed_key_filter("keys of strings", {1, KEY_SET_BLOOM, 0, 9, 1, {7}});
    malformed_key_filter("keys of no column", {3, KEY_SET_BLOOM, 0, 9, 1, {7}});
    malformed_key_filter("a Bloom filter of nothing", {0, KEY_SET_BLOOM, 0, 9, 0, {}});
    malformed_key_filter("a bitmap too long", {0, KEY_SET_BITMAP, 0, 256 * KEY_BLOCKS, 0, {}});
    changed_filter("keys as they are", 3, 0, STATUS_OK);
    changed_filter("another column", 0, 2, STATUS_OK);
    changed_filter("an unknown kind", 0, 2u << 16, STATUS_UNSUPPORTED);
    changed_filter("a block fewer", 0, static_cast<uint64_t>(96 ^ 64) << 32, STATUS_MALFORMED);
    changed_filter("half a block", 0, static_cast<uint64_t>(16) << 32, STATUS_MALFORMED);
    changed_filter("another range", 2, 1u << 9, STATUS_MALFORMED);
    changed_filter("a range the other way around", 2, 1ull << 63, STATUS_MALFORMED);
    changed_filter("another checksum", 3, 1, STATUS_MALFORMED);
    changed_filter("another bit", 4, 1, STATUS_MALFORMED);
    scan_model many = good;
    many.key_filters.assign(KEY_FILTERS_MAX + 1, {0, KEY_SET_BLOOM, 0, 9, 1, {7}});
    expect("a key filter too many", many, STATUS_MALFORMED);
  }

  void readings() {
    malformed_reading("an integer as a float", 0, READ_AS_FLOAT_ORDER, 0, 0);
    malformed_reading("an integer from its end", 2, READ_AS_BIG_ENDIAN, 0, 0);
    malformed_reading("an integer with a length", 0, READ_AS_SIGNED, 8, 8);
    malformed_reading("strings without a sign", 1, READ_AS_UNSIGNED, 0, 0);
    malformed_reading("more bits than there are", 0, READ_AS_SIGNED, 65, 0);
    malformed_reading("no rule", 0, READ_AS_BIG_ENDIAN + 1, 0, 0);
  }

  void patterns() {
    scan_model wrong = good;
    wrong.tests = {{1, TEST_LIKE, {like(std::string(64, 'm'))}}};
    expect("a pattern of 64 places", wrong, STATUS_MALFORMED);
    wrong.tests = {{1, TEST_LIKE, {like("a%"), like("b%")}}};
    expect("two patterns", wrong, STATUS_MALFORMED);
    wrong.tests = {{1, TEST_LIKE, {like(std::string(129, '%'))}}};
    expect("a pattern of 129 bytes", wrong, STATUS_MALFORMED);
    wrong.tests = {{1, TEST_LIKE + 1, {"a"}}};
    expect("a test that is not there", wrong, STATUS_UNSUPPORTED);
    scan_model wide = good;
    wide.projection.clear();
    wide.columns.assign(TEST_COLUMNS_MAX + 1, good.columns[1]);
    const std::vector<written_chunk> texts(TEST_COLUMNS_MAX + 1, chunks[1]);
    wide.tests = {{TEST_COLUMNS_MAX - 1, TEST_IN, {"a"}}};
    expect("a test of the last column that may have one", wide, texts, STATUS_OK);
    wide.tests = {{TEST_COLUMNS_MAX, TEST_IN, {"a"}}};
    expect("a test of a column behind those", wide, texts, STATUS_UNSUPPORTED);
  }
};

inline void refused(tally& all) {
  refusals of(all);
  of.expect("what all others differ from", of.good, STATUS_OK);
  of.steps();
  of.slots();
  of.keys();
  of.limits();
  of.forms();
  of.tops();
  of.key_filters();
  of.readings();
  of.patterns();
}

}  // namespace nearscan_tb
