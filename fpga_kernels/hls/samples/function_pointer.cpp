// SPDX-License-Identifier: Apache-2.0
// A sample that synthesis refuses; see check_synthesizable.py.
int twice(int value) { return 2 * value; }
extern "C" void kernel(int* out) {
  int (*chosen)(int) = twice;  // refused
  out[0] = out[1];
}
