// SPDX-License-Identifier: Apache-2.0
// Raw Snappy: a varint with the page's size, then elements, each a literal or a copy.
#pragma once

#include "history.hpp"

namespace nearscan {

/// Reads an element's tag.
inline bool read_element(byte_stream& in, page_reader& reader, page_piece& element) {
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
inline uint32_t unpack_snappy(byte_stream& in, page_reader& reader, const packed_sizes& sizes,
                              page_history& history, byte_stream& out, uint64_t& tokens) {
  // Some writers leave out even the size of an empty page.
  if (sizes.stored == 0 && sizes.whole == 0) return STATUS_OK;
  if (!read_size(in, reader, sizes)) return STATUS_CORRUPT;
  uint32_t written = 0;
ELEMENTS:
  while (written < sizes.whole) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 65536
    page_piece element;
    if (!read_element(in, reader, element)) return STATUS_CORRUPT;
    if (element.length > sizes.whole - written || element.distance > written) {
      return STATUS_CORRUPT;
    }
    if (element.distance > SNAPPY_DISTANCE_MAX) return STATUS_SNAPPY_DISTANCE;
    uint32_t left = element.length;
  TOKENS:
    while (left > 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8192
      const uint8_t count = left < 8 ? static_cast<uint8_t>(left) : 8;
      if (!write_some(in, reader, element.distance, count, history, out)) return STATUS_CORRUPT;
      left -= count;
      tokens++;
    }
    written += element.length;
  }
  // Bytes behind the last element belong to no page.
  return reader.fill(in, 1) ? STATUS_CORRUPT : STATUS_OK;
}

}  // namespace nearscan
