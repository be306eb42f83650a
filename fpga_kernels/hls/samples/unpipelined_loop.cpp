// SPDX-License-Identifier: Apache-2.0
// A sample that does not say how its loop is run; see check_synthesizable.py.
extern "C" void kernel(const int* in, int* out) {
BLOCKS:
  for (int block = 0; block < 64; block += 8) {
  COPY:
    for (int i = 0; i < 8; i++) out[block + i] = in[block + i];  // refused
  }
PIPELINED:
  for (int i = 0; i < 64; i++) {
#pragma HLS PIPELINE II = 1
    out[i] += in[i];
  }
SERIAL:
  for (int i = 0; i < 64; i++) {
#pragma HLS PIPELINE off
    out[i] += in[i];
  }
}
