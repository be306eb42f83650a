// SPDX-License-Identifier: Apache-2.0
// Array Merge of the fast set as the hardware sees it: its ports, and nothing else.
//
// `c` and `c_elements` are the same array, of `room` elements: whole lines are written through the
// one, the edges of a unit's output through the other. Job 0 writes the segment of `unit`, job 1
// counts its elements, job 2 writes them from `first` on. The inputs are whole lines.
#include "array_merge.hpp"

extern "C" void ns_fast_array_merge(const nearscan::line_t* a, const nearscan::line_t* b,
                                    nearscan::line_t* c, int32_t* c_elements, uint64_t* records,
                                    uint64_t a_count, uint64_t b_count, uint32_t unit,
                                    uint32_t units, uint32_t job, uint64_t first, uint64_t room) {
#pragma HLS INTERFACE mode = m_axi port = a bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = b bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = c bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = c_elements bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = records bundle = memory offset = slave
#pragma HLS INTERFACE mode = s_axilite port = return
  using namespace nearscan::fast;
  const merge_share share = {unit, units, {a_count, b_count}};
  merge_unit(a, b, c, c_elements, records, share, job, first, room);
}
