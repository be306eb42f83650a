// SPDX-License-Identifier: Apache-2.0
// The scan kernel as the hardware sees it: its ports, and nothing else.
//
// One argument list for ever: command, input, output, scratch, cancel word. Two bundles a unit:
// `media` reads the chunks and writes the result, in lines; `memory` does everything else. Either
// way of either has one stage. Seven units use fourteen of the bank's fifteen ports. The command is
// read before the stages start.
//
// Assumed of the tool: that ports of different widths may share a bundle, as `cancel` does.
#include "pipeline.hpp"

extern "C" void ns_scan(const uint64_t* command, nearscan::line_port input,
                        nearscan::line_port output, nearscan::word_port scratch,
                        const volatile uint32_t* cancel) {
#pragma HLS INTERFACE mode = m_axi port = input bundle = media num_read_outstanding = 16
#pragma HLS INTERFACE mode = m_axi port = output bundle = media num_write_outstanding = 16
#pragma HLS INTERFACE mode = m_axi port = command bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = scratch bundle = memory offset = slave
#pragma HLS INTERFACE mode = m_axi port = cancel bundle = memory offset = slave
#pragma HLS INTERFACE mode = s_axilite port = return
  nearscan::run_scan(command, input, output, scratch, cancel);
}
