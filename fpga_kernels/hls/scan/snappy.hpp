// SPDX-License-Identifier: Apache-2.0
// Raw Snappy: a varint with the page's size, then elements, each a literal or a copy.
#pragma once

#include "history.hpp"

namespace nearscan {

/// The most bytes of an element before its literal.
static constexpr uint32_t SNAPPY_ELEMENT_BYTES = 5;

/// Reads an element's tag and what belongs to it.
NS_HOT bool read_element(byte_stream& in, page_reader& reader, page_piece& element) {
  const uint64_t ahead = reader.look(in, SNAPPY_ELEMENT_BYTES);
  const uint32_t kind = ahead & 3;
  const uint32_t high = (ahead >> 2) & 0x3f;
  uint32_t extra = 0;
  switch (kind) {
    case 0:
      extra = high < 60 ? 0 : high - 59;
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
  if (reader.window.held < 8 * (1 + extra)) return false;
  reader.take(1 + extra);
  const uint32_t number = static_cast<uint32_t>(low_bits(ahead >> 8, 8 * extra));
  if (kind == 0) {
    element.distance = 0;
    // A length of 2^32 does not fit its field; it is no page of ours.
    if (extra != 0 && number == 0xffffffffu) return false;
    element.length = (extra == 0 ? high : number) + 1;
    return true;
  }
  element.length = kind == 1 ? (high & 7) + 4 : high + 1;
  element.distance = kind == 1 ? (high >> 3) << 8 | number : number;
  return element.distance != 0;
}

/// Reads the size that a Snappy page begins with; false when it is not that of the page's header.
inline bool read_size(byte_stream& in, page_reader& reader, const packed_sizes& sizes) {
  uint64_t size = 0;
  bool more = true;
SIZE:
  for (int shift = 0; shift < 35 && more; shift += 7) {
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
