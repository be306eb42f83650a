// SPDX-License-Identifier: Apache-2.0
// Decompresses pages: none, raw Snappy, or blocks of LZ4.
//
// The levels of a page of version 2 stand before the compressed part and are passed on as they are.
#pragma once

#include "lz4.hpp"
#include "snappy.hpp"

namespace nearscan {

/// Passes an uncompressed page on, token by token; the last one stays with whoever ends the page.
inline uint32_t pass_through(byte_stream& in, page_reader& reader, const page_token& page,
                             byte_stream& out, uint64_t& iterations) {
  uint64_t passed = 0;
COPY:
  while (!reader.ended) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 147456
    byte_token token = in.read();
    reader.ended = token.last;
    passed += token.count;
    iterations++;
    token.last = false;
    out.write(token);
  }
  const bool whole =
      passed == page.uncompressed_bytes && page.compressed_bytes == page.uncompressed_bytes;
  return whole ? STATUS_OK : STATUS_CORRUPT;
}

/// Passes the first `count` bytes of a page on; false when it ends before. What is decompressed
/// behind them goes on in their last word, and its copies reach back to none of them.
inline bool pass_levels(byte_stream& in, uint32_t count, codec_state& state, page_history& history,
                        byte_stream& out, uint64_t& iterations) {
LEVELS:
  for (uint32_t left = count; left > 0;) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 8192
    const uint32_t some = left < 8 ? left : 8;
    if (!state.reader.fill(in, some)) return false;
    state.end.append(history, state.reader.take(some), some, out);
    left -= some;
    iterations++;
  }
  return true;
}

/// Decompresses what stands behind the levels.
inline uint32_t unpack(uint8_t codec, byte_stream& in, const page_token& page, codec_state& state,
                       page_history& history, byte_stream& out, uint64_t& iterations) {
  if (!pass_levels(in, page.level_bytes, state, history, out, iterations)) return STATUS_CORRUPT;
  const packed_sizes sizes = {page.compressed_bytes - page.level_bytes,
                              page.uncompressed_bytes - page.level_bytes};
  if (codec == CODEC_SNAPPY) return unpack_snappy(in, sizes, state, history, out);
  return unpack_lz4(in, sizes, state, history, out);
}

/// Stage: pages in, decompressed pages out.
inline void decompress(const decompress_plan& plan, page_stream& pages_in, byte_stream& payload_in,
                       report_stream& reports_in, page_stream& pages_out, byte_stream& payload_out,
                       report_stream& reports_out) {
  if (!plan.active) return;
  page_history history;
#pragma HLS BIND_STORAGE variable = history.ring type = ram_2p impl = uram
  // A copy reads two words that follow each other, and a word is written beside them.
#pragma HLS ARRAY_PARTITION variable = history.ring cyclic factor = 2
  codec_state state;
  state.tokens = 0;
  uint32_t status = STATUS_OK;
  uint64_t bytes = 0;
  // A page's tokens, and what of it is passed on as it is.
  uint64_t data_iterations = 0;
  uint64_t dictionary_iterations = 0;
  uint32_t failed_page = 0;
  uint32_t page_count = 0;
PAGES:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 64
    const page_token page = pages_in.read();
    if (page.last) break;
    state.reader.start_page();
    state.end = page_end();
    if (status == STATUS_OK) {
      failed_page = page_count;
      pages_out.write(page);
      const bool packed = page.compressed && plan.codec != CODEC_UNCOMPRESSED;
      const uint64_t tokens_before = state.tokens;
      uint64_t iterations = 0;
      status = packed
                   ? unpack(plan.codec, payload_in, page, state, history, payload_out, iterations)
                   : pass_through(payload_in, state.reader, page, payload_out, iterations);
      iterations += state.tokens - tokens_before;
      if (page.kind == PAGE_DICTIONARY) {
        dictionary_iterations += iterations;
      } else {
        data_iterations += iterations;
      }
      payload_out.write(byte_token{state.end.hold, static_cast<uint8_t>(state.end.held), true});
      bytes += page.uncompressed_bytes;
    }
    state.reader.drain_page(payload_in);
    page_count++;
  }
  page_token end = page_token();
  end.last = true;
  pages_out.write(end);
  report own = reports_in.read();
  own.snappy_tokens = state.tokens;
  own.decompress_iterations = data_iterations;
  own.dictionary_iterations = max_u64(own.dictionary_iterations, dictionary_iterations);
  own.bytes_decompressed = bytes;
  fail_lane(own, status, plan.column, plan.pages_before + failed_page, 0);
  reports_out.write(own);
}

}  // namespace nearscan
