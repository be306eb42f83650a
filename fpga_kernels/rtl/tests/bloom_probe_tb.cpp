// SPDX-License-Identifier: Apache-2.0
// The Bloom probe against `is_in_set` of the HLS stage.
//
// The loader refuses sets that reach beyond the memory, and bitmaps that are shorter than their
// range, so neither is tried. There is no other malformed input: every number is a number.
#include "bench.hpp"
#include "bloom_probe_ports.hpp"
#include "filter_stage.hpp"
#include "Vbloom_probe_blackbox.h"

using namespace bloom_probe_ports;
using dut = Vbloom_probe_blackbox;

static constexpr int SETS = 4;
static constexpr int ROWS = 8;
static constexpr uint32_t BLOCKS = 4096;

namespace {

struct key_set {
  bool is_bitmap;
  int64_t first;
  int64_t last;
  uint32_t block_first;
  uint32_t blocks;
};

/// What a run is given.
struct job {
  key_set sets[SETS];
  rtl::stream<bits::BITS> bits_in;
  rtl::stream<rows::BITS> rows_in;
};

struct tester {
  rtl::bench<dut> bench;
  rtl::source<bits::BITS, decltype(dut::bits_dout)> bits_in;
  rtl::source<rows::BITS, decltype(dut::rows_dout)> rows_in;
  rtl::sink<passed::BITS, decltype(dut::passed_din)> passed_out;
  uint64_t runs = 0;
  uint64_t vectors = 0;

  tester(int argc, char** argv)
      : bench(argc, argv),
        bits_in(bench, bench.top().bits_dout, bench.top().bits_empty_n, bench.top().bits_read),
        rows_in(bench, bench.top().rows_dout, bench.top().rows_empty_n, bench.top().rows_read),
        passed_out(bench, bench.top().passed_din, bench.top().passed_full_n,
                   bench.top().passed_write) {}

  void load(const job& what) {
    bits_in.queue(what.bits_in.tokens());
    rows_in.queue(what.rows_in.tokens());
    rtl::token<4> is_bitmap;
    rtl::token<256> first, last;
    rtl::token<48> block_first;
    rtl::token<52> blocks;
    for (int set = 0; set < SETS; set++) {
      rtl::set(is_bitmap, {set, 1}, what.sets[set].is_bitmap);
      rtl::set(first, {64 * set, 64}, static_cast<uint64_t>(what.sets[set].first));
      rtl::set(last, {64 * set, 64}, static_cast<uint64_t>(what.sets[set].last));
      rtl::set(block_first, {12 * set, 12}, what.sets[set].block_first);
      rtl::set(blocks, {13 * set, 13}, what.sets[set].blocks);
    }
    dut& top = bench.top();
    rtl::drive(top.is_bitmap, is_bitmap);
    rtl::drive(top.first, first);
    rtl::drive(top.last, last);
    rtl::drive(top.block_first, block_first);
    rtl::drive(top.blocks, blocks);
  }

  std::deque<rtl::token<passed::BITS>> expected(job what) {
    rtl::token<4> is_bitmap = rtl::sample<4>(bench.top().is_bitmap);
    rtl::stream<passed::BITS> answers;
    bloom_probe_blackbox(is_bitmap, rtl::sample<256>(bench.top().first),
                         rtl::sample<256>(bench.top().last),
                         rtl::sample<48>(bench.top().block_first),
                         rtl::sample<52>(bench.top().blocks), what.bits_in, what.rows_in, answers);
    return answers.tokens();
  }

  uint64_t check(const job& what, rtl::pace how, uint64_t seed) {
    load(what);
    const auto answers = expected(what);
    const uint64_t cycles =
        bench.run(how, seed, 4000 + 400 * what.rows_in.size() + 40 * what.bits_in.size());
    vectors += rtl::compare("passed", passed_out.take(), answers);
    runs++;
    return cycles;
  }
};

/// Blocks of which each bit is set with a probability in percent.
void add_blocks(job& to, rtl::dice& dice, uint32_t count, uint32_t percent) {
  for (uint32_t block = 0; block < count; block++) {
    rtl::token<bits::BITS> token;
    for (int lane = 0; lane < 8; lane++) {
      uint32_t word = 0;
      for (int bit = 0; bit < 32; bit++) word |= static_cast<uint32_t>(dice.chance(percent)) << bit;
      rtl::set(token, bits::block().at(lane, 32), word);
    }
    rtl::set(token, bits::is_block(), 1);
    rtl::set(token, bits::last(), block + 1 == count ? 1 : 0);
    to.bits_in.write(token);
  }
}

/// Nothing to load.
void add_no_block(job& to) {
  rtl::token<bits::BITS> token;
  rtl::set(token, bits::last(), 1);
  to.bits_in.write(token);
}

/// A number that is likely to matter to a set.
int64_t number_for(const key_set& set, rtl::dice& dice) {
  const int64_t near = static_cast<int64_t>(dice.below(5)) - 2;
  const uint64_t first = static_cast<uint64_t>(set.first);
  const uint64_t span = static_cast<uint64_t>(set.last) - first;
  switch (dice.below(5)) {
    case 0:
      return static_cast<int64_t>(first + static_cast<uint64_t>(near));
    case 1:
      return static_cast<int64_t>(static_cast<uint64_t>(set.last) + static_cast<uint64_t>(near));
    case 2:
      return static_cast<int64_t>(dice.next());
    case 3:
      return static_cast<int64_t>(1ull << dice.below(64)) + near;
    default:
      return static_cast<int64_t>(first + (span == ~0ull ? dice.next() : dice.below(span + 1)));
  }
}

void add_words(job& to, rtl::dice& dice, uint32_t count, uint32_t null_percent) {
  for (uint32_t word = 0; word < count; word++) {
    const uint64_t set = dice.below(SETS);
    rtl::token<rows::BITS> token;
    for (int row = 0; row < ROWS; row++) {
      const uint64_t number = static_cast<uint64_t>(number_for(to.sets[set], dice));
      rtl::set(token, rows::number().at(row, 64), number);
      rtl::set(token, rows::present().at(row, 1), !dice.chance(null_percent));
    }
    rtl::set(token, rows::set(), set);
    rtl::set(token, rows::last(), word + 1 == count ? 1 : 0);
    to.rows_in.write(token);
  }
}

/// Four sets over so many blocks, and what they look like.
job random_job(rtl::dice& dice, uint32_t blocks_of_set, uint32_t words) {
  job made;
  for (int i = 0; i < SETS; i++) {
    key_set& set = made.sets[i];
    set.is_bitmap = dice.chance(40);
    set.block_first = static_cast<uint32_t>(i) * blocks_of_set;
    set.blocks = 1 + static_cast<uint32_t>(dice.below(blocks_of_set));
    if (set.is_bitmap) {
      // As many numbers as a block has bits, but for some of the last.
      const uint64_t span = 256ull * set.blocks - 1 - dice.below(256);
      set.first = static_cast<int64_t>(dice.next() >> dice.below(64));
      if (set.first > INT64_MAX - static_cast<int64_t>(span)) set.first = INT64_MIN;
      set.last = set.first + static_cast<int64_t>(span);
    } else {
      set.first = dice.chance(50) ? INT64_MIN : static_cast<int64_t>(dice.next());
      set.last = dice.chance(50) ? INT64_MAX : static_cast<int64_t>(dice.next());
    }
  }
  add_blocks(made, dice, SETS * blocks_of_set, 85);
  // Up to all of them.
  add_words(made, dice, words, 10 * static_cast<uint32_t>(dice.below(11)));
  return made;
}

/// The four sets as one, whose rows are all of the least numbers, and so on: limits.
void check_limits(tester& test) {
  rtl::dice dice(11);
  for (const int64_t edge :
       {INT64_MIN, INT64_MIN + 1, int64_t(-1), int64_t(0), int64_t(1), INT64_MAX - 1, INT64_MAX}) {
    for (const bool is_bitmap : {false, true}) {
      job made;
      for (int i = 0; i < SETS; i++) {
        const int64_t last = edge == INT64_MAX ? edge : edge + 1;
        made.sets[i] = {is_bitmap, edge, i < 2 ? last : edge, 1, 1};
      }
      add_blocks(made, dice, 2, is_bitmap ? 50 : 95);
      add_words(made, dice, 40, 0);
      test.check(made, rtl::pace::FREE, 1);
    }
  }
}

/// All blocks, and sets of which the last begins at the last block.
void check_whole_memory(tester& test) {
  rtl::dice dice(12);
  job made;
  made.sets[0] = {false, INT64_MIN, INT64_MAX, 0, BLOCKS};
  made.sets[1] = {true, -1000, -1000 + 256 * BLOCKS - 1, 0, BLOCKS};
  made.sets[2] = {false, 0, INT64_MAX, BLOCKS - 1, 1};
  made.sets[3] = {true, 5, 5 + 200, BLOCKS - 1, 1};
  add_blocks(made, dice, BLOCKS, 90);
  add_words(made, dice, 1500, 5);
  test.check(made, rtl::pace::FREE, 2);
  // The bits stay where they are when the next run brings none.
  job again;
  for (int i = 0; i < SETS; i++) again.sets[i] = made.sets[i];
  add_no_block(again);
  add_words(again, dice, 300, 5);
  test.check(again, rtl::pace::RANDOM, 3);
}

void check_random(tester& test) {
  for (uint64_t seed = 0; seed < 90; seed++) {
    rtl::dice dice(100 + seed);
    const uint32_t blocks = 1u << dice.below(6);
    const job made = random_job(dice, blocks, 1 + static_cast<uint32_t>(dice.below(150)));
    test.check(made, rtl::PACES[seed % 4], seed);
    if (seed % 10 == 9) {
      test.load(made);
      test.bench.abandon(rtl::pace::RANDOM, seed, 20 + dice.below(200));
      test.passed_out.take();
    }
  }
}

/// Runs whose cycles count.
void measure(tester& test) {
  rtl::dice dice(13);
  for (const bool is_bitmap : {false, true}) {
    job made;
    for (key_set& set : made.sets) set = {is_bitmap, 0, 255, 0, 1};
    add_blocks(made, dice, 1, 50);
    add_words(made, dice, 2048, 0);
    const uint64_t rows = ROWS * made.rows_in.size();
    const uint64_t cycles = test.check(made, rtl::pace::FREE, 4);
    rtl::print({is_bitmap ? "look-up in a bitmap" : "look-up in a Bloom filter", "row", rows,
                8 * rows, cycles});
  }
  job load;
  for (key_set& set : load.sets) set = {true, 0, 255, 0, 1};
  add_blocks(load, dice, BLOCKS, 50);
  add_words(load, dice, 1, 0);
  const uint64_t cycles = test.check(load, rtl::pace::FREE, 5);
  rtl::print({"load", "block of 32 bytes", BLOCKS, 32 * BLOCKS, cycles});
  job smallest;
  for (key_set& set : smallest.sets) set = {true, 0, 255, 0, 1};
  add_no_block(smallest);
  add_words(smallest, dice, 1, 0);
  rtl::print({"smallest run", "run", 1, 64, test.check(smallest, rtl::pace::FREE, 6)});
}

/// A workload of look-ups whose cycles are compared.
struct shape {
  const char* name;
  /// Sets that each word of rows is looked up in, how many of them are bitmaps, and their blocks.
  uint32_t sets;
  uint32_t bitmaps;
  uint32_t blocks;
  /// Bits of a block that are set, and rows that are NULL, in percent.
  uint32_t bits_percent;
  uint32_t null_percent;
};
constexpr shape SHAPES[] = {
    {"keys in a small Bloom filter", 1, 0, 6, 40, 0},
    {"keys in the largest Bloom filter, NULL in between", 1, 0, BLOCKS, 97, 30},
    {"keys in a Bloom filter, most rows NULL", 1, 0, 50, 40, 80},
    {"codes in a bitmap", 1, 1, 90, 10, 5},
    {"two key columns, a Bloom filter and a bitmap", 2, 1, 300, 70, 0},
    {"three key columns in Bloom filters", 3, 0, 1000, 80, 12},
    {"four key columns, two of them in bitmaps", 4, 2, 1024, 50, 50},
};

/// The same rows for the HLS stage, which has the bits: of each set a lane. The module has them
/// word by word, for one set after the other, without those that a set before has dropped.
void make_input(rtl::dice& dice, const shape& how, job& looked, rtl::filter_input& input) {
  input.keys.count = how.sets;
  input.keys.has_row_sets = true;
  for (uint32_t i = 0; i < how.sets; i++) {
    const key_set& set = looked.sets[i];
    input.keys.sets[i].is_bitmap = set.is_bitmap;
    input.keys.sets[i].first = set.first;
    input.keys.sets[i].last = set.last;
    input.keys.sets[i].block_first = set.block_first;
    input.keys.sets[i].blocks = set.blocks;
    input.key_column[i] = static_cast<uint8_t>(i);
  }
  input.lanes.resize(how.sets);
  const uint64_t words = 700 + dice.below(2000);
  for (uint64_t word = 0; word < words; word++) {
    uint32_t kept = 0xff;
    for (uint32_t i = 0; i < how.sets; i++) {
      nearscan::value_token column = nearscan::EMPTY_WORD;
      rtl::token<rows::BITS> token;
      for (int row = 0; row < ROWS; row++) {
        column.value.row[row] = number_for(looked.sets[i], dice);
        const uint32_t is_there = dice.chance(how.null_percent) ? 0 : 1;
        column.valid = static_cast<uint8_t>(column.valid | is_there << row);
        const uint64_t number = static_cast<uint64_t>(column.value.row[row]);
        rtl::set(token, rows::number().at(row, 64), number);
      }
      const uint32_t left = column.valid & kept;
      for (int row = 0; row < ROWS; row++) {
        if ((left >> row & 1) == 0) continue;
        const int64_t number = column.value.row[row];
        if (!nearscan::is_in_set(input.keys.sets[i], input.bits, number)) kept &= ~(1u << row);
      }
      rtl::set(token, rows::present(), left);
      rtl::set(token, rows::set(), i);
      rtl::set(token, rows::last(), word + 1 == words && i + 1 == how.sets ? 1 : 0);
      looked.rows_in.write(token);
      input.lanes[i].push_back(column);
    }
  }
}

/// Rows that pass all sets.
uint64_t rows_passed(const std::deque<rtl::token<passed::BITS>>& answers, uint32_t sets) {
  uint64_t count = 0;
  for (size_t at = 0; at < answers.size(); at += sets) {
    uint64_t all = 0xff;
    for (uint32_t set = 0; set < sets; set++) all &= rtl::get(answers[at + set], passed::rows());
    count += nearscan::count_bits(static_cast<uint8_t>(all));
  }
  return count;
}

/// Compares the cycles of look-ups with the iterations of the filter that the HLS stage counts. The
/// bits are loaded before, as the stage has them with the command.
rtl::comparison compare_run(tester& test, const shape& how, uint64_t seed) {
  rtl::dice dice(seed);
  job loaded;
  for (uint32_t i = 0; i < SETS; i++) {
    const bool is_bitmap = i < how.bitmaps;
    const int64_t first = static_cast<int64_t>(dice.below(1000000));
    const int64_t last = is_bitmap ? first + 256 * how.blocks - 1 : INT64_MAX;
    const uint32_t block_first = i < how.sets ? i * how.blocks : 0;
    loaded.sets[i] = {is_bitmap, first, last, block_first, how.blocks};
  }
  add_blocks(loaded, dice, how.sets * how.blocks, how.bits_percent);
  job looked;
  for (int i = 0; i < SETS; i++) looked.sets[i] = loaded.sets[i];
  rtl::filter_input input;
  size_t block = 0;
  for (const auto& token : loaded.bits_in.tokens()) {
    for (int word = 0; word < static_cast<int>(nearscan::KEY_BLOCK_WORDS); word++) {
      input.bits[word][block] = rtl::get(token, bits::block().at(word, 64));
    }
    block++;
  }
  make_input(dice, how, looked, input);
  add_words(loaded, dice, 1, 0);
  test.check(loaded, rtl::pace::FREE, seed);
  add_no_block(looked);
  const uint64_t cycles = test.check(looked, rtl::pace::FREE, seed);
  const nearscan::report stage = rtl::filter_by_stage(input);
  if (stage.rows_kept != rows_passed(test.expected(looked), how.sets)) {
    rtl::fail("%s: the stage keeps other rows", how.name);
  }
  const uint64_t rows = ROWS * looked.rows_in.size();
  const uint64_t iterations = stage.filter_iterations;
  return {how.name, "row", rows, cycles, iterations, rtl::model_kind::STAGE, iterations};
}

void compare_cycles(tester& test) {
  uint64_t seed = 80000;
  for (const shape& how : SHAPES) {
    rtl::compare_sets(seed += 100, [&](uint64_t set) { return compare_run(test, how, set); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  tester test(argc, argv);
  check_limits(test);
  measure(test);
  check_whole_memory(test);
  check_random(test);
  compare_cycles(test);
  rtl::print_vectors(test.runs, test.vectors);
  return 0;
}
