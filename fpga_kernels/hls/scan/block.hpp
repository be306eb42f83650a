// SPDX-License-Identifier: Apache-2.0
// A block of rows while it fills, and the strings of its columns.
#pragma once

#include "../common/block_bytes.hpp"
#include "parts.hpp"
#include "program.hpp"

namespace nearscan {

/// A block while it fills: eight rows of two columns are put at once, and eight rows of one are
/// taken, so each row of eight has memories of its own, of even columns and of odd ones.
struct block_buffer {
  static constexpr uint32_t ROWS_MAX = BLOCK_ROWS_MAX;
  /// Words of eight rows of a column. The last one is for rows that belong to the next block.
  static constexpr uint32_t WORDS = ROWS_MAX / ROWS + 1;
  static constexpr uint32_t MEMORIES = SIDES * ROWS;
  static constexpr uint32_t PLACES = SLOTS / SIDES * WORDS;
  /// Words of validity of a column; four of them are taken at once.
  static constexpr uint32_t VALID_WORDS = ROWS_MAX / 64;
  static constexpr uint32_t VALID_PLACES = SLOTS * VALID_WORDS / HALF_WORDS;
  static_assert(SLOTS % SIDES == 0, "as many even columns as odd ones");
  static_assert(ROWS_MAX % 64 == 0, "a block ends with a word of validity");

  /// Numbers: of groups the lower halves, and in `high` the higher ones; of strings that have codes
  /// these are in `high`. A row that is null has zeros.
  uint64_t low[MEMORIES][PLACES];
  uint64_t high[MEMORIES][PLACES];
  uint64_t valid[HALF_WORDS][VALID_PLACES];
  /// The word of validity of each column that is not full.
  uint64_t open[SLOTS];
  uint32_t rows;
  /// Rows behind the last one, with which the next block begins.
  uint32_t spilled;

  static uint32_t memory(uint32_t column, uint32_t row) {
    return column % SIDES * ROWS + row % ROWS;
  }
  static uint32_t place(uint32_t column, uint32_t word) { return column / SIDES * WORDS + word; }

  uint64_t number(uint32_t column, uint32_t row) const {
    return low[memory(column, row)][place(column, row / ROWS)];
  }
  uint64_t valid_word(uint32_t column, uint32_t word) const {
    return word == rows / 64 ? open[column]
                             : valid[word % HALF_WORDS][(column * VALID_WORDS + word) / HALF_WORDS];
  }

  void clear() {
    rows = 0;
    spilled = 0;
  CLEAR_OPEN:
    for (uint32_t column = 0; column < static_cast<uint32_t>(SLOTS); column++) {
#pragma HLS UNROLL
      open[column] = 0;
    }
  }

  /// Ends the block with the last row that it has room for.
  void end() {
    spilled = rows > ROWS_MAX ? rows - ROWS_MAX : 0;
    rows -= spilled;
  }
};

/// The strings of all rows of a column of a block; those of null rows are empty.
struct row_strings {
  const block_buffer& block;
  uint32_t column;

  row_strings(const block_buffer& of, uint32_t index) : block(of), column(index) {}

  uint32_t count() const { return block.rows; }
  uint64_t reference(uint32_t row) const { return block.number(column, row); }
};

/// Walks over strings, a line of scratch at a time.
template <typename Strings>
struct string_walk {
  const Strings& strings;
  uint32_t at;
  uint64_t done;

  explicit string_walk(const Strings& of) : strings(of), at(0), done(0) {}

  /// Finds the next piece; false behind the last. A string that has been walked over takes an
  /// iteration.
  bool next(uint64_t* word, uint32_t* bytes, uint64_t& iterations) {
  EMPTY_STRINGS:
    while (at < strings.count() && done == reference_length(strings.reference(at))) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1024
      at++;
      done = 0;
      iterations++;
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

/// Half of a piece of a string, of which so many bytes belong to it.
inline half_line half_of_piece(const words_token& piece, uint32_t half, uint32_t bytes) {
  half_line bits = half_line();
PIECE_WORDS:
  for (uint32_t word = 0; word < HALF_WORDS; word++) {
#pragma HLS UNROLL
    const uint32_t left = bytes > 8 * word ? bytes - 8 * word : 0;
    bits[word] = low_bits(piece.word[HALF_WORDS * half + word], 8 * (left < 8 ? left : 8));
  }
  return bits;
}

/// Fetches strings from scratch and packs them. Gives the words read.
///
/// Requests run ahead of the answers, so that the way to device memory and back is paid once; none
/// waits for room while an answer is due. A piece takes an iteration to be asked for, and one for
/// each half of a line.
template <typename Strings>
inline uint64_t write_strings(const Strings& of, piece_stream& requests, string_stream& strings,
                              part_writer& writer) {
  string_walk<Strings> asked(of);
  uint8_t bytes_due[SCRATCH_DEPTH];
  uint64_t next = 0;
  uint32_t bytes = 0;
  bool more = asked.next(&next, &bytes, writer.iterations);
  uint64_t words_read = 0;
  uint32_t due = 0;
  uint32_t oldest = 0;
PIECES:
  while (more || due > 0) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 262144
    if (more && (due == 0 || !requests.full())) {
      const uint8_t words = static_cast<uint8_t>((bytes + 7) / 8);
      requests.write(piece_token{next, words, false});
      words_read += words;
      bytes_due[(oldest + due) % SCRATCH_DEPTH] = static_cast<uint8_t>(bytes);
      due++;
      writer.iterations++;
      more = asked.next(&next, &bytes, writer.iterations);
      if (more && due < static_cast<uint32_t>(SCRATCH_DEPTH)) continue;
    }
    const words_token piece = strings.read();
    const uint32_t left = bytes_due[oldest];
    oldest = (oldest + 1) % SCRATCH_DEPTH;
    due--;
  PIECE_HALVES:
    for (uint32_t half = 0; half * HALF_BYTES < left; half++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2
      const uint32_t behind = left - half * HALF_BYTES;
      const uint32_t some = behind < HALF_BYTES ? behind : HALF_BYTES;
      writer.put(half_of_piece(piece, half, some), 2 * some, false);
    }
  }
  writer.put(half_line(), 0, true);
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
