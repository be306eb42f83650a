// SPDX-License-Identifier: Apache-2.0
// The block format of LZ4: sequences of literals and a copy, each with a token in front whose
// halves hold the two lengths as far as they fit. The block says nowhere how long it is; it ends
// behind the literals of its last sequence.
#pragma once

#include "history.hpp"

namespace nearscan {

/// The shortest copy.
static constexpr uint32_t LZ4_COPY_MIN = 4;
/// The value of a half of a token when bytes follow that are to be added.
static constexpr uint32_t LZ4_MORE = 15;

/// Completes the length whose beginning is `half` of a token. False when the page ends before, or
/// when it is above `most` (< 2^31).
inline bool read_length(byte_stream& in, page_reader& reader, uint32_t half, uint32_t most,
                        uint32_t& length) {
  length = half;
  bool more = half == LZ4_MORE;
LENGTH:
  while (more) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
    if (length > most || !reader.fill(in, 1)) return false;
    const uint32_t byte = static_cast<uint32_t>(reader.take(1));
    length += byte;
    more = byte == 0xff;
  }
  return length <= most;
}

/// Decompresses a block; see unpack_lz4.
NS_HOT uint32_t unpack_sequences(byte_stream& in, const packed_sizes& sizes, codec_state& at,
                                 page_history& history, byte_stream& out) {
  uint32_t written = 0;
SEQUENCES:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 65536
    if (!at.reader.fill(in, 1)) return STATUS_CORRUPT;
    const uint32_t token = static_cast<uint32_t>(at.reader.take(1));
    page_piece piece;
    piece.distance = 0;
    if (!read_length(in, at.reader, token >> 4, sizes.whole - written, piece.length) ||
        !write_piece(in, piece, at, history, out)) {
      return STATUS_CORRUPT;
    }
    written += piece.length;
    if (!at.reader.fill(in, 1)) {
      return written == sizes.whole && (token & 0xf) == 0 ? STATUS_OK : STATUS_CORRUPT;
    }
    if (!at.reader.fill(in, 2)) return STATUS_CORRUPT;
    piece.distance = static_cast<uint32_t>(at.reader.take(2));
    if (piece.distance == 0 || piece.distance > written) return STATUS_CORRUPT;
    const uint32_t room = sizes.whole - written;
    if (room < LZ4_COPY_MIN ||
        !read_length(in, at.reader, token & 0xf, room - LZ4_COPY_MIN, piece.length)) {
      return STATUS_CORRUPT;
    }
    piece.length += LZ4_COPY_MIN;
    if (!write_piece(in, piece, at, history, out)) return STATUS_CORRUPT;
    written += piece.length;
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
