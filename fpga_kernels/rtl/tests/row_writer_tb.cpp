// SPDX-License-Identifier: Apache-2.0
// The row writer against its model, and whole runs against `write_result` of the HLS stage.
//
// Lines of numbers are compared in their order, and so are lines of bits; which of both leaves
// first is open. There is no malformed input: every number is a number.
#include "Vrow_writer_blackbox.h"
#include "bench.hpp"
#include "row_writer_cycles.hpp"
#include "row_writer_ports.hpp"
#include "scan/write.hpp"

using namespace row_writer_ports;
using dut = Vrow_writer_blackbox;
using rtl::dice;

namespace {

constexpr int COLUMNS = 32;
constexpr int ROWS_OF_WORD = 8;
constexpr int WORD_BITS = 64;
constexpr uint64_t LINE_BYTES = 64;

typedef rtl::token<words::BITS> word_token;
typedef rtl::token<lines::BITS> line_token;

struct job {
  int width[COLUMNS];
  rtl::stream<words::BITS> tokens;
};

/// Lines of one kind, and the last token with each.
std::deque<line_token> of_kind(const std::deque<line_token>& all, bool has_bits) {
  std::deque<line_token> some;
  for (const line_token& line : all) {
    const bool is_last = rtl::get(line, lines::last()) != 0;
    if (is_last || (rtl::get(line, lines::has_bits()) != 0) == has_bits) some.push_back(line);
  }
  return some;
}

struct tester {
  rtl::bench<dut> bench;
  rtl::source<words::BITS, decltype(dut::words_dout)> words_in;
  rtl::sink<lines::BITS, decltype(dut::lines_din)> lines_out;
  uint64_t runs = 0;
  uint64_t vectors = 0;
  /// What the last run gave.
  std::deque<line_token> lines_given;

  tester(int argc, char** argv)
      : bench(argc, argv),
        words_in(bench, bench.top().words_dout, bench.top().words_empty_n, bench.top().words_read),
        lines_out(bench, bench.top().lines_din, bench.top().lines_full_n, bench.top().lines_write) {
  }

  rtl::token<64> load(const job& what) {
    rtl::token<64> widths;
    for (int column = 0; column < COLUMNS; column++) {
      rtl::set(widths, {2 * column, 2}, static_cast<uint64_t>(what.width[column]));
    }
    rtl::drive(bench.top().widths, widths);
    words_in.queue(what.tokens.tokens());
    return widths;
  }

  uint64_t check(const job& what, rtl::pace how, uint64_t seed) {
    const rtl::token<64> widths = load(what);
    rtl::stream<words::BITS> tokens = what.tokens;
    rtl::stream<lines::BITS> expected;
    row_writer_blackbox(widths, tokens, expected);
    const uint64_t cycles = bench.run(how, seed, 10000 + 120 * what.tokens.size());
    lines_given = lines_out.take();
    for (const bool has_bits : {false, true}) {
      vectors += rtl::compare(has_bits ? "bits" : "numbers", of_kind(lines_given, has_bits),
                              of_kind(expected.tokens(), has_bits));
    }
    runs++;
    return cycles;
  }
};

/// A column of eight rows.
struct column_word {
  int column;
  uint8_t keep;
  uint8_t present;
  bool is_wide;
  uint64_t low[ROWS_OF_WORD];
  uint64_t high[ROWS_OF_WORD];
};

void add_word(job& to, const column_word& word) {
  for (const bool is_high : {false, true}) {
    if (is_high && !word.is_wide) break;
    word_token token;
    for (int row = 0; row < ROWS_OF_WORD; row++) {
      rtl::set(token, words::number().at(row, WORD_BITS), is_high ? word.high[row] : word.low[row]);
    }
    rtl::set(token, words::keep(), word.keep);
    rtl::set(token, words::present(), word.present);
    rtl::set(token, words::column(), static_cast<uint64_t>(word.column));
    rtl::set(token, words::is_wide(), word.is_wide ? 1 : 0);
    to.tokens.write(token);
  }
}

void add_end(job& to, dice& chance) {
  // It has no rows, whatever it says.
  word_token token;
  rtl::set(token, words::keep(), chance.below(256));
  rtl::set(token, words::column(), chance.below(COLUMNS));
  rtl::set(token, words::is_wide(), chance.below(2));
  rtl::set(token, words::last(), 1);
  to.tokens.write(token);
}

uint8_t any_mask(dice& chance, uint32_t percent) {
  uint8_t mask = 0;
  for (int row = 0; row < ROWS_OF_WORD; row++) {
    mask = static_cast<uint8_t>(mask | static_cast<int>(chance.chance(percent)) << row);
  }
  return mask;
}

column_word any_word(dice& chance, int column, uint8_t keep, uint32_t wide_percent) {
  column_word word;
  word.column = column;
  word.keep = keep;
  word.present = chance.chance(60) ? 0xff : any_mask(chance, 50);
  word.is_wide = chance.chance(wide_percent);
  for (int row = 0; row < ROWS_OF_WORD; row++) {
    word.low[row] = chance.next();
    word.high[row] = chance.next();
  }
  return word;
}

/// Words of some columns, in any order: one behind the other, in turn, or as chance has it.
job random_job(dice& chance, uint64_t words) {
  job made;
  for (int& width : made.width) width = static_cast<int>(chance.below(4));
  const uint64_t columns = 1 + chance.below(chance.chance(50) ? 3 : COLUMNS);
  const uint32_t keep_percent = static_cast<uint32_t>(chance.below(5)) * 25;
  const uint32_t wide_percent = chance.chance(30) ? 0 : static_cast<uint32_t>(chance.below(100));
  const uint64_t order = chance.below(3);
  for (uint64_t i = 0; i < words; i++) {
    const uint64_t column = order == 0   ? i % columns
                            : order == 1 ? i * columns / words
                                         : chance.below(columns);
    // The highest columns as well.
    const int place = COLUMNS - 1 - static_cast<int>(column);
    add_word(made, any_word(chance, place, any_mask(chance, keep_percent), wide_percent));
  }
  add_end(made, chance);
  return made;
}

void check_random(tester& test) {
  for (uint64_t seed = 0; seed < 150; seed++) {
    dice chance(40 + seed);
    const job made = random_job(chance, chance.below(seed % 10 == 0 ? 1500 : 200));
    test.check(made, rtl::PACES[seed % 4], seed);
    if (seed % 25 == 24) {
      test.load(made);
      test.bench.abandon(rtl::pace::RANDOM, seed, 40 + chance.below(200));
      test.lines_out.take();
    }
  }
}

/// Each mask of kept rows, in each width, at many places of a line.
void check_masks(tester& test) {
  dice chance(41);
  job made;
  for (int column = 0; column < COLUMNS; column++) made.width[column] = column % 4;
  for (int round = 0; round < 3; round++) {
    for (uint64_t mask = 0; mask < 256; mask++) {
      for (int column = 0; column < 4; column++) {
        add_word(made, any_word(chance, column, static_cast<uint8_t>(mask), 50));
      }
    }
  }
  add_end(made, chance);
  test.check(made, rtl::pace::FREE, 1);
}

/// Rows as the HLS stage has them: a word of each column.
struct table {
  int column_count;
  std::vector<std::vector<column_word>> words;
};

table random_table(dice& chance, job& to, int column_count, uint64_t words) {
  table made;
  made.column_count = column_count;
  for (uint64_t i = 0; i < words; i++) {
    const uint8_t keep = any_mask(chance, chance.chance(50) ? 100 : 60);
    std::vector<column_word> row;
    for (int column = 0; column < column_count; column++) {
      // Rows have numbers of 64 bits in the stage.
      row.push_back(any_word(chance, column, keep, 0));
      add_word(to, row.back());
    }
    made.words.push_back(row);
  }
  add_end(to, chance);
  return made;
}

/// The words of the result that the HLS stage writes.
std::vector<uint64_t> run_stage(const job& what, const table& from) {
  nearscan::write_plan plan = nearscan::write_plan();
  plan.column_count = static_cast<uint32_t>(from.column_count);
  for (int column = 0; column < from.column_count; column++) {
    plan.width[column] = static_cast<uint8_t>(what.width[column]);
  }
  plan.bytes_max = 1 << 24;
  plan.rows_max = ~0ull;
  nearscan::row_stream rows;
  nearscan::number_stream numbers[nearscan::SIDES];
  nearscan::report_stream reports;
  nearscan::piece_stream requests;
  nearscan::part_stream parts;
  nearscan::record_stream record;
  nearscan::result_lines out;
  nearscan::string_stream strings;
  nearscan::memory_report_stream read, written, slots, stored;
  std::vector<uint64_t> memory;
  const auto send = [&] {
    for (const std::vector<column_word>& row : from.words) {
      nearscan::row_token token = nearscan::row_token();
      token.keep = row[0].keep;
      for (int column = 0; column < from.column_count; column++) {
        token.valid[column] = row[static_cast<size_t>(column)].present;
      }
      rows.write(token);
      for (const column_word& word : row) {
        nearscan::number_token number;
        for (int at = 0; at < ROWS_OF_WORD; at++) {
          number.row[at] = static_cast<int64_t>(word.low[at]);
        }
        numbers[static_cast<uint32_t>(word.column) % nearscan::SIDES].write(number);
      }
    }
    nearscan::row_token end = nearscan::row_token();
    end.last = true;
    rows.write(end);
    reports.write(nearscan::empty_report());
    read.write(nearscan::memory_report());
    written.write(nearscan::memory_report());
    slots.write(nearscan::memory_report());
  };
  const auto take = [&] {
    while (true) {
      const nearscan::result_line token = out.read();
      if (token.last) break;
      const uint64_t first = token.at * nearscan::LINE_WORDS;
      for (uint32_t i = 0; i < nearscan::LINE_WORDS; i++) {
        if (i >= token.words) continue;
        if (memory.size() <= first + i) memory.resize(first + i + 1);
        memory[first + i] = nearscan::line_word(token.line, static_cast<int>(i));
      }
    }
  };
  NS_REGION(flow);
  NS_STAGE(flow, send());
  NS_STAGE(flow, nearscan::write_result(plan, rows, numbers, reports, requests, strings, read,
                                        written, slots, stored, parts, record));
  NS_STAGE(flow, nearscan::pack_parts(parts, record, out));
  NS_STAGE(flow, take());
  NS_RUN(flow);
  return memory;
}

/// The bytes of a column, out of the lines of a run.
std::vector<uint8_t> bytes_of(const std::deque<line_token>& all, int column, bool has_bits) {
  std::vector<uint8_t> bytes;
  for (const line_token& line : all) {
    if (rtl::get(line, lines::last()) != 0) continue;
    if (rtl::get(line, lines::column()) != static_cast<uint64_t>(column)) continue;
    if ((rtl::get(line, lines::has_bits()) != 0) != has_bits) continue;
    if (rtl::get(line, lines::number()) * LINE_BYTES != bytes.size()) {
      rtl::fail("a line is missing");
    }
    for (uint64_t i = 0; i < rtl::get(line, lines::count()); i++) {
      bytes.push_back(
          static_cast<uint8_t>(rtl::get(line, lines::data().at(static_cast<int>(i), 8))));
    }
  }
  return bytes;
}

/// Compares a part of a block with the bytes of a column that belong there; both end with zeros.
void compare_part(const std::vector<uint8_t>& bytes, uint64_t first, uint64_t count,
                  const std::vector<uint64_t>& memory, uint64_t at, const char* what) {
  for (uint64_t i = 0; i < (count + 7) / 8 * 8; i++) {
    const uint8_t got = i < count && first + i < bytes.size() ? bytes[first + i] : 0;
    if (got != static_cast<uint8_t>(memory[at + i / 8] >> (8 * (i % 8)))) {
      rtl::fail("byte %llu of %s differs from the stage", static_cast<unsigned long long>(i), what);
    }
  }
}

/// The same, of which there have to be so many.
std::vector<uint8_t> whole_bytes_of(const std::deque<line_token>& all, int column, bool has_bits,
                                    uint64_t count) {
  const std::vector<uint8_t> bytes = bytes_of(all, column, has_bits);
  if (bytes.size() != count) {
    rtl::fail("column %d has %zu bytes of %s instead of %llu", column, bytes.size(),
              has_bits ? "bits" : "numbers", static_cast<unsigned long long>(count));
  }
  return bytes;
}

/// Takes the blocks of a result apart.
void compare_blocks(const job& what, const table& from, const std::deque<line_token>& given,
                    const std::vector<uint64_t>& memory) {
  uint64_t kept = 0;
  for (const std::vector<column_word>& row : from.words) kept += nearscan::count_bits(row[0].keep);
  uint64_t at = nearscan::RESULT_RECORD_BYTES / 8;
  if (memory.size() < at) rtl::fail("the stage gave no result");
  const nearscan::result_record record = nearscan::load_result_record(memory.data(), 0);
  if (record.status != nearscan::STATUS_OK) rtl::fail("the stage fails: %u", record.status);
  if (record.rows_out != kept) rtl::fail("the stage did not give all rows");
  if (memory.size() != at + record.payload_words) rtl::fail("the stage gave more, or less");
  uint64_t rows_seen = 0;
  for (uint64_t block = 0; at < memory.size(); block++) {
    const uint64_t rows = memory[at] & 0xffffffffu;
    rows_seen += rows;
    at += nearscan::BLOCK_HEADER_BYTES / 8;
    for (int column = 0; column < from.column_count; column++) {
      const uint64_t bits_first = block * nearscan::BLOCK_ROWS_MAX / 8;
      const uint64_t bits_bytes = (rows + 63) / 64 * 8;
      compare_part(whole_bytes_of(given, column, true, (kept + 7) / 8), bits_first, bits_bytes,
                   memory, at, "the bits");
      at += bits_bytes / 8;
      const uint64_t bytes = nearscan::value_bytes(static_cast<uint8_t>(what.width[column]));
      compare_part(whole_bytes_of(given, column, false, kept * bytes),
                   block * nearscan::BLOCK_ROWS_MAX * bytes, rows * bytes, memory, at,
                   "the numbers");
      at += (rows * bytes + 7) / 8;
    }
  }
  if (rows_seen != kept || at != memory.size()) rtl::fail("blocks do not have all rows");
}

void check_stage(tester& test) {
  for (uint64_t seed = 0; seed < 16; seed++) {
    dice chance(700 + seed);
    job made;
    for (int& width : made.width) width = static_cast<int>(chance.below(4));
    const int columns = 1 + static_cast<int>(chance.below(nearscan::OUTPUT_COLUMNS_MAX));
    const table from = random_table(chance, made, columns, 1 + chance.below(500));
    test.check(made, rtl::PACES[seed % 2], seed);
    compare_blocks(made, from, test.lines_given, run_stage(made, from));
  }
}

void measure_words(tester& test, const char* name, int width, uint32_t keep_percent,
                   uint32_t wide_percent) {
  dice chance(60);
  job made;
  for (int& each : made.width) each = width;
  uint64_t kept = 0;
  for (int i = 0; i < 4096; i++) {
    const column_word word = any_word(chance, i % 5, any_mask(chance, keep_percent), wide_percent);
    kept += nearscan::count_bits(word.keep);
    add_word(made, word);
  }
  const uint64_t tokens = made.tokens.size();
  add_end(made, chance);
  const uint64_t bytes = kept * nearscan::value_bytes(static_cast<uint8_t>(width));
  rtl::print({name, "token of 8 rows", tokens, bytes, test.check(made, rtl::pace::FREE, 61)});
}

/// Runs whose cycles count.
void measure(tester& test) {
  measure_words(test, "64 bits, all rows", nearscan::WIDTH_W64, 100, 0);
  measure_words(test, "64 bits, half of the rows", nearscan::WIDTH_W64, 50, 0);
  measure_words(test, "64 bits, a tenth of the rows", nearscan::WIDTH_W64, 10, 0);
  measure_words(test, "32 bits, all rows", nearscan::WIDTH_W32, 100, 0);
  measure_words(test, "one byte, all rows", nearscan::WIDTH_BOOL, 100, 0);
  measure_words(test, "128 bits, all rows, high halves", nearscan::WIDTH_W128, 100, 100);
  measure_words(test, "128 bits, all rows, no high halves", nearscan::WIDTH_W128, 100, 0);
  dice chance(62);
  job smallest;
  for (int& width : smallest.width) width = nearscan::WIDTH_W64;
  add_end(smallest, chance);
  test.check(smallest, rtl::pace::FREE, 63);
  rtl::print({"smallest run", "run", 1, 64, test.check(smallest, rtl::pace::FREE, 63)});
}

/// A workload whose cycles are compared.
struct shape {
  const char* name;
  int columns;
  /// Widths of the columns: each is one of so many from the first on.
  int width_first;
  int width_count;
  uint64_t words_min;
  uint64_t words_more;
  uint32_t keep_percent;
  /// Words that come with high halves.
  uint32_t wide_percent;
};
constexpr shape SHAPES[] = {
    {"three columns of 64 bits, nearly all rows", 3, nearscan::WIDTH_W64, 1, 1500, 1500, 97, 0},
    {"a column of 64 bits, all rows", 1, nearscan::WIDTH_W64, 1, 1500, 1500, 100, 0},
    {"seven columns of 32 and of 64 bits, a third of the rows", 7, nearscan::WIDTH_W32, 2, 1500,
     1500, 33, 0},
    {"twenty columns of any width, few rows", 20, nearscan::WIDTH_BOOL, 4, 2500, 1500, 4, 30},
    {"two columns of 128 bits, most rows", 2, nearscan::WIDTH_W128, 1, 1500, 1500, 75, 20},
    {"columns of 64 and of 128 bits in turn, all rows", 4, nearscan::WIDTH_W64, 2, 1500, 1500, 100,
     60},
    {"four columns of a byte, most rows", 4, nearscan::WIDTH_BOOL, 1, 1500, 1500, 85, 0},
    {"a hundred words of any width", 6, nearscan::WIDTH_BOOL, 4, 80, 60, 60, 10},
};

/// Compares the cycles of a run with the rule. The HLS stage is given the same, without high
/// halves: it has none, and they do not change what it counts.
rtl::comparison compare_run(tester& test, const shape& how, uint64_t seed) {
  dice chance(seed);
  job made;
  for (int& width : made.width) {
    const uint64_t offset = chance.below(static_cast<uint64_t>(how.width_count));
    width = how.width_first + static_cast<int>(offset);
  }
  rtl::row_writer_cycles modelled;
  table from = {how.columns, {}};
  const uint64_t columns = static_cast<uint64_t>(how.columns);
  const uint64_t words = (how.words_min + chance.below(how.words_more)) / columns;
  for (uint64_t i = 0; i < words; i++) {
    const uint8_t keep = any_mask(chance, how.keep_percent);
    from.words.emplace_back();
    for (int column = 0; column < how.columns; column++) {
      const column_word word = any_word(chance, column, keep, how.wide_percent);
      add_word(made, word);
      from.words.back().push_back(word);
      const uint64_t bytes = nearscan::value_bytes(static_cast<uint8_t>(made.width[column]));
      modelled.add_word(column, bytes, nearscan::count_bits(keep), word.is_wide);
    }
  }
  const uint64_t tokens = made.tokens.size();
  add_end(made, chance);
  const uint64_t cycles = test.check(made, rtl::pace::FREE, seed);
  const std::vector<uint64_t> result = run_stage(made, from);
  const nearscan::result_record record = nearscan::load_result_record(result.data(), 0);
  return rtl::checked_by_rule({how.name, "token of 8 rows", tokens, cycles, 0,
                               rtl::model_kind::RULE, record.write_iterations},
                              modelled.total());
}

void compare_cycles(tester& test) {
  uint64_t seed = 50000;
  for (const shape& how : SHAPES) {
    rtl::compare_sets(seed += 100, [&](uint64_t set) { return compare_run(test, how, set); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  tester test(argc, argv);
  if (test.bench.is_drawing()) return 0;
  check_masks(test);
  check_random(test);
  check_stage(test);
  measure(test);
  compare_cycles(test);
  rtl::print_vectors(test.runs, test.vectors);
  return 0;
}
