// SPDX-License-Identifier: Apache-2.0
// The RLE unpacker against a model, and the model against the HLS stage `decode`.
#include "Vrle_unpacker_blackbox.h"
#include "bench.hpp"
#include "rle_pages.hpp"
#include "rle_stage.hpp"
#include "rle_unpacker_cycles.hpp"
#include "rle_unpacker_ports.hpp"

using namespace rle_unpacker_ports;
using dut = Vrle_unpacker_blackbox;

namespace {

/// The numbers of a page, however they came.
struct numbers {
  std::vector<uint32_t> all;
  /// How many came with each word.
  std::vector<uint32_t> counts;
  bool is_corrupt = false;

  numbers() = default;
  explicit numbers(const std::deque<rtl::token<words::BITS>>& tokens) {
    if (tokens.empty()) rtl::fail("a page without a word");
    for (size_t i = 0; i < tokens.size(); i++) {
      const bool is_last = rtl::get(tokens[i], words::last()) != 0;
      if (is_last != (i + 1 == tokens.size())) rtl::fail("word %zu has a wrong mark", i);
      is_corrupt = is_corrupt || rtl::get(tokens[i], words::corrupt()) != 0;
      const uint64_t count = rtl::get(tokens[i], words::count());
      if (count > 8 || (count == 0 && !is_last)) rtl::fail("word %zu has no numbers", i);
      counts.push_back(static_cast<uint32_t>(count));
      for (uint64_t at = 0; at < count; at++) {
        const rtl::field place = words::index().at(static_cast<int>(at), 32);
        all.push_back(static_cast<uint32_t>(rtl::get(tokens[i], place)));
      }
    }
  }
};

struct tester {
  rtl::bench<dut> bench;
  rtl::source<bytes::BITS, decltype(dut::bytes_dout)> bytes_in;
  rtl::sink<words::BITS, decltype(dut::words_din)> words_out;
  uint64_t runs = 0;
  uint64_t vectors = 0;
  /// What the last run gave.
  numbers given;

  tester(int argc, char** argv)
      : bench(argc, argv),
        bytes_in(bench, bench.top().bytes_dout, bench.top().bytes_empty_n, bench.top().bytes_read),
        words_out(bench, bench.top().words_din, bench.top().words_full_n, bench.top().words_write) {
  }

  void load(const rtl::page& what, rtl::dice* dice) {
    for (const auto& token : rtl::tokens_of<bytes>(what.bytes, dice)) bytes_in.queue(token);
    bench.top().width = static_cast<uint8_t>(what.width);
    bench.top().values = what.values;
  }

  numbers expected(const rtl::page& what) {
    rtl::stream<bytes::BITS> in;
    rtl::stream<words::BITS> out;
    for (const auto& token : rtl::tokens_of<bytes>(what.bytes, nullptr)) in.write(token);
    rtl::token<6> width;
    rtl::token<32> values;
    width.word[0] = what.width;
    values.word[0] = what.values;
    rle_unpacker_blackbox(width, values, in, out);
    return numbers(out.tokens());
  }

  /// Runs a page; its bytes come in tokens of all sizes if there are `dice` for it.
  uint64_t check(const char* name, const rtl::page& what, rtl::pace how, uint64_t seed,
                 rtl::dice* dice) {
    load(what, dice);
    const uint64_t items = what.values + 8 * what.bytes.size();
    const uint64_t cycles = bench.run(how, seed, 2000 + 50 * items);
    given = numbers(words_out.take());
    const numbers& got = given;
    const numbers model = expected(what);
    if (got.is_corrupt != model.is_corrupt) {
      rtl::fail("%s (seed %llu): corrupt is %d", name, static_cast<unsigned long long>(seed),
                got.is_corrupt);
    }
    if (got.is_corrupt ? got.all.size() > model.all.size() : got.all.size() != model.all.size()) {
      rtl::fail("%s (seed %llu): %zu numbers instead of %zu", name,
                static_cast<unsigned long long>(seed), got.all.size(), model.all.size());
    }
    for (size_t i = 0; i < got.all.size(); i++) {
      if (got.all[i] == model.all[i]) continue;
      rtl::fail("%s (seed %llu): number %zu is %x instead of %x, of %u bits", name,
                static_cast<unsigned long long>(seed), i, got.all[i], model.all[i], what.width);
    }
    runs++;
    vectors += got.all.size();
    return cycles;
  }
};

/// Each width alone: groups, runs, and both in turn.
void check_widths(tester& test) {
  for (uint32_t width = 0; width <= 33; width++) {
    rtl::dice dice(1000 + width);
    for (const rtl::pace how : rtl::PACES) {
      rtl::page_maker maker(width <= 32 ? width : 32);
      maker.groups(dice, 1);
      maker.repeated(dice, 3);
      maker.groups(dice, 70);
      maker.repeated(dice, 1000);
      maker.groups(dice, 2);
      rtl::page page = maker.page(8 * 73 + 1003 - static_cast<uint32_t>(dice.below(8)));
      page.width = width;
      test.check("widths", page, how, width, how == rtl::pace::FREE ? nullptr : &dice);
    }
  }
}

/// What a page may be made of beside that.
void check_edges(tester& test) {
  rtl::dice dice(2000);
  for (const uint32_t width : {0u, 1u, 7u, 8u, 9u, 15u, 16u, 17u, 24u, 25u, 31u, 32u}) {
    // Nothing at all, with and without values.
    for (const uint32_t values : {0u, 1u, 9u}) {
      test.check("empty", rtl::page{width, values, {}}, rtl::pace::FREE, width, nullptr);
    }
    // Runs and groups of none, in headers of all lengths; the longest is more than any page has.
    rtl::page_maker empty(width);
    for (uint32_t bytes = 1; bytes <= 5; bytes++) {
      empty.header(0, false, bytes);
      empty.number(dice);
      empty.header(0, true, bytes);
    }
    empty.header(5, false, 5);
    empty.number(dice);
    empty.header(1, true, 3);
    empty.packed(dice, 8);
    empty.header(0x3ffffffffull, false, 5);
    empty.number(dice);
    for (const rtl::pace how : rtl::PACES) {
      test.check("empty runs", empty.page(500), how, width, &dice);
    }
    // At each byte of a word a header that does not end, and the longest that does.
    for (uint32_t first = 0; first < 8; first++) {
      rtl::page_maker nonsense(width);
      rtl::page_maker longest(width);
      for (uint32_t byte = 0; byte < first; byte++) {
        nonsense.header(0, true, 1);
        longest.header(0, true, 1);
      }
      nonsense.repeated(dice, 10);
      for (int i = 0; i < 6; i++) nonsense.byte(0xff);
      longest.header(10, false, 5);
      longest.number(dice);
      longest.header(70, true, 5);
      longest.packed(dice, 8 * 70);
      for (const uint32_t values : {9u, 10u, 11u}) {
        test.check("nonsense", nonsense.page(values), rtl::pace::RANDOM, values, &dice);
      }
      test.check("longest header", longest.page(10 + 8 * 70), rtl::pace::FREE, first, nullptr);
    }
    // A page that ends at each of its bytes.
    rtl::page_maker whole(width);
    whole.groups(dice, 2);
    whole.header(20, false, 2);
    whole.number(dice);
    whole.groups(dice, 65);
    const rtl::page page = whole.page(8 * 2 + 20 + 8 * 65 - 3);
    const size_t step = page.bytes.size() > 300 ? 37 : 7;
    for (size_t end = 0; end <= page.bytes.size(); end += end < 24 ? 1 : step) {
      rtl::page cut = page;
      cut.bytes.resize(end);
      test.check("cut", cut, rtl::PACES[end % 2], end, end % 4 == 3 ? &dice : nullptr);
    }
    // The last group may lack what nobody wants, and the page may go on behind it.
    for (uint32_t wanted = 1; wanted <= 8; wanted++) {
      rtl::page_maker short_group(width);
      short_group.header(1, true, 1);
      short_group.packed(dice, wanted);
      test.check("short group", short_group.page(wanted), rtl::pace::FREE, wanted, nullptr);
      if (width > 0) {
        rtl::page cut = short_group.page(wanted);
        cut.bytes.pop_back();
        test.check("too short a group", cut, rtl::pace::FREE, wanted, nullptr);
      }
      for (int i = 0; i < 100; i++) short_group.byte(static_cast<uint8_t>(dice.next()));
      test.check("rest", short_group.page(wanted), rtl::pace::RANDOM, wanted, &dice);
    }
  }
}

/// Headers of several bytes at each byte of two words, and a page that ends at each of theirs.
///
/// Behind the end stand zeros, so what is there of such a header looks like a whole one. Numbers of
/// no bits take no bytes, so a whole one may be the end of a page.
void check_cut_headers(tester& test) {
  rtl::dice dice(2500);
  for (const uint32_t width : {0u, 1u, 8u, 12u, 32u}) {
    for (uint32_t first = 0; first < 16; first++) {
      for (uint32_t bytes = 2; bytes <= 5; bytes++) {
        for (const bool is_packed : {false, true}) {
          rtl::page_maker maker(width);
          for (uint32_t byte = 0; byte < first; byte++) maker.header(0, true, 1);
          maker.header(is_packed ? 1 : 8, is_packed, bytes);
          const rtl::page page = maker.page(8);
          for (uint32_t lost = 0; lost < bytes; lost++) {
            rtl::page cut = page;
            cut.bytes.resize(page.bytes.size() - lost);
            test.check("cut header", cut, rtl::PACES[(first + lost) % 2], first, nullptr);
          }
        }
      }
    }
  }
}

/// Some bytes become others, and the page may end early.
void damage(rtl::dice& dice, rtl::page& page) {
  for (uint64_t hits = dice.below(4) + 1; hits > 0; hits--) {
    page.bytes[dice.below(page.bytes.size())] = static_cast<uint8_t>(dice.next());
  }
  if (dice.chance(30)) page.bytes.resize(dice.below(page.bytes.size() + 1));
}

void check_random(tester& test) {
  for (uint64_t seed = 0; seed < 700; seed++) {
    rtl::dice dice(3000 + seed);
    rtl::page page = rtl::random_page(dice);
    // One in five is damaged.
    if (dice.chance(20) && !page.bytes.empty()) damage(dice, page);
    const bool is_small = page.values < 400;
    const rtl::pace how = is_small ? rtl::PACES[seed % 4] : rtl::PACES[seed % 2];
    test.check("random", page, how, seed, dice.chance(50) ? &dice : nullptr);
    if (seed % 25 == 24) {
      test.load(page, &dice);
      test.bench.abandon(rtl::pace::RANDOM, seed, 5 + dice.below(80));
      test.words_out.take();
    }
  }
}

/// The stage and the model of the same page; gives whether it is corrupt.
bool compare_with_stage(tester& test, const char* name, const rtl::page& page,
                        const std::vector<int64_t>& dictionary) {
  const rtl::stage_answer stage = rtl::decode_by_stage(page, dictionary);
  const numbers model = test.expected(page);
  bool is_corrupt = model.is_corrupt;
  for (const uint32_t index : model.all) is_corrupt = is_corrupt || index >= dictionary.size();
  if (stage.is_corrupt != is_corrupt) rtl::fail("%s: corrupt is %d", name, stage.is_corrupt);
  if (is_corrupt) return true;
  if (stage.values.size() != model.all.size()) {
    rtl::fail("%s: %zu values instead of %zu", name, stage.values.size(), model.all.size());
  }
  for (size_t i = 0; i < stage.values.size(); i++) {
    if (stage.values[i] != dictionary[model.all[i]]) rtl::fail("%s: value %zu differs", name, i);
  }
  return false;
}

/// Pages that are as they should be, some that are not, and headers that are cut off.
void check_stage(tester& test) {
  uint64_t corrupt = 0;
  uint64_t whole = 0;
  for (uint64_t seed = 0; seed < 120; seed++) {
    rtl::dice dice(4000 + seed);
    rtl::page page = rtl::random_page(dice);
    std::vector<int64_t> dictionary(1 + dice.below(6000));
    for (int64_t& entry : dictionary) entry = static_cast<int64_t>(dice.next());
    if (dice.chance(70)) page = rtl::page_below(dice, static_cast<uint32_t>(dictionary.size()));
    if (seed % 2 == 1 && !page.bytes.empty()) damage(dice, page);
    const bool is_corrupt = compare_with_stage(test, "stage", page, dictionary);
    (is_corrupt ? corrupt : whole)++;
  }
  if (corrupt < 30 || whole < 30) rtl::fail("too few pages of a kind for the stage");
  const std::vector<int64_t> one(1, 7);
  for (const uint32_t width : {0u, 8u}) {
    for (uint32_t bytes = 2; bytes <= 5; bytes++) {
      for (const bool is_packed : {false, true}) {
        rtl::page_maker maker(width);
        maker.header(is_packed ? 1 : 8, is_packed, bytes);
        rtl::page cut = maker.page(8);
        if (compare_with_stage(test, "whole header", cut, one) != (width != 0)) {
          rtl::fail("stage: a whole header of %u bytes", bytes);
        }
        cut.bytes.pop_back();
        if (!compare_with_stage(test, "cut header", cut, one)) {
          rtl::fail("stage: a header of %u bytes that is cut off", bytes);
        }
      }
    }
  }
}

void measure_page(tester& test, const char* name, const rtl::page& page) {
  const uint64_t cycles = test.check(name, page, rtl::pace::FREE, 1, nullptr);
  rtl::print({name, "index", page.values, page.bytes.size(), cycles});
}

void measure(tester& test) {
  rtl::dice dice(5000);
  const struct {
    const char* name;
    uint32_t width;
    uint32_t groups_of_run;
  } PACKED[] = {
      {"groups of 1 bit", 1, 63},
      {"groups of 8 bits", 8, 63},
      {"groups of 12 bits", 12, 63},
      {"groups of 17 bits", 17, 63},
      {"groups of 32 bits", 32, 63},
      {"groups of 7 bits, one a run", 7, 1},
      {"groups of 8 bits, one a run", 8, 1},
  };
  for (const auto& each : PACKED) {
    rtl::page_maker maker(each.width);
    uint32_t values = 0;
    while (values < 16000) {
      maker.groups(dice, each.groups_of_run);
      values += 8 * each.groups_of_run;
    }
    measure_page(test, each.name, maker.page(values));
  }
  rtl::page_maker eights(12);
  for (int i = 0; i < 2000; i++) eights.repeated(dice, 8);
  measure_page(test, "repeated 8 times, 12 bits", eights.page(16000));
  rtl::page_maker mixed(7);
  for (int i = 0; i < 1000; i++) {
    mixed.repeated(dice, 8);
    mixed.groups(dice, 1);
  }
  measure_page(test, "both in turn, 7 bits", mixed.page(16000));
  rtl::page_maker constant(12);
  constant.repeated(dice, 100000);
  measure_page(test, "one number 100000 times", constant.page(100000));
  rtl::page_maker smallest(1);
  smallest.repeated(dice, 8);
  rtl::page page = smallest.page(8);
  rtl::print({"smallest run", "run", 1, page.bytes.size(),
              test.check("smallest run", page, rtl::pace::FREE, 1, nullptr)});
}

constexpr rtl::page_shape SHAPES[] = {
    {"groups of 3 bits, long runs", 3, 30, 30, 0, 0, rtl::STAGE},
    {"groups of 6 bits, very long runs", 6, 200, 200, 0, 0, rtl::STAGE},
    {"groups of 11 bits", 11, 20, 40, 0, 0, rtl::STAGE},
    {"groups of 20 bits", 20, 10, 30, 0, 0, rtl::STAGE},
    {"groups of 29 bits", 29, 40, 23, 0, 0, rtl::STAGE},
    {"numbers repeated often, 10 bits", 10, 0, 0, 800, 3000, rtl::STAGE},
    {"groups of 5 bits, one to four a run", 5, 1, 4, 0, 0, rtl::RULE},
    {"groups of 16 bits, one or two a run", 16, 1, 2, 0, 0, rtl::STAGE},
    {"numbers repeated a few times, 13 bits", 13, 0, 0, 1, 30, rtl::RULE},
    {"groups of 9 bits and repeated numbers in turn", 9, 1, 6, 8, 60, rtl::RULE},
    {"groups of 32 bits and numbers of few repetitions", 32, 1, 3, 1, 9, rtl::RULE},
    {"long groups of 4 bits and long runs in turn", 4, 60, 80, 100, 900, rtl::STAGE},
};

/// Compares the cycles of a page with the rule, and where its runs are long with the iterations of
/// unpacking.
rtl::comparison compare_run(tester& test, const rtl::page_shape& how, uint64_t seed) {
  rtl::dice dice(seed);
  const rtl::page page = rtl::make_page(dice, how, 0);
  const uint64_t cycles = test.check(how.name, page, rtl::pace::FREE, seed, nullptr);
  if (test.given.counts != rtl::word_counts(page)) rtl::fail("%s: other words", how.name);
  const rtl::unpacked_page stage = rtl::unpack_by_stage(page);
  if (stage.indexes != test.given.all) rtl::fail("%s: the stage has other numbers", how.name);
  rtl::rle_unpacker_cycles modelled(page.width);
  for (const rtl::page_run& run : rtl::runs_of(page)) {
    if (run.is_packed) {
      modelled.add_groups(run.count, run.header_bytes);
    } else {
      modelled.add_run(run.count, run.header_bytes);
    }
  }
  return rtl::checked_by_rule(
      {how.name, "index", page.values, cycles, 0, how.model, stage.iterations}, modelled.total());
}

void compare_cycles(tester& test) {
  uint64_t seed = 40000;
  for (const rtl::page_shape& how : SHAPES) {
    rtl::compare_sets(seed += 100, [&](uint64_t set) { return compare_run(test, how, set); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  tester test(argc, argv);
  check_widths(test);
  measure(test);
  check_edges(test);
  check_cut_headers(test);
  check_random(test);
  check_stage(test);
  compare_cycles(test);
  rtl::print_vectors(test.runs, test.vectors);
  return 0;
}
