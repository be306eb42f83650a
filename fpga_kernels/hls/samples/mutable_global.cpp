// SPDX-License-Identifier: Apache-2.0
// A sample that synthesis refuses; see check_synthesizable.py.
extern "C" void kernel(int* out) {
  static int calls = 0;  // refused
  calls = calls + 1;
  out[0] = calls;
}
