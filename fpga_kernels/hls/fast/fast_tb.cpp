// SPDX-License-Identifier: Apache-2.0
// Test bench of the fast set: runs its kernels beside golden models and compares; exits with 1 when
// anything differs.
//
//     fast_tb            every case
//     fast_tb seed N     the random case with that seed alone
#include "../common/tb_main.hpp"
#include "tb_cases.hpp"

namespace {

using namespace nearscan_tb;

/// The number of random cases, fewer where a sanitizer makes them slow; the first ones are the same
/// in every run.
#ifdef NS_TB_SHORT
constexpr uint64_t RANDOM_CASES = 100;
#else
constexpr uint64_t RANDOM_CASES = 1000;
#endif

void run_everything(tally& all) {
  shapes(all);
  large(all);
  cuts(all);
  refused(all);
  no_room(all);
  units_without_records(all);
  unsorted(all, RANDOM_CASES);
  for (uint64_t seed = 0; seed < RANDOM_CASES; seed++) random_case(all, seed);
}

}  // namespace

int main(int count, char** arguments) {
  nearscan_portable::set_depth_mode(nearscan_portable::depth_mode::declared);
  nearscan_portable::clear_stuck();
  return run_bench("fast_tb", count, arguments, run_everything, random_case);
}
