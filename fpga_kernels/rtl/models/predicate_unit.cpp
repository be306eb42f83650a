// SPDX-License-Identifier: Apache-2.0
// What the black box `predicate_unit_blackbox` does: an independent definition, row by row, which
// the bench compares with the HLS stage too.
//
// If the last token says `overflow`, the answers before it are worth nothing.
#include "common/arithmetic.hpp"
#include "predicate_unit_ports.hpp"

using namespace predicate_unit_ports;
using nearscan::i128;

static constexpr int STEPS = 32;
static constexpr int WORD_ROWS = 8;
static constexpr int WORDS_OF_ANSWER = 2;

namespace {

struct operand {
  uint32_t kind;
  uint32_t index;
  uint32_t test;
  int64_t literal;
};

struct step {
  uint32_t op;
  uint32_t width;
  operand of[3];
};

/// What a step is for a row.
struct outcome {
  int64_t number = 0;
  bool truth = false;
  bool valid = false;
};

struct verdict {
  bool is_kept = false;
  bool overflows = false;
};

step read_step(const rtl::token<steps::BITS>& token) {
  step made;
  made.op = static_cast<uint32_t>(rtl::get(token, steps::op()));
  made.width = static_cast<uint32_t>(rtl::get(token, steps::width()));
  for (int i = 0; i < 3; i++) {
    operand& of = made.of[i];
    const rtl::field index = steps::index().at(i, 7);
    const rtl::field literal = steps::literal().at(i, 64);
    of.kind = static_cast<uint32_t>(rtl::get(token, steps::kind().at(i, 3)));
    of.index = static_cast<uint32_t>(rtl::get(token, {index.first, of.kind == 3 ? 3 : 5}));
    of.test = static_cast<uint32_t>(rtl::get(token, {index.first + 3, 4}));
    of.literal = static_cast<int64_t>(rtl::get(token, literal));
  }
  return made;
}

/// One row of a word of all columns.
struct row_of_words {
  const rtl::token<words::BITS>& word;
  int row;

  outcome column(const operand& of) const {
    const int at = static_cast<int>(of.index) * WORD_ROWS + row;
    outcome found;
    found.number = static_cast<int64_t>(rtl::get(word, words::value().at(at, 64)));
    found.valid = rtl::get(word, words::present().at(at, 1)) != 0;
    return found;
  }

  outcome test(const operand& of) const {
    const int at = static_cast<int>(of.index) * WORD_ROWS + row;
    outcome found = column(of);
    found.number = of.literal;
    found.truth = ((rtl::get(word, words::tests().at(at, 16)) >> of.test) & 1) != 0;
    return found;
  }
};

outcome fetch(const operand& of, const row_of_words& row, const outcome* steps) {
  outcome found;
  switch (of.kind) {
    case nearscan::OPERAND_COLUMN:
      return row.column(of);
    case nearscan::OPERAND_STEP:
      return steps[of.index];
    case nearscan::OPERAND_TEST:
      return row.test(of);
    default:
      found.number = of.literal;
      found.valid = of.kind == nearscan::OPERAND_LITERAL;
      return found;
  }
}

outcome compute(const step& at, const outcome& a, const outcome& b, bool is_there, verdict& told) {
  outcome made;
  made.valid = a.valid && b.valid;
  const i128 left = a.number;
  const i128 right = b.number;
  i128 exact = left * right;
  if (at.op == nearscan::OP_ADD) exact = left + right;
  if (at.op == nearscan::OP_SUBTRACT) exact = left - right;
  const uint8_t width = static_cast<uint8_t>(at.width);
  const bool fits = nearscan::fits_64(exact) && nearscan::fits_width(exact, width);
  if (made.valid && is_there && !fits) told.overflows = true;
  // Of one that does not fit too: the unit goes on with these bits.
  made.number = static_cast<int64_t>(exact);
  return made;
}

bool compare(uint32_t op, int64_t a, int64_t b) {
  switch (op) {
    case nearscan::OP_EQUAL:
      return a == b;
    case nearscan::OP_NOT_EQUAL:
      return a != b;
    case nearscan::OP_LESS:
      return a < b;
    case nearscan::OP_LESS_OR_EQUAL:
      return a <= b;
    case nearscan::OP_GREATER:
      return a > b;
    default:
      return a >= b;
  }
}

/// SQL's AND of two that may be unknown.
outcome both(const outcome& a, const outcome& b) {
  outcome made;
  made.truth = a.valid && b.valid && a.truth && b.truth;
  made.valid = (a.valid && b.valid) || (a.valid && !a.truth) || (b.valid && !b.truth);
  return made;
}

outcome negate(outcome of) {
  of.truth = of.valid && !of.truth;
  return of;
}

outcome order(uint32_t op, const outcome& a, const outcome& b) {
  outcome made;
  made.valid = a.valid && b.valid;
  made.truth = made.valid && compare(op, a.number, b.number);
  return made;
}

outcome evaluate(const step& at, const outcome in[3], bool is_there, verdict& told) {
  const outcome& a = in[0];
  const outcome& b = in[1];
  outcome made;
  switch (at.op) {
    case nearscan::OP_ADD:
    case nearscan::OP_SUBTRACT:
    case nearscan::OP_MULTIPLY:
      return compute(at, a, b, is_there, told);
    case nearscan::OP_BETWEEN:
      return both(order(nearscan::OP_GREATER_OR_EQUAL, a, b),
                  order(nearscan::OP_LESS_OR_EQUAL, a, in[2]));
    case nearscan::OP_IS_DISTINCT:
    case nearscan::OP_IS_NOT_DISTINCT:
      made.valid = true;
      made.truth = a.valid && b.valid ? a.number == b.number : a.valid == b.valid;
      if (at.op == nearscan::OP_IS_DISTINCT) made.truth = !made.truth;
      return made;
    case nearscan::OP_IS_NULL:
    case nearscan::OP_IS_NOT_NULL:
      made.valid = true;
      made.truth = a.valid == (at.op == nearscan::OP_IS_NOT_NULL);
      return made;
    case nearscan::OP_TEST:
      made.valid = a.valid;
      made.truth = a.valid && a.truth;
      return made;
    case nearscan::OP_AND:
      return both(a, b);
    case nearscan::OP_OR:
      return negate(both(negate(a), negate(b)));
    case nearscan::OP_NOT:
      return negate(a);
    default:
      return order(at.op, a, b);
  }
}

verdict evaluate_row(const step* steps, int step_count, const row_of_words& row) {
  verdict told;
  outcome results[STEPS];
  const bool is_there = rtl::get(row.word, words::rows().at(row.row, 1)) != 0;
STEPS_OF_ROW:
  for (int i = 0; i < step_count; i++) {
    outcome in[3];
    for (int operand = 0; operand < 3; operand++) {
      in[operand] = fetch(steps[i].of[operand], row, results);
    }
    results[i] = evaluate(steps[i], in, is_there, told);
  }
  const outcome& last = results[step_count - 1];
  told.is_kept = is_there && last.valid && last.truth;
  return told;
}

}  // namespace

void predicate_unit_blackbox(rtl::stream<steps::BITS>& steps_in, rtl::stream<words::BITS>& words_in,
                             rtl::stream<kept::BITS>& kept_out) {
  step steps[STEPS];
  int step_count = 0;
  bool loading = true;
PROGRAM:
  while (loading) {
    const rtl::token<steps::BITS> token = steps_in.read();
    loading = rtl::get(token, steps::last()) == 0;
    steps[step_count] = read_step(token);
    step_count++;
  }
  bool overflows = false;
  bool going = true;
ANSWERS:
  while (going) {
    rtl::token<kept::BITS> answer = rtl::token<kept::BITS>();
  WORDS:
    for (int half = 0; half < WORDS_OF_ANSWER && going; half++) {
      const rtl::token<words::BITS> word = words_in.read();
      going = rtl::get(word, words::last()) == 0;
      for (int row = 0; row < WORD_ROWS; row++) {
        const row_of_words at = {word, row};
        const verdict told = evaluate_row(steps, step_count, at);
        rtl::set(answer, kept::rows().at(half * WORD_ROWS + row, 1), told.is_kept ? 1 : 0);
        overflows = overflows || told.overflows;
      }
    }
    rtl::set(answer, kept::overflow(), !going && overflows ? 1 : 0);
    rtl::set(answer, kept::last(), going ? 0 : 1);
    kept_out.write(answer);
  }
}
