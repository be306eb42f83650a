// SPDX-License-Identifier: Apache-2.0
// The block format of LZ4: sequences of literals and a copy, each with a token in front whose
// halves hold the two lengths as far as they fit. An iteration takes a token, a byte of a length, a
// distance, or up to 8 bytes of literals or of a copy. The block says nowhere how long it is; it
// ends behind the literals of its last sequence.
#pragma once

#include "history.hpp"

namespace nearscan {

/// The shortest copy.
static constexpr uint32_t LZ4_COPY_MIN = 4;
/// The value of a half of a token when bytes follow that are to be added.
static constexpr uint32_t LZ4_MORE = 15;

/// The part of a sequence that the next iteration takes.
enum lz4_part : uint8_t {
  /// The token in front.
  LZ4_TOKEN = 0,
  /// A byte of the length of the literals, or of the copy, that its half of the token has no room
  /// for.
  LZ4_LITERAL_LENGTH = 1,
  LZ4_COPY_LENGTH = 2,
  /// Up to 8 bytes of the literals, or of the copy.
  LZ4_LITERALS = 3,
  LZ4_COPY = 4,
  /// The distance behind the literals; or the end of the block.
  LZ4_DISTANCE = 5,
};

/// The sequence that is being taken.
struct lz4_sequence {
  lz4_part part;
  /// The half of the token with the length of the copy.
  uint32_t half;
  /// Bytes of literals, or of the copy, that are still to come.
  page_piece piece;
};

/// Adds a part of a length; false when it is above what the page has room for.
inline bool add_length(uint32_t more, uint32_t room, page_piece& piece) {
  piece.length += more;
  return piece.length <= room;
}

/// Takes the next part of a sequence; STATUS_OK while the block goes on, and with `ended` set at
/// its end. The block has `written` bytes so far, and room for so many more.
NS_HOT uint32_t take_part(byte_stream& in, uint32_t written, uint32_t room, lz4_sequence& sequence,
                          codec_state& at, page_history& history, byte_stream& out, bool& ended) {
  const lz4_part part = sequence.part;
  page_piece& piece = sequence.piece;
  const bool moves = part == LZ4_LITERALS || part == LZ4_COPY;
  if (moves) {
    const uint32_t some = piece.length < 8 ? piece.length : 8;
    if (!write_some(in, piece.distance, some, at, history, out)) return STATUS_CORRUPT;
    piece.length -= some;
    if (piece.length == 0) sequence.part = part == LZ4_COPY ? LZ4_TOKEN : LZ4_DISTANCE;
    return STATUS_OK;
  }
  const uint32_t wanted = part == LZ4_DISTANCE ? 2 : 1;
  if (!at.reader.fill(in, wanted)) {
    // A block ends behind literals, with all bytes of its page and without a copy.
    ended = part == LZ4_DISTANCE && at.reader.window.held == 0 && room == 0 && sequence.half == 0;
    return ended ? STATUS_OK : STATUS_CORRUPT;
  }
  const uint32_t number = static_cast<uint32_t>(at.reader.take(wanted));
  if (part == LZ4_DISTANCE) {
    piece.distance = number;
    piece.length = LZ4_COPY_MIN + sequence.half;
    sequence.part = sequence.half == LZ4_MORE ? LZ4_COPY_LENGTH : LZ4_COPY;
    const bool is_written = number != 0 && number <= written;
    return is_written && piece.length <= room ? STATUS_OK : STATUS_CORRUPT;
  }
  const bool is_token = part == LZ4_TOKEN;
  if (is_token) {
    sequence.half = number & 0xf;
    piece.distance = 0;
    piece.length = 0;
  }
  const uint32_t length = is_token ? number >> 4 : number;
  const bool more = length == (is_token ? LZ4_MORE : 0xffu);
  if (!add_length(length, room, piece)) return STATUS_CORRUPT;
  const bool is_literal = part != LZ4_COPY_LENGTH;
  if (more) {
    sequence.part = is_literal ? LZ4_LITERAL_LENGTH : LZ4_COPY_LENGTH;
  } else if (is_literal) {
    sequence.part = piece.length == 0 ? LZ4_DISTANCE : LZ4_LITERALS;
  } else {
    sequence.part = LZ4_COPY;
  }
  return STATUS_OK;
}

/// Decompresses a block; see unpack_lz4.
NS_HOT uint32_t unpack_sequences(byte_stream& in, const packed_sizes& sizes, codec_state& at,
                                 page_history& history, byte_stream& out) {
  const uint32_t first = at.end.bytes_written();
  lz4_sequence sequence = lz4_sequence();
PARTS:
  while (true) {
#pragma HLS PIPELINE II = 1
#pragma HLS DEPENDENCE variable = history.ring type = inter dependent = false
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 262144
    bool ended = false;
    const uint32_t written = at.end.bytes_written() - first;
    const uint32_t status =
        take_part(in, written, sizes.whole - written, sequence, at, history, out, ended);
    at.tokens++;
    if (status != STATUS_OK || ended) return status;
  }
}

/// Decompresses one page.
inline uint32_t unpack_lz4(byte_stream& in, const packed_sizes& sizes, codec_state& state,
                           page_history& history, byte_stream& out) {
  // Some writers leave out even the token of an empty page.
  if (sizes.stored == 0 && sizes.whole == 0) return STATUS_OK;
  codec_state at = state;
  const uint32_t status = unpack_sequences(in, sizes, at, history, out);
  state = at;
  return status;
}

}  // namespace nearscan
