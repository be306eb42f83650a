// SPDX-License-Identifier: Apache-2.0
// The Bloom probe against `rows_of_keys` of the HLS stage.
//
// The loader refuses sets that reach beyond the memory, and bitmaps that are shorter than their
// range, so neither is tried. There is no other malformed input: every number is a number.
#include "bench.hpp"
#include "bloom_probe_ports.hpp"
#include "Vbloom_probe_blackbox.h"

using namespace bloom_probe_ports;
using dut = Vbloom_probe_blackbox;

static constexpr int SETS = 4;
static constexpr int ROWS = 8;
static constexpr uint32_t BLOCKS = 4096;

namespace {

struct key_set {
  bool is_bitmap;
  bool is_unsigned;
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
    rtl::token<4> is_bitmap, is_unsigned;
    rtl::token<256> first, last;
    rtl::token<48> block_first;
    rtl::token<52> blocks;
    for (int set = 0; set < SETS; set++) {
      rtl::set(is_bitmap, {set, 1}, what.sets[set].is_bitmap);
      rtl::set(is_unsigned, {set, 1}, what.sets[set].is_unsigned);
      rtl::set(first, {64 * set, 64}, static_cast<uint64_t>(what.sets[set].first));
      rtl::set(last, {64 * set, 64}, static_cast<uint64_t>(what.sets[set].last));
      rtl::set(block_first, {12 * set, 12}, what.sets[set].block_first);
      rtl::set(blocks, {13 * set, 13}, what.sets[set].blocks);
    }
    dut& top = bench.top();
    rtl::drive(top.is_bitmap, is_bitmap);
    rtl::drive(top.is_unsigned, is_unsigned);
    rtl::drive(top.first, first);
    rtl::drive(top.last, last);
    rtl::drive(top.block_first, block_first);
    rtl::drive(top.blocks, blocks);
  }

  std::deque<rtl::token<passed::BITS>> expected(job what) {
    rtl::token<4> is_bitmap = rtl::sample<4>(bench.top().is_bitmap);
    rtl::token<4> is_unsigned = rtl::sample<4>(bench.top().is_unsigned);
    rtl::stream<passed::BITS> answers;
    bloom_probe_blackbox(is_bitmap, is_unsigned, rtl::sample<256>(bench.top().first),
                         rtl::sample<256>(bench.top().last),
                         rtl::sample<48>(bench.top().block_first),
                         rtl::sample<52>(bench.top().blocks), what.bits_in, what.rows_in, answers);
    return answers.tokens();
  }

  uint64_t check(const job& what, rtl::pace how, uint64_t seed) {
    load(what);
    const auto answers = expected(what);
    const uint64_t cycles = bench.run(how, seed, 4000 + 400 * what.rows_in.size() +
                                                     40 * what.bits_in.size());
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
    set.is_unsigned = dice.chance(50);
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
  add_words(made, dice, words, 10);
  return made;
}

/// The four sets as one, whose rows are all of the least numbers, and so on: limits.
void check_limits(tester& test) {
  rtl::dice dice(11);
  for (const int64_t edge : {INT64_MIN, INT64_MIN + 1, int64_t(-1), int64_t(0), int64_t(1),
                             INT64_MAX - 1, INT64_MAX}) {
    for (const bool is_bitmap : {false, true}) {
      job made;
      for (int i = 0; i < SETS; i++) {
        const int64_t last = edge == INT64_MAX ? edge : edge + 1;
        made.sets[i] = {is_bitmap, i % 2 != 0, edge, i < 2 ? last : edge, 1, 1};
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
  made.sets[0] = {false, false, INT64_MIN, INT64_MAX, 0, BLOCKS};
  made.sets[1] = {true, false, -1000, -1000 + 256 * BLOCKS - 1, 0, BLOCKS};
  made.sets[2] = {false, true, 0, INT64_MAX, BLOCKS - 1, 1};
  made.sets[3] = {true, true, 5, 5 + 200, BLOCKS - 1, 1};
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
    for (key_set& set : made.sets) set = {is_bitmap, false, 0, 255, 0, 1};
    add_blocks(made, dice, 1, 50);
    add_words(made, dice, 2048, 0);
    const uint64_t rows = ROWS * made.rows_in.size();
    const uint64_t cycles = test.check(made, rtl::pace::FREE, 4);
    rtl::print({is_bitmap ? "look-up in a bitmap" : "look-up in a Bloom filter", "row", rows,
                8 * rows, cycles});
  }
  job load;
  for (key_set& set : load.sets) set = {true, false, 0, 255, 0, 1};
  add_blocks(load, dice, BLOCKS, 50);
  add_words(load, dice, 1, 0);
  const uint64_t cycles = test.check(load, rtl::pace::FREE, 5);
  rtl::print({"load", "block of 32 bytes", BLOCKS, 32 * BLOCKS, cycles});
  job smallest;
  for (key_set& set : smallest.sets) set = {true, false, 0, 255, 0, 1};
  add_no_block(smallest);
  add_words(smallest, dice, 1, 0);
  rtl::print({"smallest run", "run", 1, 64, test.check(smallest, rtl::pace::FREE, 6)});
}

}  // namespace

int main(int argc, char** argv) {
  tester test(argc, argv);
  check_limits(test);
  measure(test);
  check_whole_memory(test);
  check_random(test);
  rtl::print_vectors(test.runs, test.vectors);
  return 0;
}
