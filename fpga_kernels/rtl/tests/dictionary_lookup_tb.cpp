// SPDX-License-Identifier: Apache-2.0
// The dictionary look-up against a model, and the model against the HLS stage `decode`.
#include "Vdictionary_lookup_blackbox.h"
#include "bench.hpp"
#include "dictionary_lookup_cycles.hpp"
#include "dictionary_lookup_ports.hpp"
#include "rle_stage.hpp"

using namespace dictionary_lookup_ports;
using dut = Vdictionary_lookup_blackbox;

static constexpr uint32_t PLACES = 4096;

namespace {

/// What a run is given.
struct job {
  uint32_t entries;
  rtl::stream<load::BITS> load_in;
  rtl::stream<words::BITS> words_in;
};

using answers = std::deque<rtl::token<rows::BITS>>;

answers expected(job what) {
  rtl::token<25> entries;
  entries.word[0] = what.entries;
  rtl::stream<rows::BITS> out;
  dictionary_lookup_blackbox(entries, what.load_in, what.words_in, out);
  return out.tokens();
}

struct tester {
  rtl::bench<dut> bench;
  rtl::source<load::BITS, decltype(dut::load_dout)> load_in;
  rtl::source<words::BITS, decltype(dut::words_dout)> words_in;
  rtl::sink<rows::BITS, decltype(dut::rows_din)> rows_out;
  uint64_t runs = 0;
  uint64_t vectors = 0;

  tester(int argc, char** argv)
      : bench(argc, argv),
        load_in(bench, bench.top().load_dout, bench.top().load_empty_n, bench.top().load_read),
        words_in(bench, bench.top().words_dout, bench.top().words_empty_n, bench.top().words_read),
        rows_out(bench, bench.top().rows_din, bench.top().rows_full_n, bench.top().rows_write) {}

  void load_job(const job& what) {
    load_in.queue(what.load_in.tokens());
    words_in.queue(what.words_in.tokens());
    bench.top().entries = what.entries;
  }

  uint64_t check(const job& what, rtl::pace how, uint64_t seed) {
    load_job(what);
    const uint64_t tokens = what.words_in.size() + what.load_in.size();
    const uint64_t cycles = bench.run(how, seed, 4000 + 60 * tokens);
    vectors += rtl::compare("rows", rows_out.take(), expected(what));
    runs++;
    return cycles;
  }
};

void add_entries(job& to, rtl::dice& dice, uint32_t count) {
  for (uint32_t entry = 0; entry < count || entry == 0; entry++) {
    rtl::token<load::BITS> token;
    rtl::set(token, load::value(), dice.next());
    rtl::set(token, load::tests(), dice.next());
    rtl::set(token, load::is_entry(), count != 0);
    // The mark may come behind the last entry.
    const bool is_end = entry + 1 >= count;
    const bool is_late = is_end && count != 0 && dice.chance(30);
    rtl::set(token, load::last(), is_end && !is_late);
    to.load_in.write(token);
    if (!is_late) continue;
    token = rtl::token<load::BITS>();
    rtl::set(token, load::value(), dice.next());
    rtl::set(token, load::last(), 1);
    to.load_in.write(token);
  }
}

/// Words of `count` rows, or of any number if that is 0. Then the last may come as corrupt.
void add_words(job& to, rtl::dice& dice, uint32_t words, uint32_t count, uint32_t bad_percent) {
  for (uint32_t word = 0; word < words; word++) {
    rtl::token<words::BITS> token;
    const bool is_last = word + 1 == words;
    const uint64_t rows = count != 0 ? count : is_last ? dice.below(9) : 1 + dice.below(8);
    for (int row = 0; row < 8; row++) {
      uint64_t index = to.entries == 0 ? 0 : dice.below(to.entries);
      if (dice.chance(bad_percent)) {
        const uint64_t bad[] = {to.entries, to.entries + 1ull, 0xffffffffu, dice.next(),
                                1ull << dice.below(32)};
        index = bad[dice.below(5)] & 0xffffffffu;
      }
      // Behind its rows a word may hold anything.
      if (row >= static_cast<int>(rows)) index = dice.next() & 0xffffffffu;
      rtl::set(token, words::index().at(row, 32), index);
    }
    rtl::set(token, words::count(), rows);
    rtl::set(token, words::corrupt(), is_last && count == 0 && dice.chance(10));
    rtl::set(token, words::last(), is_last);
    to.words_in.write(token);
  }
}

void check_sizes(tester& test) {
  rtl::dice dice(21);
  for (const uint32_t entries : {0u, 1u, 2u, 4095u, 4096u, 4097u, 5000u, 16777216u}) {
    job made;
    made.entries = entries;
    // More than there is room for is passed by.
    add_entries(made, dice, entries < 5000 ? entries : 5000);
    add_words(made, dice, 600, 0, 3);
    test.check(made, rtl::PACES[entries % 4], entries);
    // The entries stay where they are when the next run brings none.
    job again;
    again.entries = entries;
    add_entries(again, dice, 0);
    add_words(again, dice, 50, 0, 0);
    test.check(again, rtl::pace::RANDOM, entries);
  }
}

void check_random(tester& test) {
  for (uint64_t seed = 0; seed < 150; seed++) {
    rtl::dice dice(2100 + seed);
    job made;
    made.entries = 1 + static_cast<uint32_t>(dice.below(dice.chance(50) ? 60 : 20000));
    add_entries(made, dice, dice.chance(20) ? 0 : 1 + static_cast<uint32_t>(dice.below(200)));
    add_words(made, dice, 1 + static_cast<uint32_t>(dice.below(200)), 0, dice.chance(50) ? 0 : 10);
    test.check(made, rtl::PACES[seed % 4], seed);
    if (seed % 10 == 9) {
      job abandoned;
      abandoned.entries = 1;
      add_entries(abandoned, dice, 0);
      add_words(abandoned, dice, 100, 0, 10);
      test.load_job(abandoned);
      test.bench.abandon(rtl::pace::RANDOM, seed, 5 + dice.below(60));
      test.rows_out.take();
    }
  }
}

/// The same words, the last of them marked as corrupt.
rtl::stream<words::BITS> with_corrupt_end(const rtl::stream<words::BITS>& from) {
  rtl::stream<words::BITS> marked;
  for (rtl::token<words::BITS> token : from.tokens()) {
    if (rtl::get(token, words::last()) != 0) rtl::set(token, words::corrupt(), 1);
    marked.write(token);
  }
  return marked;
}

/// Compares what the stage gives with what the model does; gives whether the page is corrupt.
bool compare_with_stage(const rtl::stage_answer& stage, const answers& model,
                        const std::vector<int64_t>& dictionary) {
  bool is_corrupt = false;
  std::vector<int64_t> values;
  for (const auto& token : model) {
    is_corrupt = is_corrupt || rtl::get(token, rows::corrupt()) != 0;
    for (int row = 0; row < static_cast<int>(rtl::get(token, rows::count())); row++) {
      const uint64_t value = rtl::get(token, rows::value().at(row, 64));
      const bool is_far = rtl::get(token, rows::far().at(row, 1)) != 0;
      values.push_back(is_far ? dictionary[value] : static_cast<int64_t>(value));
    }
  }
  if (stage.is_corrupt != is_corrupt) rtl::fail("stage: corrupt is %d", stage.is_corrupt);
  if (is_corrupt) return true;
  if (stage.values.size() != values.size()) {
    rtl::fail("stage: %zu values instead of %zu", stage.values.size(), values.size());
  }
  for (size_t i = 0; i < values.size(); i++) {
    if (stage.values[i] != values[i]) rtl::fail("stage: value %zu differs", i);
  }
  return false;
}

/// Loads a dictionary.
void add_dictionary(job& to, const std::vector<int64_t>& dictionary) {
  for (size_t i = 0; i < dictionary.size(); i++) {
    rtl::token<load::BITS> token;
    rtl::set(token, load::value(), static_cast<uint64_t>(dictionary[i]));
    rtl::set(token, load::is_entry(), 1);
    rtl::set(token, load::last(), i + 1 == dictionary.size());
    to.load_in.write(token);
  }
}

/// The stage and the model of the same indexes. String tests are not asked for.
void check_stage() {
  uint64_t corrupt = 0;
  for (uint64_t seed = 0; seed < 20; seed++) {
    rtl::dice dice(2200 + seed);
    std::vector<int64_t> dictionary(1 + dice.below(6000));
    job made;
    made.entries = static_cast<uint32_t>(dictionary.size());
    for (int64_t& entry : dictionary) entry = static_cast<int64_t>(dice.next());
    add_dictionary(made, dictionary);
    add_words(made, dice, 100, 8, seed % 4 == 0 ? 1 : 0);
    rtl::page page = {32, 800, {}};
    rtl::page_maker header(32);
    header.header(100, true, 1);
    page.bytes = header.page(0).bytes;
    for (const auto& token : made.words_in.tokens()) {
      for (int byte = 0; byte < 32; byte++) {
        page.bytes.push_back(static_cast<uint8_t>(rtl::get(token, words::index().at(byte, 8))));
      }
    }
    // A page that ends early comes with a mark in its last word.
    if (seed % 5 == 3) {
      page.bytes.pop_back();
      made.words_in = with_corrupt_end(made.words_in);
    }
    if (compare_with_stage(rtl::decode_by_stage(page, dictionary), expected(made), dictionary)) {
      corrupt++;
    }
  }
  if (corrupt < 4 || corrupt > 12) rtl::fail("too few pages of a kind for the stage");
}

void measure(tester& test) {
  rtl::dice dice(23);
  const struct {
    const char* name;
    uint32_t count;
  } WORDS[] = {{"words of eight", 8}, {"words of four", 4}, {"words of two", 2}};
  for (const auto& each : WORDS) {
    job made;
    made.entries = PLACES;
    add_entries(made, dice, 0);
    add_words(made, dice, 2000, each.count, 0);
    const uint64_t rows = 2000 * each.count;
    rtl::print({each.name, "row", rows, 4 * rows, test.check(made, rtl::pace::FREE, 1)});
  }
  job load;
  load.entries = PLACES;
  add_entries(load, dice, PLACES);
  add_words(load, dice, 1, 1, 0);
  rtl::print({"load", "entry", PLACES, 8 * PLACES, test.check(load, rtl::pace::FREE, 1)});
  job smallest;
  smallest.entries = 1;
  add_entries(smallest, dice, 0);
  add_words(smallest, dice, 1, 1, 0);
  rtl::print({"smallest run", "run", 1, 4, test.check(smallest, rtl::pace::FREE, 1)});
}

/// A page whose cycles are compared, and the entries of its dictionary.
struct shape {
  rtl::page_shape page;
  uint32_t entries;
};
constexpr shape SHAPES[] = {
    {{"groups of 7 bits, long runs", 7, 30, 33, 0, 0, rtl::STAGE}, 100},
    {{"groups of 12 bits, long runs", 12, 12, 30, 0, 0, rtl::STAGE}, 4000},
    {{"groups of 18 bits, not all entries on chip", 18, 50, 100, 0, 0, rtl::STAGE}, 9000},
    {{"groups of 10 bits, five to nine a run", 10, 5, 5, 0, 0, rtl::STAGE}, 1000},
    {{"an index repeated often", 11, 0, 0, 300, 2000, rtl::STAGE}, 2000},
    {{"long groups and long runs in turn", 8, 40, 40, 100, 200, rtl::STAGE}, 250},
    {{"groups of 6 bits, one or two a run", 6, 1, 2, 0, 0, rtl::RULE}, 60},
    {{"an index repeated a few times", 9, 0, 0, 1, 20, rtl::RULE}, 400},
    {{"groups of 14 bits and repeated indexes in turn", 14, 1, 4, 1, 30, rtl::RULE}, 6000},
};

/// Compares the cycles of a dictionary and a page, in the words of the unpacker, with the rule, and
/// where runs are long with the iterations of the HLS stage: first those of the dictionary.
rtl::comparison compare_run(tester& test, const shape& how, uint64_t seed) {
  rtl::dice dice(seed);
  const char* name = how.page.name;
  std::vector<int64_t> dictionary(how.entries);
  for (int64_t& entry : dictionary) entry = static_cast<int64_t>(dice.next());
  const rtl::page page = rtl::make_page(dice, how.page, how.entries);
  const std::vector<uint32_t> indexes = rtl::unpack_by_stage(page).indexes;
  job made;
  made.entries = how.entries;
  add_dictionary(made, dictionary);
  rtl::dictionary_lookup_cycles modelled(how.entries);
  size_t at = 0;
  for (const uint32_t count : rtl::word_counts(page)) {
    rtl::token<words::BITS> token;
    for (uint32_t row = 0; row < count; row++) {
      rtl::set(token, words::index().at(static_cast<int>(row), 32), indexes[at++]);
    }
    rtl::set(token, words::count(), count);
    rtl::set(token, words::last(), at == indexes.size());
    made.words_in.write(token);
    modelled.add_word(count);
  }
  const uint64_t cycles = test.check(made, rtl::pace::FREE, seed);
  const rtl::stage_answer stage = rtl::decode_by_stage(page, dictionary);
  if (compare_with_stage(stage, expected(made), dictionary)) rtl::fail("%s: corrupt", name);
  const uint64_t iterations = stage.dictionary_iterations + stage.iterations;
  return rtl::checked_by_rule({name, "row", page.values, cycles, 0, how.page.model, iterations},
                              modelled.total());
}

void compare_cycles(tester& test) {
  uint64_t seed = 20000;
  for (const shape& how : SHAPES) {
    rtl::compare_sets(seed += 100, [&](uint64_t set) { return compare_run(test, how, set); });
  }
}

/// A short run for a waveform: four entries, then words of five rows, of two and of one.
void draw(tester& test) {
  job made;
  made.entries = 4;
  for (uint32_t entry = 0; entry < 4; entry++) {
    rtl::token<load::BITS> token;
    rtl::set(token, load::value(), 0xa0 + entry);
    rtl::set(token, load::is_entry(), 1);
    rtl::set(token, load::last(), entry == 3);
    made.load_in.write(token);
  }
  for (const uint32_t count : {5u, 2u, 1u}) {
    rtl::token<words::BITS> token;
    for (uint32_t row = 0; row < count; row++) {
      rtl::set(token, words::index().at(static_cast<int>(row), 32), (count + row) % 4);
    }
    rtl::set(token, words::count(), count);
    rtl::set(token, words::last(), count == 1);
    made.words_in.write(token);
  }
  test.bench.draw();
  test.check(made, rtl::pace::FREE, 1);
}

}  // namespace

int main(int argc, char** argv) {
  tester test(argc, argv);
  if (test.bench.is_drawing()) {
    draw(test);
    return 0;
  }
  check_sizes(test);
  measure(test);
  check_random(test);
  check_stage();
  compare_cycles(test);
  rtl::print_vectors(test.runs, test.vectors);
  return 0;
}
