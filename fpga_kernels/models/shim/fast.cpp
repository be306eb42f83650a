// SPDX-License-Identifier: Apache-2.0
// The functions of the fast set that Rust calls: one unit, in one of its jobs. 0 done, 1 the stages
// wait for each other.
#include "fast/array_merge.hpp"
#include "fast/average.hpp"
#include "fast/count.hpp"
#include "fast/vector_addition.hpp"

using namespace nearscan;
using namespace nearscan::fast;

namespace {

/// FIFOs as deep as the kernels declare them: their readers lean on it.
void begin_unit() {
  nearscan_portable::set_depth_mode(nearscan_portable::depth_mode::declared);
  nearscan_portable::clear_stuck();
}

uint32_t end_unit() { return nearscan_portable::last_stuck()[0] == '\0' ? 0 : 1; }

}  // namespace

extern "C" uint32_t ns_model_fast_count(const line_t* a, uint64_t* records, slice part,
                                        int32_t value, uint32_t unit) {
  begin_unit();
  count_unit(a, records, part, value, unit);
  return end_unit();
}

extern "C" uint32_t ns_model_fast_average(const line_t* a, uint64_t* records, slice part,
                                          uint32_t unit) {
  begin_unit();
  average_unit(a, records, part, unit);
  return end_unit();
}

extern "C" uint32_t ns_model_fast_addition(const line_t* a, const line_t* b, line_t* c,
                                           uint64_t* records, slice part, uint32_t unit) {
  begin_unit();
  line_port of_a(a);
  line_port of_b(b);
  addition_unit(of_a, of_b, c, records, part, unit);
  return end_unit();
}

/// A job of a merge, and where its output goes.
struct fast_merge_job {
  uint32_t job;
  uint64_t first;
  uint64_t room;
};

extern "C" uint32_t ns_model_fast_merge(const line_t* a, const line_t* b, line_t* c,
                                        uint64_t* records, merge_share share, fast_merge_job job) {
  begin_unit();
  // The same array by its elements: no element is reached both ways.
  int32_t* c_elements = reinterpret_cast<int32_t*>(c);
  merge_unit(a, b, c, c_elements, records, share, job.job, job.first, job.room);
  return end_unit();
}
