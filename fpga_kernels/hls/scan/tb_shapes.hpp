// SPDX-License-Identifier: Apache-2.0
// Cases written by hand for dates, distinctness, numbers without a sign, patterns, extremes of
// strings, keys by range and tops.
#pragma once

#include "../common/floats.hpp"
#include "tb_arithmetic.hpp"

namespace nearscan_tb {

inline void dates(tally& all) {
  const auto parts = [](uint8_t width) {
    return std::vector<step>{make_part(OP_YEAR, width, column_at(0)),
                             make_part(OP_MONTH, width, column_at(0)),
                             make_part(OP_DAY, width, column_at(0))};
  };
  const struct {
    const char* name;
    uint64_t rows;
    int64_t first;
    int64_t stride;
  } ranges[] = {{"since 1966", 3000, -1500, 1},        {"around 2000", 500, 10957 - 250, 1},
                {"around 1900", 500, -25567 - 250, 1}, {"around year 0", 1200, -719528 - 600, 1},
                {"of 400 years", 2000, -100000, 73},   {"of all years", 3000, INT32_MIN, 1431655}};
  for (const auto& range : ranges) {
    scan_model model = one_column(number_column(range.rows, 99, [&range](uint64_t row) {
      return range.first + as_row(row) * range.stride;
    }));
    show_steps(model, parts(WIDTH_W32));
    run_model(all, std::string("dates ") + range.name, model);
  }
  for (int64_t day : {int64_t(INT32_MIN), int64_t(INT32_MAX), INT32_MIN - int64_t(1),
                      INT32_MAX + int64_t(1), INT64_MAX, INT64_MIN}) {
    scan_model model =
        one_column(number_column(20, 3, [day](uint64_t row) { return row == 12 ? day : 5; }));
    show_steps(model, parts(WIDTH_W64));
    run_model(all, "dates at the edge", model);
    model.columns[0].cells[12].null = true;
    run_model(all, "dates at the edge, null", model);
  }
}

inline void distinct(tally& all) {
  scan_model model;
  model.rows = 16;
  for (uint64_t divisor : {1, 4}) {
    column_model column =
        number_column(16, 0, [divisor](uint64_t row) { return as_row(row / divisor % 4) - 2; });
    column.nullable = true;
    for (cell& value : column.cells) value.null = value.number == 1;
    model.columns.push_back(column);
  }
  model.literals = {-1, i128(1) << 64};
  std::vector<step> steps = {make_arithmetic(OP_MULTIPLY, WIDTH_W128, column_at(0), literal_at(1)),
                             make_arithmetic(OP_MULTIPLY, WIDTH_W128, column_at(1), literal_at(1))};
  const uint16_t pairs[][2] = {{column_at(0), column_at(1)},   {column_at(0), literal_at(0)},
                               {column_at(0), null_operand()}, {null_operand(), null_operand()},
                               {step_at(0), step_at(1)},       {step_at(0), column_at(1)}};
  for (const auto& pair : pairs) {
    steps.push_back(make_step(OP_IS_DISTINCT, pair[0], pair[1]));
    steps.push_back(make_step(OP_IS_NOT_DISTINCT, pair[0], pair[1]));
  }
  show_steps(model, steps);
  run_model(all, "distinct", model);
  for (size_t verdict = 3; verdict <= steps.size(); verdict++) {
    model.predicate.assign(steps.begin(), steps.begin() + static_cast<long>(verdict));
    run_model(all, "distinct as the verdict", model);
  }
}

/// Numbers without a sign, of 63 bits: what has more is refused, see `beyond_64_bits`.
inline void unsigned_numbers(tally& all) {
  scan_model model = one_column(number_column(600, 7, [](uint64_t row) {
    return static_cast<int64_t>((row % 5) * 0x0fffffffffffffffu + row % 3);
  }));
  model.columns.push_back(number_column(600, 0, as_row));
  model.columns[0].read_as = READ_AS_UNSIGNED;
  model.literals = {i128(1) << 61, -1, i128(3) << 60};
  const uint16_t a = column_at(0);
  std::vector<step> steps = {
      make_step(OP_LESS, a, literal_at(0)), make_step(OP_GREATER, a, literal_at(1)),
      make_step(OP_BETWEEN, a, literal_at(0), literal_at(2)), make_step(OP_LESS, column_at(1), a),
      make_arithmetic(OP_ADD, WIDTH_W128, a, a)};
  show_steps(model, steps);
  model.row_columns.push_back({a, WIDTH_W128});
  for (layout values : {layout::plain, layout::dictionary}) {
    model.columns[0].style.values = values;
    run_model(all, "unsigned", model);
  }
  model.row_columns.back().width = WIDTH_W32;
  run_model(all, "unsigned beyond its column", model, {STATUS_OVERFLOW});
  model.row_columns.back().width = WIDTH_W64;
  model.predicate = {make_step(OP_LESS, a, literal_at(0))};
  run_model(all, "unsigned, small ones", model);
  model.states = true;
  model.slots = all_slots(a);
  model.predicate.clear();
  run_model(all, "unsigned states", model);
  model.slots = all_slots(column_at(1));
  model.keys = {0};
  run_model(all, "unsigned keys too large", model);
  model.predicate = {make_step(OP_LESS, a, literal_at(0))};
  run_model(all, "unsigned keys", model);
  model.keys = {key_model(a, INT64_MAX - 4, 4)};
  run_model(all, "unsigned keys by range, outside", model);
  model.predicate = {make_step(OP_BETWEEN, a, literal_at(3), literal_at(4))};
  model.literals.push_back(INT64_MAX - 4);
  model.literals.push_back(INT64_MAX - 1);
  run_model(all, "unsigned keys by range", model);
}

inline void patterns(tally& all) {
  const std::string m62(62, 'm');
  const std::vector<std::string> likes = {"",
                                          "%",
                                          "%%",
                                          "_",
                                          "_%",
                                          "%_",
                                          "a",
                                          "a%",
                                          "%a",
                                          "%a%",
                                          "a_",
                                          "_b",
                                          "a%b",
                                          "%ab%",
                                          "%aab",
                                          "a%b%c",
                                          "gr__e",
                                          "gr___e",
                                          "%\xc3\xb6\xc3\x9f%",
                                          "%special%requests%",
                                          "%s_ecial%",
                                          m62 + "m",
                                          "%" + m62 + "n",
                                          "%m%" + m62,
                                          std::string(63, '_'),
                                          std::string("%\0", 2),
                                          "_\xbf",
                                          "%\xbf",
                                          "gr\xc3_e",
                                          "gr\xc3%e",
                                          "\x80_",
                                          "%\x80%"};
  std::vector<std::string> texts = {"",
                                    "a",
                                    "b",
                                    "ab",
                                    "aab",
                                    "abb",
                                    "abc",
                                    "axbyc",
                                    "aaaab",
                                    "gr\xc3\xb6\xc3\x9f"
                                    "e",
                                    "grosse",
                                    "special requests",
                                    "the specials requested",
                                    "requests special",
                                    "gr\xc3"
                                    "e",
                                    "\xbf",
                                    "a\xbf",
                                    "\x80\x80\x80",
                                    "\xff",
                                    "\xfe",
                                    std::string("\0", 1),
                                    "\xc3\xb6\x80"
                                    "a"};
  for (size_t length : {62, 63, 64, 65, 128, 200, 1000}) {
    texts.push_back(std::string(length, 'm'));
    texts.push_back(std::string(length, 'm') + "n");
    texts.push_back(std::string(length, 'x') + "special packages requests");
  }
  const uint64_t rows = texts.size() * 3;
  scan_model model = one_column(
      text_column(rows, 13, [&texts](uint64_t row) { return texts[row % texts.size()]; }));
  for (layout values : {layout::dictionary, layout::plain, layout::dictionary_then_plain}) {
    model.columns[0].style.values = values;
    model.columns[0].style.plain_from = rows / 2;
    model.columns[0].style.page_rows = 20;
    for (size_t first = 0; first < likes.size(); first += PATTERNS_PER_COLUMN_MAX) {
      std::vector<step> steps;
      model.tests.clear();
      for (size_t i = first; i < likes.size() && i < first + PATTERNS_PER_COLUMN_MAX; i++) {
        steps.push_back(make_step(OP_TEST, test_at(static_cast<uint32_t>(steps.size()))));
        model.tests.push_back({0, TEST_LIKE, {like(likes[i])}});
      }
      show_steps(model, steps);
      run_model(all, "LIKE " + std::to_string(first), model);
    }
    model.tests = {{0, TEST_GREATER, {"a"}}, {0, TEST_LIKE, {like("%b%")}}, {0, TEST_IN, {"abc"}}};
    show_steps(model, {make_step(OP_TEST, test_at(0)), make_step(OP_TEST, test_at(1)),
                       make_step(OP_TEST, test_at(2))});
    run_model(all, "LIKE beside others", model);
  }
}

inline void extremes(tally& all) {
  const auto part_late = [](uint64_t row) {
    const size_t common[] = {0, 7, 8, 9, 71, 72, 73, 200};
    return std::string(common[row / 50 % 8], 'p') + std::to_string(row * 7919 % 1009);
  };
  const auto prefixes = [](uint64_t row) {
    return std::string(row * 31 % 170, row % 3 ? '\0' : '\xff');
  };
  for (uint64_t null_every : {0, 1, 5}) {
    for (layout values : {layout::dictionary, layout::plain, layout::dictionary_then_plain}) {
      scan_model model;
      model.rows = 900;
      model.columns = {text_column(900, null_every, part_late),
                       text_column(900, null_every, prefixes),
                       number_column(900, 17, [](uint64_t row) { return as_row(row * row % 6); })};
      for (column_model& column : model.columns) {
        column.style.values = values;
        column.style.plain_from = 500;
        column.style.page_rows = 130;
      }
      model.literals = {2, 1000};
      model.projection = {make_step(OP_LESS, column_at(2), literal_at(0))};
      for (uint32_t column : {0, 1}) {
        for (uint16_t filter : {static_cast<uint16_t>(NONE), step_at(0), null_operand()}) {
          for (uint8_t function : {FUNCTION_MIN, FUNCTION_MAX}) {
            model.slots.push_back(make_slot(function, column_at(column), WIDTH_BYTES, filter));
          }
        }
      }
      model.slots.push_back(make_slot(FUNCTION_SUM, column_at(2)));
      run_model(all, "extremes of strings", model);
      model.keys = {2};
      model.columns[2].style.values = layout::dictionary;
      run_model(all, "extremes of strings by key", model);
      model.keys = {key_model(column_at(2), 0, 6)};
      run_model(all, "extremes of strings by range", model);
      model.predicate = {make_step(OP_GREATER, column_at(2), literal_at(1))};
      run_model(all, "extremes of no strings by key", model);
      model.keys.clear();
      run_model(all, "extremes of no strings", model);
    }
  }
  scan_model large = one_column(text_column(
      12000, 0, [](uint64_t row) { return "entry " + std::to_string(row * 7919 % 6007); }));
  large.slots = {make_slot(FUNCTION_MIN, column_at(0), WIDTH_BYTES),
                 make_slot(FUNCTION_MAX, column_at(0), WIDTH_BYTES)};
  run_model(all, "extremes of a large dictionary", large);
  large.keys = {0};
  large.columns[0] = text_column(3000, 4, [](uint64_t row) { return std::to_string(row % 9); });
  large.rows = 3000;
  run_model(all, "extremes of the key", large);
  large.keys.clear();
  large.columns[0] = text_column(
      30, 4, [](uint64_t row) { return std::string(90000, 'l') + char('a' + row % 7); });
  large.columns[0].style.values = layout::plain;
  large.rows = 30;
  run_model(all, "extremes of long strings", large);
}

inline void ranges(tally& all) {
  scan_model model;
  model.rows = 2000;
  model.columns = {
      number_column(
          2000, 0, [](uint64_t row) { return 8000 + as_row(row) * 3; }, PHYSICAL_INT32),
      number_column(2000, 11, [](uint64_t row) { return as_row(row % 7) - 3; }),
      text_column(2000, 13, [](uint64_t row) { return std::string(row % 3, 'k'); }),
      number_column(2000, 5, [](uint64_t row) { return INT64_MIN + as_row(row % 9); })};
  model.columns[3].style.values = layout::plain;
  model.projection = {make_part(OP_YEAR, WIDTH_W32, column_at(0)),
                      make_part(OP_MONTH, WIDTH_W32, column_at(0)),
                      make_arithmetic(OP_MULTIPLY, WIDTH_W128, column_at(1), literal_at(0))};
  model.literals = {i128(1) << 100, 0};
  model.slots = all_slots(column_at(1));
  const key_model year(step_at(0), 1991, 17);
  const key_model month(step_at(1), 1, 12);
  const key_model small(column_at(1), -3, 7);
  const struct {
    const char* name;
    std::vector<key_model> keys;
  } cases[] = {{"a column", {small}},
               {"a step", {year}},
               {"two steps", {year, month}},
               {"a column and a dictionary", {small, 2}},
               {"a dictionary and a step", {2, month}},
               {"four keys", {small, 2, key_model(column_at(3), INT64_MIN, 9), month}},
               {"the least numbers", {key_model(column_at(3), INT64_MIN, 9)}},
               {"as many as there may be", {key_model(column_at(1), -500, GROUPS_MAX - 1)}},
               {"too many", {key_model(column_at(1), -500, GROUPS_MAX / 2), month}},
               {"one below", {key_model(column_at(1), -2, 6)}},
               {"one above", {key_model(column_at(1), -3, 6)}},
               {"far below", {key_model(column_at(3), INT64_MAX - 2, 2)}},
               {"beyond 64 bits", {key_model(step_at(2), 0, 5)}}};
  for (const auto& at : cases) {
    model.keys = at.keys;
    run_model(all, std::string("range of ") + at.name, model);
  }
  // Rows outside of the range are not kept, or are null.
  model.keys = {key_model(column_at(1), 0, 4)};
  model.predicate = {make_step(OP_GREATER_OR_EQUAL, column_at(1), literal_at(1))};
  run_model(all, "range, others dropped", model);
  model.predicate = {make_step(OP_IS_NULL, column_at(1))};
  run_model(all, "range, nulls alone", model);
}

inline void tops(tally& all) {
  typedef int64_t (*maker)(uint64_t);
  const maker makers[] = {[](uint64_t row) { return as_row(row * 7919 % 2003) - 1000; },
                          [](uint64_t row) { return as_row(row * 7919 % 2003 % 5); },
                          [](uint64_t) { return int64_t(-4); },
                          [](uint64_t row) { return as_row(row); },
                          [](uint64_t row) { return -as_row(row); },
                          [](uint64_t row) { return row % 2 == 0 ? INT64_MIN : INT64_MAX; }};
  for (const maker& make : makers) {
    for (uint64_t null_every : {0, 1, 4}) {
      scan_model model = one_column(number_column(1100, null_every, make));
      model.columns.push_back(number_column(1100, 0, as_row));
      model.states = false;
      model.row_columns = {{column_at(1), WIDTH_W32}, {column_at(0), WIDTH_W64}};
      model.top.operand = column_at(0);
      for (uint32_t order = 0; order < 4; order++) {
        model.top.descending = (order & 1) != 0;
        model.top.nulls_first = (order & 2) != 0;
        for (uint32_t count : {1, 2, 9, 128}) {
          model.top.count = count;
          run_model(all, "top " + std::to_string(order) + " " + std::to_string(count), model);
        }
      }
    }
  }
  scan_model model = one_column(number_column(900, 7, makers[0]));
  model.states = false;
  model.literals = {i128(1) << 70, 100};
  model.projection = {make_arithmetic(OP_MULTIPLY, WIDTH_W128, column_at(0), literal_at(0))};
  model.top.operand = step_at(0);
  model.top.count = 5;
  run_model(all, "top of a step, without columns", model);
  model.row_columns = {{step_at(0), WIDTH_W128}};
  model.predicate = {make_step(OP_GREATER, column_at(0), literal_at(1))};
  run_model(all, "top of kept rows", model);
  model.predicate.clear();
  // The least number of all has no negative.
  model.literals = {~(i128(1) << 127), i128(1) << 127};
  model.projection = {make_step(OP_EQUAL, column_at(0), column_at(0)),
                      make_select(WIDTH_W128, step_at(0), literal_at(1), literal_at(0))};
  model.row_columns = {{step_at(1), WIDTH_W128}};
  model.top.operand = step_at(1);
  for (bool descending : {false, true}) {
    model.top.descending = descending;
    run_model(all, "top of the extremes", model);
  }
  model.projection.clear();
  model.row_columns = {{column_at(0), WIDTH_W32}};
  model.top.operand = column_at(0);
  model.top.descending = false;
  model.columns[0].cells[888] = number_cell(int64_t(1) << 40);
  run_model(all, "top with an overflow in what is left out", model);
}

/// The sum of floats on bits and places, against the machine's own.
inline void float_sums(tally& all) {
  random_source random(99);
  const double numbers[] = {0.0, -0.0, 1.5, -1e300, 1e300, 5e-324, 1e16, -1.0};
  std::vector<uint64_t> bits = {0x7ff0000000000000u, 0xfff0000000000000u, 0x7ff8000000000000u,
                                0xfff8000000000001u, 0x7ff0000000000001u};
  for (double number : numbers) {
    uint64_t of;
    std::memcpy(&of, &number, sizeof(of));
    bits.push_back(of);
  }
  while (bits.size() < 60) bits.push_back(random.next());
  for (uint64_t a : bits) {
    if (order_bits(order_bits(a)) != a) all.fail("a place", "does not come back");
    for (uint64_t b : bits) {
      const i128 left = static_cast<int64_t>(order_bits(a));
      const i128 right = static_cast<int64_t>(order_bits(b));
      const int64_t expected = golden_place(golden_float(left) + golden_float(right));
      const int64_t sum = static_cast<int64_t>(sum_order(add_floats(a, b)));
      if (sum != expected) all.fail("a sum of floats", to_text(left) + " and " + to_text(right));
    }
  }
}

/// Sums of columns of floats: the order of the rows counts, and NaN is one place.
inline void float_columns(tally& all) {
  const double numbers[] = {1e16, 1.0, 1.0, -1e16, 0.25, -0.0, 5e-324, 1e300, -1e300, 3.5};
  const double infinity = golden_float(0x7ff0000000000000);
  for (uint32_t special = 0; special < 4; special++) {
    for (uint64_t null_every : {0, 1, 4}) {
      scan_model model;
      model.rows = 700;
      for (uint8_t physical_type : {PHYSICAL_DOUBLE, PHYSICAL_FLOAT}) {
        model.columns.push_back(number_column(
            700, null_every,
            [&](uint64_t row) {
              double number = numbers[row * 7919 % 701 % 10];
              if (special >= 1 && row == 100) number = infinity;
              if (special >= 2 && row == 401) number = -infinity;
              if (special >= 3 && row == 399) return static_cast<int64_t>(0x7ff8000000000000);
              // As many digits as a float has.
              const bool narrow = physical_type == PHYSICAL_FLOAT;
              return golden_place(narrow ? static_cast<double>(static_cast<float>(number))
                                         : number);
            },
            physical_type));
        model.columns.back().read_as = READ_AS_FLOAT_ORDER;
      }
      model.columns.push_back(number_column(700, 9, [](uint64_t row) { return as_row(row % 5); }));
      model.literals = {2};
      model.projection = {make_step(OP_LESS, column_at(2), literal_at(0))};
      for (uint32_t column : {0, 1}) {
        model.slots.push_back(make_slot(FUNCTION_SUM_FLOAT, column_at(column), WIDTH_W64));
        model.slots.push_back(
            make_slot(FUNCTION_SUM_FLOAT, column_at(column), WIDTH_W64, step_at(0)));
        model.slots.push_back(make_slot(FUNCTION_MAX, column_at(column)));
      }
      const std::string name = "float sums " + std::to_string(special);
      run_model(all, name, model);
      model.keys = {2};
      run_model(all, name + " by key", model);
      model.predicate = {make_step(OP_IS_NULL, column_at(0))};
      run_model(all, name + " of nulls", model);
    }
  }
}

/// Ends of 64 bits and of ranges, columns with NULLs and without a sign, all sizes of sets.
inline void key_filters(tally& all) {
  const int64_t least = INT64_MIN;
  const int64_t most = INT64_MAX;
  const int64_t ends[] = {least, least + 1, -1, 0, 1, most - 1, most};
  column_model numbers = number_column(400, 5, as_row);
  for (uint64_t row = 0; row < 400; row++) numbers.cells[row].number = ends[row % 7];
  numbers.style.values = layout::plain;
  column_model unsigned_numbers = numbers;
  unsigned_numbers.read_as = READ_AS_UNSIGNED;
  for (cell& value : unsigned_numbers.cells) value.number &= most;
  scan_model model = one_column(numbers);
  model.columns.push_back(unsigned_numbers);
  model.columns.push_back(number_column(400, 9, [](uint64_t row) { return as_row(row % 90); }));
  model.slots.clear();
  model.states = false;
  model.row_columns = {
      {column_at(0), WIDTH_W64}, {column_at(1), WIDTH_W128}, {column_at(2), WIDTH_W64}};
  std::vector<key_filter_model> filters;
  for (const uint16_t column : {uint16_t(0), uint16_t(1)}) {
    filters.push_back({column, KEY_SET_BLOOM, least, most, 2, {least, -1, most}});
    filters.push_back({column, KEY_SET_BLOOM, 0, most, 4096, {0, most - 1}});
    filters.push_back({column, KEY_SET_BLOOM, 1, 0, 1, {}});
    filters.push_back({column, KEY_SET_BITMAP, least, least + 63, 0, {least}});
    filters.push_back({column, KEY_SET_BITMAP, most - 5000, most, 0, {most - 1}});
    filters.push_back({column, KEY_SET_BITMAP, -1, 254, 0, {1}});
  }
  for (uint32_t blocks : {1, 3, 7, 64}) {
    filters.push_back({2, KEY_SET_BLOOM, 3, 80, blocks, {3, 4, 5, 30, 31, 80}});
  }
  filters.push_back({2, KEY_SET_BITMAP, 20, 60, 0, {20, 30, 60}});
  // Nearly all bits are set, so that the range decides.
  key_filter_model full = {2, KEY_SET_BLOOM, 20, 60, 1, {}};
  for (int64_t key = 0; key < 90; key++) full.keys.push_back(key);
  filters.push_back(full);
  for (size_t i = 0; i < filters.size(); i++) {
    model.key_filters = {filters[i]};
    run_model(all, "key filter " + std::to_string(i), model);
    // Each in a place of its own in the memory.
    const key_filter_model& next = filters[(i + 5) % filters.size()];
    if (filters[i].blocks + next.blocks > 4096) continue;
    model.key_filters = {next, filters[i]};
    run_model(all, "two key filters " + std::to_string(i), model);
  }
}

inline void shapes(tally& all) {
  key_filters(all);
  dates(all);
  distinct(all);
  unsigned_numbers(all);
  patterns(all);
  extremes(all);
  ranges(all);
  tops(all);
  float_sums(all);
  float_columns(all);
}

}  // namespace nearscan_tb
