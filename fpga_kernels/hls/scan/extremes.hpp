// SPDX-License-Identifier: Apache-2.0
// The least and the greatest byte string of a group.
//
// A state is the reference of the best string so far and its first eight bytes. The first bytes of
// a word's strings are fetched in one request; they decide unless they are equal, and then both
// strings are read on, a line each at a time. A string that is the state already needs no memory,
// which is most of what a dictionary gives once the groups have settled.
//
// A word waits for its answer before the next one is read: some 60 cycles of device memory for
// eight rows and each such slot. The states depend on each other, the requests do not, so a buffer
// of words in front could hide this.
#pragma once

#include "groups.hpp"
#include "row_numbers.hpp"

namespace nearscan {

/// Asks for the line of a string that begins with byte `at`.
inline void ask_line(scratch_stream& requests, uint64_t reference, uint64_t at) {
  const uint64_t words = (reference_length(reference) - at + 7) / 8;
  scratch_token token = scratch_token();
  token.kind = SCRATCH_READ;
  token.at = reference_word(reference) + at / 8;
  token.count = static_cast<uint8_t>(words < LINE_WORDS ? words : LINE_WORDS);
  requests.write(token);
}

/// Whether string `a` is less than `b`, of which the first eight bytes are equal.
///
/// Behind its end a string goes on with zeros, so that it is before its extensions except where
/// these go on with zeros too; the lengths decide then.
inline bool less_behind(uint64_t a, uint64_t b, scratch_stream& requests, string_stream& answers,
                        uint64_t& words_read) {
  const uint64_t a_bytes = reference_length(a);
  const uint64_t b_bytes = reference_length(b);
  const uint64_t shorter = a_bytes < b_bytes ? a_bytes : b_bytes;
LINES:
  for (uint64_t at = 8; at < shorter; at += 8 * LINE_WORDS) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 262144
    ask_line(requests, a, at);
    ask_line(requests, b, at);
    const words_token left = answers.read();
    const words_token right = answers.read();
    words_read += 2 * LINE_WORDS;
  LINE_WORDS_OF_BOTH:
    for (uint32_t i = 0; i < LINE_WORDS; i++) {
#pragma HLS PIPELINE II = 1
      const uint64_t left_word = byte_swap(left.word[i]);
      const uint64_t right_word = byte_swap(right.word[i]);
      if (left_word != right_word) return left_word < right_word;
    }
  }
  return a_bytes < b_bytes;
}

/// Asks for the first words of the strings of `rows` that are not empty and not the state of their
/// group.
inline scratch_token first_words(const group_table& groups, uint32_t slot,
                                 const number_token& strings, uint8_t rows,
                                 const group_places& place_of) {
  scratch_token token = scratch_token();
  token.kind = SCRATCH_FIRST_WORDS;
FIRST_WORDS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
    const uint64_t reference = static_cast<uint64_t>(strings.row[row]);
    if (((rows >> row) & 1) == 0 || reference_length(reference) == 0) continue;
    const group_states& states = groups.at_hand[place_of[row]];
    if (states.has(slot) && states.low(slot) == reference) continue;
    token.word[row] = reference_word(reference);
    token.rows = static_cast<uint8_t>(token.rows | 1u << row);
  }
  return token;
}

/// The work of the aggregates.
struct fold_work {
  uint64_t words_read;
  uint64_t iterations;
};

/// Keeps the least or the greatest string of `rows` in their groups' states.
NS_RARE void fold_strings(group_table& groups, uint32_t slot, bool least,
                          const number_token& strings, uint8_t rows, const group_places& place_of,
                          scratch_stream& requests, string_stream& answers, fold_work& work) {
  const scratch_token asked = first_words(groups, slot, strings, rows, place_of);
  words_token found = words_token();
  if (asked.rows != 0) {
    requests.write(asked);
    found = answers.read();
    work.words_read += count_bits(asked.rows);
  }
  // Rows are looked at once to ask and once to compare.
  work.iterations += 2 * ROWS;
STRING_ROWS:
  for (int row = 0; row < ROWS; row++) {
    const uint64_t reference = static_cast<uint64_t>(strings.row[row]);
    const bool is_empty = reference_length(reference) == 0;
    // One that was not asked for was the state, and is no better than what became of it.
    if (((rows >> row) & 1) == 0 || (((asked.rows >> row) & 1) == 0 && !is_empty)) continue;
    group_states& states = groups.at_hand[place_of[row]];
    const uint64_t first = is_empty ? 0 : byte_swap(found.word[row]);
    const uint64_t best = states.low(slot);
    bool better = true;
    if (states.has(slot) && first != states.high(slot)) {
      better = least == (first < states.high(slot));
    } else if (states.has(slot)) {
      const uint64_t words_before = work.words_read;
      better = least ? less_behind(reference, best, requests, answers, work.words_read)
                     : less_behind(best, reference, requests, answers, work.words_read);
      // A word of both strings per iteration.
      work.iterations += (work.words_read - words_before) / 2;
    }
    if (!better) continue;
    states.state[slot] = make_i128(reference, first);
    states.mark(slot);
  }
}

}  // namespace nearscan
