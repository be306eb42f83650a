// SPDX-License-Identifier: Apache-2.0
// A sample that synthesis refuses; see check_synthesizable.py.
extern "C" void kernel(int* out) {
WAIT:
  while (out[0] != 0) {  // refused
#pragma HLS PIPELINE II = 1
    out[1]++;
  }
}
