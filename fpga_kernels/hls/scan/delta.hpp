// SPDX-License-Identifier: Apache-2.0
// DELTA_BINARY_PACKED: integers as differences, bit-packed in miniblocks.
//
//     values a block, miniblocks a block, values, the first value
//     then for each block: the least difference, the width of each miniblock, the miniblocks, which
//     hold differences less the least one
//
// Arithmetic wraps in the stored width. The last miniblock may be cut behind its last value, and
// what the widths behind it say is not looked at.
#pragma once

#include "bit_reader.hpp"

namespace nearscan {

struct delta_reader {
  uint8_t widths[DELTA_MINIBLOCKS_MAX];
  uint32_t miniblocks;
  /// Values of a miniblock.
  uint32_t miniblock_values;
  /// The miniblock whose values come, and how many of them.
  uint32_t miniblock;
  uint32_t left;
  /// Values of the page that are to come.
  uint64_t page_left;
  uint64_t least;
  /// The latest value.
  uint64_t number;
  /// Whether the header was read, and whether the first value, which stands there, is to come.
  bool open;
  bool first;

  void start_page() {
    open = false;
    page_left = 0;
  }

  /// Reads the header of the page.
  uint32_t read_header(byte_stream& in, bit_reader& bits) {
    const uint64_t block_values = bits.take_varint(in, 10);
    const uint64_t block_miniblocks = bits.take_varint(in, 10);
    page_left = bits.take_varint(in, 10);
    number = static_cast<uint64_t>(unzigzag(bits.take_varint(in, 10)));
    if (bits.overrun || block_values > 0x7fffffff || block_miniblocks == 0) return STATUS_CORRUPT;
    if (block_miniblocks > DELTA_MINIBLOCKS_MAX) return STATUS_ENCODING;
    miniblocks = static_cast<uint32_t>(block_miniblocks);
    miniblock_values = static_cast<uint32_t>(block_values) / miniblocks;
    if (miniblock_values == 0 || miniblock_values % 32 != 0 || block_values % 128 != 0 ||
        miniblock_values * static_cast<uint64_t>(miniblocks) != block_values) {
      return STATUS_CORRUPT;
    }
    // A block begins with the second value.
    miniblock = miniblocks;
    left = 0;
    open = true;
    first = true;
    return STATUS_OK;
  }

  /// Goes on to the next miniblock, and where there is none to the next block.
  uint32_t next_miniblock(byte_stream& in, bit_reader& bits, uint32_t stored_bits) {
    miniblock++;
    if (miniblock >= miniblocks) {
      least = static_cast<uint64_t>(unzigzag(bits.take_varint(in, 10)));
    WIDTHS:
      for (uint32_t i = 0; i < miniblocks; i++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 128
        widths[i] = static_cast<uint8_t>(bits.take(in, 8));
      }
      bits.iterations += miniblocks;
      miniblock = 0;
    }
    left = miniblock_values;
    return bits.overrun || widths[miniblock] > stored_bits ? STATUS_CORRUPT : STATUS_OK;
  }

  /// The next `count` (<= 8) differences of the miniblock, as many per iteration as 64 bits hold;
  /// gives the iterations.
  uint32_t take_differences(byte_stream& in, bit_reader& bits, uint32_t count, uint64_t* numbers) {
    const uint32_t width = widths[miniblock];
    if (width <= 8) {
      bits.take_numbers<8>(in, width, count, numbers);
      return 1;
    }
    if (width <= 16) {
      bits.take_numbers<4>(in, width, count, numbers);
      return (count + 3) / 4;
    }
    if (width <= 32) {
      bits.take_numbers<2>(in, width, count, numbers);
      return (count + 1) / 2;
    }
    bits.take_numbers<1>(in, width, count, numbers);
    return count;
  }

  /// The next `count` (<= 8) values, of which the low `stored_bits` (32 or 64) count, and the
  /// iterations that they take.
  uint32_t next(byte_stream& in, bit_reader& bits, uint32_t stored_bits, uint32_t count,
                uint64_t numbers[2 * ROWS], uint32_t& iterations) {
    if (count == 0) return STATUS_OK;
    uint32_t status = open ? static_cast<uint32_t>(STATUS_OK) : read_header(in, bits);
    if (status != STATUS_OK) return status;
    if (count > page_left) return STATUS_CORRUPT;
    page_left -= count;
    uint32_t got = 0;
    if (first) {
      numbers[0] = number;
      first = false;
      got = 1;
    }
  MINIBLOCKS:
    while (got < count) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2
      if (left == 0) {
        status = next_miniblock(in, bits, stored_bits);
        if (status != STATUS_OK) return status;
      }
      const uint32_t some = left < count - got ? left : count - got;
      iterations += take_differences(in, bits, some, numbers + got);
    PREFIX:
      for (uint32_t i = 0; i < static_cast<uint32_t>(ROWS) && i < some; i++) {
#pragma HLS UNROLL
        number += least + numbers[got + i];
        numbers[got + i] = number;
      }
      got += some;
      left -= some;
    }
    return bits.overrun ? STATUS_CORRUPT : STATUS_OK;
  }
};

}  // namespace nearscan
