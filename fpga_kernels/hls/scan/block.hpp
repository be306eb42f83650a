// SPDX-License-Identifier: Apache-2.0
// A block of rows while it fills, and the words of the payload: for plain and compact blocks.
#pragma once

#include "../common/packing.hpp"
#include "../common/result_lines.hpp"
#include "program.hpp"

namespace nearscan {

/// A block while it fills.
struct block_buffer {
  static constexpr uint32_t ROWS_MAX = BLOCK_ROWS_MAX;
  i128 value[SLOTS][ROWS_MAX];
  uint64_t valid[SLOTS][ROWS_MAX / 64];
  uint32_t rows;

  static uint64_t string_length(i128 value) {
    return reference_length(static_cast<uint64_t>(value));
  }
};

inline void clear_block(block_buffer& block) {
  block.rows = 0;
CLEAR_COLUMNS:
  for (int column = 0; column < SLOTS; column++) {
  CLEAR_VALID:
    for (uint32_t word = 0; word < block_buffer::ROWS_MAX / 64; word++) {
#pragma HLS PIPELINE II = 1
      block.valid[column][word] = 0;
    }
  }
}

/// The strings of all rows of a column of a block; those of null rows are empty.
struct row_strings {
  const block_buffer& block;
  uint32_t column;

  row_strings(const block_buffer& of, uint32_t index) : block(of), column(index) {}

  uint32_t count() const { return block.rows; }
  uint64_t reference(uint32_t row) const { return static_cast<uint64_t>(block.value[column][row]); }
};

/// Walks over strings, a line of scratch at a time.
template <typename Strings>
struct string_walk {
  const Strings& strings;
  uint32_t at;
  uint64_t done;

  explicit string_walk(const Strings& of) : strings(of), at(0), done(0) {}

  /// Finds the next piece; false behind the last.
  bool next(uint64_t* word, uint32_t* bytes) {
  EMPTY_STRINGS:
    while (at < strings.count() && done == reference_length(strings.reference(at))) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1024
      at++;
      done = 0;
    }
    if (at == strings.count()) return false;
    const uint64_t reference = strings.reference(at);
    const uint64_t left = reference_length(reference) - done;
    *word = reference_word(reference) + done / 8;
    *bytes = left < 8 * LINE_WORDS ? static_cast<uint32_t>(left) : 8 * LINE_WORDS;
    done += *bytes;
    return true;
  }
};

/// Fetches strings from scratch and packs them. Gives the words read.
///
/// Requests run ahead of the answers, so that the way to device memory and back is paid once; none
/// waits for room while an answer is due.
template <typename Strings>
inline uint64_t write_strings(const Strings& of, scratch_stream& requests, string_stream& strings,
                              payload_writer& writer, result_lines& out) {
  string_walk<Strings> asked(of);
  string_walk<Strings> written(of);
  scratch_token request = scratch_token();
  request.kind = SCRATCH_READ;
  uint64_t next = 0;
  uint32_t bytes = 0;
  bool more = asked.next(&next, &bytes);
  byte_packer packer;
  uint64_t words_read = 0;
  uint32_t due = 0;
PIECES:
  while (more || due > 0) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 262144
    if (more && (due == 0 || !requests.full())) {
      request.at = next;
      request.count = static_cast<uint8_t>((bytes + 7) / 8);
      requests.write(request);
      due++;
      more = asked.next(&next, &bytes);
      if (more && due < static_cast<uint32_t>(SCRATCH_DEPTH)) continue;
    }
    uint64_t at;
    uint32_t left = 0;
    written.next(&at, &left);
    const words_token piece = strings.read();
    due--;
    writer.iterations += LINE_WORDS;
  PIECE_WORDS:
    for (uint32_t i = 0; i < LINE_WORDS; i++) {
#pragma HLS PIPELINE II = 1
      const uint32_t some = left < 8 ? left : 8;
      packer.put<result_lines&>(low_bits(piece.word[i], 8 * some), some, writer, out);
      left -= some;
      words_read += some != 0 ? 1 : 0;
    }
  }
  packer.finish<result_lines&>(writer, out);
  return words_read;
}

/// The counts of the writing stage.
struct write_counters {
  uint64_t rows_out;
  uint64_t string_words;
  uint64_t blocks;
  /// Bytes that compact blocks would have if they were plain.
  uint64_t plain_bytes;
};

}  // namespace nearscan
