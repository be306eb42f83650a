// SPDX-License-Identifier: Apache-2.0
// The Snappy decoder against its model, which is the codec of the lanes.
//
// Of a page that fails, what comes before its end is not compared beyond what both have: neither
// the model nor the module promises how far it gets.
//
// The cycles that the module tells at the end of a run are those that the bench counts, but for a
// few; where nothing has waited, they are compared with the model's (scan/snappy_cycles.hpp).
#include "Vsnappy_decoder_blackbox.h"
#include "bench.hpp"
#include "snappy_decoder_ports.hpp"
#include "snappy_shapes.hpp"

using namespace snappy_decoder_ports;
using dut = Vsnappy_decoder_blackbox;
using rtl::any_taste;
using rtl::bytes_t;
using rtl::comments;
using rtl::dice;
using rtl::keys;
using rtl::packed;
using rtl::page_of;
using rtl::page_writer;
using rtl::prices;
using rtl::random_elements;
using rtl::stored_page;
using rtl::taste;

namespace {

struct job {
  std::vector<stored_page> all;

  uint64_t bytes_in() const {
    uint64_t bytes = 0;
    for (const stored_page& page : all) bytes += page.bytes.size();
    return bytes;
  }
  /// Whole tokens: of each page the last is its own.
  uint64_t tokens_in() const {
    uint64_t tokens = 0;
    for (const stored_page& page : all) tokens += (page.bytes.size() + 7) / 8;
    return tokens;
  }
  uint64_t bytes_out() const {
    uint64_t bytes = 0;
    for (const stored_page& page : all) bytes += page.whole;
    return bytes;
  }
};

/// How the bytes of a page are cut into tokens.
enum class cut { WHOLE, SHORT };

typedef std::deque<rtl::token<out::BITS>> answer;

/// Cycles of a run up to the first page, and behind the token that ends the chunk.
constexpr uint64_t AROUND = 4;

/// The cycles that the token which ends a chunk tells, which it is left without.
uint64_t take_cycles(answer& from) {
  if (from.empty()) rtl::fail("no token ends the chunk");
  rtl::token<out::BITS>& end = from.back();
  if (rtl::get(end, out::last()) == 0) rtl::fail("the last token does not end the chunk");
  const uint64_t cycles = rtl::get(end, out::data());
  rtl::set(end, out::data(), 0);
  return cycles;
}

/// Compares page by page.
uint64_t compare_pages(const job& what, const answer& got, const answer& expected) {
  size_t at = 0, page_first = 0, page_first_got = 0, at_got = 0;
  uint64_t compared = 0;
  for (size_t page = 0; at < expected.size(); page++) {
    const auto is_end = [](const rtl::token<out::BITS>& token) {
      return rtl::get(token, out::ends()) != 0 || rtl::get(token, out::last()) != 0;
    };
    while (!is_end(expected[at])) at++;
    while (at_got < got.size() && !is_end(got[at_got])) at_got++;
    if (at_got == got.size()) rtl::fail("a page has no end");
    const bool failed = rtl::get(expected[at], out::is_corrupt()) != 0 ||
                        rtl::get(expected[at], out::is_too_far()) != 0;
    const size_t count = at - page_first;
    const size_t count_got = at_got - page_first_got;
    if (page < what.all.size() && 8 * count_got > what.all[page].whole) {
      rtl::fail("more bytes than the page becomes");
    }
    if (!failed && count != count_got) {
      rtl::fail("a page of %zu words instead of %zu", count_got, count);
    }
    for (size_t i = 0; i < count && i < count_got; i++) {
      if (got[page_first_got + i] == expected[page_first + i]) continue;
      rtl::fail("word %zu of a page is %016llx instead of %016llx", i,
                static_cast<unsigned long long>(rtl::get(got[page_first_got + i], out::data())),
                static_cast<unsigned long long>(rtl::get(expected[page_first + i], out::data())));
    }
    if (got[at_got] != expected[at]) {
      rtl::fail("a page ends with %02x instead of %02x",
                static_cast<unsigned>(rtl::get(got[at_got], {64, out::BITS - 64})),
                static_cast<unsigned>(rtl::get(expected[at], {64, out::BITS - 64})));
    }
    compared += count + 1;
    page_first = ++at;
    page_first_got = ++at_got;
  }
  if (at_got != got.size()) rtl::fail("tokens behind the last page");
  return compared;
}

struct tester {
  rtl::bench<dut> bench;
  rtl::source<pages::BITS, decltype(dut::pages_dout)> pages_in;
  rtl::source<in::BITS, decltype(dut::in_dout)> bytes_in;
  rtl::sink<out::BITS, decltype(dut::out_din)> bytes_out;
  uint64_t runs = 0;
  uint64_t vectors = 0;
  /// Pages that failed, and that failed for their distance.
  uint64_t corrupt = 0;
  uint64_t too_far = 0;
  /// The cycles of the last run as the module tells them, and by the model.
  uint64_t cycles_told = 0;
  uint64_t cycles_modelled = 0;

  tester(int argc, char** argv)
      : bench(argc, argv),
        pages_in(bench, bench.top().pages_dout, bench.top().pages_empty_n, bench.top().pages_read),
        bytes_in(bench, bench.top().in_dout, bench.top().in_empty_n, bench.top().in_read),
        bytes_out(bench, bench.top().out_din, bench.top().out_full_n, bench.top().out_write) {}

  /// Queues a job; gives what should come out.
  answer load(const job& what, cut how, uint64_t seed) {
    dice chance(seed + 1000);
    rtl::stream<pages::BITS> pages_made;
    rtl::stream<in::BITS> bytes_made;
    for (const stored_page& page : what.all) {
      rtl::token<pages::BITS> token;
      rtl::set(token, pages::stored(), page.stored);
      rtl::set(token, pages::whole(), page.whole);
      pages_made.write(token);
      for (size_t at = 0, more = 1; more != 0;) {
        size_t count = page.bytes.size() - at < 8 ? page.bytes.size() - at : 8;
        if (how == cut::SHORT && count > 1 && chance.chance(40)) count = chance.below(count + 1);
        uint64_t data = 0;
        for (size_t i = 0; i < count; i++) data |= uint64_t(page.bytes[at + i]) << (8 * i);
        at += count;
        // The end may come with a token that is empty.
        more = at < page.bytes.size() || (how == cut::SHORT && count != 0 && chance.chance(20));
        rtl::token<in::BITS> piece;
        rtl::set(piece, in::data(), data);
        rtl::set(piece, in::count(), count);
        rtl::set(piece, in::ends(), more ? 0 : 1);
        bytes_made.write(piece);
      }
    }
    rtl::token<pages::BITS> token;
    rtl::set(token, pages::last(), 1);
    pages_made.write(token);
    pages_in.queue(pages_made.tokens());
    bytes_in.queue(bytes_made.tokens());
    rtl::stream<out::BITS> answers;
    snappy_decoder_blackbox(pages_made, bytes_made, answers);
    return answers.tokens();
  }

  /// Checks the cycles that the module tells of a run against those that the bench counted. Where
  /// something waits, it is not known when the first page came in.
  void check_told(const job& what, rtl::pace how, uint64_t cycles) const {
    const bool is_exact = how == rtl::pace::FREE || what.all.empty();
    const uint64_t most = what.all.empty() ? 0 : cycles - AROUND;
    if (is_exact ? cycles_told == most : cycles_told != 0 && cycles_told <= most) return;
    rtl::fail("a run of %llu cycles tells of %llu", static_cast<unsigned long long>(cycles),
              static_cast<unsigned long long>(cycles_told));
  }

  uint64_t check(const job& what, rtl::pace how, cut tokens, uint64_t seed) {
    answer expected = load(what, tokens, seed);
    const uint64_t cycles_max = 20000 + 60 * (what.bytes_in() + expected.size());
    const uint64_t cycles = bench.run(how, seed, cycles_max);
    answer got = bytes_out.take();
    cycles_modelled = take_cycles(expected);
    cycles_told = take_cycles(got);
    check_told(what, how, cycles);
    vectors += compare_pages(what, got, expected);
    runs++;
    for (const auto& token : expected) {
      corrupt += rtl::get(token, out::is_corrupt());
      too_far += rtl::get(token, out::is_too_far());
    }
    return cycles;
  }
};

void check_random(tester& test) {
  for (uint64_t seed = 0; seed < 240; seed++) {
    dice chance(seed);
    job made;
    const uint64_t page_count = 1 + chance.below(4);
    for (uint64_t i = 0; i < page_count; i++) {
      const taste& how = any_taste(chance);
      const uint64_t bytes = seed % 40 == 0 ? 140000 : 1 + chance.below(3000);
      made.all.push_back(random_elements(chance, how, bytes).page());
    }
    const bool is_long = seed % 40 == 0;
    test.check(made, is_long ? rtl::pace::FREE : rtl::PACES[seed % 4],
               chance.chance(50) ? cut::WHOLE : cut::SHORT, seed);
    if (seed % 30 == 29) {
      test.load(made, cut::WHOLE, seed);
      test.bench.abandon(rtl::pace::RANDOM, seed, 20 + chance.below(400));
      test.bytes_out.take();
    }
  }
}

/// Each place in a word, each length of a literal, and each distance near it.
void check_every_place(tester& test) {
  dice chance(7);
  job made;
  for (uint64_t place = 1; place <= 8; place++) {
    page_writer page;
    page.literal(chance, place, 0);
    for (uint64_t count = 1; count <= 9; count++) {
      for (uint64_t distance = 1; distance <= 20; distance++) {
        page.literal(chance, count, 0);
        page.copy(distance < page.whole.size() ? distance : page.whole.size(), 1 + chance.below(24),
                  2);
      }
    }
    made.all.push_back(page.page());
  }
  test.check(made, rtl::pace::FREE, cut::WHOLE, 1);
  // The border between what is read from near and from far.
  job border;
  for (uint64_t offset = 0; offset < 8; offset++) {
    page_writer page;
    page.literal(chance, 700 + offset, 0);
    for (uint64_t distance = 230; distance < 290; distance++) {
      page.copy(distance, 1 + chance.below(64), 2);
      page.literal(chance, 1 + chance.below(8), 0);
      page.copy(distance, 8, 2);
    }
    border.all.push_back(page.page());
  }
  test.check(border, rtl::pace::FREE, cut::WHOLE, 2);
  // Literals of each length up to what needs two bytes, and one that counts beyond 256 words.
  job literals;
  page_writer page;
  for (uint64_t count = 1; count < 300; count++) {
    page.literal(chance, count, 0);
    if (chance.chance(50)) page.copy(1 + chance.below(page.whole.size()), 4, 4);
  }
  for (const uint64_t count : {2041u, 2048u, 2049u, 2056u, 4096u, 4104u, 5000u}) {
    page.literal(chance, count, 0);
    page.copy(8, 8, 1);
  }
  literals.all.push_back(page.page());
  test.check(literals, rtl::pace::RANDOM, cut::SHORT, 3);
}

/// A page with an element that is wrong by itself, somewhere behind a good start.
stored_page wrong_element(dice& chance, const taste& how) {
  page_writer good = random_elements(chance, how, 1 + chance.below(100));
  const uint64_t written = good.whole.size();
  const uint64_t count = 1 + chance.below(64);
  bytes_t& to = good.elements;
  switch (chance.below(5)) {
    case 0:
      rtl::put_copy(to, 0, count, chance.chance(50) ? 2 : 4);
      // The page's size is right all the same.
      good.whole.resize(written + count);
      return good.page();
    case 1:
      rtl::put_copy(to, written + 1 + chance.below(3), count, 2);
      break;
    case 2:
      rtl::put_copy(to, 0x80000000u | chance.next(), count, 4);
      break;
    case 3:
      to.push_back(0xfc);
      rtl::put_number(to, 0xffffffffu, 4);
      break;
    default:
      to.push_back(0xfc);
      rtl::put_number(to, chance.next(), 4);
  }
  for (uint64_t more = chance.below(30); more > 0; more--) {
    to.push_back(static_cast<uint8_t>(chance.next()));
  }
  return good.page();
}

/// A page of any bytes.
stored_page noise(dice& chance) {
  bytes_t bytes;
  for (uint64_t more = chance.below(60); more > 0; more--) {
    bytes.push_back(static_cast<uint8_t>(chance.next()));
  }
  return page_of(bytes, bytes.empty() ? chance.below(2) : bytes[0]);
}

/// A page that is empty, with a size in more bytes than it needs, or in too many.
stored_page long_size(dice& chance) {
  bytes_t bytes(chance.below(7), 0x80);
  if (chance.chance(50)) bytes.push_back(0);
  return page_of(bytes, 0);
}

/// A page that is not what it is said to be.
stored_page malformed(dice& chance, const taste& how) {
  stored_page page = random_elements(chance, how, 1 + chance.below(400)).page();
  switch (chance.below(7)) {
    case 0:
      page.bytes.resize(chance.below(page.bytes.size() + 1));
      return page;
    case 1:
      page.bytes[chance.below(page.bytes.size())] ^= static_cast<uint8_t>(1 + chance.below(255));
      return page;
    case 2:
      page.bytes.push_back(static_cast<uint8_t>(chance.next()));
      return page;
    case 3:
      page.whole = static_cast<uint32_t>(chance.chance(50) ? page.whole + 1 - 2 * chance.below(2)
                                                           : chance.next());
      return page;
    case 4:
      return wrong_element(chance, how);
    case 5:
      return long_size(chance);
    default:
      return noise(chance);
  }
}

void check_malformed(tester& test) {
  for (uint64_t seed = 0; seed < 300; seed++) {
    dice chance(5000 + seed);
    job made;
    for (int i = 0; i < 6; i++) made.all.push_back(malformed(chance, any_taste(chance)));
    test.check(made, rtl::PACES[seed % 4], chance.chance(50) ? cut::WHOLE : cut::SHORT, seed);
  }
}

/// Copies from as far as the history goes, and from one byte more.
void check_distance(tester& test) {
  dice chance(8);
  for (const uint64_t distance : {65535u, 65536u, 65537u, 70000u, 131072u, 140000u}) {
    job made;
    for (const uint64_t count : {1u, 9u, 64u}) {
      page_writer page;
      page.literal(chance, 65530, 0);
      page.copy(17, 64, 2);
      page.literal(chance, 70000, 0);
      page.literal(chance, 5, 0);
      const uint64_t reach = page.whole.size();
      if (distance <= reach) {
        page.copy(distance, count, 4);
        page.copy(distance, 64, 4);
      } else {
        // It begins before the page: that is found first.
        rtl::put_copy(page.elements, distance, count, 4);
      }
      made.all.push_back(page.page());
    }
    test.check(made, rtl::pace::FREE, cut::WHOLE, distance);
  }
}

/// A chunk without pages takes no cycles, also behind one that has some.
void check_empty(tester& test) {
  dice chance(12);
  job made;
  for (int i = 0; i < 3; i++) {
    test.check(job(), rtl::PACES[i], cut::WHOLE, 1);
    if (test.cycles_modelled != 0) rtl::fail("the model tells of cycles without a page");
    page_writer page;
    page.literal(chance, 100, 0);
    made.all.push_back(page.page());
    test.check(made, rtl::PACES[i], cut::WHOLE, 1);
  }
}

void measure_pages(tester& test, const char* name, const std::vector<stored_page>& all) {
  job made;
  made.all = all;
  const uint64_t cycles = test.check(made, rtl::pace::FREE, cut::WHOLE, 9);
  rtl::print({name, "token of 8 bytes", made.tokens_in(), made.bytes_out(), cycles});
}

/// Runs whose cycles count.
void measure(tester& test) {
  dice chance(10);
  page_writer literals;
  for (int i = 0; i < 4; i++) literals.literal(chance, 65536, 0);
  measure_pages(test, "literals of 64 KiB", {literals.page()});
  measure_pages(test, "dictionary of prices", {packed(prices(chance, 40000, 10400000))});
  measure_pages(test, "dictionary of numbers of 32 bits",
                {packed(prices(chance, 40000, 1ull << 32))});
  measure_pages(test, "dictionary of keys", {packed(keys(chance, 40000))});
  measure_pages(test, "comments", {packed(comments(chance, 300000))});
  measure_pages(test, "one byte repeated", {packed(bytes_t(300000, 65))});
  page_writer worst;
  worst.literal(chance, 8, 0);
  for (int i = 0; i < 20000; i++) {
    worst.literal(chance, 1, 0);
    worst.copy(1 + chance.below(worst.whole.size() < 2000 ? worst.whole.size() : 2000), 4, 1);
  }
  measure_pages(test, "one byte, then a copy of four", {worst.page()});
  page_writer copies;
  copies.literal(chance, 8, 0);
  for (int i = 0; i < 20000; i++) copies.copy(1 + chance.below(8), 4, 1);
  measure_pages(test, "copies of four bytes", {copies.page()});
  std::vector<stored_page> small;
  for (int i = 0; i < 100; i++) {
    page_writer page;
    page.literal(chance, 8, 0);
    small.push_back(page.page());
  }
  measure_pages(test, "pages of eight bytes", small);
  job smallest;
  smallest.all.push_back(small.front());
  rtl::print({"smallest run", "run", 1, 8, test.check(smallest, rtl::pace::FREE, cut::WHOLE, 9)});
}

/// Compares the cycles of some sets of a shape, and prints those that differ most.
void compare_shape(tester& test, const rtl::shape& shape, uint64_t seed) {
  // A run that is shorter is mostly its beginning and its end.
  static constexpr uint64_t BYTES_MIN = 4096;
  rtl::compare_sets(seed, [&](uint64_t set_seed) {
    dice chance(set_seed);
    job made;
    made.all = shape.make(chance);
    const uint64_t bytes = made.bytes_out();
    if (bytes < BYTES_MIN) rtl::fail("%s: a set is too small", shape.name);
    const uint64_t cycles = test.check(made, rtl::pace::FREE, cut::WHOLE, seed);
    rtl::comparison compared = {shape.name,           "byte of output",      bytes, cycles,
                                test.cycles_modelled, rtl::model_kind::RULE, 0};
    compared.cycles = test.cycles_told;
    rtl::expect_near(compared);
    compared.cycles = cycles;
    return compared;
  });
}

void compare_cycles(tester& test) {
  uint64_t seed = 70000;
  for (const rtl::shape& shape : rtl::shapes()) compare_shape(test, shape, seed += 100);
  for (const taste& how : rtl::TASTES) {
    char name[32];
    std::snprintf(name, sizeof(name), "random elements, taste %zu",
                  static_cast<size_t>(&how - rtl::TASTES) + 1);
    const auto make = [&](dice& chance) {
      const uint64_t bytes = 4096 + chance.below(40000);
      return rtl::page_set{random_elements(chance, how, bytes).page()};
    };
    compare_shape(test, {name, make}, seed += 100);
  }
}

}  // namespace

int main(int argc, char** argv) {
  tester test(argc, argv);
  if (test.bench.is_drawing()) return 0;
  check_every_place(test);
  check_random(test);
  check_malformed(test);
  check_distance(test);
  check_empty(test);
  if (test.corrupt < 500 || test.too_far < 6) {
    rtl::fail("too few pages failed: %llu corrupt, %llu too far",
              static_cast<unsigned long long>(test.corrupt),
              static_cast<unsigned long long>(test.too_far));
  }
  measure(test);
  compare_cycles(test);
  rtl::print_vectors(test.runs, test.vectors);
  return 0;
}
