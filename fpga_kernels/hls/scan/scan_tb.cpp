// SPDX-License-Identifier: Apache-2.0
// Test bench of the scan kernel: runs it beside a golden model and compares; exits with 1 when
// anything differs.
//
//     scan_tb            every case
//     scan_tb seed N     the random case with that seed alone
#include "../common/tb_main.hpp"
#include "tb_arithmetic.hpp"
#include "tb_cases.hpp"
#include "tb_compact.hpp"
#include "tb_malformed.hpp"
#include "tb_random.hpp"
#include "tb_refused.hpp"
#include "tb_shapes.hpp"
#include "tb_storage.hpp"
#include "tb_iterations.hpp"
#include "tb_entry_keys.hpp"
#include "tb_loaders.hpp"
#include "tb_patterns.hpp"

namespace {

using namespace nearscan_tb;

/// The numbers of random tables, of damaged commands and chunks, and of random patterns, fewer
/// under a sanitizer; the first ones are the same in every run.
#ifdef NS_TB_SHORT
constexpr uint64_t RANDOM_CASES = 150;
constexpr uint64_t MALFORMED_CASES = 3000;
constexpr uint64_t PATTERN_CASES = 50;
#else
constexpr uint64_t RANDOM_CASES = 600;
constexpr uint64_t MALFORMED_CASES = 12000;
constexpr uint64_t PATTERN_CASES = 200;
#endif

void run_everything(tally& all) {
  row_counts(all);
  grouped(all);
  strings(all);
  dictionary_sizes(all);
  dictionary_ends(all);
  compact(all);
  storage(all);
  stored_otherwise(all);
  logic(all);
  overflow(all);
  limits(all);
  widest(all);
  arithmetic(all);
  shapes(all);
  iterations(all);
  loaders(all);
  entry_keys(all);
  like_patterns(all, PATTERN_CASES);
  refused(all);
  const tally before = all;
  for (uint64_t seed = 0; seed < RANDOM_CASES; seed++) random_case(all, seed);
  // What a drive may refuse must not hide what it answers.
  const uint64_t answered = all.answered - before.answered;
  if (2 * answered < all.runs - before.runs) {
    all.fail("random commands", std::to_string(answered) + " gave rows, fewer than half");
  }
  malformed(all, MALFORMED_CASES);
}

}  // namespace

int main(int count, char** arguments) {
  return run_bench("scan_tb", count, arguments, run_everything, random_case);
}
