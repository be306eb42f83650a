// SPDX-License-Identifier: Apache-2.0
// Decompresses the pages of loaders: those of raw Snappy in the RTL module `snappy_decoder`.
//
//     send_dictionaries -+-> unpack_dictionaries (the black box) -+-> take_dictionaries
//                        +----------------- page headers ---------+
//                        +---------- pages that are not packed ---+
//
// A run of the module is one dictionary: it says how many cycles it took, and each dictionary has a
// report of its own.
//
// Not here: LZ4, whose dictionaries the lanes load, and levels, which no dictionary page has. A
// page with levels is passed on as it is; whoever loads entries refuses it.
#pragma once

#include "plan.hpp"
#include "snappy_decoder.hpp"

namespace nearscan {

/// Passes the bytes of a page to the module or beside it.
inline void send_page(bool is_packed, byte_stream& payload, byte_stream& beside,
                      snappy_byte_stream& packed) {
  bool more = true;
SEND:
  while (more) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 147456
    const byte_token piece = payload.read();
    more = !piece.last;
    if (is_packed) {
      snappy_byte_token token = snappy_byte_token();
      rtl::set(token, snappy_bytes::data(), piece.data);
      rtl::set(token, snappy_bytes::count(), piece.count);
      rtl::set(token, snappy_bytes::ends(), piece.last ? 1 : 0);
      packed.write(token);
    } else {
      beside.write(piece);
    }
  }
}

/// Stage: dictionary pages in; their headers out, and their bytes to the module or beside it. A
/// header that goes on is `compressed` if its bytes went to the module.
inline void send_dictionaries(const loader_codec_plan& plan, page_stream& pages_in,
                              byte_stream& payload, page_stream& pages_out, byte_stream& beside,
                              snappy_page_stream& packed_pages, snappy_byte_stream& packed) {
SEND_DICTIONARIES:
  for (uint32_t at = 0; at < plan.count; at++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    bool more = true;
  SEND_PAGES:
    while (more) {
#pragma HLS LOOP_TRIPCOUNT min = 2 max = 2
      page_token page = pages_in.read();
      more = !page.last;
      page.compressed = page.compressed && page.level_bytes == 0 && plan.is_snappy[at];
      pages_out.write(page);
      if (page.compressed || page.last) {
        snappy_page_token token = snappy_page_token();
        rtl::set(token, snappy_page::stored(), page.compressed_bytes);
        rtl::set(token, snappy_page::whole(), page.uncompressed_bytes);
        rtl::set(token, snappy_page::last(), page.last ? 1 : 0);
        packed_pages.write(token);
      }
      if (more) send_page(page.compressed, payload, beside, packed);
    }
  }
}

/// Stage: the module, once for each dictionary.
inline void unpack_dictionaries(const loader_run_plan& plan, snappy_page_stream& pages,
                                snappy_byte_stream& packed, snappy_answer_stream& answers) {
UNPACK_DICTIONARIES:
  for (uint32_t at = 0; at < plan.count; at++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    snappy_decoder_blackbox(pages, packed, answers);
  }
}

/// Takes a page that the module has decompressed; drops it where it is not wanted.
inline uint32_t take_unpacked(snappy_answer_stream& answers, bool is_wanted, byte_stream& out,
                              uint64_t& tokens) {
  uint32_t status = STATUS_OK;
  bool more = true;
TAKE:
  while (more) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 147456
    const snappy_answer_token token = answers.read();
    const uint64_t data = rtl::get(token, snappy_answer::data());
    const uint8_t count = static_cast<uint8_t>(rtl::get(token, snappy_answer::count()));
    more = rtl::get(token, snappy_answer::ends()) == 0;
    // Only the end of a page has them.
    if (rtl::get(token, snappy_answer::is_corrupt()) != 0) status = STATUS_CORRUPT;
    if (rtl::get(token, snappy_answer::is_too_far()) != 0) status = STATUS_SNAPPY_DISTANCE;
    if (is_wanted) out.write(byte_token{data, count, !more});
    if (count != 0) tokens++;
  }
  return status;
}

/// Takes a page that was passed by the module; drops it where it is not wanted.
inline uint32_t take_beside(byte_stream& beside, const page_token& page, bool is_wanted,
                            byte_stream& out, uint64_t& iterations) {
  uint64_t passed = 0;
  bool more = true;
PASS:
  while (more) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 147456
    const byte_token piece = beside.read();
    more = !piece.last;
    passed += piece.count;
    iterations++;
    if (is_wanted) out.write(piece);
  }
  const bool whole =
      passed == page.uncompressed_bytes && page.compressed_bytes == page.uncompressed_bytes;
  return whole ? STATUS_OK : STATUS_CORRUPT;
}

/// Takes the pages of a dictionary. Behind one that fails they are dropped.
inline void take_dictionary(const decompress_plan& plan, page_stream& pages_in, byte_stream& beside,
                            snappy_answer_stream& answers, report_stream& reports_in,
                            page_stream& pages_out, byte_stream& payload,
                            report_stream& reports_out) {
  uint32_t status = STATUS_OK;
  uint64_t bytes = 0;
  uint64_t tokens = 0;
  uint64_t iterations = 0;
  uint32_t failed_page = 0;
  uint32_t page_count = 0;
  bool more = true;
TAKE_PAGES:
  while (more) {
#pragma HLS LOOP_TRIPCOUNT min = 2 max = 2
    const page_token page = pages_in.read();
    const bool is_wanted = status == STATUS_OK;
    more = !page.last;
    if (is_wanted || page.last) pages_out.write(page);
    if (more) {
      const uint32_t found = page.compressed
                                 ? take_unpacked(answers, is_wanted, payload, tokens)
                                 : take_beside(beside, page, is_wanted, payload, iterations);
      if (is_wanted) {
        status = found;
        failed_page = page_count;
        bytes += page.uncompressed_bytes;
      }
      page_count++;
    }
  }
  iterations += rtl::get(answers.read(), snappy_answer::data());
  report own = reports_in.read();
  own.snappy_tokens = tokens;
  own.dictionary_iterations = max_u64(own.dictionary_iterations, iterations);
  own.bytes_decompressed = bytes;
  fail_lane(own, status, plan.column, plan.pages_before + failed_page, 0);
  reports_out.write(own);
}

/// Stage: pages of the module and those passed by it in, in the order of their headers;
/// decompressed pages out.
inline void take_dictionaries(const loader_take_plan& plan, page_stream& pages_in,
                              byte_stream& beside, snappy_answer_stream& answers,
                              report_stream& reports_in, page_stream& pages_out,
                              byte_stream& payload, report_stream& reports_out) {
TAKE_DICTIONARIES:
  for (uint32_t at = 0; at < plan.count; at++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    take_dictionary(plan.decompress[at], pages_in, beside, answers, reports_in, pages_out, payload,
                    reports_out);
  }
}

}  // namespace nearscan
