// SPDX-License-Identifier: Apache-2.0
// The folding of aggregates against its model, and whole runs against `aggregate` of the HLS stage.
//
// There is no malformed input: every number is a number, and every place has a group.
#include "Vfold_unit_blackbox.h"
#include "bench.hpp"
#include "fold_unit_cycles.hpp"
#include "fold_unit_ports.hpp"
#include "scan/aggregate.hpp"

using namespace fold_unit_ports;
using dut = Vfold_unit_blackbox;
using rtl::dice;

namespace {

constexpr int SLOTS = 16;
constexpr int GROUPS = 32;
constexpr int ROWS_OF_WORD = nearscan::ROWS;
constexpr int WORD_BITS = 64;
constexpr int PLACE_BITS = 5;
constexpr int COUNT = 0, SUM = 1, LEAST = 2, GREATEST = 3;

typedef rtl::token<rows::BITS> rows_token;
typedef rtl::token<groups::BITS> groups_token;

struct job {
  int function[SLOTS];
  rtl::stream<rows::BITS> tokens;
  /// Rows that are folded.
  uint64_t row_count = 0;
};

struct tester {
  rtl::bench<dut> bench;
  rtl::source<rows::BITS, decltype(dut::rows_dout)> rows_in;
  rtl::sink<groups::BITS, decltype(dut::groups_din)> groups_out;
  uint64_t runs = 0;
  uint64_t vectors = 0;
  /// What the last run gave.
  std::deque<groups_token> shown;

  tester(int argc, char** argv)
      : bench(argc, argv),
        rows_in(bench, bench.top().rows_dout, bench.top().rows_empty_n, bench.top().rows_read),
        groups_out(bench, bench.top().groups_din, bench.top().groups_full_n,
                   bench.top().groups_write) {}

  rtl::token<32> load(const job& what) {
    rtl::token<32> function;
    for (int slot = 0; slot < SLOTS; slot++) {
      rtl::set(function, {2 * slot, 2}, static_cast<uint64_t>(what.function[slot]));
    }
    rtl::drive(bench.top().functions, function);
    rows_in.queue(what.tokens.tokens());
    return function;
  }

  uint64_t check(const job& what, rtl::pace how, uint64_t seed) {
    const rtl::token<32> function = load(what);
    rtl::stream<rows::BITS> tokens = what.tokens;
    rtl::stream<groups::BITS> expected;
    fold_unit_blackbox(function, tokens, expected);
    const uint64_t cycles = bench.run(how, seed, 4000 + 200 * what.tokens.size());
    shown = groups_out.take();
    vectors += rtl::compare("groups", shown, expected.tokens());
    runs++;
    return cycles;
  }
};

void set_number(rows_token& token, int slot, int row, uint64_t number) {
  rtl::set(token, rows::number().at(2 * slot + row, WORD_BITS), number);
}

void set_place(rows_token& token, int row, uint64_t place) {
  rtl::set(token, rows::place().at(row, PLACE_BITS), place);
}

void add_show(job& to, uint64_t place, bool is_last) {
  rows_token token;
  set_place(token, 0, place);
  // The other place is none.
  set_place(token, 1, place ^ 7);
  rtl::set(token, rows::shows(), is_last ? place % 2 : 1);
  rtl::set(token, rows::last(), is_last ? 1 : 0);
  to.tokens.write(token);
}

/// Shows the groups of the first places.
void show_all(job& to, uint64_t places = GROUPS) {
  for (uint64_t place = 0; place < places; place++) add_show(to, place, place == places - 1);
}

/// A number that carries far, or is near another.
uint64_t any_number(dice& chance, uint64_t wildness) {
  const uint64_t near = chance.below(5) - 2;
  switch (chance.below(wildness)) {
    case 0:
      return chance.below(100);
    case 1:
      return ~chance.below(100);
    case 2:
      return (1ull << chance.below(64)) + near;
    case 3:
      return near;
    case 4:
      return static_cast<uint64_t>(chance.chance(50) ? INT64_MIN : INT64_MAX) + near % 2;
    default:
      return chance.next();
  }
}

struct taste {
  uint64_t groups;
  uint32_t keep_percent;
  uint32_t used_percent;
  uint64_t wildness;
  uint32_t exchange_percent;
};
constexpr taste TASTES[] = {
    {1, 100, 100, 6, 0},  {2, 90, 90, 6, 5},   {8, 50, 50, 6, 3},
    {32, 100, 80, 6, 10}, {4, 100, 100, 4, 0}, {3, 70, 10, 5, 20},
};

void add_rows(job& to, dice& chance, const taste& how) {
  rows_token token;
  uint64_t keep = 0;
  for (int row = 0; row < 2; row++) {
    set_place(token, row, chance.below(how.groups));
    const bool is_kept = chance.chance(how.keep_percent);
    keep |= static_cast<uint64_t>(is_kept) << row;
    to.row_count += is_kept ? 1 : 0;
    for (int slot = 0; slot < SLOTS; slot++) {
      set_number(token, slot, row, any_number(chance, how.wildness));
      rtl::set(token, rows::used().at(2 * slot + row, 1), chance.chance(how.used_percent));
    }
  }
  rtl::set(token, rows::keep(), keep);
  rtl::set(token, rows::count(), chance.next() & 0xffffffffu);
  to.tokens.write(token);
}

/// A state that a group may have: a sum of 95 bits, or a number of 64.
void add_load(job& to, dice& chance, uint64_t groups) {
  rows_token token;
  set_place(token, 0, chance.below(groups));
  set_place(token, 1, chance.below(GROUPS));
  rtl::set(token, rows::loads(), 1);
  rtl::set(token, rows::count(), chance.next() & 0xffffffffu);
  // Which rows there are does not matter.
  rtl::set(token, rows::keep(), chance.below(4));
  for (int slot = 0; slot < SLOTS; slot++) {
    const bool is_seen = chance.chance(80);
    const uint64_t low = any_number(chance, 6);
    uint64_t high = 0 - (low >> 63);
    if (to.function[slot] == SUM) {
      high = static_cast<uint64_t>(static_cast<int64_t>(chance.next()) >> 33);
    }
    set_number(token, slot, 0, is_seen ? low : 0);
    set_number(token, slot, 1, is_seen ? high : 0);
    rtl::set(token, rows::used().at(2 * slot, 1), is_seen ? 1 : 0);
    rtl::set(token, rows::used().at(2 * slot + 1, 1), chance.below(2));
  }
  to.tokens.write(token);
}

job random_job(dice& chance, const taste& how, uint64_t tokens) {
  job made;
  for (int& function : made.function) function = static_cast<int>(chance.below(4));
  for (uint64_t i = 0; i < tokens; i++) {
    if (!chance.chance(how.exchange_percent)) {
      add_rows(made, chance, how);
    } else if (chance.chance(50)) {
      add_show(made, chance.below(how.groups), false);
    } else {
      add_load(made, chance, how.groups);
    }
  }
  show_all(made);
  return made;
}

void check_random(tester& test) {
  for (uint64_t seed = 0; seed < 120; seed++) {
    dice chance(300 + seed);
    const taste& how = TASTES[seed % (sizeof(TASTES) / sizeof(TASTES[0]))];
    const job made = random_job(chance, how, 1 + chance.below(120));
    test.check(made, rtl::PACES[seed % 4], seed);
    if (seed % 20 == 19) {
      test.load(made);
      test.bench.abandon(rtl::pace::RANDOM, seed, 30 + chance.below(100));
      test.groups_out.take();
    }
  }
}

/// The largest numbers, so often that a sum leaves 64 bits, and each border of a stage.
void check_carries(tester& test) {
  dice chance(20);
  job made;
  for (int slot = 0; slot < SLOTS; slot++) made.function[slot] = slot % 4;
  for (int i = 0; i < 400; i++) {
    rows_token token;
    for (int row = 0; row < 2; row++) {
      set_place(token, row, chance.below(2));
      for (int slot = 0; slot < SLOTS; slot++) {
        const int bit = 16 * static_cast<int>(chance.below(4));
        uint64_t number = slot < 4   ? static_cast<uint64_t>(INT64_MAX)
                          : slot < 8 ? static_cast<uint64_t>(INT64_MIN)
                                     : (1ull << bit) - (chance.chance(50) ? 1 : 0);
        if (slot >= 12 && chance.chance(50)) number = ~number;
        set_number(token, slot, row, number);
        rtl::set(token, rows::used().at(2 * slot + row, 1), 1);
      }
    }
    rtl::set(token, rows::keep(), 3);
    made.tokens.write(token);
  }
  show_all(made);
  test.check(made, rtl::pace::FREE, 1);
}

/// Kept rows as the HLS stage has them: words of eight.
struct table {
  std::vector<nearscan::row_token> words;
  /// Of each word the groups of its rows and the numbers of each slot.
  std::vector<std::vector<nearscan::number_token>> numbers;
};

table random_table(dice& chance, const job& what, uint64_t words, uint64_t groups,
                   uint32_t keep_percent) {
  table made;
  for (uint64_t i = 0; i < words; i++) {
    nearscan::row_token word = nearscan::row_token();
    for (int row = 0; row < ROWS_OF_WORD; row++) {
      const int is_kept = chance.chance(keep_percent) ? 1 : 0;
      word.keep = static_cast<uint8_t>(word.keep | is_kept << row);
    }
    std::vector<nearscan::number_token> numbers(1 + SLOTS);
    for (int row = 0; row < ROWS_OF_WORD; row++) {
      numbers[0].row[row] = static_cast<int64_t>(1 + chance.below(groups));
    }
    word.use[0] = word.keep;
    word.valid[0] = 0xff;
    for (int slot = 0; slot < SLOTS; slot++) {
      word.valid[1 + slot] = static_cast<uint8_t>(chance.chance(50) ? 0xff : chance.next());
      // A slot with a filter uses only some of the kept rows.
      word.use[1 + slot] =
          static_cast<uint8_t>(word.keep & (chance.chance(50) ? 0xff : chance.next()));
      for (int row = 0; row < ROWS_OF_WORD; row++) {
        uint64_t number = any_number(chance, 6);
        // What leaves its width is an error of its own; a sum of these stays within 64 bits.
        if (what.function[slot] == SUM) number = chance.below(1ull << 40) - (1ull << 39);
        numbers[static_cast<size_t>(1 + slot)].row[row] = static_cast<int64_t>(number);
      }
    }
    made.words.push_back(word);
    made.numbers.push_back(numbers);
  }
  return made;
}

/// The same as tokens of two rows, and behind them the groups of the first places.
void add_table(job& to, const table& from, uint64_t places) {
  for (size_t i = 0; i < from.words.size(); i++) {
    const nearscan::row_token& word = from.words[i];
    for (int first = 0; first < ROWS_OF_WORD; first += 2) {
      rows_token token;
      const uint64_t keep = (word.keep >> first) & 3u;
      if (keep == 0) continue;
      rtl::set(token, rows::keep(), keep);
      for (int row = 0; row < 2; row++) {
        set_place(token, row, static_cast<uint64_t>(from.numbers[i][0].row[first + row]));
        for (int slot = 0; slot < SLOTS; slot++) {
          const size_t column = static_cast<size_t>(1 + slot);
          const int64_t number = from.numbers[i][column].row[first + row];
          set_number(token, slot, row, static_cast<uint64_t>(number));
          const uint32_t used = word.use[column] & word.valid[column];
          rtl::set(token, rows::used().at(2 * slot + row, 1), (used >> (first + row)) & 1);
        }
      }
      to.tokens.write(token);
    }
  }
  show_all(to, places);
}

nearscan::aggregate_plan plan_of(const job& what, uint64_t places) {
  static const uint8_t FUNCTIONS[] = {nearscan::FUNCTION_COUNT, nearscan::FUNCTION_SUM,
                                      nearscan::FUNCTION_MIN, nearscan::FUNCTION_MAX};
  nearscan::aggregate_plan plan = nearscan::aggregate_plan();
  plan.states = true;
  plan.key_count = 1;
  plan.column_count = 1 + SLOTS;
  plan.keys[0].is_key = true;
  plan.keys[0].is_range = true;
  plan.keys[0].width = nearscan::WIDTH_W64;
  plan.keys[0].first = 1;
  plan.keys[0].count = static_cast<uint32_t>(places - 1);
  for (int slot = 0; slot < SLOTS; slot++) {
    plan.slots[slot].function = FUNCTIONS[what.function[slot]];
    plan.slots[slot].counts = what.function[slot] == COUNT;
    plan.slots[slot].width = nearscan::WIDTH_W128;
  }
  return plan;
}

/// What the HLS stage gives of a group.
struct stage_row {
  nearscan::i128 value[1 + SLOTS];
  bool valid[1 + SLOTS];
};

/// What it gives of all, and how many iterations it counts.
struct stage_answer {
  std::vector<stage_row> groups;
  uint64_t iterations = 0;
};

stage_answer run_stage(const job& what, const table& from, uint64_t places) {
  const nearscan::aggregate_plan plan = plan_of(what, places);
  stage_answer given;
  nearscan::key_stream keys[nearscan::LANES];
  nearscan::row_stream rows_in, rows_out;
  nearscan::number_stream numbers_in[nearscan::SIDES][nearscan::SIDE_COLUMNS];
  nearscan::side_stream passed[nearscan::SIDES];
  nearscan::number_stream numbers_out[nearscan::SIDES];
  nearscan::report_stream reports_in, reports_out;
  nearscan::scratch_stream requests;
  nearscan::string_stream answers;
  const auto send = [&] {
    for (size_t i = 0; i < from.words.size(); i++) {
      // A word without kept rows never comes to the stage.
      if (from.words[i].keep == 0) continue;
      rows_in.write(from.words[i]);
      for (size_t column = 0; column < 1 + SLOTS; column++) {
        const bool counts = column > 0 && what.function[column - 1] == COUNT;
        const nearscan::stream_place at =
            column == 0 ? nearscan::place_of_key(0)
                        : nearscan::place_of_slot(static_cast<uint32_t>(column - 1));
        if (!counts) numbers_in[at.side][at.place].write(from.numbers[i][column]);
      }
    }
    nearscan::row_token end = nearscan::row_token();
    end.last = true;
    rows_in.write(end);
    reports_in.write(nearscan::empty_report());
  };
  const auto take = [&] {
    while (true) {
      const nearscan::row_token row = rows_out.read();
      if (row.last) break;
      stage_row made;
      for (uint32_t column = 0; column < 1 + SLOTS; column++) {
        const nearscan::number_token number = numbers_out[column % nearscan::SIDES].read();
        made.value[column] = nearscan::make_i128(static_cast<uint64_t>(number.row[0]),
                                                 static_cast<uint64_t>(number.row[1]));
        made.valid[column] = number.row[2] != 0;
      }
      given.groups.push_back(made);
    }
    const nearscan::report report = reports_out.read();
    if (report.status != nearscan::STATUS_OK) rtl::fail("the stage failed");
    given.iterations = report.aggregate_iterations;
  };
  NS_REGION(flow);
  NS_STAGE(flow, send());
  NS_STAGE(flow, nearscan::aggregate(plan, keys, rows_in, numbers_in, passed, reports_in, requests,
                                     answers, rows_out, numbers_out, reports_out));
  NS_STAGE(flow, take());
  NS_RUN(flow);
  return given;
}

nearscan::i128 state_of(const groups_token& token, int slot) {
  return nearscan::make_i128(rtl::get(token, groups::state().at(2 * slot, WORD_BITS)),
                             rtl::get(token, groups::state().at(2 * slot + 1, WORD_BITS)));
}

/// Compares the groups that a run has shown with those of the HLS stage.
void compare_groups(const job& what, const std::deque<groups_token>& shown,
                    const std::vector<stage_row>& given) {
  size_t at = 0;
  for (size_t place = 0; place < shown.size(); place++) {
    const groups_token& token = shown[place];
    if (rtl::get(token, groups::count()) == 0) continue;
    if (at == given.size()) rtl::fail("the stage has fewer groups");
    const stage_row& row = given[at++];
    if (row.value[0] != static_cast<int64_t>(place)) rtl::fail("the stage has another group");
    for (int slot = 0; slot < SLOTS; slot++) {
      const bool counts = what.function[slot] == COUNT;
      const bool valid = counts || rtl::get(token, groups::seen().at(slot, 1)) != 0;
      if (valid != row.valid[1 + slot]) rtl::fail("slot %d: validity differs", slot);
      if (valid && state_of(token, slot) != row.value[1 + slot]) {
        rtl::fail("slot %d of group %zu differs from the stage", slot, place);
      }
    }
  }
  if (at != given.size()) rtl::fail("the stage has more groups");
}

/// Whole runs, beside the HLS stage.
void check_stage(tester& test) {
  for (uint64_t seed = 0; seed < 24; seed++) {
    dice chance(900 + seed);
    job made;
    for (int& function : made.function) function = static_cast<int>(chance.below(4));
    const uint64_t groups = 1 + chance.below(seed % 2 == 0 ? 8 : GROUPS - 1);
    const table rows_made = random_table(chance, made, 40, groups, 50);
    add_table(made, rows_made, GROUPS);
    test.check(made, rtl::PACES[seed % 4], seed);
    compare_groups(made, test.shown, run_stage(made, rows_made, GROUPS).groups);
  }
}

void measure_rows(tester& test, const char* name, uint64_t groups, bool is_one_after_other) {
  dice chance(30);
  job made;
  for (int slot = 0; slot < SLOTS; slot++) made.function[slot] = slot % 4;
  const taste how = {groups, 100, 100, 6, 0};
  for (int i = 0; i < 4096; i++) {
    if (!is_one_after_other) {
      add_rows(made, chance, how);
      continue;
    }
    // Both rows of a token, and of the next ones, are of one group.
    rows_token token;
    rtl::set(token, rows::keep(), 3);
    for (int slot = 0; slot < SLOTS; slot++) {
      for (int row = 0; row < 2; row++) {
        set_number(token, slot, row, chance.next());
        rtl::set(token, rows::used().at(2 * slot + row, 1), 1);
      }
    }
    made.tokens.write(token);
    made.row_count += 2;
  }
  add_show(made, 0, true);
  rtl::print({name, "row", made.row_count, 8 * SLOTS * made.row_count,
              test.check(made, rtl::pace::FREE, 31)});
}

/// Runs whose cycles count.
void measure(tester& test) {
  measure_rows(test, "rows of one group", 1, true);
  measure_rows(test, "rows of eight groups", 8, false);
  dice chance(32);
  job exchanges;
  for (int slot = 0; slot < SLOTS; slot++) exchanges.function[slot] = slot % 4;
  for (uint64_t i = 0; i < 256; i++) {
    add_show(exchanges, i % GROUPS, false);
    add_load(exchanges, chance, GROUPS);
  }
  add_show(exchanges, 0, true);
  rtl::print({"groups changed for others", "group", 256, 256 * 16 * SLOTS,
              test.check(exchanges, rtl::pace::FREE, 33)});
  job smallest;
  for (int& function : smallest.function) function = SUM;
  add_show(smallest, 0, true);
  // The second time, for it begins when the groups are empty again.
  test.check(smallest, rtl::pace::FREE, 34);
  rtl::print({"smallest run", "run", 1, 8, test.check(smallest, rtl::pace::FREE, 34)});
}

/// A workload whose cycles are compared: groups of the rows, words of rows and so many more at
/// most, and the rows that are kept.
struct shape {
  const char* name;
  uint64_t groups;
  uint64_t words_min;
  uint64_t words_more;
  uint32_t keep_percent;
  rtl::model_kind model;
};
constexpr shape SHAPES[] = {
    {"nearly all rows, one group", 1, 600, 600, 97, rtl::STAGE},
    {"all rows, four groups", 4, 500, 700, 100, rtl::STAGE},
    {"half of the rows, six groups", 6, 1500, 700, 50, rtl::STAGE},
    {"a fifth of the rows, eight groups", 8, 4000, 1000, 20, rtl::STAGE},
    {"few rows, three groups", 3, 5000, 1000, 3, rtl::STAGE},
    {"two thirds of the rows, 31 groups", GROUPS - 1, 500, 500, 66, rtl::RULE},
    {"some dozens of words, 16 groups", 16, 20, 60, 80, rtl::RULE},
};

/// Compares the cycles of a run with the rule, and with the iterations of the HLS stage where it
/// has all groups at hand.
rtl::comparison compare_run(tester& test, const shape& how, uint64_t seed) {
  dice chance(seed);
  job made;
  for (int& function : made.function) function = static_cast<int>(chance.below(4));
  const uint64_t words = how.words_min + chance.below(how.words_more);
  const table from = random_table(chance, made, words, how.groups, how.keep_percent);
  // The first place is that of NULL.
  const uint64_t places = how.groups + 1;
  add_table(made, from, places);
  const uint64_t cycles = test.check(made, rtl::pace::FREE, seed);
  const stage_answer stage = run_stage(made, from, places);
  compare_groups(made, test.shown, stage.groups);
  const uint64_t tokens = made.tokens.size();
  return rtl::checked_by_rule({how.name, "token", tokens, cycles, 0, how.model, stage.iterations},
                              rtl::fold_unit_cycles::of_run(tokens, places));
}

void compare_cycles(tester& test) {
  uint64_t seed = 60000;
  for (const shape& how : SHAPES) {
    rtl::compare_sets(seed += 100, [&](uint64_t set) { return compare_run(test, how, set); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  tester test(argc, argv);
  if (test.bench.is_drawing()) return 0;
  check_carries(test);
  check_random(test);
  check_stage(test);
  measure(test);
  compare_cycles(test);
  rtl::print_vectors(test.runs, test.vectors);
  return 0;
}
