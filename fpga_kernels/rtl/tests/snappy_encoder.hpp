// SPDX-License-Identifier: Apache-2.0
// A Snappy encoder for the benches: greedy, with a hash table of four bytes, block by block.
//
// It finds what common writers find: the latest match of four bytes or more within a block of
// 64 KiB, and it looks less often the longer it has found nothing. Elements can also be put one by
// one, also such as no writer would put.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace rtl {

typedef std::vector<uint8_t> bytes_t;

static constexpr uint64_t SNAPPY_BLOCK_BYTES = 65536;

inline void put_number(bytes_t& to, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; i++) to.push_back(static_cast<uint8_t>(number >> (8 * i)));
}

inline void put_size(bytes_t& to, uint64_t size) {
  for (; size >= 0x80; size >>= 7) to.push_back(static_cast<uint8_t>(size | 0x80));
  to.push_back(static_cast<uint8_t>(size));
}

/// A literal, whose length stands in `length_bytes` bytes of its own, or 0 for as few as can be.
inline void put_literal(bytes_t& to, const uint8_t* from, uint64_t count, int length_bytes = 0) {
  const uint64_t number = count - 1;
  if (length_bytes == 0 && number >= 60) {
    length_bytes = number < 1 << 8 ? 1 : number < 1 << 16 ? 2 : number < 1 << 24 ? 3 : 4;
  }
  if (length_bytes == 0) {
    to.push_back(static_cast<uint8_t>(number << 2));
  } else {
    to.push_back(static_cast<uint8_t>((59 + length_bytes) << 2));
    put_number(to, number, length_bytes);
  }
  to.insert(to.end(), from, from + count);
}

/// A copy of up to 64 bytes with a distance of 1, 2 or 4 bytes (11, 16 or 32 bits).
inline void put_copy(bytes_t& to, uint64_t distance, uint64_t count, int distance_bytes) {
  if (distance_bytes == 1) {
    to.push_back(static_cast<uint8_t>((distance >> 8) << 5 | (count - 4) << 2 | 1));
    to.push_back(static_cast<uint8_t>(distance));
    return;
  }
  to.push_back(static_cast<uint8_t>((count - 1) << 2 | (distance_bytes == 2 ? 2u : 3u)));
  put_number(to, distance, distance_bytes);
}

/// A copy of any length, as common writers cut it.
inline void put_match(bytes_t& to, uint64_t distance, uint64_t count) {
  while (count >= 68) {
    put_copy(to, distance, 64, 2);
    count -= 64;
  }
  if (count > 64) {
    put_copy(to, distance, 60, 2);
    count -= 60;
  }
  put_copy(to, distance, count, count < 12 && distance < 2048 ? 1 : 2);
}

inline uint32_t four_bytes(const uint8_t* from) {
  uint32_t word;
  std::memcpy(&word, from, 4);
  return word;
}

/// Compresses one block.
inline void put_block(bytes_t& to, const uint8_t* from, uint64_t count) {
  static constexpr int HASH_BITS = 14;
  // So many bytes at the end are not looked at.
  static constexpr uint64_t MARGIN = 15;
  std::vector<uint64_t> latest(1u << HASH_BITS, 0);
  const auto place = [&](uint64_t at) {
    return (four_bytes(from + at) * 0x1e35a7bdu) >> (32 - HASH_BITS);
  };
  uint64_t literal = 0;
  uint64_t at = 1;
  uint32_t patience = 32;
  while (at + MARGIN < count) {
    uint64_t& entry = latest[place(at)];
    const uint64_t match = entry;
    entry = at;
    if (four_bytes(from + match) != four_bytes(from + at)) {
      at += patience >> 5;
      patience++;
      continue;
    }
    patience = 32;
    if (at > literal) put_literal(to, from + literal, at - literal);
    uint64_t length = 4;
    while (at + length < count && from[match + length] == from[at + length]) length++;
    put_match(to, at - match, length);
    at += length;
    literal = at;
    if (at + MARGIN < count) latest[place(at - 1)] = at - 1;
  }
  if (count > literal) put_literal(to, from + literal, count - literal);
}

/// Compresses a page.
inline bytes_t compress(const bytes_t& page) {
  bytes_t packed;
  put_size(packed, page.size());
  for (uint64_t at = 0; at < page.size(); at += SNAPPY_BLOCK_BYTES) {
    const uint64_t left = page.size() - at;
    put_block(packed, &page[at], left < SNAPPY_BLOCK_BYTES ? left : SNAPPY_BLOCK_BYTES);
  }
  return packed;
}

}  // namespace rtl
