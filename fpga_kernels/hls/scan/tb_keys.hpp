// SPDX-License-Identifier: Apache-2.0
// The bits of key filters, and what they pass: by the page of the format, not by the kernel.
#pragma once

#include "../common/tb_frame.hpp"
#include "tb_model.hpp"

namespace nearscan_tb {

static constexpr uint64_t KEY_SALTS_OF_PAGE[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                                  0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

/// The bits of a key in a Bloom filter of so many blocks, counted from its start.
inline std::vector<uint64_t> bloom_bits(int64_t key, uint64_t blocks) {
  uint64_t h = static_cast<uint64_t>(key);
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
  h = h ^ (h >> 33);
  const uint64_t block = static_cast<uint64_t>(static_cast<u128>(h >> 32) * blocks >> 32);
  std::vector<uint64_t> bits;
  for (uint64_t lane = 0; lane < 8; lane++) {
    const uint64_t product = (h % 0x100000000u) * KEY_SALTS_OF_PAGE[lane] % 0x100000000u;
    bits.push_back(block * 256 + lane * 32 + product / 0x8000000u);
  }
  return bits;
}

/// The words of a set.
inline std::vector<uint64_t> make_key_bits(const key_filter_model& filter) {
  const u128 span = static_cast<u128>(static_cast<i128>(filter.last) - filter.first);
  const bool is_bitmap = filter.kind == KEY_SET_BITMAP;
  const uint64_t blocks = is_bitmap ? static_cast<uint64_t>(span / 256) + 1 : filter.blocks;
  std::vector<uint64_t> words(blocks * 4, 0);
  for (int64_t key : filter.keys) {
    if (is_bitmap) {
      if (key < filter.first || key > filter.last) continue;
      const uint64_t bit = static_cast<uint64_t>(static_cast<i128>(key) - filter.first);
      words[bit / 64] |= static_cast<uint64_t>(1) << bit % 64;
      continue;
    }
    for (uint64_t bit : bloom_bits(key, blocks)) {
      words[bit / 64] |= static_cast<uint64_t>(1) << bit % 64;
    }
  }
  return words;
}

/// Whether a set with these words passes a number.
inline bool key_filter_passes(const key_filter_model& filter, const std::vector<uint64_t>& words,
                              i128 number) {
  const i128 one = 1;
  if (number >= one << 63) return true;
  const bool inside = number >= filter.first && number <= filter.last;
  if (filter.kind == KEY_SET_BITMAP) {
    if (!inside) return true;
    for (int64_t key : filter.keys) {
      if (key == number) return true;
    }
    return false;
  }
  if (!inside) return false;
  for (uint64_t bit : bloom_bits(static_cast<int64_t>(number), filter.blocks)) {
    if ((words[bit / 64] >> bit % 64 & 1) == 0) return false;
  }
  return true;
}

/// CRC-32C, a bit at a time.
inline uint32_t checksum_of(const std::vector<uint64_t>& words) {
  uint32_t sum = ~0u;
  for (uint64_t word : words) {
    for (int bit = 0; bit < 64; bit++) {
      const uint32_t next = (sum ^ static_cast<uint32_t>(word >> bit)) & 1;
      sum = (sum >> 1) ^ (next != 0 ? 0x82f63b78u : 0);
    }
  }
  return ~sum;
}

}  // namespace nearscan_tb
