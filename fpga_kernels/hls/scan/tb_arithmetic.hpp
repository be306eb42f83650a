// SPDX-License-Identifier: Apache-2.0
// Cases written by hand for quotients, CASE, and numbers at the ends of 64 bits.
#pragma once

#include "tb_cases.hpp"

namespace nearscan_tb {

/// A projection that comes back as it is.
inline void show_steps(scan_model& model, const std::vector<step>& steps) {
  model.states = false;
  model.projection = steps;
  model.row_columns.clear();
  for (uint32_t i = 0; i < steps.size(); i++) {
    model.row_columns.push_back({step_at(i), steps[i].width});
  }
}

inline void divisions(tally& all) {
  const int64_t values[] = {0,
                            1,
                            -1,
                            2,
                            -2,
                            3,
                            5,
                            -5,
                            7,
                            -7,
                            49,
                            50,
                            51,
                            -50,
                            149,
                            150,
                            1u << 31,
                            INT64_MIN,
                            INT64_MAX,
                            INT64_MIN + 1,
                            INT64_MAX - 1};
  scan_model model = one_column(number_column(21 * 3, 7, [&values](uint64_t row) {
    return values[row % 21] / (row < 21 ? 1 : row < 42 ? 3 : 100);
  }));
  model.literals = {1, -1, 2, -2, 3, 100, -100, INT64_MAX, INT64_MIN, i128(1) << 62};
  const i128 least = i128(1) << 127;
  for (uint8_t op : {OP_DIVIDE, OP_DIVIDE_ROUND, OP_DIVIDE_FLOOR, OP_REMAINDER}) {
    std::vector<step> steps;
    for (uint32_t i = 0; i < 10; i++) {
      steps.push_back(make_arithmetic(op, WIDTH_W128, column_at(0), literal_at(i)));
    }
    show_steps(model, steps);
    run_model(all, "division " + std::to_string(op), model);
    for (step& at : steps) at.a = step_at(0);
    steps.insert(steps.begin(),
                 make_arithmetic(OP_MULTIPLY, WIDTH_W128, column_at(0), column_at(0)));
    show_steps(model, steps);
    run_model(all, "division of squares " + std::to_string(op), model);
    // The least number and the one above it, by 1, -1 and 2, in every width.
    for (i128 dividend : {least, least + 1, i128(INT64_MIN), -(i128(1) << 31), i128(1) << 32}) {
      for (uint32_t divisor : {0, 1, 2}) {
        for (uint8_t width : {WIDTH_W32, WIDTH_W64, WIDTH_W128}) {
          scan_model edge = one_column(number_column(3, 2, as_row));
          edge.literals = {1, -1, 2, dividend};
          show_steps(edge, {make_arithmetic(op, width, literal_at(3), literal_at(divisor))});
          run_model(all, "division of " + to_text(dividend) + " " + std::to_string(divisor), edge);
          edge.projection[0].a = null_operand();
          run_model(all, "division of NULL", edge);
        }
      }
    }
  }
}

/// Numbers of 64 bits with their sign go through the kernel, and sums of them have 128. Others end
/// a unit, unless their row is NULL.
inline void beyond_64_bits(tally& all) {
  const std::vector<uint32_t> refused = {STATUS_OVERFLOW};
  scan_model model =
      one_column(number_column(20, 0, [](uint64_t row) { return as_row(row) << 30; }));
  model.literals = {int64_t(1) << 33, int64_t(1) << 59};
  const auto product = [](uint32_t literal) {
    return make_arithmetic(OP_MULTIPLY, WIDTH_W128, column_at(0), literal_at(literal));
  };
  show_steps(model, {product(1)});
  run_model(all, "a product beyond 64 bits", model, refused);
  for (cell& value : model.columns[0].cells) value.null = value.number > 3 << 30;
  model.columns[0].nullable = true;
  show_steps(model, {product(0)});
  run_model(all, "a product within 64 bits", model, {STATUS_OK});
  for (cell& value : model.columns[0].cells) value.null = true;
  show_steps(model, {product(1)});
  run_model(all, "NULL times a large number", model, {STATUS_OK});
  scan_model sums = one_column(number_column(20, 0, [](uint64_t) { return INT64_MIN; }));
  sums.slots = all_slots(column_at(0));
  run_model(all, "a sum beyond 64 bits", sums, {STATUS_OK});
  scan_model literal = sums;
  literal.literals = {i128(1) << 63};
  run_model(all, "a literal beyond 64 bits", literal, refused);
  scan_model hashes = sums;
  hashes.columns[0].read_as = READ_AS_UNSIGNED;
  run_model(all, "a number without a sign beyond 63 bits", hashes, refused);
}

inline void selections(tally& all) {
  scan_model model;
  model.rows = 27;
  for (uint64_t divisor : {1, 3, 9}) {
    column_model column =
        number_column(27, 0, [divisor](uint64_t row) { return as_row(row / divisor % 3) - 1; });
    column.nullable = true;
    for (cell& value : column.cells) value.null = value.number == 0;
    model.columns.push_back(column);
  }
  model.columns[2].cells[26].number = INT64_MAX;
  model.literals = {1, i128(1) << 40, 5};
  const step condition = make_step(OP_EQUAL, column_at(0), literal_at(0));
  const auto show = [&](const std::string& name, const std::vector<step>& selects) {
    std::vector<step> steps = {condition};
    steps.insert(steps.end(), selects.begin(), selects.end());
    show_steps(model, steps);
    run_model(all, "CASE " + name, model);
    // Their order decides, and a verdict is a truth value.
    model.predicate = steps;
    model.predicate.push_back(make_step(OP_LESS, step_at(1), literal_at(2)));
    run_model(all, "CASE in the predicate " + name, model);
    model.predicate.clear();
  };
  const uint16_t t = step_at(0);
  show("of columns", {make_select(WIDTH_W64, t, column_at(1), column_at(2)),
                      make_select(WIDTH_W128, t, literal_at(1), column_at(2)),
                      make_select(WIDTH_W64, t, step_at(1), null_operand()),
                      make_select(WIDTH_W64, null_operand(), column_at(1), literal_at(2)),
                      make_arithmetic(OP_ADD, WIDTH_W128, step_at(2), step_at(1))});
  show("with a branch too wide", {make_select(WIDTH_W32, t, literal_at(2), column_at(2))});
  model.columns[2].cells[26].null = true;
  show("with a branch that was too wide", {make_select(WIDTH_W32, t, literal_at(2), column_at(2))});
  show("with a literal too wide", {make_select(WIDTH_W32, t, literal_at(1), column_at(1))});
}

inline void arithmetic(tally& all) {
  divisions(all);
  beyond_64_bits(all);
  selections(all);
}

}  // namespace nearscan_tb
