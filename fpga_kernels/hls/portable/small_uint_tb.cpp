// SPDX-License-Identifier: Apache-2.0
// Tests of numbers with checked widths: the largest of each width fits. With a number as argument,
// one that fits in 4 bits is asked for, and the program must not come to its end if it does not.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "../common/platform.hpp"

namespace {

int failures = 0;

template <int Bits>
void expect_largest_fits() {
  const uint64_t largest = ~uint64_t(0) >> (64 - Bits);
  const small_uint<Bits> number(largest);
  if (number == largest) return;
  failures++;
  std::printf("FAIL a number of %d bits lost some of them\n", Bits);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) {
    small_uint<4> number(std::strtoull(arguments[1], nullptr, 10));
    number++;
    std::printf("%u fits\n", static_cast<uint32_t>(number));
    return 0;
  }
  expect_largest_fits<1>();
  expect_largest_fits<4>();
  expect_largest_fits<8>();
  expect_largest_fits<12>();
  expect_largest_fits<17>();
  expect_largest_fits<32>();
  expect_largest_fits<39>();
  expect_largest_fits<64>();
  return failures == 0 ? 0 : 1;
}
