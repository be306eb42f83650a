// SPDX-License-Identifier: Apache-2.0
// Numbers as they are stored, and the encodings of values that are no indexes.
#pragma once

#include <algorithm>

#include "tb_lz4.hpp"

namespace nearscan_tb {

/// Bytes of a stored value; 0 for strings and truth values.
inline uint32_t stored_bytes(const column_model& column) {
  switch (column.physical_type) {
    case PHYSICAL_INT32:
    case PHYSICAL_FLOAT:
      return 4;
    case PHYSICAL_INT64:
    case PHYSICAL_DOUBLE:
      return 8;
    case PHYSICAL_FIXED_LEN_BYTE_ARRAY:
      return column.length;
    default:
      return 0;
  }
}

/// The bits of a float at a place of the total order.
inline uint64_t bits_at(int64_t place) {
  const uint64_t bits = static_cast<uint64_t>(place);
  return place < 0 ? bits ^ 0x7fffffffffffffffu : bits;
}

/// The place of a 4-byte number, by the machine's own conversion; NaNs by hand, which it changes.
inline int64_t place_of(uint32_t bits) {
  uint64_t wide;
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    wide = static_cast<uint64_t>(bits >> 31) << 63 | 0x7ff0000000000000u |
           static_cast<uint64_t>(bits & 0x7fffff) << 29;
  } else {
    float narrow;
    std::memcpy(&narrow, &bits, sizeof(narrow));
    const double number = static_cast<double>(narrow);
    std::memcpy(&wide, &number, sizeof(wide));
  }
  return static_cast<int64_t>(bits_at(static_cast<int64_t>(wide)));
}

/// The 4-byte number at a place that is one.
inline uint32_t narrow_at(int64_t place) {
  const uint64_t wide = bits_at(place);
  if ((wide & 0x7fffffffffffffffu) > 0x7ff0000000000000u) {
    return static_cast<uint32_t>(wide >> 63) << 31 | 0x7f800000u |
           static_cast<uint32_t>(wide >> 29 & 0x7fffff);
  }
  double number;
  std::memcpy(&number, &wide, sizeof(number));
  const float narrow = static_cast<float>(number);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof(bits));
  return bits;
}

/// The bytes of a value, strings and truth values left out.
inline bytes_t stored(const column_model& column, int64_t number) {
  const int bytes = static_cast<int>(stored_bytes(column));
  bytes_t out;
  if (column.read_as == READ_AS_BIG_ENDIAN) {
    for (int at = bytes - 1; at >= 0; at--) {
      out.push_back(static_cast<uint8_t>(number >> (at < 8 ? 8 * at : 63)));
    }
  } else {
    uint64_t raw = static_cast<uint64_t>(number);
    if (column.physical_type == PHYSICAL_FLOAT) raw = narrow_at(number);
    if (column.physical_type == PHYSICAL_DOUBLE) raw = bits_at(number);
    put_little_endian(out, raw, bytes);
  }
  return out;
}

/// Bits behind each other, the first one lowest.
struct bit_writer {
  bytes_t& out;
  uint32_t used = 0;

  explicit bit_writer(bytes_t& to) : out(to) {}

  void put(uint64_t value, uint32_t bits) {
    for (uint32_t bit = 0; bit < bits; bit++) {
      if (used % 8 == 0) out.push_back(0);
      out.back() = static_cast<uint8_t>(out.back() | (value >> bit & 1) << (used % 8));
      used++;
    }
  }
};

inline void put_plain(bytes_t& out, const column_model& column, const std::vector<cell>& cells) {
  bit_writer bits(out);
  for (const cell& value : cells) {
    if (column.physical_type == PHYSICAL_BOOLEAN) {
      bits.put(static_cast<uint64_t>(value.number), 1);
    } else if (column.physical_type == PHYSICAL_BYTE_ARRAY) {
      put_little_endian(out, value.text.size(), 4);
      out.insert(out.end(), value.text.begin(), value.text.end());
    } else {
      const bytes_t bytes = stored(column, value.number);
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
  }
}

inline void put_zigzag(bytes_t& out, int64_t value) {
  put_varint(out, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
}

/// Differences. Chance decides whether miniblocks are wider than needed, what the widths behind the
/// last value say, and whether its miniblock is filled up.
inline void put_differences(bytes_t& out, const column_model& column,
                            const std::vector<cell>& cells, random_source& random) {
  const bool narrow = column.physical_type == PHYSICAL_INT32;
  const uint32_t miniblocks = column.style.miniblocks;
  const uint64_t block = static_cast<uint64_t>(miniblocks) * column.style.miniblock_values;
  // The value as it is stored, with the sign of the stored width.
  const auto wrap = [narrow](uint64_t value) {
    return narrow ? static_cast<int64_t>(static_cast<int32_t>(value)) : static_cast<int64_t>(value);
  };
  const auto raw = [&](uint64_t at) { return static_cast<uint64_t>(cells[at].number); };
  put_varint(out, block);
  put_varint(out, miniblocks);
  put_varint(out, cells.size());
  put_zigzag(out, cells.empty() ? 0 : wrap(raw(0)));
  for (uint64_t from = 1; from < cells.size(); from += block) {
    std::vector<int64_t> steps;
    for (uint64_t at = from; at < cells.size() && at < from + block; at++) {
      steps.push_back(wrap(raw(at) - raw(at - 1)));
    }
    const int64_t least = *std::min_element(steps.begin(), steps.end());
    put_zigzag(out, least);
    bytes_t packed;
    for (uint32_t miniblock = 0; miniblock < miniblocks; miniblock++) {
      const uint64_t begin = static_cast<uint64_t>(miniblock) * column.style.miniblock_values;
      const uint64_t end = begin + column.style.miniblock_values;
      uint32_t width = 0;
      for (uint64_t at = begin; at < end && at < steps.size(); at++) {
        uint64_t rest = static_cast<uint64_t>(steps[at]) - static_cast<uint64_t>(least);
        if (narrow) rest &= 0xffffffffu;
        while (width < 64 && (rest >> width) != 0) width++;
      }
      if (begin >= steps.size()) {
        out.push_back(static_cast<uint8_t>(random.next()));
        continue;
      }
      if (random.once_in(5)) width = random.once_in(2) ? (narrow ? 32 : 64) : std::max(width, 3u);
      out.push_back(static_cast<uint8_t>(width));
      bit_writer bits(packed);
      for (uint64_t at = begin; at < end; at++) {
        if (at >= steps.size() && column.style.seed % 2 == 0) break;
        const uint64_t step = at < steps.size() ? static_cast<uint64_t>(steps[at]) : 0;
        bits.put(at < steps.size() ? step - static_cast<uint64_t>(least) : 0, width);
      }
    }
    out.insert(out.end(), packed.begin(), packed.end());
  }
}

inline void put_streams(bytes_t& out, const column_model& column, const std::vector<cell>& cells) {
  std::vector<bytes_t> all;
  for (const cell& value : cells) all.push_back(stored(column, value.number));
  for (uint32_t byte = 0; byte < stored_bytes(column); byte++) {
    for (const bytes_t& value : all) out.push_back(value[byte]);
  }
}

}  // namespace nearscan_tb
