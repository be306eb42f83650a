// SPDX-License-Identifier: Apache-2.0
// Test bench of the kernels of the SmartSSD study: runs them beside golden models and compares;
// exits with 1 when anything differs.
//
//     study_tb            every case
//     study_tb seed N     the random case with that seed alone
#include "../common/tb_main.hpp"
#include "tb_cases.hpp"

namespace {

using namespace nearscan_tb;

/// The number of random cases, fewer where a sanitizer makes them slow; the first ones are the same
/// in every run.
#ifdef NS_TB_SHORT
constexpr uint64_t RANDOM_CASES = 300;
#else
constexpr uint64_t RANDOM_CASES = 2000;
#endif

void run_everything(tally& all) {
  shapes(all);
  large_buffers(all);
  cuts(all);
  refused_slices(all);
  refused_merges(all);
  units_without_records(all);
  unsorted(all, RANDOM_CASES);
  for (uint64_t seed = 0; seed < RANDOM_CASES; seed++) random_case(all, seed);
}

}  // namespace

int main(int count, char** arguments) {
  return run_bench("study_tb", count, arguments, run_everything, random_case);
}
