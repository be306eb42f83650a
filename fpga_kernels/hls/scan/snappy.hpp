// SPDX-License-Identifier: Apache-2.0
// Raw Snappy: a varint with the page's size, then elements, each a literal or a copy.
#pragma once

#include "history.hpp"

namespace nearscan {

/// The tables of the tag of an element: its length or one less than what follows adds to it, the
/// upper bits of a distance, and how many bytes follow. Kinds and lengths come in no order, so a
/// table is faster in a simulation than to tell them apart.
struct snappy_tags {
  uint8_t length[256];
  uint8_t extra[256];
  uint16_t distance[256];

  constexpr snappy_tags() : length(), extra(), distance() {
    for (uint32_t tag = 0; tag < 256; tag++) {
      const uint32_t kind = tag & 3;
      const uint32_t high = tag >> 2;
      const bool is_long = kind == 0 && high >= 60;
      length[tag] = static_cast<uint8_t>(is_long ? 1 : kind == 1 ? (high & 7) + 4 : high + 1);
      extra[tag] = static_cast<uint8_t>(kind != 0 ? 1u << (kind - 1) : is_long ? high - 59 : 0);
      distance[tag] = static_cast<uint16_t>(kind == 1 ? high >> 3 << 8 : 0);
    }
  }
};
static constexpr snappy_tags SNAPPY_TAGS{};

/// Reads an element's tag and what belongs to it, out of a window with as much of the page as there
/// is of 8 bytes.
NS_HOT bool read_element(page_reader& reader, page_piece& element) {
  const uint64_t ahead = reader.window.low;
  const uint32_t tag = ahead & 0xff;
  const uint32_t extra = SNAPPY_TAGS.extra[tag];
  if (reader.window.held < 8 * (1 + extra)) return false;
  reader.take(1 + extra);
  const uint32_t number = static_cast<uint32_t>(low_bits(ahead >> 8, 8 * extra));
  const bool is_literal = (tag & 3) == 0;
  element.length = SNAPPY_TAGS.length[tag] + (is_literal ? number : 0);
  element.distance = is_literal ? 0 : SNAPPY_TAGS.distance[tag] + number;
  // A copy comes from somewhere; a length of 2^32 does not fit its field, it is no page of ours.
  return is_literal ? element.length != 0 : element.distance != 0;
}

/// Whether an element is one that a page of which so much was written may have.
inline uint32_t check_element(const page_piece& element, uint32_t written, uint32_t whole) {
  if (element.length > whole - written || element.distance > written) return STATUS_CORRUPT;
  return element.distance > SNAPPY_DISTANCE_MAX ? STATUS_SNAPPY_DISTANCE : STATUS_OK;
}

/// Tells the cycles of an element that was read from a window of so many bits.
NS_HOT void count_element(const page_piece& element, uint32_t held, codec_state& at) {
  if (element.distance == 0) {
    at.cycles.add_literal((held - at.reader.window.held) / 8, element.length);
  } else {
    at.cycles.add_copy(element.length);
  }
}

/// Writes the next bytes of an element: 8, or what is left of it, or what the window has of a
/// literal. Gives how many, none when the page ends before.
NS_HOT uint32_t write_bytes(page_piece& element, codec_state& at, page_history& history,
                            byte_stream& out) {
  uint32_t count = element.length < 8 ? element.length : 8;
  uint64_t bytes;
  if (element.distance == 0) {
    const uint32_t there = at.reader.window.held / 8;
    count = there < count ? there : count;
    if (count == 0) return 0;
    bytes = at.reader.take(count);
  } else {
    bytes = at.end.get(history, element.distance, count);
  }
  at.end.append(history, bytes, count, out);
  at.tokens++;
  element.length -= count;
  return count;
}

/// Reads the size that a Snappy page begins with; false when it is not that of the page's header.
inline bool read_size(byte_stream& in, page_reader& reader, const packed_sizes& sizes) {
  uint64_t size = 0;
  bool more = true;
SIZE:
  for (int shift = 0; shift < 35 && more; shift += 7) {
#pragma HLS PIPELINE II = 1
    if (!reader.fill(in, 1)) return false;
    const uint64_t byte = reader.take(1);
    size |= (byte & 0x7f) << shift;
    more = (byte & 0x80) != 0;
  }
  return !more && size == sizes.whole;
}

/// Decompresses one Snappy page.
inline uint32_t unpack_snappy(byte_stream& in, const packed_sizes& sizes, codec_state& state,
                              page_history& history, byte_stream& out) {
  // Some writers leave out even the size of an empty page.
  if (sizes.stored == 0 && sizes.whole == 0) {
    state.cycles.end_page();
    return STATUS_OK;
  }
  codec_state at = state;
  uint32_t status = read_size(in, at.reader, sizes) ? STATUS_OK : STATUS_CORRUPT;
  uint32_t written = 0;
  page_piece element = {0, 0};
  // An iteration begins an element if none is under way, and writes up to 8 bytes of it.
ELEMENTS:
  while (written < sizes.whole && status == STATUS_OK) {
#pragma HLS PIPELINE II = 1
#pragma HLS DEPENDENCE variable = history.ring type = inter dependent = false
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 1048576
    at.reader.fill(in, 8);
    if (element.length == 0) {
      const uint32_t held = at.reader.window.held;
      status = read_element(at.reader, element) ? check_element(element, written, sizes.whole)
                                                : static_cast<uint32_t>(STATUS_CORRUPT);
      if (status == STATUS_OK) count_element(element, held, at);
    }
    if (status == STATUS_OK) {
      const uint32_t some = write_bytes(element, at, history, out);
      written += some;
      if (some == 0) status = STATUS_CORRUPT;
    }
  }
  // Bytes behind the last element belong to no page.
  if (status == STATUS_OK && at.reader.fill(in, 1)) status = STATUS_CORRUPT;
  at.cycles.end_page();
  state = at;
  return status;
}

}  // namespace nearscan
