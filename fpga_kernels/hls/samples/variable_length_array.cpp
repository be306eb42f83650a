// SPDX-License-Identifier: Apache-2.0
// A sample that synthesis refuses; see check_synthesizable.py.
extern "C" void kernel(int* out, int length) {
  int room[length];  // refused
  out[0] = room[0];
}
