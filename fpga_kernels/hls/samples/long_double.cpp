// SPDX-License-Identifier: Apache-2.0
// A sample that synthesis refuses; see check_synthesizable.py.
extern "C" void kernel(int* out) {
  const long double exact = 1.5L;  // refused
  out[0] = static_cast<int>(exact);
}
