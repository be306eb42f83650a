// SPDX-License-Identifier: Apache-2.0
// An encoder for blocks of LZ4 that splits and overlaps copies where a good one would not.
#pragma once

#include "tb_snappy.hpp"

namespace nearscan_tb {

/// Writes the part of a length that does not fit in its half of the token.
inline void put_lz4_length(bytes_t& out, uint64_t length) {
  if (length < 15) return;
  uint64_t rest = length - 15;
  for (; rest >= 255; rest -= 255) out.push_back(255);
  out.push_back(static_cast<uint8_t>(rest));
}

/// Literals, and a copy unless `distance` is 0.
inline void put_sequence(bytes_t& out, const uint8_t* literals, uint64_t count, uint64_t distance,
                         uint64_t length) {
  const uint64_t above = distance == 0 ? 0 : length - 4;
  out.push_back(static_cast<uint8_t>((count < 15 ? count : 15) << 4 | (above < 15 ? above : 15)));
  put_lz4_length(out, count);
  out.insert(out.end(), literals, literals + count);
  if (distance == 0) return;
  put_little_endian(out, distance, 2);
  put_lz4_length(out, above);
}

/// Compresses `bytes` as one block. The last five bytes are literals.
inline bytes_t compress_lz4(const bytes_t& bytes, packing style, random_source& random) {
  const bool wild = style == packing::wild;
  bytes_t out;
  std::vector<uint64_t> last(4096, 0);
  const uint64_t end = bytes.size() < 5 || style == packing::literals ? 0 : bytes.size() - 5;
  uint64_t literal_from = 0;
  uint64_t at = 0;
  while (at + 4 <= end) {
    uint32_t four;
    std::memcpy(&four, &bytes[at], 4);
    uint64_t& entry = last[(four * 0x1e35a7bdu) >> 20];
    uint64_t distance = entry != 0 && at - entry < 65536 ? at - entry : 0;
    entry = at;
    // Now and then what stands just before: copies that overlap what they write.
    if (wild && at > 0 && random.once_in(4)) distance = 1 + random.below(at < 9 ? at : 9);
    uint64_t length = 0;
    while (distance != 0 && at + length < end &&
           bytes[at + length] == bytes[at + length - distance]) {
      length++;
    }
    if (wild && length > 4 && random.once_in(3)) length = 4 + random.below(length - 3);
    if (length < 4) {
      at++;
      continue;
    }
    put_sequence(out, &bytes[literal_from], at - literal_from, distance, length);
    at += length;
    literal_from = at;
  }
  put_sequence(out, bytes.data() + literal_from, bytes.size() - literal_from, 0, 0);
  return out;
}

}  // namespace nearscan_tb
