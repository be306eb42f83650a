// SPDX-License-Identifier: Apache-2.0
// Random tables, random storage, random programs. The seed is in the case's name.
#pragma once

#include "tb_run.hpp"

namespace nearscan_tb {

struct random_maker {
  random_source random;
  scan_model model;

  explicit random_maker(uint64_t seed) : random(seed * 0x100000001b3u + 7) {}

  uint64_t row_count() {
    switch (random.below(6)) {
      case 0:
        return random.below(20);
      case 1:
        return 1000 + random.below(3000);
      default:
        return random.below(600);
    }
  }

  chunk_style style() {
    chunk_style made;
    made.codec = random.once_in(3) ? CODEC_UNCOMPRESSED : CODEC_SNAPPY;
    made.values = random.once_in(3)   ? layout::plain
                  : random.once_in(4) ? layout::dictionary_then_plain
                                      : layout::dictionary;
    made.plain_from = random.below(model.rows + 1);
    made.page_rows = random.once_in(2) ? 0 : 1 + random.below(300);
    made.snappy = static_cast<packing>(random.below(3));
    made.old_names = random.once_in(3);
    made.rich_headers = random.once_in(2);
    made.index_page = random.once_in(6);
    made.spare_entries = random.once_in(6) ? random.below(40) : 0;
    made.wide_bits = random.once_in(6) ? static_cast<uint32_t>(random.below(9)) : 0;
    made.seed = random.next();
    if (random.once_in(4)) made.codec = CODEC_LZ4_RAW;
    made.other = static_cast<direct>(random.below(4));
    if (random.once_in(3)) made.pages = static_cast<version>(random.below(4));
    made.single_levels = random.once_in(5);
    made.backwards = random.once_in(4);
    const uint32_t shapes[][2] = {{4, 32}, {1, 128}, {8, 32}, {2, 64}, {32, 32}, {128, 32}};
    const uint32_t* shape = shapes[random.below(6)];
    made.miniblocks = shape[0];
    made.miniblock_values = shape[1];
    return made;
  }

  /// Numbers from a small or a large range, with extremes here and there.
  int64_t number(uint64_t spread, bool narrow) {
    if (spread > 1000 && random.once_in(30)) {
      const int64_t extremes[] = {0, -1, narrow ? INT32_MAX : INT64_MAX,
                                  narrow ? INT32_MIN : INT64_MIN};
      return extremes[random.below(4)];
    }
    const int64_t half = static_cast<int64_t>(spread / 2);
    return random.between(-half, half + 1);
  }

  std::string text(uint64_t spread) {
    const uint64_t which = random.below(spread + 1);
    random_source own(which);
    std::string made;
    const uint64_t length = own.once_in(10) ? own.below(200) : own.below(12);
    for (uint64_t i = 0; i < length; i++) {
      made.push_back(static_cast<char>(own.once_in(9) ? own.below(256) : 'a' + own.below(3)));
    }
    return made;
  }

  /// Draws the type of a column and the way in which it is read.
  void choose_type(column_model& made) {
    const uint8_t types[] = {PHYSICAL_INT32,      PHYSICAL_INT64,
                             PHYSICAL_BYTE_ARRAY, PHYSICAL_INT32,
                             PHYSICAL_INT64,      PHYSICAL_BYTE_ARRAY,
                             PHYSICAL_BOOLEAN,    PHYSICAL_FLOAT,
                             PHYSICAL_DOUBLE,     PHYSICAL_FIXED_LEN_BYTE_ARRAY};
    made.physical_type = types[random.below(sizeof(types))];
    switch (made.physical_type) {
      case PHYSICAL_INT32:
      case PHYSICAL_INT64: {
        const uint8_t bits[] = {0, 0, 0, 1, 8, 16, 32};
        made.number_bits = bits[random.below(7)];
        if (random.once_in(3)) made.read_as = READ_AS_UNSIGNED;
        break;
      }
      case PHYSICAL_FLOAT:
      case PHYSICAL_DOUBLE:
        made.read_as = READ_AS_FLOAT_ORDER;
        break;
      case PHYSICAL_FIXED_LEN_BYTE_ARRAY:
        made.read_as = READ_AS_BIG_ENDIAN;
        made.length = static_cast<uint8_t>(1 + random.below(FIXED_BYTES_MAX));
        break;
      default:
        break;
    }
  }

  /// A number that a column can hold.
  int64_t number_of(const column_model& of, uint64_t spread) {
    const bool narrow = of.physical_type == PHYSICAL_INT32;
    const int64_t any = number(spread, narrow);
    const uint64_t mixed = random.next();
    switch (of.physical_type) {
      case PHYSICAL_BOOLEAN:
        return any & 1;
      case PHYSICAL_FLOAT: {
        const float quarter = static_cast<float>(any) / 4;
        uint32_t bits;
        std::memcpy(&bits, &quarter, sizeof(bits));
        return place_of(random.once_in(9) ? static_cast<uint32_t>(mixed) : bits);
      }
      case PHYSICAL_DOUBLE:
        return random.once_in(9) ? static_cast<int64_t>(mixed) : any;
      case PHYSICAL_FIXED_LEN_BYTE_ARRAY: {
        const uint32_t unused = of.length < 8 ? 64 - 8u * of.length : 0;
        return static_cast<int64_t>(static_cast<uint64_t>(any) << unused) >> unused;
      }
      default:
        break;
    }
    const uint32_t stored_bits = narrow ? 32 : 64;
    const uint32_t bits = of.number_bits == 0 ? stored_bits : of.number_bits;
    if (of.read_as == READ_AS_UNSIGNED) {
      // A number of 64 bits ends the unit.
      const uint32_t most = bits == 64 && mixed % 1000 != 0 ? 63 : bits;
      return static_cast<int64_t>(low_bits(static_cast<uint64_t>(any), most));
    }
    return static_cast<int64_t>(static_cast<uint64_t>(any) << (64 - bits)) >> (64 - bits);
  }

  /// A string of which some bytes are any character and some parts anything.
  std::string pattern(std::string made) {
    for (uint64_t i = random.below(3); i > 0 && !made.empty(); i--) {
      made[random.below(made.size())] = static_cast<char>(PATTERN_ONE);
    }
    for (uint64_t i = random.below(4); i > 0; i--) {
      const uint64_t at = random.below(made.size() + 1);
      // The characters that were there may now be part of it.
      made.replace(at, random.below(3), 1, static_cast<char>(PATTERN_ANY));
    }
    return made;
  }

  column_model column() {
    column_model made;
    choose_type(made);
    made.nullable = random.once_in(2);
    made.style = style();
    const uint64_t null_in = made.nullable ? 1 + random.below(8) : 0;
    const uint64_t spreads[] = {1, 3, 12, 300, 100000, 2000000000};
    const uint64_t spread = spreads[random.below(6)];
    const bool runs = random.once_in(3);
    for (uint64_t row = 0; row < model.rows; row++) {
      if (runs && row > 0 && !random.once_in(20)) {
        made.cells.push_back(made.cells.back());
      } else if (null_in != 0 && random.once_in(null_in)) {
        made.cells.push_back(null_cell());
      } else if (made.physical_type == PHYSICAL_BYTE_ARRAY) {
        made.cells.push_back(text_cell(text(std::min<uint64_t>(spread, 5000))));
      } else {
        made.cells.push_back(number_cell(number_of(made, spread)));
      }
    }
    return made;
  }

  bool is_text(uint32_t column_index) const {
    return model.columns[column_index].physical_type == PHYSICAL_BYTE_ARRAY;
  }

  void tests() {
    for (uint16_t i = 0; i < model.columns.size(); i++) {
      if (!is_text(i) || i >= TEST_COLUMNS_MAX) continue;
      const uint64_t count = random.below(4);
      for (uint64_t made = 0; made < count; made++) {
        test_model test = {i, static_cast<uint16_t>(random.between(TEST_IN, TEST_LIKE)), {}};
        const uint64_t strings = test.op == TEST_IN ? 1 + random.below(5) : 1;
        while (test.strings.size() < strings) {
          const std::string base = text(12).substr(0, 128);
          test.strings.push_back(test.op == TEST_LIKE ? pattern(base.substr(0, 60)) : base);
        }
        model.tests.push_back(test);
      }
    }
  }

  void literals() {
    const uint64_t count = 1 + random.below(12);
    // A single one ends the unit.
    const bool some_wide = random.once_in(10);
    for (uint64_t i = 0; i < count; i++) {
      i128 literal = random.between(-200, 200);
      if (random.once_in(5)) literal = static_cast<int64_t>(random.next());
      if (some_wide && random.once_in(4)) {
        literal = static_cast<i128>(static_cast<u128>(random.next()) << 64 | random.next());
      }
      model.literals.push_back(literal);
    }
  }

  /// An operand of a kind: IS_NUMBER, IS_TRUTH or IS_BYTES; NONE when there is none of it.
  uint16_t any_operand(uint8_t kind, const std::vector<step>& steps) {
    if (random.once_in(25)) return null_operand();
    std::vector<uint16_t> choices;
    for (uint32_t i = 0; i < model.columns.size(); i++) {
      if (kind == (is_text(i) ? IS_BYTES : IS_NUMBER)) choices.push_back(column_at(i));
    }
    for (uint32_t i = 0; i < steps.size(); i++) {
      if (kind == (is_arithmetic(steps[i]) ? IS_NUMBER : IS_TRUTH)) choices.push_back(step_at(i));
    }
    if (kind == IS_NUMBER) {
      choices.push_back(literal_at(static_cast<uint32_t>(random.below(model.literals.size()))));
    }
    return choices.empty() ? NONE : choices[random.below(choices.size())];
  }

  /// A step that may follow `steps`; false when chance chose one that has no operands.
  bool any_step(const std::vector<step>& steps, step& made) {
    const uint8_t ops[] = {OP_ADD,
                           OP_SUBTRACT,
                           OP_MULTIPLY,
                           OP_EQUAL,
                           OP_NOT_EQUAL,
                           OP_LESS,
                           OP_LESS_OR_EQUAL,
                           OP_GREATER,
                           OP_BETWEEN,
                           OP_IN,
                           OP_GREATER_OR_EQUAL,
                           OP_IS_NULL,
                           OP_IS_NOT_NULL,
                           OP_TEST,
                           OP_AND,
                           OP_OR,
                           OP_NOT,
                           OP_AND,
                           OP_OR,
                           OP_DIVIDE,
                           OP_DIVIDE_ROUND,
                           OP_DIVIDE_FLOOR,
                           OP_REMAINDER,
                           OP_SELECT,
                           OP_SELECT,
                           OP_YEAR,
                           OP_MONTH,
                           OP_DAY,
                           OP_IS_DISTINCT,
                           OP_IS_NOT_DISTINCT};
    made = make_step(ops[random.below(sizeof(ops))], NONE);
    switch (made.op) {
      case OP_TEST:
        if (model.tests.empty()) return false;
        made.a = test_at(static_cast<uint32_t>(random.below(model.tests.size())));
        return true;
      case OP_IS_NULL:
      case OP_IS_NOT_NULL: {
        const uint8_t kinds[] = {IS_NUMBER, IS_TRUTH, IS_BYTES};
        made.a = any_operand(kinds[random.below(3)], steps);
        return made.a != NONE;
      }
      case OP_NOT:
        made.a = any_operand(IS_TRUTH, steps);
        return made.a != NONE;
      case OP_AND:
      case OP_OR:
        made.a = any_operand(IS_TRUTH, steps);
        made.b = any_operand(IS_TRUTH, steps);
        return made.a != NONE && made.b != NONE;
      default:
        break;
    }
    if (is_arithmetic(made)) {
      const uint8_t widths[] = {WIDTH_W128, WIDTH_W128, WIDTH_W128, WIDTH_W64, WIDTH_W32};
      made.width = widths[random.below(5)];
    }
    made.a = any_operand(made.op == OP_SELECT ? IS_TRUTH : IS_NUMBER, steps);
    if (made.op >= OP_YEAR && made.op <= OP_DAY) return true;
    if (made.op >= OP_DIVIDE && made.op <= OP_REMAINDER) {
      const uint32_t literal = static_cast<uint32_t>(random.below(model.literals.size()));
      made.b = literal_at(literal);
      return model.literals[literal] != 0 && golden_fits(model.literals[literal], WIDTH_W64);
    }
    made.b = any_operand(IS_NUMBER, steps);
    if (made.op == OP_SELECT) {
      made.c = any_operand(IS_NUMBER, steps);
      return made.a != NONE;
    }
    if (made.op == OP_BETWEEN) made.c = any_operand(IS_NUMBER, steps);
    if (made.op == OP_IN) {
      const uint32_t first = static_cast<uint32_t>(random.below(model.literals.size()));
      made.b = literal_at(first);
      made.c =
          literal_at(first + static_cast<uint32_t>(random.below(model.literals.size() - first)));
    }
    return true;
  }

  std::vector<step> program(uint64_t length) {
    std::vector<step> steps;
    for (uint64_t i = 0; i < length; i++) {
      step made;
      if (any_step(steps, made)) steps.push_back(made);
    }
    return steps;
  }

  /// A range that holds the numbers of a column, or nearly.
  key_model range_of(uint16_t column) {
    i128 least = 0;
    i128 most = 0;
    for (const cell& value : model.columns[column].cells) {
      const i128 number = row_evaluator::number_of(model.columns[column], value);
      if (!value.null) least = std::min(least, number);
      if (!value.null) most = std::max(most, number);
    }
    least = std::max(least - random.between(-1, 3), i128(INT64_MIN));
    const i128 count = std::min(most - least + random.between(0, 3), i128(GROUPS_MAX - 1));
    return key_model(column_at(column), static_cast<int64_t>(least),
                     static_cast<uint32_t>(std::max(count, i128(1))));
  }

  /// A range for a step, which may well be too small.
  key_model range_of_step(uint32_t index) {
    switch (model.projection[index].op) {
      case OP_MONTH:
        return key_model(step_at(index), 1, 12);
      case OP_DAY:
        return key_model(step_at(index), 0, 40);
      case OP_YEAR:
        return key_model(step_at(index), 1700, 600);
      default:
        return key_model(step_at(index), -200, 500);
    }
  }

  void keys() {
    for (uint16_t i = 0; i < model.columns.size() && model.keys.size() < KEYS_MAX; i++) {
      if (!random.once_in(3)) continue;
      if (!is_text(i) && random.once_in(3)) {
        model.keys.push_back(range_of(i));
        continue;
      }
      model.keys.push_back(i);
      if (!random.once_in(5)) model.columns[i].style.values = layout::dictionary;
    }
    for (uint32_t i = 0; i < model.projection.size() && model.keys.size() < KEYS_MAX; i++) {
      if (is_arithmetic(model.projection[i]) && random.once_in(6)) {
        model.keys.push_back(range_of_step(i));
      }
    }
  }

  /// A slot of a column of byte strings or floats; false when there is none.
  bool special_slot(slot_model& slot) {
    const uint32_t column = static_cast<uint32_t>(random.below(model.columns.size() + 1));
    if (column == model.columns.size()) return false;
    slot.operand = column_at(column);
    if (is_text(column)) {
      slot.function = random.once_in(2) ? FUNCTION_MIN : FUNCTION_MAX;
      slot.width = WIDTH_BYTES;
      return true;
    }
    slot.function = FUNCTION_SUM_FLOAT;
    slot.width = WIDTH_W64;
    return model.columns[column].read_as == READ_AS_FLOAT_ORDER;
  }

  void states() {
    keys();
    const uint64_t count = random.below(AGGREGATES_MAX + 1);
    for (uint64_t i = 0; i < count; i++) {
      const uint8_t widths[] = {WIDTH_W128, WIDTH_W128, WIDTH_W128, WIDTH_W64, WIDTH_W32};
      slot_model slot =
          make_slot(static_cast<uint8_t>(random.between(1, 5)), NONE, widths[random.below(5)]);
      if (random.once_in(4)) {
        if (!special_slot(slot)) continue;
      } else if (slot.function == FUNCTION_COUNT) {
        const uint8_t kinds[] = {IS_NUMBER, IS_TRUTH, IS_BYTES};
        slot.operand = any_operand(kinds[random.below(3)], model.projection);
        if (slot.operand == NONE) continue;
      } else if (slot.function != FUNCTION_COUNT_ROWS) {
        slot.operand = any_operand(IS_NUMBER, model.projection);
      }
      if (random.once_in(3)) slot.filter = any_operand(IS_TRUTH, model.projection);
      model.slots.push_back(slot);
    }
  }

  void rows_out() {
    model.states = false;
    const uint64_t count = random.below(8);
    for (uint64_t i = 0; i < count; i++) {
      const uint8_t widths[] = {WIDTH_W128, WIDTH_W64,   WIDTH_W32,
                                WIDTH_BOOL, WIDTH_BYTES, WIDTH_W128};
      const uint8_t width = widths[random.below(6)];
      const uint8_t kind = width == WIDTH_BYTES  ? IS_BYTES
                           : width == WIDTH_BOOL ? IS_TRUTH
                                                 : IS_NUMBER;
      const uint16_t from = any_operand(kind, model.projection);
      if (from != NONE) model.row_columns.push_back({from, width});
    }
    if (random.once_in(4)) {
      model.rows_max = random.below(model.rows + 2);
    } else if (random.once_in(3)) {
      top();
    }
  }

  void top() {
    std::vector<uint16_t> numbers;
    for (uint32_t i = 0; i < model.columns.size(); i++) {
      if (!is_text(i)) numbers.push_back(column_at(i));
    }
    for (uint32_t i = 0; i < model.projection.size(); i++) {
      if (is_arithmetic(model.projection[i])) numbers.push_back(step_at(i));
    }
    if (numbers.empty()) return;
    const uint32_t counts[] = {1, 2, 10, TOP_MAX};
    model.top.operand = numbers[random.below(numbers.size())];
    model.top.count = counts[random.below(4)];
    model.top.descending = random.once_in(2);
    model.top.nulls_first = random.once_in(2);
  }

  void make() {
    model.rows = row_count();
    const uint64_t columns = random.below(random.once_in(5) ? 17 : 6);
    while (model.columns.size() < columns) model.columns.push_back(column());
    tests();
    literals();
    model.projection = program(random.below(7));
    model.predicate = program(random.below(9));
    // The verdict is a truth value.
    while (!model.predicate.empty() && is_arithmetic(model.predicate.back())) {
      model.predicate.pop_back();
    }
    if (random.once_in(2)) {
      states();
    } else {
      rows_out();
    }
    if (random.once_in(3)) key_filters();
  }

  /// Filters of some values of some columns.
  void key_filters() {
    std::vector<uint16_t> numbers;
    for (uint16_t i = 0; i < model.columns.size(); i++) {
      if (!is_text(i)) numbers.push_back(i);
    }
    if (numbers.empty()) return;
    const uint64_t count = 1 + random.below(KEY_FILTERS_MAX);
    while (model.key_filters.size() < count) {
      key_filter_model filter = key_filter_model();
      filter.column = numbers[random.below(numbers.size())];
      filter.kind = random.once_in(2) ? KEY_SET_BITMAP : KEY_SET_BLOOM;
      filter.blocks = static_cast<uint32_t>(1 + random.below(random.once_in(9) ? 1024 : 30));
      filter.first = INT64_MAX;
      filter.last = INT64_MIN;
      for (const cell& value : model.columns[filter.column].cells) {
        if (value.null || random.once_in(2)) continue;
        filter.keys.push_back(value.number);
        filter.first = std::min(filter.first, value.number);
        filter.last = std::max(filter.last, value.number);
      }
      if (filter.kind == KEY_SET_BITMAP) {
        // Some values are outside of it.
        if (filter.keys.empty()) filter.first = 0;
        filter.first += filter.first < 0 ? random.between(0, 20) : random.between(-20, 0);
        const int64_t span = random.between(0, 5000);
        filter.last = filter.first > INT64_MAX - span ? INT64_MAX : filter.first + span;
      }
      model.key_filters.push_back(filter);
    }
  }
};

inline void random_case(tally& all, uint64_t seed) {
  random_maker maker(seed);
  maker.make();
  run_model(all, "seed " + std::to_string(seed), maker.model);
}

}  // namespace nearscan_tb
