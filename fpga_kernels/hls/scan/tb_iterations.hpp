// SPDX-License-Identifier: Apache-2.0
// Tests the counts of the stages: iterations worked out by hand, the same in every depth mode.
#pragma once

#include "tb_run.hpp"

namespace nearscan_tb {

/// 128 rows: a batch of 16 words.
constexpr uint64_t ITERATION_ROWS = 128;

/// A required column of `distinct` numbers, uncompressed, one page.
inline column_model make_iteration_column(uint64_t rows, uint64_t distinct, layout values,
                                          uint8_t physical_type = PHYSICAL_INT64) {
  column_model column;
  column.physical_type = physical_type;
  column.style.codec = CODEC_UNCOMPRESSED;
  column.style.values = values;
  for (uint64_t row = 0; row < rows; row++) {
    column.cells.push_back(number_cell(static_cast<int64_t>(row % distinct)));
  }
  return column;
}

/// All rows of one plain column, counted.
inline scan_model make_iteration_model(uint64_t rows = ITERATION_ROWS) {
  scan_model model;
  model.rows = rows;
  model.columns = {make_iteration_column(rows, rows, layout::plain)};
  model.slots = {make_slot(FUNCTION_COUNT_ROWS, NONE, WIDTH_W64)};
  return model;
}

/// Runs a model in every depth mode and compares a counter of its result.
template <typename Counter>
inline void check_iterations(tally& all, const std::string& name, const scan_model& model,
                             Counter counter, uint64_t expected) {
  std::vector<written_chunk> chunks;
  for (const column_model& column : model.columns) chunks.push_back(write_chunk(column));
  const test_memories fresh = bind_model(model, chunks);
  for (depth_mode mode : ALL_DEPTHS) {
    test_memories memories = fresh;
    call_kernel(memories, mode);
    all.runs++;
    const parsed_result result = check_frame(memories, widths_of(model), model.compact);
    const uint64_t counted = counter(result.header);
    if (result.error.empty() && result.header.status == STATUS_OK && counted == expected) continue;
    all.fail("iterations of " + name + " (" + name_of(mode) + ")",
             result.error + " status " + std::to_string(result.header.status) + ", " +
                 std::to_string(counted) + " instead of " + std::to_string(expected));
  }
}

inline uint64_t filter_iterations(const result_record& header) { return header.filter_iterations; }
inline uint64_t key_words(const result_record& header) { return header.key_words; }
inline uint64_t project_iterations(const result_record& header) {
  return header.project_iterations;
}
inline uint64_t aggregate_iterations(const result_record& header) {
  return header.aggregate_iterations;
}
inline uint64_t write_iterations(const result_record& header) { return header.write_iterations; }
inline uint64_t payload_bytes(const result_record& header) { return header.payload_bytes; }
inline uint64_t decode_iterations(const result_record& header) {
  return header.decode_iterations_lane_max;
}
inline uint64_t dictionary_reads(const result_record& header) { return header.dictionary_reads; }
inline uint64_t dictionary_iterations(const result_record& header) {
  return header.dictionary_iterations_lane_max;
}
inline uint64_t loader_iterations(const result_record& header) {
  return header.loader_iterations_max;
}

/// A step over 16 words takes 8 iterations; over one word as many as it is deep.
inline void iterations_of_programs(tally& all) {
  const step below = make_step(OP_LESS, column_at(0), literal_at(0));
  scan_model model = make_iteration_model();
  model.literals = {1000, 7, INT64_MAX};
  check_iterations(all, "no predicate", model, filter_iterations, 16);
  model.predicate = {below, below, make_step(OP_AND, step_at(0), step_at(1))};
  check_iterations(all, "three steps", model, filter_iterations, 24);
  model.predicate = {make_step(OP_IN, column_at(0), literal_at(0), literal_at(2))};
  check_iterations(all, "three literals", model, filter_iterations, 16 * 3);
  const step last = make_step(OP_LESS, step_at(0), literal_at(0));
  model.predicate = {make_arithmetic(OP_MULTIPLY, WIDTH_W128, column_at(0), column_at(0)), last};
  check_iterations(all, "a product", model, filter_iterations, 12 + 8);
  model.predicate = {make_arithmetic(OP_DIVIDE, WIDTH_W64, column_at(0), literal_at(1)), last};
  check_iterations(all, "a division", model, filter_iterations, 16 * 64 + 8);
  model.predicate = {make_part(OP_YEAR, WIDTH_W32, column_at(0)), last};
  check_iterations(all, "a year", model, filter_iterations, 16 * 8 + 8);
  scan_model small = make_iteration_model(1);
  small.literals = model.literals;
  small.predicate = {below, below};
  check_iterations(all, "one word", small, filter_iterations, 6 + 6);
}

/// Two output columns of a word are sent per iteration.
inline void iterations_of_output(tally& all) {
  scan_model model = make_iteration_model();
  model.states = false;
  model.slots.clear();
  model.row_columns = {
      {column_at(0), WIDTH_W64}, {column_at(0), WIDTH_W64}, {column_at(0), WIDTH_W64}};
  check_iterations(all, "three columns", model, project_iterations, 16 * 2);
  check_iterations(all, "three columns passed on", model, aggregate_iterations, 16 * 2);
  // Two columns of a word, the bytes of each column, the block's header, and of each column its
  // validity and four numbers at once.
  check_iterations(all, "three columns written", model, write_iterations,
                   16 * 2 + 3 + 1 + 3 * (1 + 32));
  // Two numbers of 128 bits at once.
  model.row_columns = {{column_at(0), WIDTH_W128}, {column_at(0), WIDTH_W64}};
  check_iterations(all, "a column of 16 bytes written", model, write_iterations,
                   16 + 2 + 1 + (1 + 64) + (1 + 32));
  // Eight of at most 32 bits.
  model.literals = {7};
  model.projection = {make_step(OP_LESS, column_at(0), literal_at(0))};
  model.row_columns = {{column_at(0), WIDTH_W32}, {step_at(0), WIDTH_BOOL}};
  check_iterations(all, "narrow columns written", model, write_iterations,
                   16 + 2 + 1 + 2 * (1 + 16));
  // Of columns that only count one goes beside those that are sent, and others where there is room.
  scan_model counts = make_iteration_model();
  counts.slots.assign(5, make_slot(FUNCTION_COUNT, column_at(0), WIDTH_W64));
  check_iterations(all, "five counts", counts, project_iterations, 16 * 2);
  counts.slots.assign(3, make_slot(FUNCTION_COUNT, column_at(0), WIDTH_W64));
  counts.slots.resize(7, make_slot(FUNCTION_SUM, column_at(0)));
  check_iterations(all, "three counts and four sums", counts, project_iterations, 16 * 3);
  counts.slots.assign(2, make_slot(FUNCTION_SUM, column_at(0)));
  check_iterations(all, "two sums", counts, project_iterations, 16);
  for (uint32_t slot = 0; slot < 4; slot++) {
    counts.slots.insert(counts.slots.begin(), make_slot(FUNCTION_SUM, column_at(0)));
    counts.slots.insert(counts.slots.begin(), make_slot(FUNCTION_COUNT, column_at(0), WIDTH_W64));
  }
  // Six sums and four counts.
  check_iterations(all, "four averages and two sums", counts, project_iterations, 16 * 4);
  model.projection.clear();
  model.row_columns = {{column_at(0), WIDTH_W128}, {column_at(0), WIDTH_W64}};
  model.top.count = 3;
  model.top.operand = column_at(0);
  // The first three rows are the least: no other comes before one of them.
  check_iterations(all, "a top", model, project_iterations, 128 + 16);
  // The other way round each row comes before all others: before none, one and then two.
  model.top.descending = true;
  check_iterations(all, "a top in the other order", model, project_iterations,
                   128 + 0 + 1 + 126 * 2 + 16);
}

/// However few rows of a word are kept, it is put once; rows that a block has no room for are put
/// once more.
inline void iterations_of_blocks(tally& all) {
  scan_model model = make_iteration_model();
  model.states = false;
  model.slots.clear();
  model.row_columns = {{column_at(0), WIDTH_W32}, {column_at(0), WIDTH_W32}};
  model.literals = {1};
  model.predicate = {make_step(OP_LESS, column_at(0), literal_at(0))};
  for (uint64_t row = 0; row < ITERATION_ROWS; row++) {
    model.columns[0].cells[row].number = static_cast<int64_t>(row % 8);
  }
  check_iterations(all, "a row of each word written", model, write_iterations,
                   16 + 2 + 1 + 2 * (1 + 2));
  // Seven rows of the first word, so that seven of word 128 go into the second block.
  model = make_iteration_model(2000);
  model.states = false;
  model.slots.clear();
  model.row_columns = {{column_at(0), WIDTH_W64}};
  model.literals = {0};
  model.predicate = {make_step(OP_GREATER, column_at(0), literal_at(0))};
  check_iterations(all, "a word in two blocks", model, write_iterations,
                   (250 + 1) + 2 * (1 + 1) + 2 * 4 + (1024 / 4 + 244));
  // What the second block has of that word is not packed in the first one.
  model.compact = true;
  for (uint64_t row = 0; row < 2000; row++) {
    model.columns[0].cells[row].number =
        row == 1030 ? static_cast<int64_t>(1) << 40 : static_cast<int64_t>(row % 128);
  }
  model.columns[0].cells[1].number = 0;
  model.literals = {-1};
  check_iterations(all, "two compact blocks", model, write_iterations,
                   250 + 2 * (1 + 1 + 1) + 1024 / 8 + 244);
  model.columns[0].cells[0].number = -1;
  check_iterations(all, "a word in two compact blocks", model, write_iterations,
                   (250 + 1) + 2 * (1 + 1 + 1) + 1024 / 8 + 244);
  check_iterations(all, "bytes of two compact blocks", model, payload_bytes,
                   2 * (16 + 16) + 1024 * 7 / 8 + (975 * 41 + 63) / 64 * 8);
  model.compact = false;
  model.rows = 1024;
  model.columns[0].cells.resize(1024);
  model.predicate.clear();
  check_iterations(all, "a whole block", model, write_iterations, 128 + 1 + 1 + 4 + 1024 / 4);
  // Of a string its end, and an iteration to be walked over; of a piece one to be asked for, and
  // one for each half of a line.
  const std::string line(64, 'x');
  for (uint64_t row = 0; row < 1024; row++) {
    model.columns[0].cells[row].text = row == 0 ? line + line.substr(0, 33) : row < 4 ? "abc" : "";
  }
  model.columns[0].physical_type = PHYSICAL_BYTE_ARRAY;
  model.row_columns = {{column_at(0), WIDTH_BYTES}};
  check_iterations(all, "strings written", model, write_iterations,
                   128 + 1 + 1 + 4 + 128 + 1024 + (3 + 2) + (2 + 2 + 3) + 1);
}

/// Two kept rows per iteration. Beside them: a group to clear and to show (1, and 1 a column), and
/// for a word whose groups are not at hand two for each of its rows, and 3.
inline void iterations_of_groups(tally& all) {
  scan_model model = make_iteration_model();
  model.slots = {make_slot(FUNCTION_SUM, column_at(0))};
  model.literals = {2};
  // The first word finds its group missing, and brings it.
  check_iterations(all, "one group", model, aggregate_iterations, 16 * 4 + 1 + (1 + 16 + 3) + 2);
  check_iterations(all, "one group shown", model, write_iterations, 1 + 1 + 1 + (1 + 1));
  // Of each word the first two rows: of 64 rows 8, a pair each.
  for (cell& value : model.columns[0].cells) value.number %= 8;
  model.predicate = {make_step(OP_LESS, column_at(0), literal_at(0))};
  check_iterations(all, "a pair a word", model, aggregate_iterations, 16 + 1 + (1 + 16 + 3) + 2);
  model.predicate.clear();
  // Eight groups, which stay at hand: a range of 8 numbers has 9 with null.
  model.keys = {key_model(column_at(0), 0, 8)};
  check_iterations(all, "eight groups", model, aggregate_iterations,
                   16 * 4 + 9 + (1 + 16 + 3) + (9 + 8 * 2));
  // Sixteen of them take turns: each word brings all of its eight.
  for (uint64_t row = 0; row < ITERATION_ROWS; row++) {
    model.columns[0].cells[row].number = static_cast<int64_t>(row % 16);
  }
  model.keys = {key_model(column_at(0), 0, 16)};
  check_iterations(all, "sixteen groups", model, aggregate_iterations,
                   16 * (4 + 1 + 16 + 3) + 17 + (17 + 16 * 2));
}

/// Two rows of a word per iteration, unless 64 bits hold fewer.
inline void iterations_of_pages(tally& all) {
  scan_model model = make_iteration_model();
  check_iterations(all, "8-byte numbers", model, decode_iterations, 128);
  model.columns = {make_iteration_column(ITERATION_ROWS, 100, layout::plain, PHYSICAL_INT32)};
  check_iterations(all, "4-byte numbers", model, decode_iterations, 64);
  check_iterations(all, "no dictionary", model, dictionary_iterations, 0);
  // The page's header has two numbers of two bytes and two of one; its block a least difference of
  // -99 in two bytes, and four widths.
  model.columns[0].style.other = direct::differences;
  check_iterations(all, "differences", model, decode_iterations, 64 + 6 + 2 + 4);
  // All entries are on chip: an entry per iteration. Two 4-byte entries are a token.
  model.columns = {make_iteration_column(1000, 1000, layout::dictionary, PHYSICAL_INT32)};
  model.rows = 1000;
  check_iterations(all, "a dictionary", model, loader_iterations, 1000);
  model.columns = {make_iteration_column(5000, 5000, layout::dictionary, PHYSICAL_INT32)};
  model.rows = 5000;
  // Of a count nobody looks at the entries: none is in the store.
  check_iterations(all, "a large dictionary that is not looked up", model, loader_iterations, 5000);
  check_iterations(all, "no look-ups for a count", model, dictionary_reads, 0);
  model.slots = {make_slot(FUNCTION_SUM, column_at(0))};
  check_iterations(all, "a large dictionary in the store", model, loader_iterations, 5000);
  check_iterations(all, "look-ups in the store", model, dictionary_reads, 0);
  // From the first entry that needs more than 32 bits on all go to device memory. The page, which
  // does not begin at a word, has a word for each entry.
  model.columns = {make_iteration_column(5000, 5000, layout::dictionary)};
  model.columns[0].cells[4500].number = static_cast<int64_t>(1) << 31;
  const uint64_t header_bytes = write_chunk(model.columns[0]).dictionary_bytes - 8 * 5000;
  check_iterations(all, "a large dictionary beside the store", model, loader_iterations,
                   header_bytes + 5000 + 1);
  check_iterations(all, "look-ups beside the store", model, dictionary_reads, 5000 - 4500);
}

inline uint64_t decompress_iterations(const result_record& header) {
  return header.snappy_tokens_lane_max;
}

/// Of LZ4 each token, byte of a length, and distance takes an iteration, and so do each 8 bytes,
/// and the end.
inline void iterations_of_lz4(tally& all) {
  scan_model model = make_iteration_model();
  model.columns[0].style.codec = CODEC_LZ4_RAW;
  model.columns[0].style.snappy = packing::literals;
  check_iterations(all, "LZ4 literals", model, decompress_iterations, 1 + 4 + 128 + 1);
  // Two literals and a copy of all but five bytes, which are literals.
  model.columns = {make_iteration_column(ITERATION_ROWS, 1, layout::plain)};
  model.columns[0].style.codec = CODEC_LZ4_RAW;
  model.columns[0].style.snappy = packing::greedy;
  check_iterations(all, "an LZ4 copy", model, decompress_iterations,
                   (1 + 1 + 1 + 4 + 128) + (1 + 1 + 1));
}

inline uint64_t page_iterations(const result_record& header) {
  return header.page_iterations_lane_max;
}
inline uint64_t memory_read_iterations(const result_record& header) {
  return header.memory_read_iterations;
}
inline uint64_t memory_reads(const result_record& header) { return header.memory_reads; }
inline uint64_t memory_write_iterations(const result_record& header) {
  return header.memory_write_iterations;
}
inline uint64_t memory_writes(const result_record& header) { return header.memory_writes; }
inline uint64_t dictionary_pairs(const result_record& header) { return header.dictionary_pairs; }
inline uint64_t loader_words(const result_record& header) { return header.loader_words; }

/// A byte of a page header per iteration, then a word of the page or what a word of a line has of
/// it: a page that does not begin at a word has one part more.
inline void iterations_of_headers(tally& all) {
  scan_model model = make_iteration_model();
  const uint64_t page_bytes = 8 * ITERATION_ROWS;
  const uint64_t header_bytes = write_chunk(model.columns[0]).bytes.size() - page_bytes;
  // The input begins with 11 bytes, and the chunk `seed` bytes behind them.
  const uint64_t aligned = 16 - (11 + header_bytes) % 8;
  model.columns[0].style.seed = aligned;
  check_iterations(all, "a page at a word", model, page_iterations, header_bytes + page_bytes / 8);
  model.columns[0].style.seed = aligned + 3;
  check_iterations(all, "a page between words", model, page_iterations,
                   header_bytes + page_bytes / 8 + 1);
  // A dictionary page is read before the rows, and counts there: 1000 words, and as many entries.
  model.columns[0] = make_iteration_column(1000, 1000, layout::dictionary);
  model.rows = 1000;
  const uint64_t dictionary_header = write_chunk(model.columns[0]).dictionary_bytes - 8 * 1000;
  model.columns[0].style.seed = 16 - (11 + dictionary_header) % 8;
  model.dictionary_bytes = static_cast<uint32_t>(dictionary_header + 8 * 1000);
  check_iterations(all, "a dictionary page", model, loader_iterations, dictionary_header + 1000);
  check_iterations(all, "a dictionary page of a loader", model, dictionary_iterations, 0);
}

/// A loader has its dictionaries one after the other, an entry per iteration. Dictionaries of
/// strings, and those of which the command does not say where they end, are their lanes' own.
inline void iterations_of_loaders(tally& all) {
  scan_model model = make_iteration_model(1000);
  check_iterations(all, "no loader", model, loader_iterations, 0);
  model.columns.clear();
  for (const uint64_t distinct : {1000u, 600u, 500u}) {
    model.columns.push_back(
        make_iteration_column(1000, distinct, layout::dictionary, PHYSICAL_INT32));
  }
  check_iterations(all, "the loader of two dictionaries", model, loader_iterations, 600 + 500);
  check_iterations(all, "no lane's own dictionary", model, dictionary_iterations, 0);
  // The command says of even seeds nothing.
  model.columns[0].style.seed = 2;
  check_iterations(all, "the larger of two dictionaries", model, loader_iterations, 600);
  check_iterations(all, "a lane's own dictionary", model, dictionary_iterations, 1000);
  // Entries of more than 64 bits are taken by halves.
  model.columns = {
      make_iteration_column(1000, 1000, layout::dictionary, PHYSICAL_FIXED_LEN_BYTE_ARRAY)};
  model.columns[0].read_as = READ_AS_BIG_ENDIAN;
  model.columns[0].length = 9;
  check_iterations(all, "wide entries", model, loader_iterations, 2 * 1000);
  model.columns = {make_iteration_column(1000, 2, layout::dictionary, PHYSICAL_BYTE_ARRAY)};
  for (uint64_t row = 0; row < 1000; row++) {
    model.columns[0].cells[row].text = row % 2 == 0 ? "AIR" : "MAIL";
  }
  model.slots = {make_slot(FUNCTION_MIN, column_at(0), WIDTH_BYTES)};
  check_iterations(all, "strings", model, loader_iterations, 0);
  check_iterations(all, "words of strings", model, dictionary_pairs, 1);
  check_iterations(all, "no words of loaders", model, loader_words, 0);
}

/// Two rows are looked up in the store per iteration, for each word of rows. A slot of scratch that
/// a loader has written is a word, of an iteration.
inline void iterations_of_memory(tally& all) {
  scan_model model = make_iteration_model();
  check_iterations(all, "no scratch read", model, memory_read_iterations, 0);
  check_iterations(all, "no scratch written", model, memory_write_iterations, 0);
  model.rows = 5000;
  model.columns = {make_iteration_column(5000, 5000, layout::dictionary)};
  model.slots = {make_slot(FUNCTION_SUM, column_at(0))};
  const uint64_t stored_words = (5000 - 4096) / 8;
  check_iterations(all, "the store", model, memory_read_iterations, 4 * stored_words);
  check_iterations(all, "no scratch read beside the store", model, memory_reads, 0);
  // The word of entry 4500 needs both.
  model.columns[0].cells[4500].number = static_cast<int64_t>(1) << 31;
  check_iterations(all, "scratch beside the store", model, memory_read_iterations, 500);
  check_iterations(all, "requests to read scratch", model, memory_reads, 500);
  // Only kept rows are looked up behind the filter.
  model.columns.push_back(make_iteration_column(5000, 5000, layout::plain));
  model.literals = {4750};
  model.predicate = {make_step(OP_LESS, column_at(1), literal_at(0))};
  check_iterations(all, "look-ups behind the filter", model, dictionary_reads, 250);
  model.predicate = {make_step(OP_LESS, column_at(0), literal_at(0))};
  check_iterations(all, "look-ups before the filter", model, dictionary_reads, 500);
  // 64 entries a request.
  check_iterations(all, "entries written", model, memory_write_iterations, 500);
  check_iterations(all, "requests to write entries", model, memory_writes, (500 + 63) / 64);
  check_iterations(all, "words of a dictionary", model, loader_words, 500);
  check_iterations(all, "no words of lanes", model, dictionary_pairs, 0);
}

/// The store goes to the largest dictionary; to one that the filter looks at first of all, of which
/// every row is looked up, if half of it is not on chip.
inline void iterations_of_the_store(tally& all) {
  scan_model model = make_iteration_model(20000);
  model.columns = {make_iteration_column(20000, 20000, layout::dictionary),
                   make_iteration_column(20000, 10000, layout::dictionary)};
  model.slots = {make_slot(FUNCTION_SUM, column_at(0))};
  model.literals = {100};
  model.predicate = {make_step(OP_LESS, column_at(1), literal_at(0))};
  // Rows 10000 to 10099 are kept.
  check_iterations(all, "scratch behind a filter with the store", model, memory_reads, 100);
  model.columns[1] = make_iteration_column(20000, 5000, layout::dictionary);
  // 904 entries, of four rows each.
  check_iterations(all, "scratch of a filter without the store", model, memory_reads, 4 * 904);
}

/// A lane writes a pair of words per iteration, in bursts of sixteen pairs. A burst ends before
/// that where the next word is not contiguous, with its dictionary, and when rows of 32 words wait
/// for it.
inline void iterations_of_bursts(tally& all) {
  const auto strings = [](uint64_t rows, layout values) {
    column_model column = make_iteration_column(rows, rows, values, PHYSICAL_BYTE_ARRAY);
    for (uint64_t row = 0; row < rows; row++) {
      column.cells[row].text = std::to_string(10000000 + row);
    }
    return column;
  };
  scan_model model = make_iteration_model(1024);
  model.columns = {strings(1024, layout::plain)};
  model.slots = {make_slot(FUNCTION_MAX, column_at(0), WIDTH_BYTES)};
  check_iterations(all, "strings of a word", model, memory_write_iterations, 1024 / 2);
  check_iterations(all, "bursts of strings", model, memory_writes, 1024 / 32);
  // The second string has the other half of the pair.
  model.columns[0].nullable = true;
  for (uint64_t row = 0; row < 1024; row++) {
    model.columns[0].cells[row].null = row != 0 && row != 700;
  }
  check_iterations(all, "strings far from each other", model, memory_write_iterations, 2);
  check_iterations(all, "bursts of strings far from each other", model, memory_writes, 2);
  // 904 entries are not on chip.
  model.rows = 5000;
  model.columns = {strings(5000, layout::dictionary)};
  check_iterations(all, "entries without tests", model, dictionary_pairs, 5000 / 2 + 904 / 2);
  check_iterations(all, "bursts of a dictionary", model, memory_writes, 157 + 29);
  // Of each string the first word to be compared, and the greatest for the result.
  check_iterations(all, "look-ups without tests", model, memory_read_iterations, 904 + 5000 + 1);
  model.tests = {{0, TEST_GREATER_OR_EQUAL, {"0"}}};
  model.predicate = {make_step(OP_TEST, test_at(0))};
  check_iterations(all, "entries with tests", model, dictionary_pairs, 5000 / 2 + 904);
}

/// Rows of five words: of each word so many, here and there.
inline const std::vector<uint64_t>& rows_here_and_there() {
  static const std::vector<uint64_t> rows = {13, 16, 23, 25, 28, 30, 32,
                                             33, 34, 35, 36, 37, 38, 39};
  return rows;
}

/// Of 0, 1, 2, 3 and 8 rows of a word.
constexpr uint64_t ITERATIONS_HERE_AND_THERE = 1 + 1 + 1 + 2 + 4;

/// Rows that nothing before has dropped, and that are not NULL, are looked up, two per iteration.
inline void iterations_of_kept_rows(tally& all) {
  scan_model model = make_iteration_model(40);
  std::vector<int64_t> some;
  for (uint64_t row : rows_here_and_there()) some.push_back(static_cast<int64_t>(row));
  const key_filter_model first = {0, KEY_SET_BITMAP, 0, 255, 0, some};
  const key_filter_model last = {0, KEY_SET_BITMAP, 0, 255, 0, {28}};
  model.key_filters = {first, last};
  check_iterations(all, "rows that a set kept", model, filter_iterations,
                   5 * 4 + ITERATIONS_HERE_AND_THERE);
  model.key_filters = {last, first, last};
  check_iterations(all, "a row that a set kept", model, filter_iterations, 5 * 4 + 5 + 5);
  // The second column is 1 in these rows, and else 0.
  model.columns.push_back(make_iteration_column(40, 1, layout::plain));
  for (uint64_t row : rows_here_and_there()) model.columns[1].cells[row].number = 1;
  model.literals = {1};
  model.predicate = {make_step(OP_EQUAL, column_at(1), literal_at(0))};
  model.key_filters = {last};
  check_iterations(all, "rows that the predicate kept", model, filter_iterations,
                   ITERATIONS_HERE_AND_THERE);
  model.predicate.clear();
  model.columns[0].nullable = true;
  for (cell& value : model.columns[0].cells) value.null = true;
  for (uint64_t row : rows_here_and_there()) model.columns[0].cells[row].null = false;
  check_iterations(all, "rows that are not NULL", model, filter_iterations,
                   ITERATIONS_HERE_AND_THERE);
  // All rows pass the first set, and are looked up in the other column.
  model.key_filters = {first, {1, KEY_SET_BITMAP, 0, 255, 0, {0}}};
  check_iterations(all, "rows that a set kept, and NULL", model, filter_iterations,
                   ITERATIONS_HERE_AND_THERE + 5 * 4);
}

/// Two rows are looked up per iteration, beside the steps of the predicate.
inline void iterations_of_keys(tally& all) {
  iterations_of_kept_rows(all);
  scan_model model = make_iteration_model();
  const key_filter_model some = {0, KEY_SET_BLOOM, 0, 99, 3, {1, 2, 3}};
  const key_filter_model others = {0, KEY_SET_BITMAP, 0, 256, 0, {4, 50}};
  model.key_filters = {some};
  check_iterations(all, "a key filter", model, filter_iterations, 16 * 4);
  check_iterations(all, "a key filter loaded", model, key_words, 3 * 4);
  model.key_filters = {some, others, some};
  // The first keeps three rows of the first word, and the second none.
  check_iterations(all, "three key filters", model, filter_iterations, 16 * 4 + 15 + 2 + 16);
  check_iterations(all, "three key filters loaded", model, key_words, (3 + 2 + 3) * 4);
  model.literals = {7};
  model.key_filters = {some};
  const step last = make_step(OP_LESS, step_at(0), literal_at(0));
  model.predicate = {make_arithmetic(OP_DIVIDE, WIDTH_W64, column_at(0), literal_at(0)), last};
  check_iterations(all, "a key filter beside a division", model, filter_iterations, 16 * 64 + 8);
}

/// Of compact blocks: words put into them, the shape of each column, the block's header, and of
/// each column its record, and what is packed: eight narrow numbers per iteration.
inline void iterations_of_compact_blocks(tally& all) {
  scan_model model = make_iteration_model();
  model.states = false;
  model.compact = true;
  model.row_columns = {{column_at(0), WIDTH_W64}, {column_at(0), WIDTH_W128}};
  check_iterations(all, "compact columns", model, write_iterations, 16 + 2 + 1 + 2 * (1 + 16));
  // 7 bits a row.
  check_iterations(all, "compact columns' bytes", model, payload_bytes, 16 + 2 * (16 + 112));
  model.columns[0].cells[5].number = static_cast<int64_t>(1) << 40;
  check_iterations(all, "a wide compact column", model, write_iterations,
                   16 + 2 + 1 + 2 * (1 + 32));
  check_iterations(all, "a wide compact column's bytes", model, payload_bytes,
                   16 + 2 * (16 + 128 * 41 / 8));
  for (cell& value : model.columns[0].cells) value.number = -7;
  check_iterations(all, "an equal column", model, write_iterations, 16 + 2 + 1 + 2 * 1);
  check_iterations(all, "an equal column's bytes", model, payload_bytes, 16 + 2 * 16);
  // Validity has 2 words, and a row is null.
  model.columns[0].nullable = true;
  model.columns[0].cells[3].null = true;
  check_iterations(all, "an equal column with a null", model, write_iterations,
                   16 + 2 + 1 + 2 * (1 + 1));
  model.columns[0] = make_iteration_column(ITERATION_ROWS, 1, layout::dictionary);
  model.columns[0].physical_type = PHYSICAL_BYTE_ARRAY;
  for (uint64_t row = 0; row < ITERATION_ROWS; row++) {
    model.columns[0].cells[row].text = row % 2 == 0 ? "AIR" : "MAIL";
  }
  model.row_columns = {{column_at(0), WIDTH_BYTES}};
  // A table to clear, a row per iteration to number strings, two lengths and their end, and of each
  // new string one to walk over it, to ask for it, and to write it, and the end.
  check_iterations(all, "coded strings", model, write_iterations,
                   1024 + 16 + 1 + 1 + (1 + 128 + 16 + 3 + 2 * 3 + 1));
  // A bit a row, two lengths of 3 bits, and 7 bytes.
  check_iterations(all, "coded strings' bytes", model, payload_bytes, 16 + 16 + 16 + 8 + 8);
  // Plain pages have no codes: differences of a bit from 3 bytes, and the strings.
  model.columns[0].style.values = layout::plain;
  check_iterations(all, "strings without codes", model, write_iterations,
                   1024 + 16 + 1 + 1 + (1 + 16 + 128 * 3 + 1));
  check_iterations(all, "strings without codes' bytes", model, payload_bytes,
                   16 + 16 + 16 + 64 * 7);
}

inline void iterations(tally& all) {
  iterations_of_compact_blocks(all);
  iterations_of_keys(all);
  iterations_of_programs(all);
  iterations_of_output(all);
  iterations_of_blocks(all);
  iterations_of_groups(all);
  iterations_of_pages(all);
  iterations_of_lz4(all);
  iterations_of_headers(all);
  iterations_of_loaders(all);
  iterations_of_memory(all);
  iterations_of_the_store(all);
  iterations_of_bursts(all);
}

}  // namespace nearscan_tb
