// SPDX-License-Identifier: Apache-2.0
// The merge kernel as the hardware sees it: its ports, and nothing else.
//
// One argument list for ever, that of all kernels: command, input, output, scratch, cancel word. A
// merge works in no scratch, and never touches it. Two bundles a unit: `media` reads and writes
// lines in bursts, `memory` does everything else. The bank has fifteen ports, so a unit that merges
// takes the place of one that scans.
#include "merge.hpp"

extern "C" void ns_merge(const uint64_t* command, nearscan::line_port input,
                         nearscan::line_port output, uint64_t* scratch,
                         const volatile uint32_t* cancel) {
#pragma HLS INTERFACE mode = m_axi port = input bundle = media num_read_outstanding = 16
#pragma HLS INTERFACE mode = m_axi port = output bundle = media num_write_outstanding = 16
#pragma HLS INTERFACE mode = m_axi port = command bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = scratch bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = cancel bundle = memory offset = slave
#pragma HLS INTERFACE mode = s_axilite port = return
  (void)scratch;
  nearscan::merging::run_merge(command, input, output, cancel);
}
