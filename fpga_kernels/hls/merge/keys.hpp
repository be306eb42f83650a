// SPDX-License-Identifier: Apache-2.0
// Makes the keys of rows words that are compared as numbers without a sign, whatever the keys are.
//
//     number     NULLs apart; the sign turned round; the complement where the order descends
//     string     eight bytes a word, the first one highest, and how many there are; behind four
//                words, or fewer where there are several such keys, where the rest lies
//
// Two rows whose words have been equal so far go on with words of the same key, so they can be held
// against each other word by word, and the first difference decides.
#pragma once

#include "deal.hpp"

namespace nearscan {
namespace merging {

/// The rank of a key: that of NULLs is before or behind that of all values.
inline uint8_t rank_of(bool valid, bool nulls_first) { return valid == nulls_first ? 1 : 0; }

inline order_word make_word(uint64_t word, bool valid, bool descending, bool nulls_first) {
  order_word made = order_word();
  made.word = !valid ? 0 : descending ? ~word : word;
  made.rank = rank_of(valid, nulls_first);
  made.kind = WORD_COMPARED;
  made.descending = descending;
  return made;
}

/// The beginning of a string; gives the words of it.
///
/// Bytes that were asked for come as words of device memory, which a string may begin within.
inline void send_string(const keys_plan& plan, const key_token& key, bool descending,
                        bool nulls_first, word_stream& bytes, order_stream& out,
                        uint64_t& iterations) {
  const uint32_t length = key.length;
  const uint32_t room = 8 * plan.prefix_words;
  const uint32_t held = length < room ? length : room;
  const uint32_t skipped = static_cast<uint32_t>(key.word % 8);
  const uint32_t word_count = length == 0 ? 0 : (skipped + held + 7) / 8;
  // A string that fills its last word goes on with an empty one.
  const uint32_t sent = length < room ? length / 8 + 1 : plan.prefix_words;
  uint64_t before = 0;
  uint32_t read = 0;
  if (word_count != 0) {
    before = bytes.read();
    read = 1;
  }
SEND_WORDS:
  for (uint32_t at = 0; at < sent; at++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4
    uint64_t next = 0;
    if (read < word_count) {
      next = bytes.read();
      read++;
    }
    const uint32_t left = held - 8 * at < 8 ? held - 8 * at : 8;
    uint64_t word = before >> (8 * skipped);
    if (skipped != 0) word |= next << (64 - 8 * skipped);
    before = next;
    order_word made =
        make_word(byte_swap(low_bits(word, 8 * left)), key.valid, descending, nulls_first);
    made.count = static_cast<uint8_t>(!key.valid ? 0 : descending ? 8 - left : left);
    made.ends_row = key.ends_row && at + 1 == sent && length < room;
    out.write(made);
  }
  iterations += sent + 1;
  if (length < room) return;
  order_word rest = make_word(key.word + room, true, false, nulls_first);
  rest.kind = WORD_REST;
  rest.descending = descending;
  out.write(rest);
  rest.kind = WORD_REST_LENGTH;
  rest.word = length - room;
  rest.ends_row = key.ends_row;
  out.write(rest);
  iterations += 2;
}

/// Process: keys in, their words out, in the stream of their input.
inline void make_keys(const keys_plan& plan, key_stream& keys, word_stream& bytes,
                      order_stream words[MERGE_INPUTS_MAX], report_stream& reports) {
  process_report own = empty_report();
  uint32_t at = 0;
KEYS_OF_ROWS:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const key_token key = keys.read();
    if (key.kind == KEY_LAST) break;
    const bool descending = plan.descending[at];
    const bool nulls_first = plan.nulls_first[at];
    order_word word = make_word(key.word, key.valid, descending, nulls_first);
    word.ends_row = key.ends_row;
    if (key.kind == KEY_STRING) {
      send_string(plan, key, descending, nulls_first, bytes, words[key.input], own.iterations);
    } else {
      if (key.kind == KEY_NUMBER) {
        const uint64_t sign = static_cast<uint64_t>(key.is_low ? 0 : 1) << 63;
        word.word = !key.valid ? 0 : word.word ^ sign;
      } else {
        word.kind = key.kind == KEY_ENDED ? WORD_ENDED : WORD_FAILED;
      }
      words[key.input].write(word);
      own.iterations++;
    }
    // The halves of a number are two tokens of one key.
    const bool is_first_half = key.kind == KEY_NUMBER && plan.is_wide[at] && !key.is_low;
    at = key.ends_row ? 0 : is_first_half ? at : at + 1;
  }
  order_word end = order_word();
  end.kind = WORD_LAST;
  end.ends_row = true;
LAST_WORDS:
  for (uint32_t input = 0; input < plan.input_count; input++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    words[input].write(end);
  }
  reports.write(own);
}

}  // namespace merging
}  // namespace nearscan
