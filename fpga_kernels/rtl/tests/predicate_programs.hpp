// SPDX-License-Identifier: Apache-2.0
// Predicates and words of columns for benches, and both as the HLS process `evaluate_predicate`
// takes them.
#pragma once

#include <vector>

#include "filter_stage.hpp"

namespace rtl {

static constexpr int PREDICATE_LANES = 6;

struct predicate_operand {
  uint32_t kind = nearscan::OPERAND_NULL;
  /// A column or a step; of a test its column.
  uint32_t index = 0;
  uint32_t test = 0;
  int64_t literal = 0;
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
  std::vector<predicate_step> steps;
  std::vector<predicate_word> words;
};

inline predicate_operand column(uint32_t lane) { return {nearscan::OPERAND_COLUMN, lane, 0, 0}; }
inline predicate_operand result(uint32_t step) { return {nearscan::OPERAND_STEP, step, 0, 0}; }
inline predicate_operand literal(int64_t value) { return {nearscan::OPERAND_LITERAL, 0, 0, value}; }

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
    set(made, Port::literal().at(i, 64), static_cast<uint64_t>(of.literal));
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
struct predicate_answer {
  std::vector<uint8_t> kept;
  /// Words of the batches before the first one in which a result left its width.
  size_t worth = 0;
  bool overflows = false;
};

namespace stage {

inline uint16_t operand_code(const predicate_operand& of, nearscan::operand_tables& tables,
                             uint32_t& literals, uint32_t& tests) {
  uint32_t index = of.index;
  if (of.kind == nearscan::OPERAND_LITERAL) {
    tables.literals[literals] = of.literal;
    index = literals++;
  } else if (of.kind == nearscan::OPERAND_TEST) {
    if (tests == nearscan::TESTS_MAX) fail("a program has too many tests");
    tables.test_column[tests] = static_cast<uint8_t>(of.index);
    tables.test_bit[tests] = static_cast<uint8_t>(of.test);
    index = tests++;
  }
  return static_cast<uint16_t>(of.kind << nearscan::OPERAND_KIND_SHIFT | index);
}

inline void fill_plan(const predicate_job& job, nearscan::program_plan& plan) {
  uint32_t literals = 0;
  uint32_t tests = 0;
  plan = nearscan::program_plan();
  plan.step_count = static_cast<uint32_t>(job.steps.size());
  for (size_t i = 0; i < job.steps.size(); i++) {
    const predicate_step& from = job.steps[i];
    nearscan::step& to = plan.steps[i];
    to.op = static_cast<uint8_t>(from.op);
    to.width = static_cast<uint8_t>(from.width);
    to.a = operand_code(from.of[0], plan.tables, literals, tests);
    to.b = operand_code(from.of[1], plan.tables, literals, tests);
    to.c = operand_code(from.of[2], plan.tables, literals, tests);
  }
}

/// A lane's part of a word.
inline nearscan::value_token lane_word(const predicate_word& from, int lane) {
  nearscan::value_token to = nearscan::EMPTY_WORD;
  for (int row = 0; row < nearscan::ROWS; row++) {
    to.value.row[row] = static_cast<int64_t>(from.value[lane][row]);
    to.tests[row] = from.tests[lane][row];
  }
  to.valid = from.present[lane];
  to.count = nearscan::ROWS;
  return to;
}

/// Words from `first` on as a batch.
inline void fill_block(const predicate_job& job, size_t first, nearscan::column_block& block,
                       nearscan::batch_token& batch) {
  uint8_t words = 0;
  while (words < nearscan::BATCH_WORDS && first + words < job.words.size()) {
    const predicate_word& from = job.words[first + words];
    for (int lane = 0; lane < PREDICATE_LANES; lane++) block[words][lane] = lane_word(from, lane);
    batch.rows[words] = from.rows;
    words++;
  }
  batch.words = words;
  batch.last = false;
}

inline void feed_batches(const predicate_job& job, nearscan::evaluated_blocks& blocks,
                         nearscan::batch_stream& batches) {
  for (size_t first = 0; first < job.words.size(); first += nearscan::BATCH_WORDS) {
    nearscan::batch_token batch = nearscan::batch_token();
    {
      hls::write_lock<nearscan::column_block> block(blocks);
      fill_block(job, first, block, batch);
    }
    batches.write(batch);
  }
  batches.write(nearscan::last_batch());
}

/// Reads the verdicts. Whoever passes words on leaves out the rows that are not there.
inline void collect_verdicts(const predicate_job& job, nearscan::verdict_stream& verdicts,
                             nearscan::report_stream& reports, predicate_answer& answer) {
  nearscan::verdict_token verdict = nearscan::verdict_token();
  for (size_t i = 0; i < job.words.size(); i++) {
    const size_t place = i % nearscan::BATCH_WORDS;
    if (place == 0) verdict = verdicts.read();
    answer.kept.push_back(verdict.rows[place] & job.words[i].rows);
    if (!verdict.failed) answer.worth = answer.kept.size();
  }
  answer.overflows = reports.read().status == nearscan::STATUS_OVERFLOW;
}

}  // namespace stage

/// Runs a job through the stage.
inline predicate_answer evaluate_by_stage(const predicate_job& job) {
  static nearscan::program_plan plan;
  stage::fill_plan(job, plan);
  nearscan::evaluated_blocks blocks;
  nearscan::batch_stream batches;
  nearscan::slow_stream slow_words;
  nearscan::step_result_stream slow_results;
  nearscan::verdict_stream verdicts;
  nearscan::report_stream reports;
  predicate_answer answer;
  NS_REGION(flow);
  NS_STAGE(flow, stage::feed_batches(job, blocks, batches));
  NS_STAGE(flow, nearscan::evaluate_predicate(plan, false, blocks, batches, slow_words,
                                              slow_results, verdicts, reports));
  NS_STAGE(flow, stage::collect_verdicts(job, verdicts, reports, answer));
  NS_RUN(flow);
  if (nearscan_portable::last_stuck()[0] != '\0') {
    fail("the stage is stuck: %s", nearscan_portable::last_stuck());
  }
  return answer;
}

/// Runs a job, in which no row is missing, through the whole filter; gives what it reports.
inline nearscan::report filter_by_stage(const predicate_job& job) {
  filter_input input;
  stage::fill_plan(job, input.program);
  input.lanes.resize(PREDICATE_LANES);
  for (int lane = 0; lane < PREDICATE_LANES; lane++) {
    for (const predicate_word& word : job.words) {
      input.lanes[static_cast<size_t>(lane)].push_back(stage::lane_word(word, lane));
    }
  }
  return filter_by_stage(input);
}

}  // namespace rtl
