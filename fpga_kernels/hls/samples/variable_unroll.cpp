// SPDX-License-Identifier: Apache-2.0
// A sample that synthesis cannot unroll as it says; see check_synthesizable.py.
extern "C" void kernel(const int* in, int count, int* out) {
  int sum = 0;
SUM:
  for (int i = 0; i < count; i++) {  // refused
#pragma HLS UNROLL
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    sum += in[i];
  }
FIRST:
  for (int i = 0; i < 16 && i < count; i++) {
#pragma HLS UNROLL
    sum += in[i];
  }
  out[0] = sum;
}
