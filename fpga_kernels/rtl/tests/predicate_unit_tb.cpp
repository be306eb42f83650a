// SPDX-License-Identifier: Apache-2.0
// The predicate unit against a model, and the model against the HLS process `evaluate_predicate`.
//
// What the loader refuses is not tried: a program without a step, operands that are not there, a
// number asked of a step that has none.
#include <string>

#include "Vpredicate_unit_blackbox.h"
#include "bench.hpp"
#include "predicate_programs.hpp"
#include "predicate_unit_cycles.hpp"
#include "predicate_unit_ports.hpp"

using namespace predicate_unit_ports;
using dut = Vpredicate_unit_blackbox;

namespace {

using answers = std::deque<rtl::token<kept::BITS>>;

answers expected(const rtl::predicate_job& job) {
  rtl::stream<steps::BITS> steps_in;
  rtl::stream<words::BITS> words_in;
  rtl::stream<kept::BITS> out;
  for (size_t i = 0; i < job.steps.size(); i++) {
    steps_in.write(rtl::token_of_step<steps>(job.steps[i], i + 1 == job.steps.size()));
  }
  for (size_t i = 0; i < job.words.size(); i++) {
    words_in.write(rtl::token_of_word<words>(job.words[i], i + 1 == job.words.size()));
  }
  predicate_unit_blackbox(steps_in, words_in, out);
  return out.tokens();
}

bool overflows(const answers& of) { return rtl::get(of.back(), kept::overflow()) != 0; }

/// The process and the model of the same predicate; gives whether all words were compared.
bool compare_with_stage(const char* name, const rtl::predicate_job& job, const answers& model) {
  const rtl::predicate_answer stage = rtl::evaluate_by_stage(job);
  if (stage.overflows != overflows(model)) {
    rtl::fail("%s: overflow of the stage is %d", name, stage.overflows);
  }
  for (size_t word = 0; word < stage.worth; word++) {
    const rtl::field place = kept::rows().at(static_cast<int>(word % 2), 8);
    if (rtl::get(model[word / 2], place) == stage.kept[word]) continue;
    rtl::fail("%s: word %zu of the stage differs", name, word);
  }
  return stage.worth == job.words.size();
}

struct tester {
  rtl::bench<dut> bench;
  rtl::source<steps::BITS, decltype(dut::steps_dout)> steps_in;
  rtl::source<words::BITS, decltype(dut::words_dout)> words_in;
  rtl::sink<kept::BITS, decltype(dut::kept_din)> kept_out;
  uint64_t runs = 0;
  uint64_t vectors = 0;
  uint64_t overflows_seen = 0;

  tester(int argc, char** argv)
      : bench(argc, argv),
        steps_in(bench, bench.top().steps_dout, bench.top().steps_empty_n, bench.top().steps_read),
        words_in(bench, bench.top().words_dout, bench.top().words_empty_n, bench.top().words_read),
        kept_out(bench, bench.top().kept_din, bench.top().kept_full_n, bench.top().kept_write) {}

  void load(const rtl::predicate_job& job) {
    for (size_t i = 0; i < job.steps.size(); i++) {
      steps_in.queue(rtl::token_of_step<steps>(job.steps[i], i + 1 == job.steps.size()));
    }
    for (size_t i = 0; i < job.words.size(); i++) {
      words_in.queue(rtl::token_of_word<words>(job.words[i], i + 1 == job.words.size()));
    }
  }

  uint64_t check(const char* name, const rtl::predicate_job& job, rtl::pace how, uint64_t seed) {
    load(job);
    const uint64_t work = (job.words.size() + 32) * (job.steps.size() + 1);
    const uint64_t cycles = bench.run(how, seed, 4000 + 60 * work);
    const answers model = expected(job);
    const answers got = kept_out.take();
    runs++;
    vectors += got.size();
    overflows_seen += overflows(model);
    compare_with_stage(name, job, model);
    rtl::compare(name, got, model);
    return cycles;
  }
};

rtl::predicate_step make(uint32_t op, rtl::predicate_operand a, rtl::predicate_operand b = {},
                         rtl::predicate_operand c = {}) {
  rtl::predicate_step step;
  step.op = op;
  step.of[0] = a;
  step.of[1] = b;
  step.of[2] = c;
  return step;
}

void add_words(rtl::predicate_job& to, rtl::dice& dice, uint32_t count, bool is_small,
               uint32_t null_percent) {
  for (uint32_t i = 0; i < count; i++) {
    to.words.push_back(rtl::random_word(dice, is_small, null_percent));
  }
}

/// Each operation alone, over limits and small numbers.
void check_operations(tester& test) {
  for (uint32_t op = 1; op <= nearscan::OP_NOT; op++) {
    const bool is_known = op <= nearscan::OP_MULTIPLY ||
                          (op >= nearscan::OP_EQUAL && op <= nearscan::OP_BETWEEN) ||
                          (op >= nearscan::OP_IS_NULL && op <= nearscan::OP_IS_NOT_DISTINCT) ||
                          op >= nearscan::OP_AND;
    if (!is_known) continue;
    for (uint32_t round = 0; round < 4; round++) {
      for (uint32_t width = 0; width < 4; width++) {
        rtl::dice dice(70000 + 100 * round + op);
        rtl::predicate_job job;
        const bool is_logic = op == nearscan::OP_TEST || op >= nearscan::OP_AND;
        const rtl::predicate_operand test_0 = {nearscan::OPERAND_TEST, 0, width, 0};
        const rtl::predicate_operand test_1 = {nearscan::OPERAND_TEST, 1, 15 - width, 0};
        rtl::predicate_step step = make(op, rtl::column(0), rtl::column(1), rtl::column(2));
        if (is_logic) step = make(op, test_0, test_1);
        step.width = width;
        job.steps.push_back(step);
        if (op <= nearscan::OP_MULTIPLY) {
          job.steps.push_back(make(nearscan::OP_LESS, rtl::result(0), rtl::literal(3)));
        } else if (width >= 2) {
          continue;
        } else if (width == 1) {
          // Behind it FALSE is kept, and NULL is not.
          job.steps.push_back(make(nearscan::OP_NOT, rtl::result(0)));
        }
        // In words of few rows what leaves its width is rarer.
        add_words(job, dice, 3, width < 2, 20);
        for (rtl::predicate_word& word : job.words) {
          if (op <= nearscan::OP_MULTIPLY) word.rows = static_cast<uint8_t>(1u << dice.below(8));
        }
        test.check("operation", job, rtl::pace::FREE, op);
      }
    }
  }
}

/// One row at the border of each width: the last number that fits, and the first that does not.
void check_widths(tester& test) {
  const int64_t limits[] = {
      0, 1, 2, -1, INT32_MAX, INT32_MAX + 1ll, INT32_MIN, INT32_MIN - 1ll, INT64_MAX, INT64_MIN};
  rtl::dice dice(7100);
  for (uint32_t width = 0; width < 4; width++) {
    for (const int64_t limit : limits) {
      for (const int64_t add : {-1, 0, 1}) {
        rtl::predicate_job job;
        rtl::predicate_step step = make(add < 0 ? nearscan::OP_SUBTRACT : nearscan::OP_ADD,
                                        rtl::column(0), rtl::literal(add < 0 ? 1 : add));
        step.width = width;
        job.steps = {step, make(nearscan::OP_IS_NOT_NULL, rtl::result(0))};
        add_words(job, dice, 1, true, 0);
        job.words[0].rows = 1;
        job.words[0].value[0][0] = static_cast<uint64_t>(limit);
        test.check("width", job, rtl::pace::FREE, width);
        // The same in a row that is NULL, and in one that is not there.
        job.words[0].rows = 3;
        job.words[0].value[0][1] = 0;
        job.words[0].present[0] = 0xfe;
        test.check("width", job, rtl::pace::FREE, width);
        step.op = nearscan::OP_MULTIPLY;
        step.of[1] = rtl::literal(add == 0 ? 2 : add);
        job.steps[0] = step;
        job.words[0].present[0] = 0xff;
        test.check("width", job, rtl::pace::FREE, width);
      }
    }
  }
}

/// Batches that are full, nearly so, and hardly begun; steps that depend on the one before.
void check_sizes(tester& test) {
  for (const uint32_t words : {1u, 2u, 3u, 11u, 12u, 13u, 31u, 32u, 33u, 63u, 64u, 65u, 200u}) {
    rtl::dice dice(7200 + words);
    rtl::predicate_job job;
    job.steps = {make(nearscan::OP_ADD, rtl::column(0), rtl::column(1)),
                 make(nearscan::OP_MULTIPLY, rtl::result(0), rtl::column(2)),
                 make(nearscan::OP_SUBTRACT, rtl::result(1), rtl::result(0)),
                 make(nearscan::OP_MULTIPLY, rtl::result(2), rtl::result(1)),
                 make(nearscan::OP_BETWEEN, rtl::result(2), rtl::literal(-50), rtl::result(3)),
                 make(nearscan::OP_GREATER, rtl::column(3), rtl::column(4)),
                 make(nearscan::OP_OR, rtl::result(4), rtl::result(5))};
    add_words(job, dice, words, true, 10);
    job.words.back().rows = static_cast<uint8_t>(dice.next());
    for (const rtl::pace how : rtl::PACES) test.check("size", job, how, words);
    // A last word without rows.
    job.words.back().rows = 0;
    test.check("no rows", job, rtl::pace::RANDOM, words);
  }
}

/// More answers than there is room for, while nobody takes them.
void check_room(tester& test) {
  rtl::dice dice(7500);
  rtl::predicate_job job;
  job.steps = {make(nearscan::OP_LESS, rtl::column(0), rtl::literal(3))};
  add_words(job, dice, 400, true, 10);
  test.check("room", job, rtl::pace::BLOCKED, 1);
}

rtl::predicate_job random_job(rtl::dice& dice, uint32_t words_max) {
  rtl::predicate_job job;
  const bool is_small = dice.chance(60);
  const uint32_t step_count = 1 + static_cast<uint32_t>(dice.below(dice.chance(20) ? 32 : 8));
  job.steps = rtl::predicate_maker(dice, is_small).program(step_count);
  const uint32_t words = 1 + static_cast<uint32_t>(dice.below(words_max));
  add_words(job, dice, words, is_small, dice.chance(30) ? 0 : 15);
  return job;
}

/// Words that lack rows, also in the middle.
void remove_rows(rtl::predicate_job& job, rtl::dice& dice) {
  for (rtl::predicate_word& word : job.words) {
    if (dice.chance(20)) word.rows = static_cast<uint8_t>(dice.next());
  }
}

void check_random(tester& test) {
  for (uint64_t seed = 0; seed < 500; seed++) {
    rtl::dice dice(8000 + seed);
    rtl::predicate_job job = random_job(dice, seed % 8 == 0 ? 150 : 12);
    remove_rows(job, dice);
    test.check("random", job, rtl::PACES[seed % 4], seed);
    if (seed % 20 == 19) {
      test.load(job);
      test.bench.abandon(rtl::pace::RANDOM, seed, 5 + dice.below(150));
      test.kept_out.take();
    }
  }
  if (test.overflows_seen < 10) rtl::fail("too few limits were met");
}

/// More predicates for the process and the model alone, and more words.
void check_stage() {
  uint64_t compared = 0;
  for (uint64_t seed = 0; seed < 300; seed++) {
    rtl::dice dice(9000 + seed);
    rtl::predicate_job job = random_job(dice, 100);
    remove_rows(job, dice);
    const std::string name = "stage, seed " + std::to_string(seed);
    compared += compare_with_stage(name.c_str(), job, expected(job)) ? 1 : 0;
  }
  if (compared < 100 || compared > 250) rtl::fail("too few predicates of either kind");
}

void measure_job(tester& test, const char* name, uint32_t columns, rtl::predicate_job job) {
  rtl::dice dice(7300);
  add_words(job, dice, 1024, true, 0);
  const uint64_t rows = 8 * job.words.size();
  const uint64_t cycles = test.check(name, job, rtl::pace::FREE, 1);
  rtl::print({name, "row", rows, 8 * columns * rows, cycles});
}

void measure(tester& test) {
  rtl::predicate_job one;
  one.steps = {make(nearscan::OP_LESS, rtl::column(0), rtl::literal(3))};
  measure_job(test, "one comparison", 1, one);
  // As TPC-H Q6: a range of dates, a range of discounts, a quantity.
  rtl::predicate_job five;
  five.steps = {make(nearscan::OP_BETWEEN, rtl::column(0), rtl::literal(0), rtl::literal(9)),
                make(nearscan::OP_BETWEEN, rtl::column(1), rtl::literal(5), rtl::literal(7)),
                make(nearscan::OP_LESS, rtl::column(2), rtl::literal(4)),
                make(nearscan::OP_AND, rtl::result(0), rtl::result(1)),
                make(nearscan::OP_AND, rtl::result(3), rtl::result(2))};
  measure_job(test, "five steps, as in TPC-H Q6", 3, five);
  rtl::predicate_job product;
  product.steps = {make(nearscan::OP_MULTIPLY, rtl::column(0), rtl::column(1)),
                   make(nearscan::OP_LESS, rtl::result(0), rtl::column(2))};
  measure_job(test, "a product and a comparison", 3, product);
  rtl::predicate_job many;
  for (uint32_t i = 0; i < 32; i++) {
    many.steps.push_back(make(nearscan::OP_EQUAL, rtl::column(i % 6), rtl::literal(i)));
  }
  rtl::dice dice(7400);
  add_words(many, dice, 1024, true, 0);
  const uint64_t cycles = test.check("many steps", many, rtl::pace::FREE, 1);
  rtl::print({"32 comparisons", "step of 16 rows", 32 * 512, 8 * 8 * 6 * 1024, cycles});
  rtl::predicate_job smallest = one;
  add_words(smallest, dice, 1, true, 0);
  rtl::print({"smallest run", "run", 1, 64, test.check("smallest", smallest, rtl::pace::FREE, 1)});
}

/// A predicate whose cycles are compared: sums, products, comparisons, and logic that joins those.
struct shape {
  const char* name;
  uint32_t sums;
  uint32_t products;
  uint32_t comparisons;
  /// Words of a run, and so many more at most.
  uint32_t words_min;
  uint32_t words_more;
  uint32_t null_percent;
  rtl::model_kind model;
};
constexpr shape SHAPES[] = {
    {"a comparison, which waits for words", 0, 0, 1, 1500, 1500, 10, rtl::STAGE},
    {"a range, a few NULL", 0, 0, 2, 2000, 2000, 5, rtl::STAGE},
    {"four comparisons, half of the rows NULL", 0, 0, 4, 1500, 1500, 50, rtl::STAGE},
    {"sums and comparisons of them", 3, 0, 3, 1500, 1500, 0, rtl::STAGE},
    {"a product among twelve steps", 2, 1, 5, 1500, 1500, 10, rtl::STAGE},
    {"as many steps as there are", 6, 1, 13, 1000, 600, 20, rtl::STAGE},
    {"three products among eight steps", 0, 3, 3, 1500, 1000, 10, rtl::STAGE},
    {"nine products among eleven steps", 1, 9, 1, 1500, 1000, 0, rtl::STAGE},
    {"a product and a comparison of it", 0, 1, 1, 500, 1000, 10, rtl::RULE},
    {"some dozens of words", 1, 1, 6, 20, 100, 10, rtl::RULE},
};

std::vector<rtl::predicate_step> program_of(const shape& how, rtl::dice& dice) {
  std::vector<rtl::predicate_step> steps;
  const auto column = [&] {
    return rtl::column(static_cast<uint32_t>(dice.below(rtl::PREDICATE_LANES)));
  };
  const uint32_t numbers = how.sums + how.products;
  for (uint32_t i = 0; i < numbers; i++) {
    const uint32_t sum = nearscan::OP_ADD + static_cast<uint32_t>(dice.below(2));
    steps.push_back(make(i < how.sums ? sum : nearscan::OP_MULTIPLY, column(), column()));
  }
  for (uint32_t i = 0; i < how.comparisons; i++) {
    // All but BETWEEN.
    const uint32_t op = nearscan::OP_EQUAL + static_cast<uint32_t>(dice.below(6));
    const bool is_of_column = numbers == 0 || dice.chance(30);
    const auto result = [&] { return rtl::result(static_cast<uint32_t>(dice.below(numbers))); };
    steps.push_back(make(op, is_of_column ? column() : result(),
                         dice.chance(50) ? column() : rtl::literal(rtl::small_number(dice))));
    if (i == 0) continue;
    const uint32_t last = static_cast<uint32_t>(steps.size()) - 1;
    const uint32_t joins = dice.chance(50) ? nearscan::OP_AND : nearscan::OP_OR;
    // The first one, or what joins those before.
    steps.push_back(make(joins, rtl::result(last - 1), rtl::result(last)));
  }
  return steps;
}

/// Compares the cycles of a predicate with the rule, and with the iterations of the filter where
/// these are near.
rtl::comparison compare_run(tester& test, const shape& how, uint64_t seed) {
  rtl::dice dice(seed);
  rtl::predicate_job job;
  job.steps = program_of(how, dice);
  const uint32_t words = how.words_min + static_cast<uint32_t>(dice.below(how.words_more));
  add_words(job, dice, words, true, how.null_percent);
  const uint64_t cycles = test.check(how.name, job, rtl::pace::FREE, seed);
  const nearscan::report stage = rtl::filter_by_stage(job);
  uint64_t kept = 0;
  for (const auto& answer : expected(job)) {
    for (const int first : {0, 8}) {
      const uint64_t rows = rtl::get(answer, kept::rows().at(first / 8, 8));
      kept += nearscan::count_bits(static_cast<uint8_t>(rows));
    }
  }
  if (stage.rows_kept != kept) rtl::fail("%s: the stage keeps other rows", how.name);
  return rtl::checked_by_rule(
      {how.name, "word of 8 rows", words, cycles, 0, how.model, stage.filter_iterations},
      rtl::predicate_unit_cycles::of_run(job.steps.size(), how.products, words));
}

void compare_cycles(tester& test) {
  uint64_t seed = 90000;
  for (const shape& how : SHAPES) {
    rtl::compare_sets(seed += 100, [&](uint64_t set) { return compare_run(test, how, set); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  tester test(argc, argv);
  check_operations(test);
  measure(test);
  check_widths(test);
  check_sizes(test);
  check_room(test);
  check_random(test);
  check_stage();
  compare_cycles(test);
  rtl::print_vectors(test.runs, test.vectors);
  return 0;
}
