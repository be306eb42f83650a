// SPDX-License-Identifier: Apache-2.0
// A sample that synthesis refuses; see check_synthesizable.py.
#include <console.h>
extern "C" void kernel(int* out) {
  out[0] = print_line("a kernel has no console");  // refused
}
