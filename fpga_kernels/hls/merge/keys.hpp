// SPDX-License-Identifier: Apache-2.0
// Makes the keys of rows words that are compared as numbers without a sign, whatever the keys are.
//
//     number     NULLs apart; the sign turned round; the complement where the order descends
//     string     eight bytes a word, the first one highest, and how many there are; behind four
//                words, or fewer where there are several such keys, the address of the other bytes
//
// Two rows whose words have been equal so far go on with words of the same key, so they can be held
// against each other word by word, and the first difference decides.
#pragma once

#include "allocation.hpp"

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

/// What is sent next: a key, the words of a string, or where its rest is.
enum key_mode : uint8_t { TAKE_KEY = 0, SEND_WORD = 1, SEND_REST = 2, SEND_REST_LENGTH = 3 };

/// A string that is sent. Its bytes come as words of device memory, which it may begin within.
struct sent_string {
  key_token key;
  bool descending;
  bool nulls_first;
  /// Bytes that are sent as words, and words sent so far.
  uint32_t bytes;
  uint32_t sent;
  /// Words that were read, of so many; the last of them.
  uint32_t read;
  uint32_t words;
  uint64_t before;
};

/// Takes the bytes of a string so far that its first word can be made of the next one.
inline void begin_string(const key_token& key, uint32_t room, word_stream& bytes,
                         sent_string& string) {
  const uint32_t skipped = static_cast<uint32_t>(key.word % 8);
  string.key = key;
  string.bytes = key.length < room ? key.length : room;
  string.sent = 0;
  string.read = key.length == 0 ? 0 : 1;
  string.words = key.length == 0 ? 0 : (skipped + string.bytes + 7) / 8;
  string.before = 0;
  if (key.length != 0) string.before = bytes.read();
}

/// The next word of a string.
inline order_word next_word(word_stream& bytes, sent_string& string) {
  const uint32_t skipped = static_cast<uint32_t>(string.key.word % 8);
  uint64_t next = 0;
  if (string.read < string.words) {
    next = bytes.read();
    string.read++;
  }
  const uint32_t behind = string.bytes - 8 * string.sent;
  const uint32_t left = behind < 8 ? behind : 8;
  uint64_t word = string.before >> (8 * skipped);
  if (skipped != 0) word |= next << (64 - 8 * skipped);
  string.before = next;
  order_word made = make_word(byte_swap(low_bits(word, 8 * left)), string.key.valid,
                              string.descending, string.nulls_first);
  made.count = static_cast<uint8_t>(!string.key.valid ? 0 : string.descending ? 8 - left : left);
  return made;
}

/// A number as a word; or the word that says that there is none.
inline order_word number_word(const key_token& key, bool descending, bool nulls_first) {
  order_word word = make_word(key.word, key.valid, descending, nulls_first);
  const uint64_t sign = static_cast<uint64_t>(key.is_low ? 0 : 1) << 63;
  if (key.valid) word.word ^= sign;
  word.ends_row = key.ends_row;
  if (key.kind != KEY_NUMBER) word.kind = key.kind == KEY_ENDED ? WORD_ENDED : WORD_FAILED;
  return word;
}

/// Process: keys in, their words out, in the stream of their input. A word is sent in each
/// iteration; a string begins with one that sends none.
inline void make_keys(const keys_plan& plan, key_stream& keys, word_stream& bytes,
                      order_stream words[MERGE_INPUTS_MAX], report_stream& reports) {
  process_report own = empty_report();
  sent_string string = sent_string();
  key_mode mode = TAKE_KEY;
  const uint32_t room = 8 * plan.prefix_words;
  uint32_t at = 0;
  bool more = true;
KEYS_OF_ROWS:
  while (more) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    order_word word = order_word();
    uint8_t input = string.key.input;
    bool is_sent = true;
    if (mode == TAKE_KEY) {
      const key_token key = keys.read();
      input = key.input;
      more = key.kind != KEY_LAST;
      is_sent = more && key.kind != KEY_STRING;
      word = number_word(key, plan.descending[at], plan.nulls_first[at]);
      if (key.kind == KEY_STRING) {
        string.descending = plan.descending[at];
        string.nulls_first = plan.nulls_first[at];
        begin_string(key, room, bytes, string);
        mode = SEND_WORD;
      }
      // The halves of a number are two tokens of one key.
      const bool is_first_half = key.kind == KEY_NUMBER && plan.is_wide[at] && !key.is_low;
      at = key.ends_row ? 0 : is_first_half ? at : at + 1;
    } else if (mode == SEND_WORD) {
      word = next_word(bytes, string);
      string.sent++;
      // A string that fills its last word goes on with an empty one.
      const bool is_whole = string.key.length < room && 8 * string.sent > string.key.length;
      word.ends_row = string.key.ends_row && is_whole;
      mode = is_whole ? TAKE_KEY : string.sent == plan.prefix_words ? SEND_REST : SEND_WORD;
    } else {
      const bool is_length = mode == SEND_REST_LENGTH;
      word.word = is_length ? string.key.length - room : string.key.word + room;
      word.kind = is_length ? WORD_REST_LENGTH : WORD_REST;
      word.descending = string.descending;
      word.ends_row = is_length && string.key.ends_row;
      mode = is_length ? TAKE_KEY : SEND_REST_LENGTH;
    }
    if (is_sent) words[input].write(word);
    if (more) own.iterations++;
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
