// SPDX-License-Identifier: Apache-2.0
// A sample whose processes share a variable; see check_synthesizable.py.
#include <hls_burst_maxi.h>
#include <hls_stream.h>

typedef hls::burst_maxi<int> int_port;

struct plan {
  int first[4];
  int second;
};

void produce(const int* plan, hls::stream<int>& out) { out.write(plan[0]); }
void consume(int count, hls::stream<int>& in, int* out) { out[0] = in.read() + count; }

inline int first_of(int_port& memory) {
  memory.read_request(0, 1);
  return memory.read();
}
void read_first(int_port& memory, hls::stream<int>& out) { out.write(first_of(memory)); }
void write_first(int_port& memory, hls::stream<int>& in) {
  memory.write_request(0, 1);
  memory.write(in.read());
  memory.write_response();
}

extern "C" void one_way_each(int_port memory) {
#pragma HLS DATAFLOW
  hls::stream<int> between;
  read_first(memory, between);
  write_first(memory, between);
}

extern "C" void two_readers(int_port memory) {
#pragma HLS DATAFLOW
  hls::stream<int> between;
  hls::stream<int> others;
  read_first(memory, between);  // refused
  read_first(memory, others);
  write_first(memory, between);  // refused
  write_first(memory, others);
}

void load(int* first, int& second) {
  first[0] = 1;
  second = 2;
}
void load_first(int* first) { first[0] = 2; }
void load_all(plan& plans) { load(plans.first, plans.second); }

extern "C" void loaded_in_the_region(int* out) {
#pragma HLS DATAFLOW
  plan plans;
  hls::stream<int> between;
  load_all(plans);
  produce(plans.first, between);
  consume(plans.second, between, out);
}

extern "C" void loaded_twice(int* out) {
#pragma HLS DATAFLOW
  plan plans;
  hls::stream<int> between;
  load(plans.first, plans.second);
  load_first(plans.first);  // refused
  produce(plans.first, between);
  consume(plans.second, between, out);
}

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
