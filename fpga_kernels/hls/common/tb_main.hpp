// SPDX-License-Identifier: Apache-2.0
// The main program of a test bench.
#pragma once

#include <cstdlib>

#include "tb_frame.hpp"

namespace nearscan_tb {

/// Runs the bench `name`: every case, or with the arguments `seed N` the random case with that seed
/// alone. Gives the status to exit with, 1 when anything differs.
inline int run_bench(const char* name, int count, char** arguments, void (*every_case)(tally& all),
                     void (*one_case)(tally& all, uint64_t seed)) {
  tally all;
  if (count == 3 && std::string(arguments[1]) == "seed") {
    one_case(all, std::strtoull(arguments[2], nullptr, 10));
  } else {
    every_case(all);
  }
  std::printf("%s: %llu runs, %llu failures\n", name, static_cast<unsigned long long>(all.runs),
              static_cast<unsigned long long>(all.failures));
  return all.failures == 0 ? 0 : 1;
}

}  // namespace nearscan_tb
