// SPDX-License-Identifier: Apache-2.0
// Decompresses pages: none, or raw Snappy.
//
// Snappy: a varint with the page's size, then elements. A literal copies up to 8 bytes of the input
// a step, a copy up to 8 bytes of what was written before; so a step moves 8 bytes at most, and the
// number of steps, not of bytes, is what a page costs. The history is a ring on chip.
#pragma once

#include "bit_window.hpp"
#include "plan.hpp"

namespace nearscan {

/// Bytes of the current page that have been read and not yet taken.
struct page_reader {
  bit_window window;
  bool ended;

  page_reader() : ended(false) {}

  void start_page() {
    window.clear();
    ended = false;
  }

  /// Fills the window to at least `bytes` (<= 8); false when the page ends before.
  bool fill(byte_stream& in, uint32_t bytes) {
  FILL:
    while (window.held < 8 * bytes && !ended) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 2
      const byte_token token = in.read();
      window.push(token.data, 8u * token.count);
      ended = token.last;
    }
    return window.held >= 8 * bytes;
  }

  /// Takes `bytes` (<= 8) that `fill` has promised.
  uint64_t take(uint32_t bytes) { return window.take(8 * bytes); }

  void drain_page(byte_stream& in) {
  DRAIN:
    while (!ended) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      ended = in.read().last;
    }
  }
};

/// Passes an uncompressed page on, token by token; the last one stays with whoever ends the page.
inline uint32_t pass_through(byte_stream& in, page_reader& reader, const page_token& page,
                             byte_stream& out) {
  uint64_t passed = 0;
COPY:
  while (!reader.ended) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 147456
    byte_token token = in.read();
    reader.ended = token.last;
    passed += token.count;
    token.last = false;
    out.write(token);
  }
  const bool whole =
      passed == page.uncompressed_bytes && page.compressed_bytes == page.uncompressed_bytes;
  return whole ? STATUS_OK : STATUS_CORRUPT;
}

/// What a page has written: whole words in a ring of 64 KiB, and the word that is not yet whole.
struct snappy_history {
  static constexpr uint32_t WORDS = SNAPPY_DISTANCE_MAX / 8;
  uint64_t ring[WORDS];
  uint32_t words_written;
  uint64_t hold;
  uint8_t held;

  void start_page() {
    words_written = 0;
    hold = 0;
    held = 0;
  }

  uint32_t bytes_written() const { return 8 * words_written + held; }

  /// Word `index` of the page; only the latest 64 KiB are there.
  uint64_t word(uint32_t index) const {
    return index == words_written ? hold : ring[index % WORDS];
  }

  /// Appends `count` (1 to 8) bytes; true when that made `whole`.
  bool append(uint64_t bytes, uint8_t count, uint64_t* whole) {
    const uint32_t shift = 8u * held;
    const uint64_t merged = hold | bytes << shift;
    const bool full = held + count >= 8;
    if (full) {
      ring[words_written % WORDS] = merged;
      words_written++;
      hold = held == 0 ? 0 : bytes >> (64 - shift);
    } else {
      hold = merged;
    }
    held = static_cast<uint8_t>((held + count) % 8);
    *whole = merged;
    return full;
  }

  /// `count` (1 to 8) bytes from `distance` back; where they overlap what they become, they repeat.
  uint64_t get(uint32_t distance, uint8_t count) const {
    const uint32_t from = bytes_written() - distance;
    const uint32_t shift = 8 * (from % 8);
    uint64_t bytes = word(from / 8) >> shift;
    if (shift != 0 && distance + from % 8 > 8) bytes |= word(from / 8 + 1) << (64 - shift);
    if (distance < 8) {
      bytes = low_bits(bytes, 8 * distance);
      // The pattern fills the word by doubling.
      bytes |= bytes << (8 * distance);
      if (distance < 4) bytes |= bytes << (16 * distance);
      if (distance < 2) bytes |= bytes << (32 * distance);
    }
    return low_bits(bytes, 8u * count);
  }
};

/// One element of the Snappy format: a literal to come, or a copy.
struct snappy_element {
  uint32_t length;
  uint32_t distance;
};

/// Reads an element's tag; a distance of 0 is a literal.
inline bool read_element(byte_stream& in, page_reader& reader, snappy_element& element) {
  if (!reader.fill(in, 1)) return false;
  const uint8_t tag = static_cast<uint8_t>(reader.take(1));
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
  if (!reader.fill(in, extra)) return false;
  const uint32_t number = static_cast<uint32_t>(reader.take(extra));
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

/// Reads the size that a Snappy page begins with; false when it is not that of the page's header.
inline bool read_size(byte_stream& in, page_reader& reader, const page_token& page) {
  uint64_t size = 0;
  bool more = true;
SIZE:
  for (int shift = 0; shift < 35 && more; shift += 7) {
    if (!reader.fill(in, 1)) return false;
    const uint64_t byte = reader.take(1);
    size |= (byte & 0x7f) << shift;
    more = (byte & 0x80) != 0;
  }
  return !more && size == page.uncompressed_bytes;
}

/// Decompresses one Snappy page.
inline uint32_t unsnap(byte_stream& in, page_reader& reader, const page_token& page,
                       snappy_history& history, byte_stream& out, uint64_t& tokens) {
  // Some writers leave out even the size of an empty page.
  if (page.compressed_bytes == 0 && page.uncompressed_bytes == 0) return STATUS_OK;
  if (!read_size(in, reader, page)) return STATUS_CORRUPT;
  uint32_t written = 0;
ELEMENTS:
  while (written < page.uncompressed_bytes) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 65536
    snappy_element element;
    if (!read_element(in, reader, element)) return STATUS_CORRUPT;
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
      if (element.distance == 0 && !reader.fill(in, count)) return STATUS_CORRUPT;
      const uint64_t bytes =
          element.distance == 0 ? reader.take(count) : history.get(element.distance, count);
      uint64_t whole;
      if (history.append(bytes, count, &whole)) out.write(byte_token{whole, 8, false});
      left -= count;
      tokens++;
    }
    written += element.length;
  }
  // Bytes behind the last element belong to no page.
  return reader.fill(in, 1) ? STATUS_CORRUPT : STATUS_OK;
}

/// Stage: pages in, decompressed pages out.
inline void decompress(const decompress_plan& plan, page_stream& pages_in, byte_stream& payload_in,
                       report_stream& reports_in, page_stream& pages_out, byte_stream& payload_out,
                       report_stream& reports_out) {
  if (!plan.active) return;
  snappy_history history;
#pragma HLS BIND_STORAGE variable = history.ring type = ram_2p impl = uram
  page_reader reader;
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
    reader.start_page();
    history.start_page();
    if (status == STATUS_OK) {
      failed_page = page_count;
      pages_out.write(page);
      status = plan.codec == CODEC_SNAPPY
                   ? unsnap(payload_in, reader, page, history, payload_out, tokens)
                   : pass_through(payload_in, reader, page, payload_out);
      payload_out.write(byte_token{history.hold, history.held, true});
      bytes += page.uncompressed_bytes;
    }
    reader.drain_page(payload_in);
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
