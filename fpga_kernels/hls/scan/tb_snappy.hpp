// SPDX-License-Identifier: Apache-2.0
// A Snappy encoder that uses every element of the format, also where a good one would not.
#pragma once

#include <cstring>

#include "tb_model.hpp"

namespace nearscan_tb {

inline void put_varint(bytes_t& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<uint8_t>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<uint8_t>(value));
}

inline void put_little_endian(bytes_t& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

/// A literal whose length takes at least `length_bytes_min` bytes of its own.
inline void put_literal(bytes_t& out, const uint8_t* bytes, uint64_t length, int length_bytes_min) {
  const uint64_t stored = length - 1;
  int length_bytes = length_bytes_min;
  if (length_bytes == 0 && stored >= 60) length_bytes = 1;
  while (length_bytes < 4 && length_bytes != 0 && (stored >> (8 * length_bytes)) != 0) {
    length_bytes++;
  }
  if (length_bytes == 0) {
    out.push_back(static_cast<uint8_t>(stored << 2));
  } else {
    out.push_back(static_cast<uint8_t>((59 + length_bytes) << 2));
    put_little_endian(out, stored, length_bytes);
  }
  out.insert(out.end(), bytes, bytes + length);
}

/// A copy of at most 64 bytes; `form` 1, 2 or 3 is the number of its tag.
inline void put_copy(bytes_t& out, uint64_t distance, uint64_t length, int form) {
  if (form == 1) {
    out.push_back(static_cast<uint8_t>((distance >> 8) << 5 | (length - 4) << 2 | 1));
    out.push_back(static_cast<uint8_t>(distance));
  } else {
    out.push_back(static_cast<uint8_t>((length - 1) << 2 | static_cast<uint64_t>(form)));
    put_little_endian(out, distance, form == 2 ? 2 : 4);
  }
}

/// The number of bytes from `at` that repeat those `distance` before; they may overlap themselves.
inline uint64_t match_length(const bytes_t& bytes, uint64_t at, uint64_t distance) {
  uint64_t length = 0;
  while (length < 64 && at + length < bytes.size() &&
         bytes[at + length] == bytes[at + length - distance]) {
    length++;
  }
  return length;
}

/// The narrowest form of a copy, or at random a wider one.
inline int copy_form(uint64_t distance, uint64_t length, bool wild, random_source& random) {
  const int narrowest = distance < 2048 && length >= 4 && length <= 11 ? 1
                        : distance < 65536                             ? 2
                                                                       : 3;
  return wild ? static_cast<int>(random.between(narrowest, 3)) : narrowest;
}

/// Compresses `bytes` as one raw Snappy block.
inline bytes_t compress(const bytes_t& bytes, packing style, random_source& random) {
  const bool wild = style == packing::wild;
  bytes_t out;
  put_varint(out, bytes.size());
  std::vector<uint64_t> last(4096, 0);
  uint64_t literal_from = 0;
  uint64_t at = 0;
  const auto flush_literal = [&](uint64_t end) {
    while (literal_from < end) {
      uint64_t length = end - literal_from;
      if (wild && length > 1 && random.once_in(2)) length = 1 + random.below(length);
      const int length_bytes = wild && random.once_in(3) ? static_cast<int>(random.below(5)) : 0;
      put_literal(out, &bytes[literal_from], length, length_bytes);
      literal_from += length;
    }
  };
  while (at < bytes.size() && style != packing::literals) {
    uint64_t distance = 0;
    uint64_t length = 0;
    if (at + 4 <= bytes.size()) {
      uint32_t four;
      std::memcpy(&four, &bytes[at], 4);
      uint64_t& entry = last[(four * 0x1e35a7bdu) >> 20];
      // 0 stands for nothing seen; a match at the very start is not looked for.
      if (entry != 0 && at - entry <= SNAPPY_DISTANCE_MAX) {
        distance = at - entry;
        length = match_length(bytes, at, distance);
      }
      entry = at;
    }
    // Short runs repeat what stands just before: copies that overlap what they write.
    if (wild && length < 4 && at > 0 && random.once_in(4)) {
      distance = 1 + random.below(at < 9 ? at : 9);
      length = match_length(bytes, at, distance);
    }
    if (wild && length > 1 && random.once_in(3)) length = 1 + random.below(length);
    if (length < (wild ? 1u : 4u)) {
      at++;
      continue;
    }
    flush_literal(at);
    put_copy(out, distance, length, copy_form(distance, length, wild, random));
    at += length;
    literal_from = at;
  }
  flush_literal(bytes.size());
  return out;
}

}  // namespace nearscan_tb
