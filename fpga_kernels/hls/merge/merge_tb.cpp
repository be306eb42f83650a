// SPDX-License-Identifier: Apache-2.0
// Test bench of the merge kernel: runs it beside a golden model and compares; exits with 1 when
// anything differs.
//
//     merge_tb            every case
//     merge_tb seed N     the random case with that seed alone
#include "../common/tb_main.hpp"
#include "tb_damage.hpp"

namespace {

using namespace nearscan_tb;

/// The numbers of random merges, and of damaged inputs and commands, fewer under a sanitizer; the
/// first ones are the same in every run.
#ifdef NS_TB_SHORT
constexpr uint64_t RANDOM_CASES = 150;
constexpr uint64_t DAMAGED_CASES = 3000;
#else
constexpr uint64_t RANDOM_CASES = 600;
constexpr uint64_t DAMAGED_CASES = 12000;
#endif

void run_everything(tally& all) {
  sizes(all);
  reads_ahead(all);
  skipped_strings(all);
  orders(all);
  widths(all);
  strings(all);
  small_blocks(all);
  distinct(all);
  stopped(all);
  cancelled_midway(all);
  cancelled_copy(all);
  unsorted(all);
  lying_inputs(all);
  hidden_values(all);
  refused(all);
  for (uint64_t seed = 0; seed < RANDOM_CASES; seed++) random_case(all, seed);
  damaged_inputs(all, DAMAGED_CASES);
  damaged_commands(all, DAMAGED_CASES);
}

}  // namespace

int main(int count, char** arguments) {
  return run_bench("merge_tb", count, arguments, run_everything, random_case);
}
