// SPDX-License-Identifier: Apache-2.0
// A sample whose iterations wait for a memory; see check_synthesizable.py.
struct pair {
  int key;
  int value;
};

inline int key_at(const pair pairs[64], int at) { return pairs[at].key; }
inline int value_at(const pair pairs[64], int at) { return pairs[at].value; }

extern "C" void kernel(const int* in, int* out) {
  int table[64];
  int wide[64];
  int pairs_of_ints[64];
#pragma HLS ARRAY_PARTITION variable = wide cyclic factor = 8
FILL:
  for (int i = 0; i < 64; i++) {
#pragma HLS PIPELINE II = 1
    table[i] = in[i];
    wide[i] = in[i];
    pairs_of_ints[i] = in[i];
  }
SUM:
  for (int i = 0; i < 56; i++) {  // refused
#pragma HLS PIPELINE II = 1
    int sum = 0;
  EIGHT:
    for (int j = 0; j < 8; j++) sum += table[i + j] + wide[i + j];
    out[i] = sum + pairs_of_ints[i] + pairs_of_ints[63 - i];
  }
  pair pairs[64];
FILL_PAIRS:
  for (int i = 0; i < 64; i++) {
#pragma HLS PIPELINE II = 1
    pairs[i].key = in[i];
    pairs[i].value = in[i];
  }
FIELDS:
  for (int i = 0; i < 64; i++) {
#pragma HLS PIPELINE II = 1
    out[i] = key_at(pairs, i) + key_at(pairs, out[i]) + value_at(pairs, i);
  }
CALLS:
  for (int i = 0; i < 64; i++) {  // refused
#pragma HLS PIPELINE II = 1
    out[i] = key_at(pairs, i) + key_at(pairs, out[i]) + key_at(pairs, out[i] + 1);
  }
}
