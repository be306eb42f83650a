// SPDX-License-Identifier: Apache-2.0
// Copies the strings of a block, column by column, one behind the other.
//
// One process walks over a block, one asks for its strings, a third one packs what comes: as many
// requests are under way as the port keeps. So no iteration waits for what one before it has read.
#pragma once

#include "allocation.hpp"

namespace nearscan {
namespace merging {

/// Bytes of a request for a part of a string.
static constexpr uint32_t PIECE_BYTES = 8 * (REQUEST_WORDS_MAX - 1);

/// Process: blocks in, their strings out, column by column.
inline void list_strings(const listing_plan& plan, reference_blocks& strings_in,
                         block_stream& blocks, string_stream& strings_out) {
BLOCKS_OF_STRINGS:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 33554432
    const block_token block = blocks.read();
    if (block.last) break;
    hls::read_lock<reference_block> lock(strings_in);
    const reference_block& strings = lock;
    // What cannot be written is not copied.
    const uint32_t rows = block.too_large ? 0 : block.rows;
  STRING_COLUMNS:
    for (uint32_t column = 0; column < plan.column_count; column++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 20
    STRINGS_OF_COLUMN:
      for (uint32_t row = 0; row < rows; row++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1024
        const string_reference string = strings[column * plan.block_rows + row];
        strings_out.write(string_token{string.at, string.length, false, false});
      }
      strings_out.write(string_token{0, 0, true, false});
    }
  }
  strings_out.write(string_token{0, 0, false, true});
}

/// Process: strings in, requests for their bytes out. Of a merge that took too many steps, or that
/// has failed, nothing more is asked for.
inline void ask_strings(const strings_plan& plan, string_stream& strings, stop_stream& stop,
                        request_stream& requests, piece_stream& pieces, report_stream& reports) {
  process_report own = empty_report();
  string_token string = string_token();
  uint64_t steps = 0;
  bool is_told = false;
  bool has_failed = false;
PIECES:
  while (!string.last) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    if (string.length == 0) string = strings.read();
    if (!is_told && !stop.empty()) {
      has_failed = stop.read();
      is_told = true;
    }
    if (steps > plan.steps_max || has_failed) string.length = 0;
    if (string.ends_column || string.last) {
      pieces.write(piece_token{0, 0, string.ends_column, string.last});
    } else if (string.length != 0) {
      const uint32_t bytes = string.length < PIECE_BYTES ? string.length : PIECE_BYTES;
      const uint32_t skipped = static_cast<uint32_t>(string.at % 8);
      const uint32_t count = (skipped + bytes + 7) / 8;
      requests.write(request_token{string.at / 8, static_cast<uint8_t>(count), TO_STRINGS, false});
      pieces.write(
          piece_token{static_cast<uint16_t>(bytes), static_cast<uint8_t>(skipped), false, false});
      steps += (bytes + 7) / 8;
      string.at += bytes;
      string.length -= bytes;
    }
  }
  requests.write(last_request());
  // The one token of this stream is taken in any case: the next call must not find it.
  if (!is_told) stop.read();
  if (steps > plan.steps_max) own.status = STATUS_STEPS_EXCEEDED;
  reports.write(own);
}

/// Bytes that wait for their word to fill.
struct byte_packer {
  u128 hold;
  uint32_t held;

  byte_packer() : hold(0), held(0) {}

  /// Puts `count` bytes, 8 at most, behind those that wait. The rest of `bytes` is zero.
  template <typename Out, typename Writer>
  void put(uint64_t bytes, uint32_t count, Writer& writer, Out out) {
    hold |= static_cast<u128>(bytes) << (8 * held);
    held += count;
    if (held >= 8) {
      writer.put(out, static_cast<uint64_t>(hold));
      hold >>= 64;
      held -= 8;
    }
  }

  template <typename Out, typename Writer>
  void finish(Writer& writer, Out out) {
    if (held != 0) writer.put(out, static_cast<uint64_t>(hold));
  }
};

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
