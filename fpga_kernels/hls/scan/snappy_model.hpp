// SPDX-License-Identifier: Apache-2.0
// What the black box `snappy_decoder_blackbox` does: the golden model of the RTL module, and what
// stands for it in a simulation.
//
// It is the codec of the lanes (snappy.hpp) between tokens of the black box. Of a page that fails
// the codec passes on what it had before it found out, and nothing of that counts: the module may
// pass on more or less of it, but the token that ends it is empty.
//
// The synthesis tool reads none of it.
#pragma once

#include "snappy.hpp"
#include "snappy_tokens.hpp"

namespace nearscan {

typedef hls::stream<uint32_t, 1> page_status_stream;

/// Stage: bytes of a page, any number of them at a time, in; whole words out.
template <typename Bytes>
inline void gather_page(Bytes& bytes_in, byte_stream& packed) {
  bit_window held;
  bool more = true;
WORDS:
  while (more) {
    const snappy_byte_token piece = bytes_in.read();
    more = rtl::get(piece, snappy_bytes::ends()) == 0;
    const uint64_t data = rtl::get(piece, snappy_bytes::data());
    const uint32_t count = static_cast<uint32_t>(rtl::get(piece, snappy_bytes::count()));
    if (count == 8 && held.held == 0 && more) {
      packed.write(byte_token{data, 8, false});
      continue;
    }
    held.push(data, 8 * count);
    if (held.held >= 64 && (more || held.held > 64)) {
      packed.write(byte_token{held.take(64), 8, false});
    }
  }
  const uint8_t rest = static_cast<uint8_t>(held.held / 8);
  packed.write(byte_token{held.take(held.held), rest, true});
}

/// Stage: a page in, decompressed out, and how it went.
inline void unpack_page(const packed_sizes& sizes, codec_state& state, page_history& history,
                        byte_stream& packed, byte_stream& plain, page_status_stream& statuses) {
  state.reader.start_page();
  state.end = page_end();
  const uint32_t status = unpack_snappy(packed, sizes, state, history, plain);
  plain.write(byte_token{state.end.hold, static_cast<uint8_t>(state.end.held), true});
  state.reader.drain_page(packed);
  statuses.write(status);
}

/// Stage: a decompressed page in, tokens of the black box out. The end waits for how it went.
template <typename Answers>
inline void answer_page(byte_stream& plain, page_status_stream& statuses, Answers& bytes_out) {
  bool more = true;
ANSWERS:
  while (more) {
    const byte_token piece = plain.read();
    more = !piece.last;
    snappy_answer_token token = snappy_answer_token();
    rtl::set(token, snappy_answer::data(), piece.data);
    rtl::set(token, snappy_answer::count(), piece.count);
    if (!more) {
      const uint32_t status = statuses.read();
      if (status != STATUS_OK) token = snappy_answer_token();
      rtl::set(token, snappy_answer::ends(), 1);
      rtl::set(token, snappy_answer::is_corrupt(), status == STATUS_CORRUPT ? 1 : 0);
      rtl::set(token, snappy_answer::is_too_far(), status == STATUS_SNAPPY_DISTANCE ? 1 : 0);
    }
    bytes_out.write(token);
  }
}

/// A run of the black box.
template <typename Pages, typename Bytes, typename Answers>
inline void run_snappy_model(Pages& pages_in, Bytes& bytes_in, Answers& bytes_out) {
  page_history history;
  codec_state state;
  state.tokens = 0;
  uint64_t cycles = 0;
PAGES:
  while (true) {
    const snappy_page_token page = pages_in.read();
    if (rtl::get(page, snappy_page::last()) != 0) break;
    const packed_sizes sizes = {static_cast<uint32_t>(rtl::get(page, snappy_page::stored())),
                                static_cast<uint32_t>(rtl::get(page, snappy_page::whole()))};
    byte_stream packed;
    byte_stream plain;
    page_status_stream statuses;
    NS_REGION(flow);
    NS_STAGE(flow, gather_page(bytes_in, packed));
    NS_STAGE(flow, unpack_page(sizes, state, history, packed, plain, statuses));
    NS_STAGE(flow, answer_page(plain, statuses, bytes_out));
    NS_RUN(flow);
    cycles = state.cycles.total() + snappy_cycles::FILL;
  }
  snappy_answer_token end = snappy_answer_token();
  rtl::set(end, snappy_answer::data(), cycles);
  rtl::set(end, snappy_answer::last(), 1);
  bytes_out.write(end);
}

}  // namespace nearscan
