// SPDX-License-Identifier: Apache-2.0
// Decompresses pages: none, or raw Snappy.
//
// Snappy: a varint with the page's size, then tokens. A literal copies up to 8 bytes of the input a
// step, a copy up to 8 bytes of what was written before; so a step moves 8 bytes at most, and the
// number of steps, not of bytes, is what a page costs. The history is a ring on chip.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Bytes of the current page, as the stage before cut them.
struct page_reader {
  byte_stream& in;
  u128 window;
  uint8_t held;
  bool ended;

  explicit page_reader(byte_stream& source) : in(source), window(0), held(0), ended(false) {}

  void start_page() {
    window = 0;
    held = 0;
    ended = false;
  }

  /// Fills the window to at least `bytes` (<= 8); false when the page ends before.
  bool fill(uint8_t bytes) {
  FILL:
    while (held < bytes && !ended) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      const byte_token token = in.read();
      window |= static_cast<u128>(token.data) << (8 * held);
      held = static_cast<uint8_t>(held + token.count);
      ended = token.last;
    }
    return held >= bytes;
  }

  /// Takes `bytes` (<= 8) that `fill` has promised.
  uint64_t take(uint8_t bytes) {
    const uint64_t all = static_cast<uint64_t>(window);
    window >>= 8 * bytes;
    held = static_cast<uint8_t>(held - bytes);
    return bytes == 8 ? all : all & ((static_cast<uint64_t>(1) << (8 * bytes)) - 1);
  }

  void drain_page() {
  DRAIN:
    while (!ended) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      ended = in.read().last;
    }
  }
};

/// Collects bytes into whole words.
struct word_writer {
  byte_stream& out;
  u128 hold;
  uint8_t held;

  explicit word_writer(byte_stream& sink) : out(sink), hold(0), held(0) {}

  void put(uint64_t bytes, uint8_t count) {
    hold |= static_cast<u128>(bytes) << (8 * held);
    held = static_cast<uint8_t>(held + count);
    // One word stays behind, so that the page's last token is never empty without need.
    if (held > 8) {
      byte_token token = {static_cast<uint64_t>(hold), 8, false};
      out.write(token);
      hold >>= 64;
      held = static_cast<uint8_t>(held - 8);
    }
  }

  void end_page() {
    byte_token token = {static_cast<uint64_t>(hold), held, true};
    out.write(token);
    hold = 0;
    held = 0;
  }
};

/// Passes an uncompressed page on.
inline uint32_t pass_through(page_reader& in, const page_token& page, word_writer& out) {
  uint32_t left = page.uncompressed_bytes;
  if (page.compressed_bytes != page.uncompressed_bytes) return STATUS_CORRUPT;
COPY:
  while (left > 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 131072
    const uint8_t count = left < 8 ? static_cast<uint8_t>(left) : 8;
    if (!in.fill(count)) return STATUS_CORRUPT;
    out.put(in.take(count), count);
    left -= count;
  }
  return STATUS_OK;
}

/// The last 64 KiB that a page has written, in eight banks of bytes, and how they are read in
/// words.
struct snappy_history {
  static constexpr uint32_t BYTES = SNAPPY_DISTANCE_MAX;
  uint8_t ring[BYTES];

  void put(uint32_t position, uint64_t bytes, uint8_t count) {
  PUT:
    for (int i = 0; i < 8; i++) {
#pragma HLS UNROLL
      if (i < count) ring[(position + i) % BYTES] = static_cast<uint8_t>(bytes >> (8 * i));
    }
  }

  /// `count` bytes from `distance` back; where the copy overlaps what it writes, it repeats.
  uint64_t get(uint32_t position, uint32_t distance, uint8_t count) const {
    uint64_t bytes = 0;
  GET:
    for (int i = 0; i < 8; i++) {
#pragma HLS UNROLL
      const uint32_t back =
          distance < 8 ? static_cast<uint32_t>(i) % distance : static_cast<uint32_t>(i);
      const uint64_t byte = ring[(position - distance + back) % BYTES];
      if (i < count) bytes |= byte << (8 * i);
    }
    return bytes;
  }
};

/// One element of the Snappy format: a literal to come, or a copy.
struct snappy_element {
  uint32_t length;
  uint32_t distance;
};

/// Reads an element's tag; a distance of 0 is a literal.
inline bool read_element(page_reader& in, snappy_element& element) {
  if (!in.fill(1)) return false;
  const uint8_t tag = static_cast<uint8_t>(in.take(1));
  const uint32_t high = tag >> 2;
  uint8_t extra = 0;
  switch (tag & 3) {
    case 0:
      extra = high < 60 ? 0 : static_cast<uint8_t>(high - 59);
      break;
    case 1:
      extra = 1;
      break;
    case 2:
      extra = 2;
      break;
    default:
      extra = 4;
      break;
  }
  if (!in.fill(extra)) return false;
  const uint32_t number = extra == 0 ? 0 : static_cast<uint32_t>(in.take(extra));
  if ((tag & 3) == 0) {
    element.distance = 0;
    // A length of 2^32 does not fit its field; it is no page of ours.
    if (extra != 0 && number == 0xffffffffu) return false;
    element.length = (extra == 0 ? high : number) + 1;
  } else if ((tag & 3) == 1) {
    element.length = (high & 7) + 4;
    element.distance = ((high >> 3) << 8) | number;
  } else {
    element.length = high + 1;
    element.distance = number;
  }
  return (tag & 3) == 0 || element.distance != 0;
}

/// Decompresses one Snappy page.
inline uint32_t unsnap(page_reader& in, const page_token& page, snappy_history& history,
                       word_writer& out, uint64_t& tokens) {
  // Some writers leave out even the size of an empty page.
  if (page.compressed_bytes == 0 && page.uncompressed_bytes == 0) return STATUS_OK;
  uint64_t size = 0;
  bool more = true;
SIZE:
  for (int shift = 0; shift < 35 && more; shift += 7) {
    if (!in.fill(1)) return STATUS_CORRUPT;
    const uint64_t byte = in.take(1);
    size |= (byte & 0x7f) << shift;
    more = (byte & 0x80) != 0;
  }
  if (more || size != page.uncompressed_bytes) return STATUS_CORRUPT;
  uint32_t written = 0;
ELEMENTS:
  while (written < page.uncompressed_bytes) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 65536
    snappy_element element;
    if (!read_element(in, element)) return STATUS_CORRUPT;
    if (element.length > page.uncompressed_bytes - written || element.distance > written) {
      return STATUS_CORRUPT;
    }
    if (element.distance > SNAPPY_DISTANCE_MAX) return STATUS_SNAPPY_DISTANCE;
    uint32_t left = element.length;
  TOKENS:
    while (left > 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8192
      const uint8_t count = left < 8 ? static_cast<uint8_t>(left) : 8;
      uint64_t bytes;
      if (element.distance == 0) {
        if (!in.fill(count)) return STATUS_CORRUPT;
        bytes = in.take(count);
      } else {
        bytes = history.get(written, element.distance, count);
      }
      history.put(written, bytes, count);
      out.put(bytes, count);
      written += count;
      left -= count;
      tokens++;
    }
  }
  // Bytes behind the last element belong to no page.
  return in.fill(1) ? STATUS_CORRUPT : STATUS_OK;
}

/// Stage: pages in, decompressed pages out.
inline void decompress(const decompress_plan& plan, page_stream& pages_in, byte_stream& payload_in,
                       report_stream& reports_in, page_stream& pages_out, byte_stream& payload_out,
                       report_stream& reports_out) {
  if (!plan.active) return;
  snappy_history history;
#pragma HLS BIND_STORAGE variable = history.ring type = ram_2p impl = uram
#pragma HLS ARRAY_PARTITION variable = history.ring cyclic factor = 8
  page_reader in(payload_in);
  word_writer out(payload_out);
  uint32_t status = STATUS_OK;
  uint64_t tokens = 0;
  uint64_t bytes = 0;
  uint32_t failed_page = 0;
  uint32_t page_count = 0;
PAGES:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 64
    const page_token page = pages_in.read();
    if (page.last) break;
    in.start_page();
    if (status == STATUS_OK) {
      failed_page = page_count;
      pages_out.write(page);
      status = plan.codec == CODEC_SNAPPY ? unsnap(in, page, history, out, tokens)
                                          : pass_through(in, page, out);
      out.end_page();
      bytes += page.uncompressed_bytes;
    }
    in.drain_page();
    page_count++;
  }
  page_token end = page_token();
  end.last = true;
  pages_out.write(end);
  report own = reports_in.read();
  own.snappy_tokens = tokens;
  own.bytes_decompressed = bytes;
  fail_lane(own, status, plan.column, failed_page, 0);
  reports_out.write(own);
}

}  // namespace nearscan
