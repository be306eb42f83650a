// SPDX-License-Identifier: Apache-2.0
// A sample whose iterations use an end of a stream twice; see check_synthesizable.py.
#include <hls_stream.h>

typedef hls::stream<int> int_stream;

inline void pass(int_stream& in, int_stream& out) { out.write(in.read()); }

inline bool pass_some(int_stream& in, int_stream& out) {
  if (in.empty()) {
    out.write(0);
    return false;
  }
  out.write(in.read());
  return true;
}

extern "C" void kernel(int_stream& in, int_stream lanes[4], int_stream& out) {
PAIRS:
  for (int i = 0; i < 64; i++) {  // refused
#pragma HLS PIPELINE II = 1
    pass(in, lanes[0]);
    pass(in, lanes[1]);
  }
PAIRS_IN_TWO:
  for (int i = 0; i < 64; i++) {
#pragma HLS PIPELINE II = 2
    pass(in, lanes[0]);
    pass(in, lanes[1]);
  }
LANES:
  for (int i = 0; i < 64; i++) {
#pragma HLS PIPELINE II = 1
    int sum = 0;
  EACH:
    for (int lane = 0; lane < 4; lane++) sum += lanes[lane].read();
    out.write(sum);
  }
FOURS:
  for (int i = 0; i < 64; i++) {  // refused
#pragma HLS PIPELINE II = 1
    int sum = 0;
  EACH_OF_FOUR:
    for (int lane = 0; lane < 4; lane++) sum += in.read();
    out.write(sum);
  }
BRANCHES:
  for (int i = 0; i < 64; i++) {
#pragma HLS PIPELINE II = 1
    pass_some(in, out);
  }
}
