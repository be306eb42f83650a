// SPDX-License-Identifier: Apache-2.0
// Copies the strings of a block, column by column, one behind the other.
//
// One process walks over a block and asks for its strings, another one packs what comes: as many
// requests are under way as the port keeps. Both count words of device memory, one an iteration.
#pragma once

#include "../common/packing.hpp"
#include "deal.hpp"

namespace nearscan {
namespace merging {

/// Bytes of a request for a part of a string.
static constexpr uint32_t PIECE_BYTES = 8 * (REQUEST_WORDS_MAX - 1);

/// Asks for the strings of one column; false once there were too many steps.
inline bool ask_column_strings(const reference_block& strings, uint32_t first, uint32_t rows,
                               uint64_t steps_max, request_stream& requests,
                               piece_stream& pieces, uint64_t& steps) {
  uint32_t row = 0;
  uint64_t asked = 0;
PIECES:
  while (row < rows && steps <= steps_max) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const string_reference string = strings[first + row];
    const uint64_t left = string.length - asked;
    const uint32_t bytes = left < PIECE_BYTES ? static_cast<uint32_t>(left) : PIECE_BYTES;
    if (bytes != 0) {
      const uint64_t at = string.at + asked;
      const uint32_t skipped = static_cast<uint32_t>(at % 8);
      const uint32_t count = (skipped + bytes + 7) / 8;
      requests.write(request_token{at / 8, static_cast<uint8_t>(count), TO_STRINGS, false});
      pieces.write(piece_token{static_cast<uint16_t>(bytes), static_cast<uint8_t>(skipped), false,
                               false});
      steps += (bytes + 7) / 8;
    }
    asked += bytes;
    if (asked == string.length) {
      row++;
      asked = 0;
    }
  }
  return row == rows;
}

/// Process: blocks in, requests for their strings out. Of a merge that took too many steps nothing
/// more is asked for.
inline void ask_strings(const strings_plan& plan, reference_blocks& strings_in,
                        block_stream& blocks, request_stream& requests, piece_stream& pieces,
                        report_stream& reports) {
  process_report own = empty_report();
  uint64_t steps = 0;
BLOCKS_OF_STRINGS:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 33554432
    const block_token block = blocks.read();
    if (block.last) break;
    hls::read_lock<reference_block> strings(strings_in);
  STRING_COLUMNS:
    for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 20
      if (own.status == STATUS_OK && !block.too_large &&
          !ask_column_strings(strings, column * plan.block_rows, block.rows, plan.steps_max,
                              requests, pieces, steps)) {
        own.status = STATUS_STEPS_EXCEEDED;
      }
      pieces.write(piece_token{0, 0, true, false});
    }
  }
  pieces.write(piece_token{0, 0, false, true});
  requests.write(last_request());
  reports.write(own);
}

/// Puts packed words into a stream.
struct packed_writer {
  void put(packed_stream& out, uint64_t word) { out.write(packed_token{word, false}); }
};

/// Process: pieces of strings and their words in, words without gaps out.
inline void pack_strings(piece_stream& pieces, word_stream& words, packed_stream& packed,
                         report_stream& reports) {
  process_report own = empty_report();
  packed_writer writer;
  byte_packer packer;
  piece_token piece = piece_token();
  uint32_t left = 0;
PACKED_WORDS:
  while (!piece.last) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    own.iterations++;
    if (left == 0) {
      piece = pieces.read();
      left = piece.bytes;
      if (piece.ends_column) {
        packed.write(packed_token{static_cast<uint64_t>(packer.hold), true});
        packer = byte_packer();
      }
    } else {
      const uint32_t room = 8 - piece.skipped;
      const uint32_t some = left < room ? left : room;
      const uint64_t word = words.read() >> (8 * piece.skipped);
      packer.put<packed_stream&>(low_bits(word, 8 * some), some, writer, packed);
      piece.skipped = 0;
      left -= some;
      own.string_words++;
    }
  }
  reports.write(own);
}

}  // namespace merging
}  // namespace nearscan
