// SPDX-License-Identifier: Apache-2.0
// The right answer of a command: the meaning of the command format, one row at a time.
//
// Written from docs/command-format.md and not from the kernel: it shares nothing with it but the
// numbers of the format.
#pragma once

#include <algorithm>
#include <map>

#include "tb_keys.hpp"
#include "tb_meaning.hpp"

namespace nearscan_tb {

/// A value of an expression: a number, a truth value or a byte string, or null.
struct value_t {
  bool null = true;
  i128 number = 0;
  bool truth = false;
  std::string text;
};

/// The results that may come back. Several statuses are right when several things are wrong.
struct expectation {
  std::vector<uint32_t> statuses;
  std::vector<out_row> rows;
  bool ordered = true;
  uint64_t rows_kept = 0;

  bool allows(uint32_t status) const {
    return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
  }
};

inline bool golden_fits(i128 value, uint8_t width) {
  const i128 one = 1;
  if (width == WIDTH_W32) return value >= -(one << 31) && value < (one << 31);
  if (width == WIDTH_W64) return value >= -(one << 63) && value < (one << 63);
  if (width == WIDTH_BOOL) return value == 0 || value == 1;
  return true;
}

/// An exact sum of 128-bit numbers, in two parts.
struct wide_sum {
  i128 high = 0;
  u128 low = 0;

  void add(i128 value) {
    const u128 before = low;
    low += static_cast<u128>(value);
    high += (value < 0 ? -1 : 0) + (low < before ? 1 : 0);
  }
  bool fits() const { return high == (static_cast<i128>(low) < 0 ? -1 : 0); }
  i128 value() const { return static_cast<i128>(low); }
};

/// Evaluates one row.
struct row_evaluator {
  const scan_model& model;
  uint64_t row;
  bool overflowed = false;
  /// Whether a step took or gave a number of more than 64 bits, as a drive need not have.
  bool is_wide = false;

  row_evaluator(const scan_model& of, uint64_t at) : model(of), row(at) {}

  bool passes(const test_model& test, const std::string& text) const {
    if (test.op == TEST_IN) {
      return std::find(test.strings.begin(), test.strings.end(), text) != test.strings.end();
    }
    if (test.op == TEST_LIKE) return golden_like(text, test.strings[0]).matches(0, 0);
    // std::string compares bytes as unsigned.
    const int order = text.compare(test.strings[0]);
    switch (test.op) {
      case TEST_LESS:
        return order < 0;
      case TEST_LESS_OR_EQUAL:
        return order <= 0;
      case TEST_GREATER:
        return order > 0;
      default:
        return order >= 0;
    }
  }

  /// The number that a stored value stands for.
  static i128 number_of(const column_model& column, const cell& stored) {
    const bool is_unsigned =
        column.read_as == READ_AS_UNSIGNED && column.physical_type == PHYSICAL_INT64;
    return is_unsigned ? static_cast<i128>(static_cast<uint64_t>(stored.number))
                       : static_cast<i128>(stored.number);
  }

  value_t fetch(uint16_t from, const std::vector<value_t>& steps) const {
    const uint32_t index = from & 0x1fff;
    value_t value;
    if (from == NONE) return value;
    switch (from >> OPERAND_KIND_SHIFT) {
      case OPERAND_COLUMN: {
        const cell& stored = model.columns[index].cells[row];
        value.null = stored.null;
        if (!stored.null) value.number = number_of(model.columns[index], stored);
        if (!stored.null) value.text = stored.text;
        return value;
      }
      case OPERAND_STEP:
        return steps[index];
      case OPERAND_LITERAL:
        value.null = false;
        value.number = model.literals[index];
        return value;
      case OPERAND_TEST: {
        const test_model& test = model.tests[index];
        const cell& stored = model.columns[test.column].cells[row];
        value.null = stored.null;
        value.truth = !stored.null && passes(test, stored.text);
        return value;
      }
      default:
        return value;
    }
  }

  static value_t truth_of(bool truth) {
    value_t value;
    value.null = false;
    value.truth = truth;
    return value;
  }

  static value_t compare(uint8_t op, const value_t& a, const value_t& b) {
    if (a.null || b.null) return value_t();
    switch (op) {
      case OP_EQUAL:
        return truth_of(a.number == b.number);
      case OP_NOT_EQUAL:
        return truth_of(a.number != b.number);
      case OP_LESS:
        return truth_of(a.number < b.number);
      case OP_LESS_OR_EQUAL:
        return truth_of(a.number <= b.number);
      case OP_GREATER:
        return truth_of(a.number > b.number);
      default:
        return truth_of(a.number >= b.number);
    }
  }

  static value_t logical_and(const value_t& a, const value_t& b) {
    if ((!a.null && !a.truth) || (!b.null && !b.truth)) return truth_of(false);
    return a.null || b.null ? value_t() : truth_of(true);
  }

  static value_t logical_not(const value_t& a) { return a.null ? a : truth_of(!a.truth); }

  value_t arithmetic(const step& at, const value_t& a, const value_t& b) {
    value_t value;
    if (a.null || b.null) return value;
    value.null = false;
    bool wrapped = false;
    if (at.op == OP_ADD) wrapped = __builtin_add_overflow(a.number, b.number, &value.number);
    if (at.op == OP_SUBTRACT) wrapped = __builtin_sub_overflow(a.number, b.number, &value.number);
    if (at.op == OP_MULTIPLY) wrapped = __builtin_mul_overflow(a.number, b.number, &value.number);
    overflowed = overflowed || wrapped || !golden_fits(value.number, at.width);
    return value;
  }

  value_t divide(const step& at, const value_t& a, const value_t& b) {
    value_t value;
    if (a.null) return value;
    const golden_quotient quotient(at.op, a.number, b.number);
    value.null = false;
    value.number = quotient.number;
    overflowed = overflowed || quotient.overflowed || !golden_fits(value.number, at.width);
    return value;
  }

  value_t select(const step& at, const value_t& a, const value_t& b, const value_t& c) {
    for (const value_t* branch : {&b, &c}) {
      overflowed = overflowed || (!branch->null && !golden_fits(branch->number, at.width));
    }
    return !a.null && a.truth ? b : c;
  }

  value_t date_part(const step& at, const value_t& a) {
    value_t value;
    if (a.null) return value;
    value.null = false;
    if (!golden_fits(a.number, WIDTH_W32)) {
      overflowed = true;
      return value;
    }
    const golden_date date(static_cast<int64_t>(a.number));
    value.number = at.op == OP_YEAR ? date.year : at.op == OP_MONTH ? date.month : date.day;
    return value;
  }

  value_t evaluate(const step& at, const std::vector<value_t>& steps) {
    const value_t a = fetch(at.a, steps);
    const value_t b = at.op == OP_IN ? value_t() : fetch(at.b, steps);
    switch (at.op) {
      case OP_DIVIDE:
      case OP_DIVIDE_ROUND:
      case OP_DIVIDE_FLOOR:
      case OP_REMAINDER:
        return divide(at, a, b);
      case OP_SELECT:
        return select(at, a, b, fetch(at.c, steps));
      case OP_YEAR:
      case OP_MONTH:
      case OP_DAY:
        return date_part(at, a);
      case OP_IS_DISTINCT:
        return truth_of(a.null != b.null || (!a.null && a.number != b.number));
      case OP_IS_NOT_DISTINCT:
        return truth_of(a.null == b.null && (a.null || a.number == b.number));
      case OP_ADD:
      case OP_SUBTRACT:
      case OP_MULTIPLY:
        return arithmetic(at, a, b);
      case OP_BETWEEN:
        return logical_and(compare(OP_GREATER_OR_EQUAL, a, b),
                           compare(OP_LESS_OR_EQUAL, a, fetch(at.c, steps)));
      case OP_IN: {
        if (a.null) return value_t();
        bool found = false;
        for (uint32_t i = at.b & 0x1fffu; i <= (at.c & 0x1fffu); i++) {
          found = found || model.literals[i] == a.number;
        }
        return truth_of(found);
      }
      case OP_IS_NULL:
        return truth_of(a.null);
      case OP_IS_NOT_NULL:
        return truth_of(!a.null);
      case OP_TEST:
        return a;
      case OP_AND:
        return logical_and(a, b);
      case OP_OR:
        return logical_not(logical_and(logical_not(a), logical_not(b)));
      case OP_NOT:
        return logical_not(a);
      default:
        return compare(at.op, a, b);
    }
  }

  std::vector<value_t> run(const std::vector<step>& program) {
    std::vector<value_t> steps;
    for (const step& at : program) {
      steps.push_back(evaluate(at, steps));
      is_wide = is_wide || !golden_fits(steps.back().number, WIDTH_W64);
    }
    return steps;
  }
};

/// The state of one slot.
struct slot_state {
  uint64_t count = 0;
  wide_sum sum;
  wide_sum magnitude;
  i128 least = 0;
  i128 most = 0;
  double floats = 0;
  std::string least_text;
  std::string most_text;

  void fold_text(const std::string& text) {
    if (count == 0 || text < least_text) least_text = text;
    if (count == 0 || text > most_text) most_text = text;
    count++;
  }

  void fold(i128 value) {
    least = count == 0 || value < least ? value : least;
    most = count == 0 || value > most ? value : most;
    sum.add(value);
    // |value|, also of the least number, which has no positive counterpart.
    if (value < 0) {
      magnitude.low += static_cast<u128>(0) - static_cast<u128>(value);
      if (magnitude.low < static_cast<u128>(0) - static_cast<u128>(value)) magnitude.high++;
    } else {
      magnitude.add(value);
    }
    count++;
  }
};

struct golden_run {
  const scan_model& model;
  expectation expected;
  bool must_overflow = false;
  bool may_overflow = false;
  bool outside = false;
  std::map<out_row, std::vector<slot_state>> groups;
  /// Of a top: the operands of the kept rows before.
  std::vector<value_t> orders;
  /// The words of each key filter.
  std::vector<std::vector<uint64_t>> key_words;

  explicit golden_run(const scan_model& of) : model(of) {}

  out_cell shown(const value_t& value, uint8_t width) {
    out_cell out;
    out.null = value.null;
    if (value.null) return out;
    if (width == WIDTH_BYTES) {
      out.text = value.text;
    } else {
      out.number = width == WIDTH_BOOL ? (value.truth ? 1 : 0) : value.number;
      must_overflow = must_overflow || !golden_fits(out.number, width);
    }
    return out;
  }

  void keep_row(uint64_t row) {
    row_evaluator evaluator(model, row);
    const std::vector<value_t> steps = evaluator.run(model.projection);
    const bool within_limit = expected.rows_kept < model.rows_max;
    expected.rows_kept++;
    // An overflow behind the limit may go unnoticed.
    (within_limit ? must_overflow : may_overflow) |= evaluator.overflowed;
    may_overflow = may_overflow || evaluator.is_wide;
    if (model.states) {
      fold_row(evaluator, steps);
      return;
    }
    const bool overflowed_before = must_overflow;
    out_row out;
    for (const row_column& column : model.row_columns) {
      out.push_back(shown(evaluator.fetch(column.operand, steps), column.width));
    }
    const bool wanted =
        model.top.count == 0 || can_be_first(evaluator.fetch(model.top.operand, steps));
    if (within_limit) {
      if (wanted) expected.rows.push_back(out);
    } else {
      may_overflow = may_overflow || must_overflow;
      must_overflow = overflowed_before;
    }
  }

  /// Whether `a` comes strictly before `b` in the order of the top.
  bool is_before(const value_t& a, const value_t& b) const {
    if (a.null && b.null) return false;
    if (a.null) return model.top.nulls_first;
    if (b.null) return !model.top.nulls_first;
    return model.top.descending ? a.number > b.number : a.number < b.number;
  }

  /// Whether fewer rows than are asked for come before this one, of those that were kept so far.
  bool can_be_first(const value_t& order) {
    uint64_t before = 0;
    for (const value_t& other : orders) before += is_before(other, order) ? 1 : 0;
    orders.push_back(order);
    return before < model.top.count;
  }

  void fold_row(const row_evaluator& evaluator, const std::vector<value_t>& steps) {
    out_row key;
    for (const key_model& of : model.keys) {
      const value_t value = evaluator.fetch(of.operand, steps);
      out_cell part;
      part.null = value.null;
      part.number = value.number;
      part.text = value.text;
      if (of.ranged && !part.null) {
        const i128 end = static_cast<i128>(of.first) + of.count;
        outside = outside || part.number < of.first || part.number >= end;
      }
      // Of unsigned numbers not all can be shown.
      must_overflow = must_overflow || (!part.null && !golden_fits(part.number, WIDTH_W64));
      key.push_back(part);
    }
    std::vector<slot_state>& slots = groups[key];
    slots.resize(model.slots.size());
    for (size_t i = 0; i < model.slots.size(); i++) {
      const slot_model& slot = model.slots[i];
      if (slot.filter != NONE) {
        const value_t admits = evaluator.fetch(slot.filter, steps);
        if (admits.null || !admits.truth) continue;
      }
      const value_t value = evaluator.fetch(slot.operand, steps);
      if (slot.function == FUNCTION_COUNT_ROWS) {
        slots[i].count++;
      } else if (!value.null && slot.width == WIDTH_BYTES) {
        slots[i].fold_text(value.text);
      } else if (!value.null) {
        if (slot.function == FUNCTION_SUM_FLOAT) slots[i].floats += golden_float(value.number);
        slots[i].fold(value.number);
      }
    }
  }

  out_cell final_state(const slot_model& slot, const slot_state& state) {
    out_cell out;
    const bool counts = slot.function == FUNCTION_COUNT || slot.function == FUNCTION_COUNT_ROWS;
    if (!counts && state.count == 0) return out;
    out.null = false;
    if (slot.width == WIDTH_BYTES) {
      out.text = slot.function == FUNCTION_MIN ? state.least_text : state.most_text;
      return out;
    }
    if (slot.function == FUNCTION_SUM_FLOAT) {
      out.number = golden_place(state.floats);
      return out;
    }
    out.number = counts                          ? static_cast<i128>(state.count)
                 : slot.function == FUNCTION_SUM ? state.sum.value()
                 : slot.function == FUNCTION_MIN ? state.least
                                                 : state.most;
    if (slot.function == FUNCTION_SUM) {
      must_overflow = must_overflow || !state.sum.fits();
      may_overflow = may_overflow || !state.magnitude.fits();
    }
    must_overflow = must_overflow || !golden_fits(out.number, slot.width);
    return out;
  }

  void finish_groups() {
    if (model.keys.empty()) groups[out_row()].resize(model.slots.size());
    for (const auto& group : groups) {
      out_row out = group.first;
      for (size_t i = 0; i < model.slots.size(); i++) {
        out.push_back(final_state(model.slots[i], group.second[i]));
      }
      expected.rows.push_back(out);
    }
    expected.ordered = false;
  }

  /// Whether the dictionaries of the keys allow a drive to give up.
  bool too_many_groups(const std::vector<written_chunk>& chunks) const {
    uint64_t groups_made = 1;
    for (const key_model& key : model.keys) {
      if (!key.ranged && chunks[key.operand].plain_data_pages) return true;
      const uint64_t values = key.ranged ? key.count : chunks[key.operand].dictionary_entries;
      groups_made *= std::min<uint64_t>(values + 1, GROUPS_MAX + 1);
    }
    return model.states && groups_made > GROUPS_MAX;
  }

  /// Whether every key filter passes a row.
  bool passes_filters(uint64_t row) const {
    for (size_t i = 0; i < model.key_filters.size(); i++) {
      const key_filter_model& filter = model.key_filters[i];
      const column_model& column = model.columns[filter.column];
      const cell& stored = column.cells[row];
      if (stored.null) continue;
      const i128 number = row_evaluator::number_of(column, stored);
      if (!key_filter_passes(filter, key_words[i], number)) return false;
    }
    return true;
  }

  /// Whether a column or a literal has a number of more than 64 bits with its sign.
  bool has_wide_inputs() const {
    for (const i128 literal : model.literals) {
      if (!golden_fits(literal, WIDTH_W64)) return true;
    }
    for (const column_model& column : model.columns) {
      for (const cell& stored : column.cells) {
        const i128 number = row_evaluator::number_of(column, stored);
        if (!stored.null && !golden_fits(number, WIDTH_W64)) return true;
      }
    }
    return false;
  }

  void run(const std::vector<written_chunk>& chunks) {
    may_overflow = has_wide_inputs();
    for (const key_filter_model& filter : model.key_filters) {
      key_words.push_back(make_key_bits(filter));
    }
    for (uint64_t row = 0; row < model.rows; row++) {
      row_evaluator evaluator(model, row);
      const std::vector<value_t> steps = evaluator.run(model.predicate);
      // Behind the limit a drive need not look.
      (expected.rows_kept < model.rows_max ? must_overflow : may_overflow) |= evaluator.overflowed;
      may_overflow = may_overflow || evaluator.is_wide;
      const bool kept = steps.empty() || (!steps.back().null && steps.back().truth);
      if (kept && passes_filters(row)) keep_row(row);
    }
    if (model.states) finish_groups();
    const bool crowded = too_many_groups(chunks);
    if (!must_overflow && !crowded && !outside) expected.statuses.push_back(STATUS_OK);
    if (must_overflow || may_overflow) expected.statuses.push_back(STATUS_OVERFLOW);
    if (crowded || outside) expected.statuses.push_back(STATUS_GROUP_CARDINALITY);
  }
};

inline expectation evaluate_model(const scan_model& model,
                                  const std::vector<written_chunk>& chunks) {
  golden_run golden(model);
  golden.run(chunks);
  if (!golden.expected.ordered) std::sort(golden.expected.rows.begin(), golden.expected.rows.end());
  return golden.expected;
}

}  // namespace nearscan_tb
