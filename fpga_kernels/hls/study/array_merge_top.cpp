// SPDX-License-Identifier: Apache-2.0
// Array Merge of the SmartSSD study as the hardware sees it: its ports, and nothing else.
//
// One bundle for all arguments, as the study had: a unit takes one of the bank's fifteen ports. Job
// 0 merges the share of `unit`; job 1 joins the pieces of all `units`, which it reads from `a`, and
// has to wait until they have ended. `a_count` is then the room of `a` and of `c`. The arrays must
// not overlap.
#include "array_merge.hpp"
#include "build.hpp"
#include "join.hpp"

extern "C" void ns_study_array_merge(const int32_t* a, const int32_t* b, int32_t* c,
                                     uint64_t* records, uint64_t a_count, uint64_t b_count,
                                     uint32_t unit, uint32_t units, uint32_t buffer_bytes,
                                     uint32_t job) {
#pragma HLS INTERFACE mode = m_axi port = a bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = b bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = c bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = records bundle = memory offset = slave
#pragma HLS INTERFACE mode = s_axilite port = return
  using namespace nearscan::study;
  int32_t local[BUILT_BUFFER_BYTES / ELEMENT_BYTES];
#pragma HLS BIND_STORAGE variable = local type = ram_2p impl = uram
  const merge_share share = {unit, units, {a_count, b_count}};
  const buffer_size size = {buffer_bytes, BUILT_BUFFER_BYTES};
  if (job == JOB_MERGE) {
    merge_unit<BUILT_PIPELINED>(a, b, c, records, share, local, size);
  } else if (job == JOB_JOIN) {
    join_unit<BUILT_PIPELINED>(a, c, records, units, a_count);
  }
}
