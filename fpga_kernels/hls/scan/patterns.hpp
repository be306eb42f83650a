// SPDX-License-Identifier: Apache-2.0
// Patterns of LIKE while a value goes by: which bytes of it the automata take, and the automata.
//
// Most bytes change nothing. The prefilter finds those that can, and for all others between two of
// them the automata take one byte that is no place of a pattern. Which bytes are taken does not
// depend on the states of the automata, so the table of the next byte is read before the states are
// known.
//
// That the outcomes are those of taking every byte:
//
// - Of a column with `_` in a pattern every byte is taken. Of the others a state is left by a byte
//   that is its place, or it stays since any characters may follow; `later` has only states of the
//   second sort, which it never loses.
// - A match of a piece of `n` bytes begins in a state of the second sort, or in the first state, at
//   some byte `k`. Each byte, continuation byte or not, brings it on or ends it. It has an effect
//   if it gets to its end: a state of the second sort, or the last state when the value ends there.
//   Then the bytes from `k` are the piece, and what is compared of them makes `k` a candidate: the
//   bytes that the piece has, and behind a short one anything, or the end of the value.
// - The bytes `k` to `k + n - 1` of each candidate are taken: at least those, for a piece is taken
//   to be as long as the longest. The last bytes of a word, whose next is not known, are taken if
//   they can be of a candidate; with the next word it is known, and its further bytes are taken.
//   So a match that has an effect loses no byte, and there is no skip within it.
// - A match in progress at a skip has no effect, or its bytes would all be taken. The skip ends it.
// - A state of the second sort in `here` at a skip goes to `later`, where it would be behind the
//   first byte that is skipped. No match with an effect begins with a byte that is skipped.
// - The first state, if the pattern begins with a piece, is lost by the first byte that is skipped.
//   It is left by the first byte of the value alone, which is taken if the piece begins there.
// - The last state, if nothing may follow, is lost by a skip, as it is by every byte.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// The prefilter while a value goes by, word after word.
///
/// Whether a byte is a candidate is known when the two bytes behind it are. So of a word those are
/// found that begin with one of the last two bytes of the word before, or with one of all its bytes
/// but the last two.
struct prefilter_run {
  static constexpr uint32_t PLACES = prefilter_plan::PLACES;
  static constexpr uint32_t WORD_BYTES = prefilter_plan::WORD_BYTES;
  static constexpr uint32_t BEFORE = PLACES - 1;
  /// Of the last bytes of the word before, which may be byte `i` of a piece.
  uint32_t before[PLACES];
  /// Candidates of the word that were not taken yet; and its last byte, if the one before it may be
  /// a candidate.
  uint32_t starts;
  /// Bytes from the next on that candidates before it may have.
  uint32_t open;
  /// Whether bytes were skipped since one was taken: another skip changes nothing.
  bool is_calm;

  void start() {
    starts = 0;
    open = 0;
    is_calm = false;
  START:
    for (uint32_t i = 0; i < PLACES; i++) {
#pragma HLS UNROLL
      before[i] = 0;
    }
  }

  /// Finds the candidates of a word with `some` bytes and of the two bytes before it, lowest; those
  /// of its last two bytes as if any bytes followed, unless it is the value's last word.
  uint32_t candidates(const prefilter_plan& plan, uint64_t word, uint32_t some, bool is_last) {
    uint8_t may_be[WORD_BYTES + BEFORE];
#pragma HLS ARRAY_PARTITION variable = may_be complete
  LOOK_UP:
    for (uint32_t at = 0; at < WORD_BYTES; at++) {
#pragma HLS UNROLL
      const uint32_t key = prefilter_plan::key_of(static_cast<uint8_t>(word >> (8 * at)));
      may_be[at] = at < some ? plan.table[at][key] : plan.behind;
    }
  BEHIND:
    for (uint32_t at = 0; at < BEFORE; at++) {
#pragma HLS UNROLL
      may_be[WORD_BYTES + at] = is_last ? plan.behind : prefilter_plan::ALL_PLACES;
    }
    uint32_t found = row_mask(WORD_BYTES) << BEFORE | row_mask(BEFORE);
  COMPARE:
    for (uint32_t i = 0; i < PLACES; i++) {
#pragma HLS UNROLL
      uint32_t bits = before[i];
    BYTES:
      for (uint32_t at = 0; at < WORD_BYTES + BEFORE; at++) {
#pragma HLS UNROLL
        bits |= (may_be[at] >> i & 1u) << (BEFORE + at);
      }
      before[i] = bits >> WORD_BYTES & row_mask(BEFORE);
      found &= bits >> i;
    }
    return found;
  }

  /// Begins a word of `some` bytes.
  void open_word(const prefilter_plan& plan, uint64_t word, uint32_t some, bool is_last) {
    const uint32_t found = candidates(plan, word, some, is_last);
    if ((found & row_mask(BEFORE)) != 0) open = plan.behind_first;
    starts = found >> BEFORE;
    if ((starts >> (WORD_BYTES - BEFORE) & 1) != 0) starts |= 1u << (WORD_BYTES - 1);
  }

  /// The next byte of the word to be taken from `place` on, or its end, `some`.
  uint32_t next(uint32_t place, uint32_t some) const {
    if (open != 0) return place;
    return starts == 0 ? some : lowest_bit(starts);
  }

  void skip() { is_calm = true; }

  /// Takes a byte. Behind the last two the next word tells whether they were candidates.
  void take(const prefilter_plan& plan, uint32_t place) {
    if (place < WORD_BYTES - BEFORE && (starts >> place & 1) != 0) {
      open = plan.behind_first;
    } else if (open != 0) {
      open--;
    }
    starts &= ~(1u << place);
    is_calm = false;
  }
};

/// The automata of a column's patterns while a value goes by, a bit a state.
///
/// In a state of `here` the next byte begins a character or stands for itself. A state of `later`
/// was reached by a character that stands for any: it comes into force behind the continuation
/// bytes of that character, all there are.
struct pattern_run {
  /// What is taken for bytes that are skipped: no place of a pattern is this byte.
  static constexpr uint8_t SKIPPED = PATTERN_ANY;
  pattern_bits here;
  pattern_bits later;

  void start() {
  START:
    for (uint32_t pattern = 0; pattern < PATTERNS_PER_COLUMN_MAX; pattern++) {
#pragma HLS UNROLL
      here[pattern] = 1;
      later[pattern] = 0;
    }
  }

  /// Takes a byte: all patterns side by side.
  void take(const pattern_plan& patterns, uint8_t byte) {
    const bool goes_on = (byte & 0xc0) == 0x80;
    const pattern_bits literal = patterns.literal[byte];
  PATTERNS:
    for (uint32_t pattern = 0; pattern < PATTERNS_PER_COLUMN_MAX; pattern++) {
#pragma HLS UNROLL
      if (pattern >= patterns.count) break;
      const uint64_t now = goes_on ? here[pattern] : here[pattern] | later[pattern];
      const uint64_t held = goes_on ? later[pattern] : 0;
      here[pattern] = (now & literal[pattern]) << 1;
      later[pattern] = held | ((now & patterns.one[pattern]) << 1) | (now & patterns.any[pattern]);
    }
  }

  /// Which tests are patterns that the value matches, a bit each.
  uint32_t outcomes(const pattern_plan& patterns) const {
    uint32_t matched = 0;
  PATTERN_ENDS:
    for (uint32_t pattern = 0; pattern < PATTERNS_PER_COLUMN_MAX; pattern++) {
#pragma HLS UNROLL
      if (pattern >= patterns.count) break;
      const bool ends = ((here[pattern] | later[pattern]) & patterns.end[pattern]) != 0;
      matched |= static_cast<uint32_t>(ends) << patterns.test[pattern];
    }
    return matched;
  }
};

}  // namespace nearscan
