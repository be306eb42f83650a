// SPDX-License-Identifier: Apache-2.0
// Predicates and words of columns for benches, and both as the HLS stage `filter` takes them.
#pragma once

#include <vector>

#include "bench.hpp"
#include "scan/filter.hpp"

namespace rtl {

static constexpr int PREDICATE_LANES = 6;

struct predicate_operand {
  uint32_t kind = nearscan::OPERAND_NULL;
  /// A column or a step; of a test its column.
  uint32_t index = 0;
  uint32_t test = 0;
  nearscan::i128 literal = 0;
};

struct predicate_step {
  uint32_t op = nearscan::OP_IS_NULL;
  uint32_t width = nearscan::WIDTH_W64;
  predicate_operand of[3];

  bool is_arithmetic() const { return op <= nearscan::OP_MULTIPLY; }
};

/// A word of eight rows of all columns.
struct predicate_word {
  uint64_t value[PREDICATE_LANES][nearscan::ROWS];
  uint16_t tests[PREDICATE_LANES][nearscan::ROWS];
  uint8_t present[PREDICATE_LANES];
  uint8_t rows;
};

struct predicate_job {
  uint32_t unsigned_columns = 0;
  std::vector<predicate_step> steps;
  std::vector<predicate_word> words;
};

inline predicate_operand column(uint32_t lane) { return {nearscan::OPERAND_COLUMN, lane, 0, 0}; }
inline predicate_operand result(uint32_t step) { return {nearscan::OPERAND_STEP, step, 0, 0}; }
inline predicate_operand literal(int64_t value) {
  return {nearscan::OPERAND_LITERAL, 0, 0, static_cast<nearscan::i128>(value)};
}

/// A number that is likely to meet another one, or a limit.
inline int64_t likely_number(dice& dice) {
  const int64_t near = static_cast<int64_t>(dice.below(7)) - 3;
  switch (dice.below(8)) {
    case 0:
      return static_cast<int64_t>(1ull << dice.below(64)) + near;
    case 1:
      return static_cast<int64_t>(static_cast<uint64_t>(INT64_MIN) + static_cast<uint64_t>(near));
    case 2:
      return static_cast<int64_t>(dice.next());
    case 3:
      return static_cast<int64_t>(dice.next() >> 33) * (dice.chance(50) ? 1 : -1);
    default:
      return near;
  }
}

/// Small numbers, so that sums and products of sums have room.
inline int64_t small_number(dice& dice) { return static_cast<int64_t>(dice.below(40)) - 20; }

/// Makes programs whose steps ask for what steps before them have.
class predicate_maker {
 public:
  predicate_maker(dice& dice, bool is_small) : dice_(dice), is_small_(is_small) {}

  std::vector<predicate_step> program(uint32_t step_count) {
    while (steps_.size() < step_count) {
      const bool is_verdict = steps_.size() + 1 == step_count;
      add(!is_verdict && dice_.chance(30));
    }
    return steps_;
  }

 private:
  void add(bool is_arithmetic) {
    static constexpr uint32_t LOGIC[] = {nearscan::OP_AND, nearscan::OP_OR, nearscan::OP_NOT,
                                         nearscan::OP_TEST};
    predicate_step step;
    const bool is_logic = !is_arithmetic && dice_.chance(45);
    if (is_arithmetic) {
      step.op = nearscan::OP_ADD + static_cast<uint32_t>(dice_.below(3));
      const bool is_usual = is_small_ || dice_.chance(60);
      step.width = is_usual ? nearscan::WIDTH_W64 : static_cast<uint32_t>(dice_.below(4));
    } else if (is_logic) {
      step.op = LOGIC[dice_.below(4)];
    } else if (dice_.chance(15)) {
      step.op = nearscan::OP_IS_NULL + static_cast<uint32_t>(dice_.below(2));
    } else if (dice_.chance(15)) {
      step.op = nearscan::OP_IS_DISTINCT + static_cast<uint32_t>(dice_.below(2));
    } else {
      step.op = nearscan::OP_EQUAL + static_cast<uint32_t>(dice_.below(7));
    }
    for (predicate_operand& of : step.of) of = is_logic ? truth() : number();
    steps_.push_back(step);
  }

  predicate_operand number() {
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < steps_.size(); i++) {
      if (steps_[i].is_arithmetic()) found.push_back(i);
    }
    if (!found.empty() && dice_.chance(40)) return result(found[dice_.below(found.size())]);
    if (dice_.chance(30)) return literal(is_small_ ? small_number(dice_) : likely_number(dice_));
    if (!is_small_ && dice_.chance(3)) return predicate_operand();
    if (!is_small_ && dice_.chance(5)) {
      // One that only a column without a sign reaches.
      predicate_operand of = literal(0);
      of.literal = nearscan::make_i128(dice_.next() | 1ull << 63, 0);
      return of;
    }
    return column(static_cast<uint32_t>(dice_.below(PREDICATE_LANES)));
  }

  predicate_operand truth() {
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < steps_.size(); i++) {
      if (!steps_[i].is_arithmetic()) found.push_back(i);
    }
    if (!found.empty() && dice_.chance(70)) return result(found[dice_.below(found.size())]);
    const uint32_t lane = static_cast<uint32_t>(dice_.below(PREDICATE_LANES));
    return {nearscan::OPERAND_TEST, lane, static_cast<uint32_t>(dice_.below(16)), 0};
  }

  dice& dice_;
  bool is_small_;
  std::vector<predicate_step> steps_;
};

inline predicate_word random_word(dice& dice, bool is_small, uint32_t null_percent) {
  predicate_word word;
  for (int lane = 0; lane < PREDICATE_LANES; lane++) {
    uint32_t present = 0;
    for (int row = 0; row < nearscan::ROWS; row++) {
      const int64_t value = is_small ? small_number(dice) : likely_number(dice);
      word.value[lane][row] = static_cast<uint64_t>(value);
      word.tests[lane][row] = static_cast<uint16_t>(dice.next());
      present |= static_cast<uint32_t>(!dice.chance(null_percent)) << row;
      // What a NULL has for a number is nobody's business.
      if (((present >> row) & 1) == 0) word.value[lane][row] = dice.next();
    }
    word.present[lane] = static_cast<uint8_t>(present);
  }
  word.rows = 0xff;
  return word;
}

template <typename Port>
token<Port::BITS> token_of_step(const predicate_step& step, bool is_last) {
  token<Port::BITS> made;
  set(made, Port::op(), step.op);
  set(made, Port::width(), step.width);
  for (int i = 0; i < 3; i++) {
    const predicate_operand& of = step.of[i];
    const bool is_test = of.kind == nearscan::OPERAND_TEST;
    set(made, Port::kind().at(i, 3), of.kind);
    set(made, Port::index().at(i, 7), is_test ? of.index | of.test << 3 : of.index);
    const field literal = Port::literal().at(i, 65);
    set(made, {literal.first, 64}, static_cast<uint64_t>(of.literal));
    set(made, {literal.first + 64, 1}, of.literal < 0 ? 1 : 0);
  }
  set(made, Port::last(), is_last ? 1 : 0);
  return made;
}

template <typename Port>
token<Port::BITS> token_of_word(const predicate_word& word, bool is_last) {
  token<Port::BITS> made;
  for (int lane = 0; lane < PREDICATE_LANES; lane++) {
    for (int row = 0; row < nearscan::ROWS; row++) {
      const int at = lane * nearscan::ROWS + row;
      set(made, Port::value().at(at, 64), word.value[lane][row]);
      set(made, Port::tests().at(at, 16), word.tests[lane][row]);
    }
    set(made, Port::present().at(lane, 8), word.present[lane]);
  }
  set(made, Port::rows(), word.rows);
  set(made, Port::last(), is_last ? 1 : 0);
  return made;
}

/// What the stage keeps of a job: a mask for each word.
struct filter_answer {
  std::vector<uint8_t> kept;
  bool overflows = false;
};

namespace stage {

inline uint16_t operand_code(const predicate_operand& of, nearscan::program_plan& plan,
                             uint32_t& literals, uint32_t& tests) {
  uint32_t index = of.index;
  if (of.kind == nearscan::OPERAND_LITERAL) {
    plan.literals[literals] = of.literal;
    index = literals++;
  } else if (of.kind == nearscan::OPERAND_TEST) {
    plan.test_column[tests] = static_cast<uint8_t>(of.index);
    plan.test_bit[tests] = static_cast<uint8_t>(of.test);
    index = tests++;
  }
  return static_cast<uint16_t>(of.kind << nearscan::OPERAND_KIND_SHIFT | index);
}

inline void fill_plan(const predicate_job& job, nearscan::filter_plan& plan) {
  uint32_t literals = 0;
  uint32_t tests = 0;
  plan = nearscan::filter_plan();
  plan.program.unsigned_columns = job.unsigned_columns;
  plan.program.step_count = static_cast<uint32_t>(job.steps.size());
  for (size_t i = 0; i < job.steps.size(); i++) {
    const predicate_step& from = job.steps[i];
    nearscan::step& to = plan.program.steps[i];
    to.op = static_cast<uint8_t>(from.op);
    to.width = static_cast<uint8_t>(from.width);
    to.a = operand_code(from.of[0], plan.program, literals, tests);
    to.b = operand_code(from.of[1], plan.program, literals, tests);
    to.c = operand_code(from.of[2], plan.program, literals, tests);
  }
  plan.lane_count = PREDICATE_LANES;
  plan.rows = nearscan::ROWS * job.words.size();
  plan.steps_max = ~0ull;
  plan.forwarded[0] = true;
}

/// The column of a lane. Its codes say which word it is, which the stage hands on.
inline void feed_lane(const predicate_job& job, int lane, nearscan::value_stream& out,
                      nearscan::report_stream& reports) {
  for (size_t i = 0; i < job.words.size(); i++) {
    nearscan::value_token token = nearscan::value_token();
    for (int row = 0; row < nearscan::ROWS; row++) {
      token.value.row[row] = static_cast<int64_t>(job.words[i].value[lane][row]);
      token.tests[row] = job.words[i].tests[lane][row];
      token.code[row] = static_cast<uint16_t>(i);
    }
    token.valid = job.words[i].present[lane];
    token.count = static_cast<uint8_t>(nearscan::count_bits(job.words[i].rows));
    out.write(token);
  }
  nearscan::value_token end = nearscan::value_token();
  end.last = true;
  out.write(end);
  reports.write(nearscan::empty_report());
}

inline void collect_kept(nearscan::keep_stream& kept, nearscan::value_stream& forwarded,
                         nearscan::report_stream& reports, filter_answer& answer) {
  while (true) {
    const nearscan::keep_token token = kept.read();
    if (token.last) break;
    answer.kept[forwarded.read().code[0]] = token.keep;
  }
  answer.overflows = reports.read().status == nearscan::STATUS_OVERFLOW;
}

}  // namespace stage

/// Runs a job through the stage. Rows may only lack at the end of the last word.
inline filter_answer filter_by_stage(const predicate_job& job) {
  static nearscan::filter_plan plan;
  static nearscan::key_memory keys;
  stage::fill_plan(job, plan);
  nearscan::value_stream lanes[nearscan::LANES];
  nearscan::report_stream reports_in[nearscan::LANES];
  nearscan::value_stream forwarded[nearscan::LANES];
  nearscan::keep_stream kept;
  nearscan::report_stream reports_out;
  filter_answer answer;
  answer.kept.resize(job.words.size());
  NS_REGION(flow);
  for (int lane = 0; lane < PREDICATE_LANES; lane++) {
    NS_LANE_STAGE(flow, lane, true,
                  stage::feed_lane(job, lane, lanes[lane], reports_in[lane]));
  }
  NS_STAGE(flow, nearscan::filter(plan, keys, lanes, reports_in, forwarded, kept, reports_out));
  NS_STAGE(flow, stage::collect_kept(kept, forwarded[0], reports_out, answer));
  NS_RUN(flow);
  if (nearscan_portable::last_stuck()[0] != '\0') {
    fail("the stage is stuck: %s", nearscan_portable::last_stuck());
  }
  return answer;
}

}  // namespace rtl
