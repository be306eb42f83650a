// SPDX-License-Identifier: Apache-2.0
// Average of the SmartSSD study as the hardware sees it: its ports, and nothing else.
//
// One bundle for all arguments, as the study had: a unit takes one of the bank's fifteen ports.
#include "average.hpp"
#include "build.hpp"

extern "C" void ns_study_average(const int32_t* a, uint64_t* records, uint64_t first,
                                 uint64_t count, uint32_t unit, uint32_t buffer_bytes) {
#pragma HLS INTERFACE mode = m_axi port = a bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = records bundle = memory offset = slave
#pragma HLS INTERFACE mode = s_axilite port = return
  using namespace nearscan::study;
  int32_t local[BUILT_BUFFER_BYTES / ELEMENT_BYTES];
#pragma HLS BIND_STORAGE variable = local type = ram_2p impl = uram
  const slice part = {first, count};
  const buffer_size size = {buffer_bytes, BUILT_BUFFER_BYTES};
  average_unit<BUILT_PIPELINED>(a, records, part, unit, local, size);
}
