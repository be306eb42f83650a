// SPDX-License-Identifier: Apache-2.0
// A sample that synthesis refuses; see check_synthesizable.py.
#include <containers.h>

extern "C" void kernel(int* out) {
  std::vector<int> room;  // refused
  out[0] = 1;
}
