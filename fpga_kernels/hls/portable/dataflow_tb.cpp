// SPDX-License-Identifier: Apache-2.0
// Tests of the cooperative scheduler: it must run what hardware would run, and name the stages of a
// region that hardware would leave hanging. Exits with 1 when it does not.
#include <cstdint>
#include <cstdio>
#include <string>

#include "../common/platform.hpp"

namespace {

using nearscan_portable::depth_mode;

int failures = 0;

void expect_stuck(const char* name, const std::string& expected) {
  const std::string found = nearscan_portable::last_stuck();
  if (found == expected) return;
  failures++;
  std::printf("FAIL %s: stuck is '%s' instead of '%s'\n", name, found.c_str(), expected.c_str());
}

typedef hls::stream<uint32_t, 4> narrow_stream;

void count_up(uint32_t count, narrow_stream& out) {
  for (uint32_t i = 0; i < count; i++) out.write(i);
}

void sum_up(uint32_t count, narrow_stream& in, uint64_t& sum) {
  sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += in.read();
}

/// Reads all of one stream before it looks at the other.
void one_after_the_other(uint32_t count, narrow_stream& first, narrow_stream& second,
                         uint64_t& sum) {
  uint64_t rest;
  sum_up(count, first, sum);
  sum_up(count, second, rest);
  sum += rest;
}

/// Deals numbers to two streams in turn.
void deal(uint32_t count, narrow_stream& first, narrow_stream& second) {
  for (uint32_t i = 0; i < count; i++) {
    first.write(i);
    second.write(i);
  }
}

/// Passes on what it gets, by polling.
void poll(uint32_t count, narrow_stream& in, narrow_stream& out) {
  uint32_t passed = 0;
  while (passed < count) {
    bool moved = false;
    while (passed < count && !in.empty() && !out.full()) {
      out.write(in.read());
      passed++;
      moved = true;
    }
    if (!moved) NS_IDLE();
  }
}

void pass_doubled(uint32_t count, narrow_stream& in, narrow_stream& out) {
  for (uint32_t i = 0; i < count; i++) out.write(2 * in.read());
}

void swap_one(narrow_stream& in, narrow_stream& out) { out.write(in.read()); }

void runs_what_is_right() {
  for (depth_mode mode : {depth_mode::roomy, depth_mode::declared, depth_mode::smallest}) {
    nearscan_portable::set_depth_mode(mode);
    narrow_stream numbers;
    narrow_stream passed;
    narrow_stream again;
    uint64_t sum = 0;
    NS_REGION(flow);
    // The order in which stages are named is not the order of their data.
    NS_STAGE(flow, sum_up(100000, again, sum));
    NS_STAGE(flow, poll(100000, passed, again));
    NS_STAGE(flow, poll(100000, numbers, passed));
    NS_STAGE(flow, count_up(100000, numbers));
    NS_RUN(flow);
    expect_stuck("a chain", "");
    if (sum != 4999950000u) {
      failures++;
      std::printf("FAIL a chain: wrong sum\n");
    }
  }
}

/// A stage that is a region, between FIFOs of the region around it.
void double_twice(uint32_t count, narrow_stream& in, narrow_stream& out) {
  narrow_stream between;
  NS_REGION(flow);
  NS_STAGE(flow, pass_doubled(count, between, out));
  NS_STAGE(flow, pass_doubled(count, in, between));
  NS_RUN(flow);
}

void runs_a_region_in_a_stage() {
  for (depth_mode mode : {depth_mode::roomy, depth_mode::declared, depth_mode::smallest}) {
    nearscan_portable::set_depth_mode(mode);
    narrow_stream numbers;
    narrow_stream doubled;
    narrow_stream again;
    uint64_t sum = 0;
    NS_REGION(flow);
    NS_STAGE(flow, sum_up(1000, again, sum));
    NS_STAGE(flow, double_twice(1000, doubled, again));
    NS_STAGE(flow, double_twice(1000, numbers, doubled));
    NS_STAGE(flow, count_up(1000, numbers));
    NS_RUN(flow);
    expect_stuck("a region in a stage", "");
    if (sum != 16 * 499500u) {
      failures++;
      std::printf("FAIL a region in a stage: wrong sum\n");
    }
  }
}

/// The stage that holds the region is the one that is told.
void names_a_region_in_a_stage() {
  nearscan_portable::set_depth_mode(depth_mode::declared);
  narrow_stream numbers;
  narrow_stream doubled;
  uint64_t sum = 0;
  NS_REGION(flow);
  NS_STAGE(flow, sum_up(11, doubled, sum));
  NS_STAGE(flow, double_twice(11, numbers, doubled));
  NS_STAGE(flow, count_up(10, numbers));
  NS_RUN(flow);
  expect_stuck("a region that waits", "sum_up waits to read, double_twice polls");
}

/// Two stages that each wait for the other's first token.
void names_a_circle() {
  nearscan_portable::set_depth_mode(depth_mode::roomy);
  narrow_stream there;
  narrow_stream back;
  NS_REGION(flow);
  NS_STAGE(flow, swap_one(there, back));
  for (int lane = 7; lane < 9; lane++) {
    NS_LANE_STAGE(flow, lane, lane == 7, swap_one(back, there));
  }
  NS_RUN(flow);
  expect_stuck("a circle", "swap_one waits to read, swap_one[7] waits to read");
}

/// A region that works when FIFOs are long enough, and only then.
void depth_decides() {
  const struct {
    depth_mode mode;
    const char* stuck;
  } cases[] = {
      {depth_mode::roomy, ""},
      {depth_mode::declared, "deal waits to write, one_after_the_other waits to read"},
      {depth_mode::smallest, "deal waits to write, one_after_the_other waits to read"},
  };
  for (const auto& at : cases) {
    nearscan_portable::set_depth_mode(at.mode);
    narrow_stream first;
    narrow_stream second;
    uint64_t sum = 0;
    NS_REGION(flow);
    NS_STAGE(flow, deal(100, first, second));
    NS_STAGE(flow, one_after_the_other(100, first, second, sum));
    NS_RUN(flow);
    expect_stuck("depths", at.stuck);
  }
}

/// A stage that polls for what never comes.
void a_poll_is_no_progress() {
  narrow_stream in;
  narrow_stream out;
  NS_REGION(flow);
  NS_STAGE(flow, poll(1, in, out));
  NS_RUN(flow);
  expect_stuck("polling", "poll polls");
}

/// A stream whose reader is missing, and one whose writer stops early.
void names_what_is_miswired() {
  nearscan_portable::set_depth_mode(depth_mode::declared);
  narrow_stream numbers;
  narrow_stream unread;
  uint64_t sum = 0;
  NS_REGION(flow);
  NS_STAGE(flow, deal(6, numbers, unread));
  NS_STAGE(flow, sum_up(5, numbers, sum));
  NS_RUN(flow);
  expect_stuck("no reader", "deal waits to write");
  nearscan_portable::clear_stuck();
  expect_stuck("cleared", "");
}

}  // namespace

int main() {
  runs_what_is_right();
  runs_a_region_in_a_stage();
  names_a_region_in_a_stage();
  names_a_circle();
  depth_decides();
  a_poll_is_no_progress();
  names_what_is_miswired();
  std::printf("dataflow_tb: %d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
