// SPDX-License-Identifier: Apache-2.0
// A sample whose processes share a variable; see check_synthesizable.py.
#include <hls_stream.h>

struct plan {
  int first[4];
  int second;
};

void produce(const int* plan, hls::stream<int>& out) { out.write(plan[0]); }
void consume(int count, hls::stream<int>& in, int* out) { out[0] = in.read() + count; }

extern "C" void kernel(int* out) {
  plan plans;
  plans.first[0] = 1;
  plans.second = 2;
  {
#pragma HLS DATAFLOW
    hls::stream<int> between[4];
  LANES:
    for (int lane = 0; lane < 4; lane++) {
#pragma HLS UNROLL
      produce(plans.first, between[lane]);  // refused
    }
    consume(plans.second, between[0], out);
  }
}
