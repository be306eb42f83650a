// SPDX-License-Identifier: Apache-2.0
// A sample that synthesis does not pipeline as it says; see check_synthesizable.py.
inline int first_set(const int* bits, int count) {
  int found = 0;
SEARCH:
  while (found < count && bits[found] == 0) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 64
    found++;
  }
  return found;
}

inline int halved(int from) {
  int halves = 0;
HALVES:
  for (int left = from; left > 0; left /= 2) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 6
    halves++;
  }
  return halves;
}

extern "C" void kernel(const int* bits, int* out) {
COUNTED_DOWN:
  for (int row = 0; row < 64; row++) {  // refused
#pragma HLS PIPELINE II = 1
    out[row] = halved(row);
  }
ROWS:
  for (int row = 0; row < 64; row++) {  // refused
#pragma HLS PIPELINE II = 1
    out[row] = first_set(bits, row);
  }
FIXED:
  for (int row = 0; row < 64; row++) {
#pragma HLS PIPELINE II = 1
    int sum = 0;
  EIGHT:
    for (int bit = 0; bit < 8; bit++) sum += bits[bit];
    out[row] = sum;
  }
}
