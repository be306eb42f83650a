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

/// The most bytes of an element before its literal.
static constexpr uint32_t SNAPPY_ELEMENT_BYTES = 5;

/// Reads an element's tag and what belongs to it.
NS_HOT bool read_element(byte_stream& in, page_reader& reader, page_piece& element) {
  const uint64_t ahead = reader.look(in, SNAPPY_ELEMENT_BYTES);
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
  if (sizes.stored == 0 && sizes.whole == 0) return STATUS_OK;
  codec_state at = state;
  uint32_t status = read_size(in, at.reader, sizes) ? STATUS_OK : STATUS_CORRUPT;
  uint32_t written = 0;
ELEMENTS:
  while (written < sizes.whole && status == STATUS_OK) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 65536
    page_piece element;
    if (!read_element(in, at.reader, element) || element.length > sizes.whole - written ||
        element.distance > written) {
      status = STATUS_CORRUPT;
    } else if (element.distance > SNAPPY_DISTANCE_MAX) {
      status = STATUS_SNAPPY_DISTANCE;
    } else if (!write_piece(in, element, at, history, out)) {
      status = STATUS_CORRUPT;
    }
    written += element.length;
  }
  // Bytes behind the last element belong to no page.
  if (status == STATUS_OK && at.reader.fill(in, 1)) status = STATUS_CORRUPT;
  state = at;
  return status;
}

}  // namespace nearscan
