// SPDX-License-Identifier: Apache-2.0
// Measures the simulation of the scan kernel, in bytes of compressed pages a second on one core.
//
//     scan_bench          the sizes of a row group of TPC-H lineitem
//     scan_bench tiny     a hundredth of that, to see that it runs
//     scan_bench full 6   one of the two, for a profiler: q6 or q1
//
// This is the speed of a simulation on this machine. It says nothing about hardware; of that, the
// iterations of the loops are shown.
#include <ctime>

#include "tb_run.hpp"

namespace {

using namespace nearscan_tb;

struct bench_size {
  uint64_t rows;
  uint64_t prices;
  uint64_t repeats;
};

constexpr bench_size FULL = {115000, 100000, 40};
constexpr bench_size TINY = {1150, 1000, 2};

/// A column of dictionary indexes, optional as most writers declare them, in pages of 20,000 rows.
column_model make_column(const bench_size& size, uint64_t seed, uint64_t distinct, int64_t first,
                         uint8_t physical_type) {
  random_source random(seed);
  column_model column;
  column.physical_type = physical_type;
  column.nullable = true;
  column.style.page_rows = 20000;
  column.style.common_runs = true;
  // An odd one: the command says how large dictionaries are, as those of our files do.
  column.style.seed = 2 * seed + 1;
  for (uint64_t row = 0; row < size.rows; row++) {
    column.cells.push_back(number_cell(first + static_cast<int64_t>(random.below(distinct))));
  }
  return column;
}

column_model make_flags(const bench_size& size, uint64_t seed, const std::string& letters) {
  column_model column = make_column(size, seed, letters.size(), 0, PHYSICAL_BYTE_ARRAY);
  for (cell& value : column.cells) {
    value.text = letters.substr(static_cast<size_t>(value.number), 1);
    value.number = 0;
  }
  return column;
}

/// Prices are nearly unique: a large dictionary, of 8 bytes an entry with leading zeros.
column_model make_prices(const bench_size& size) {
  column_model column = make_column(size, 5, size.prices, 0, PHYSICAL_INT64);
  for (cell& value : column.cells) {
    random_source mixed(static_cast<uint64_t>(value.number));
    value.number = 90000 + static_cast<int64_t>(mixed.below(10000000));
  }
  return column;
}

/// Four columns, seven steps of predicate, one sum of products.
scan_model make_q6(const bench_size& size) {
  scan_model model;
  model.rows = size.rows;
  model.columns = {make_column(size, 1, 2526, 8036, PHYSICAL_INT32),
                   make_column(size, 2, 11, 0, PHYSICAL_INT64),
                   make_column(size, 3, 50, 1, PHYSICAL_INT64), make_prices(size)};
  for (cell& value : model.columns[2].cells) value.number *= 100;
  model.literals = {8766, 9131, 5, 7, 2400};
  model.predicate = {make_step(OP_GREATER_OR_EQUAL, column_at(0), literal_at(0)),
                     make_step(OP_LESS, column_at(0), literal_at(1)),
                     make_step(OP_AND, step_at(0), step_at(1)),
                     make_step(OP_BETWEEN, column_at(1), literal_at(2), literal_at(3)),
                     make_step(OP_AND, step_at(2), step_at(3)),
                     make_step(OP_LESS, column_at(2), literal_at(4)),
                     make_step(OP_AND, step_at(4), step_at(5))};
  model.projection = {make_arithmetic(OP_MULTIPLY, WIDTH_W128, column_at(3), column_at(1))};
  model.slots = {make_slot(FUNCTION_SUM, step_at(0))};
  return model;
}

/// Seven columns, two of them keys; nearly every row is kept and folded into nine slots.
scan_model make_q1(const bench_size& size) {
  scan_model model;
  model.rows = size.rows;
  model.columns = {make_flags(size, 11, "ANR"),
                   make_flags(size, 12, "FO"),
                   make_column(size, 13, 50, 1, PHYSICAL_INT64),
                   make_prices(size),
                   make_column(size, 14, 11, 0, PHYSICAL_INT64),
                   make_column(size, 15, 9, 0, PHYSICAL_INT64),
                   make_column(size, 16, 2526, 8036, PHYSICAL_INT32)};
  model.literals = {10471, 100};
  model.predicate = {make_step(OP_LESS_OR_EQUAL, column_at(6), literal_at(0))};
  model.projection = {make_arithmetic(OP_SUBTRACT, WIDTH_W128, literal_at(1), column_at(4)),
                      make_arithmetic(OP_MULTIPLY, WIDTH_W128, column_at(3), step_at(0)),
                      make_arithmetic(OP_ADD, WIDTH_W128, literal_at(1), column_at(5)),
                      make_arithmetic(OP_MULTIPLY, WIDTH_W128, step_at(1), step_at(2))};
  model.keys = {0, 1};
  model.slots = {make_slot(FUNCTION_SUM, column_at(2)),
                 make_slot(FUNCTION_SUM, column_at(3)),
                 make_slot(FUNCTION_SUM, step_at(1)),
                 make_slot(FUNCTION_SUM, step_at(3)),
                 make_slot(FUNCTION_COUNT, column_at(2), WIDTH_W64),
                 make_slot(FUNCTION_COUNT, column_at(3), WIDTH_W64),
                 make_slot(FUNCTION_SUM, column_at(4)),
                 make_slot(FUNCTION_COUNT, column_at(4), WIDTH_W64),
                 make_slot(FUNCTION_COUNT_ROWS, NONE, WIDTH_W64)};
  return model;
}

/// Time of this core, not of the clock on the wall: others may use the machine too.
double core_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Runs a model `repeats` times and prints its speed; false when a result is wrong.
bool measure(const char* name, const scan_model& model, uint64_t repeats) {
  std::vector<written_chunk> chunks;
  uint64_t bytes = 0;
  for (const column_model& column : model.columns) {
    chunks.push_back(write_chunk(column));
    bytes += chunks.back().bytes.size();
  }
  expectation expected = evaluate_model(model, chunks);
  test_memories memories = bind_model(model, chunks);
  call_kernel(memories, depth_mode::roomy);
  parsed_result result = check_frame(memories, widths_of(model), model.compact);
  std::sort(result.rows.begin(), result.rows.end());
  if (!result.error.empty() || result.rows != expected.rows) {
    std::printf("%s: wrong result %s\n", name, result.error.c_str());
    return false;
  }
  const double start = core_seconds();
  for (uint64_t i = 0; i < repeats; i++) call_kernel(memories, depth_mode::roomy);
  const double mean = (core_seconds() - start) / static_cast<double>(repeats);
  const double megabytes = static_cast<double>(bytes) / 1e6;
  std::printf("%s: %.3f MB of pages, %llu tokens, %.3f ms a run, %.1f MB/s a core\n", name,
              megabytes, static_cast<unsigned long long>(result.header.snappy_tokens), mean * 1e3,
              megabytes / mean);
  const result_record& header = result.header;
  const double words = static_cast<double>(model.rows) / ROWS;
  std::printf("  iterations per word: decode %.2f, filter %.2f, project %.2f, aggregate %.2f\n",
              header.decode_iterations_lane_max / words, header.filter_iterations / words,
              header.project_iterations / words, header.aggregate_iterations / words);
  std::printf("  iterations before the first word: loaders %u, dictionary %u\n",
              header.loader_iterations_max, header.dictionary_iterations_lane_max);
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  const bool tiny = count > 1 && std::string(arguments[1]) == "tiny";
  const std::string only = count > 2 ? arguments[2] : "";
  const bench_size size = tiny ? TINY : FULL;
  bool right = true;
  if (only != "1") right = measure("q6-like", make_q6(size), size.repeats);
  if (only != "6") right = measure("q1-like", make_q1(size), size.repeats) && right;
  scan_model least;
  least.slots = {make_slot(FUNCTION_COUNT_ROWS, NONE, WIDTH_W64)};
  least.columns = {make_column({1, 1, 1}, 1, 1, 0, PHYSICAL_INT64)};
  least.rows = 1;
  if (only.empty()) right = measure("one row", least, size.repeats * 100) && right;
  return right ? 0 : 1;
}
