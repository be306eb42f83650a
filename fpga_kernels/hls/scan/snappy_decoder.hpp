// SPDX-License-Identifier: Apache-2.0
// The black box that decompresses raw Snappy: the RTL module `snappy_decoder` (fpga_kernels/rtl) as
// a stage calls it.
//
// A run of it takes pages and their bytes up to a page marked `last`, which is none. For each page
// it gives its bytes, the end of which says how the page went, and behind all pages a token marked
// `last` with the cycles that they took. What is left of a page that failed is read and dropped, so
// the next page begins where it should.
//
// In hardware the module stands in place of the function, and elsewhere its model
// (snappy_model.hpp).
#pragma once

#include "snappy_tokens.hpp"

#ifdef __VITIS_HLS__

// The name, the arguments and their types are those of the black box's description.
void snappy_decoder_blackbox(hls::stream<nearscan::snappy_page_token>& pages_in,
                             hls::stream<nearscan::snappy_byte_token>& bytes_in,
                             hls::stream<nearscan::snappy_answer_token>& bytes_out);

#else

#include "snappy_model.hpp"

inline void snappy_decoder_blackbox(nearscan::snappy_page_stream& pages_in,
                                    nearscan::snappy_byte_stream& bytes_in,
                                    nearscan::snappy_answer_stream& bytes_out) {
  nearscan::run_snappy_model(pages_in, bytes_in, bytes_out);
}

#endif
