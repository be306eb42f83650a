// SPDX-License-Identifier: Apache-2.0
// Vector Addition of the fast set as the hardware sees it: its ports, and nothing else. The arrays
// must not overlap, and are whole lines: the last one is written to its end.
#include "vector_addition.hpp"

extern "C" void ns_fast_vector_addition(nearscan::line_port a, nearscan::line_port b,
                                        nearscan::line_t* c, uint64_t* records, uint64_t first,
                                        uint64_t count, uint32_t unit) {
#pragma HLS INTERFACE mode = m_axi port = a bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = b bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = c bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = records bundle = memory offset = slave
#pragma HLS INTERFACE mode = s_axilite port = return
  nearscan::fast::addition_unit(a, b, c, records, {first, count}, unit);
}
