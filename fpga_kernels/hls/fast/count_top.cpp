// SPDX-License-Identifier: Apache-2.0
// Count of the fast set as the hardware sees it: its ports, and nothing else.
#include "count.hpp"

extern "C" void ns_fast_count(const nearscan::line_t* a, uint64_t* records, uint64_t first,
                              uint64_t count, int32_t value, uint32_t unit) {
#pragma HLS INTERFACE mode = m_axi port = a bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = records bundle = memory offset = slave
#pragma HLS INTERFACE mode = s_axilite port = return
  nearscan::fast::count_unit(a, records, {first, count}, value, unit);
}
