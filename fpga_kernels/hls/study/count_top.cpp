// SPDX-License-Identifier: Apache-2.0
// Count of the SmartSSD study as the hardware sees it: its ports, and nothing else.
//
// One bundle for all arguments, as the study had: a unit takes one of the bank's fifteen ports, so
// fifteen fit, and the arguments of each wait for one another.
#include "build.hpp"
#include "count.hpp"

extern "C" void ns_study_count(const int32_t* a, uint64_t* records, uint64_t first, uint64_t count,
                               int32_t value, uint32_t unit, uint32_t buffer_bytes) {
#pragma HLS INTERFACE mode = m_axi port = a bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = records bundle = memory offset = slave
#pragma HLS INTERFACE mode = s_axilite port = return
  using namespace nearscan::study;
  int32_t local[BUILT_BUFFER_BYTES / ELEMENT_BYTES];
#pragma HLS BIND_STORAGE variable = local type = ram_2p impl = uram
  const slice part = {first, count};
  const buffer_size size = {buffer_bytes, BUILT_BUFFER_BYTES};
  count_unit<BUILT_PIPELINED>(a, records, part, value, unit, local, size);
}
