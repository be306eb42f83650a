// SPDX-License-Identifier: Apache-2.0
// The scan kernel as the hardware sees it: its ports, and nothing else.
//
// Two bundles a unit: `media` reads the chunks and writes the result, in lines; `memory` does
// everything else. Seven units use fourteen of the bank's fifteen ports. An argument belongs to one
// process. Arguments that several processes use in the same direction have channels of their bundle
// (UG1399, "M_AXI Channels"): so `dictionaries` is the input again, and `entries` and `scratch_out`
// are scratch again.
//
// The kernel is told of a next command as soon as its first process can take one
// (`ap_ctrl_chain`). Commands overlap, and end in their order.
//
// A port keeps 16 requests in flight each way, the tool's default.
//
// Assumed of the tool: that ports of different widths may share a bundle, as `cancel` and
// `scratch_out` do.
#include "pipeline.hpp"

extern "C" void ns_scan(const uint64_t* command, nearscan::line_port input,
                        nearscan::line_port output, nearscan::word_port scratch,
                        const volatile uint32_t* cancel, nearscan::line_port dictionaries,
                        nearscan::word_port entries, nearscan::pair_port scratch_out) {
#pragma HLS INTERFACE mode = m_axi port = input bundle = media channel = 0
#pragma HLS INTERFACE mode = m_axi port = dictionaries bundle = media channel = 1
#pragma HLS INTERFACE mode = m_axi port = output bundle = media channel = 0
#pragma HLS INTERFACE mode = m_axi port = command bundle = memory offset = slave channel = 0
#pragma HLS INTERFACE mode = m_axi port = scratch bundle = memory offset = slave channel = 1
#pragma HLS INTERFACE mode = m_axi port = cancel bundle = memory offset = slave channel = 2
#pragma HLS INTERFACE mode = m_axi port = entries bundle = memory offset = slave channel = 3
#pragma HLS INTERFACE mode = m_axi port = scratch_out bundle = memory offset = slave channel = 4
#pragma HLS INTERFACE mode = s_axilite port = return
#pragma HLS INTERFACE mode = ap_ctrl_chain port = return
  nearscan::run_scan(command, input, output, scratch, dictionaries, entries, scratch_out, cancel);
}
