// SPDX-License-Identifier: Apache-2.0
// A sample that synthesis refuses; see check_synthesizable.py.
extern "C" void kernel(int* out) {
  for (int i = 0; i < 8; i++) {  // refused
#pragma HLS PIPELINE II = 1
    out[i] = i;
  }
}
