// SPDX-License-Identifier: Apache-2.0
// CRC-32C over 8-byte words: eight table look-ups a word, eight ROMs of 1 KiB.
#pragma once

#include <cstdint>

namespace nearscan {

struct crc32c_tables {
  uint32_t table[8][256];

  constexpr crc32c_tables() : table() {
    for (uint32_t byte = 0; byte < 256; byte++) {
      uint32_t value = byte;
      for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ ((value & 1) ? 0x82f63b78u : 0u);
      table[0][byte] = value;
    }
    for (int slice = 1; slice < 8; slice++) {
      for (uint32_t byte = 0; byte < 256; byte++) {
        const uint32_t before = table[slice - 1][byte];
        table[slice][byte] = (before >> 8) ^ table[0][before & 0xff];
      }
    }
  }
};

static constexpr crc32c_tables CRC32C{};

static constexpr uint32_t CRC32C_START = 0xffffffffu;

/// Folds eight bytes, lowest first, into a running checksum.
inline uint32_t crc32c_word(uint32_t running, uint64_t word) {
  const uint64_t mixed = word ^ running;
  uint32_t folded = 0;
CRC_SLICES:
  for (int slice = 0; slice < 8; slice++) {
#pragma HLS UNROLL
    folded ^= CRC32C.table[7 - slice][(mixed >> (8 * slice)) & 0xff];
  }
  return folded;
}

/// The checksum once all bytes are in.
inline uint32_t crc32c_end(uint32_t running) { return ~running; }

}  // namespace nearscan
