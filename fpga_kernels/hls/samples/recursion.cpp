// SPDX-License-Identifier: Apache-2.0
// A sample that synthesis refuses; see check_synthesizable.py.
int odd(int value);
int even(int value) {  // refused
  return value == 0 ? 1 : odd(value - 1);
}
int odd(int value) {  // refused
  return value == 0 ? 0 : even(value - 1);
}
extern "C" void kernel(int* out) { out[0] = even(out[1]); }
