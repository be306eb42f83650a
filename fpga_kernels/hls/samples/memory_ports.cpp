// SPDX-License-Identifier: Apache-2.0
// A sample whose iterations wait for a memory; see check_synthesizable.py.
extern "C" void kernel(const int* in, int* out) {
  int table[64];
  int wide[64];
  int pair[64];
#pragma HLS ARRAY_PARTITION variable = wide cyclic factor = 8
FILL:
  for (int i = 0; i < 64; i++) {
#pragma HLS PIPELINE II = 1
    table[i] = in[i];
    wide[i] = in[i];
    pair[i] = in[i];
  }
SUM:
  for (int i = 0; i < 56; i++) {  // refused
#pragma HLS PIPELINE II = 1
    int sum = 0;
  EIGHT:
    for (int j = 0; j < 8; j++) sum += table[i + j] + wide[i + j];
    out[i] = sum + pair[i] + pair[63 - i];
  }
}
