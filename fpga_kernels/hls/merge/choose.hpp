// SPDX-License-Identifier: Apache-2.0
// Which input has the next row: the row that an input has now is compared with those of all others
// at once.
//
//     before[a], a bit for each b     Of the rows at the heads of two inputs it is known which goes
//                                     first. The one that goes before all others is next. When it
//                                     has left, the next row of its input is held against the other
//                                     heads, and against the one that left: an input must be sorted.
//
// Words of keys are compared in the order in which they come, one in an iteration, with those of
// all heads: the memory of each input gives its word, as many comparators say which is less. Equal
// rows leave in the order of their inputs: it is stable. An input without a row loses to all.
//
// Strings that are equal as far as their words go are read on from device memory, in pairs; that is
// waited for.
#pragma once

#include "deal.hpp"
#include "progress.hpp"

namespace nearscan {
namespace merging {

/// Bytes of two strings that are read at once.
static constexpr uint32_t TIE_BYTES = 64;

/// The rows at the heads of the inputs.
struct head_rows {
  /// Words of keys, in two places of which an input fills one while it is compared with the other.
  order_word words[MERGE_INPUTS_MAX][2 * KEY_WORDS];
  uint8_t place[MERGE_INPUTS_MAX];
  /// Bits of inputs: those that have a row; of each, the ones that its row goes before or equals.
  uint32_t present;
  uint32_t before[MERGE_INPUTS_MAX];
  uint32_t equal[MERGE_INPUTS_MAX];
};

/// How a row compares with those of other inputs: bits of those that go before it, or equal it as
/// far as was seen.
struct comparison {
  uint32_t before;
  uint32_t equal;
};

/// The part of a row whose strings have to be read on.
struct rest_of_string {
  uint64_t at;
  uint64_t length;
  uint32_t word;
  bool descending;
};

/// The streams to the process that reads device memory.
struct tie_port {
  request_stream& requests;
  word_stream& words;

  tie_port(request_stream& requests_out, word_stream& words_in)
      : requests(requests_out), words(words_in) {}

  void ask(uint64_t at, uint32_t bytes) {
    const uint32_t count = (static_cast<uint32_t>(at % 8) + bytes + 7) / 8;
    requests.write(request_token{at / 8, static_cast<uint8_t>(count), TO_TIES, false});
  }
};

inline bool is_less(const order_word& a, const order_word& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.word != b.word) return a.word < b.word;
  return a.count < b.count;
}

inline bool is_same(const order_word& a, const order_word& b) {
  return a.rank == b.rank && a.word == b.word && a.count == b.count;
}

inline uint32_t bit_of(uint32_t input) { return 1u << input; }

/// Reads bytes that were asked for as words from their first byte on, 8 at most: puts them into
/// `held`, or compares them with those in there. Below zero if those in `held` are less.
inline int take_bytes(tie_port& ties, uint64_t at, uint32_t bytes, bool compares,
                      uint64_t held[TIE_BYTES / 8]) {
  const uint32_t skipped = static_cast<uint32_t>(at % 8);
  const uint32_t count = (skipped + bytes + 7) / 8;
  int order = 0;
  uint64_t before = ties.words.read();
TIE_WORDS:
  for (uint32_t word = 0; word < (bytes + 7) / 8; word++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 8
    const uint64_t next = word + 1 < count ? ties.words.read() : 0;
    const uint32_t left = bytes - 8 * word < 8 ? bytes - 8 * word : 8;
    uint64_t found = before >> (8 * skipped);
    if (skipped != 0) found |= next << (64 - 8 * skipped);
    before = next;
    found = byte_swap(low_bits(found, 8 * left));
    if (!compares) {
      held[word] = found;
    } else if (order == 0) {
      order = held[word] < found ? -1 : held[word] > found ? 1 : 0;
    }
  }
  return order;
}

/// The order of what is left of two strings: below zero if `a` comes first.
inline int compare_rests(const rest_of_string& a, const rest_of_string& b, uint64_t steps_max,
                         const volatile uint32_t* cancel, tie_port& ties, progress& done) {
  const uint64_t common = a.length < b.length ? a.length : b.length;
  uint64_t held[TIE_BYTES / 8];
TIES:
  for (uint64_t at = 0; at < common; at += TIE_BYTES) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 67108864
    const uint64_t left = common - at;
    const uint32_t bytes = left < TIE_BYTES ? static_cast<uint32_t>(left) : TIE_BYTES;
    ties.ask(a.at + at, bytes);
    ties.ask(b.at + at, bytes);
    take_bytes(ties, a.at + at, bytes, false, held);
    const int order = take_bytes(ties, b.at + at, bytes, true, held);
    const uint64_t words = 2 * ((bytes + 7) / 8);
    done.waits++;
    done.string_words += words;
    if (order != 0) return order;
    // A merge that ends here has no result, so any order will do.
    if (!may_go_on(done, words, steps_max, cancel)) return 0;
  }
  return a.length < b.length ? -1 : a.length > b.length ? 1 : 0;
}

/// Reads words of the next row of an input and holds them against those of the rows in `found.equal`,
/// up to the end of the row, or of a string that has to be read on. Gives the last word.
inline order_word take_words(uint32_t input, order_stream words[MERGE_INPUTS_MAX],
                             head_rows& heads, comparison& found, rest_of_string& rest,
                             uint64_t& iterations) {
#pragma HLS ARRAY_PARTITION variable = heads.words dim = 1 complete
#pragma HLS ARRAY_PARTITION variable = heads.place complete
#pragma HLS ARRAY_PARTITION variable = heads.before complete
#pragma HLS ARRAY_PARTITION variable = heads.equal complete
  order_word word = order_word();
  bool more = true;
WORDS_OF_ROW:
  while (more) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    word = words[input].read();
    iterations++;
    uint32_t before = 0;
    uint32_t equal = 0;
  ALL_HEADS:
    for (uint32_t other = 0; other < MERGE_INPUTS_MAX; other++) {
#pragma HLS UNROLL
      const order_word& held = heads.words[other][heads.place[other] * KEY_WORDS + rest.word];
      if (is_less(held, word)) before |= bit_of(other);
      if (is_same(held, word)) equal |= bit_of(other);
    }
    if (word.kind == WORD_COMPARED) {
      found.before |= found.equal & before;
      found.equal &= equal;
    } else if (word.kind == WORD_REST) {
      rest.at = word.word;
    } else if (word.kind == WORD_REST_LENGTH) {
      rest.length = word.word;
      rest.descending = word.descending;
    }
    if (word.kind <= WORD_REST_LENGTH) {
      heads.words[input][(1 - heads.place[input]) * KEY_WORDS + rest.word] = word;
      rest.word++;
    }
    more = !word.ends_row && !(word.kind == WORD_REST_LENGTH && found.equal != 0);
  }
  return word;
}

/// Reads the strings on that are equal so far.
inline void compare_all_rests(const choose_plan& plan, const rest_of_string& rest,
                              const head_rows& heads, const volatile uint32_t* cancel,
                              tie_port& ties, comparison& found, progress& done) {
RESTS:
  for (uint32_t other = 0; other < plan.input_count; other++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    if ((found.equal & bit_of(other)) == 0) continue;
    const uint32_t last = heads.place[other] * KEY_WORDS + rest.word - 1;
    rest_of_string held = rest;
    held.at = heads.words[other][last - 1].word;
    held.length = heads.words[other][last].word;
    int order = compare_rests(held, rest, plan.steps_max, cancel, ties, done);
    if (rest.descending) order = -order;
    if (order < 0) found.before |= bit_of(other);
    if (order != 0) found.equal &= ~bit_of(other);
  }
}

/// Notes how the next row of an input compares with the heads of the others.
inline void take_place(uint32_t input, const comparison& found, head_rows& heads) {
#pragma HLS ARRAY_PARTITION variable = heads.before complete
#pragma HLS ARRAY_PARTITION variable = heads.equal complete
  uint32_t behind = 0;
NOTE_ORDER:
  for (uint32_t other = 0; other < MERGE_INPUTS_MAX; other++) {
#pragma HLS UNROLL
    const uint32_t bit = bit_of(other);
    const bool is_equal = (found.equal & bit) != 0;
    const bool goes_before = is_equal ? other < input : (found.before & bit) != 0;
    heads.before[other] = (heads.before[other] & ~bit_of(input)) | (goes_before ? bit_of(input) : 0);
    heads.equal[other] = (heads.equal[other] & ~bit_of(input)) | (is_equal ? bit_of(input) : 0);
    behind |= goes_before ? 0 : bit;
  }
  heads.before[input] = behind;
  heads.equal[input] = found.equal;
  heads.place[input] = static_cast<uint8_t>(1 - heads.place[input]);
  heads.present |= bit_of(input);
}

/// Takes the next row of an input; gives whether it equals the one before.
inline bool take_row(const choose_plan& plan, uint32_t input, order_stream words[MERGE_INPUTS_MAX],
                     const volatile uint32_t* cancel, tie_port& ties, head_rows& heads,
                     process_report& own, progress& done) {
  comparison found = {0, heads.present};
  rest_of_string rest = {0, 0, 0, false};
  order_word last = order_word();
PARTS_OF_ROW:
  while (!last.ends_row) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 5
    last = take_words(input, words, heads, found, rest, own.iterations);
    if (last.kind == WORD_REST_LENGTH && found.equal != 0) {
      compare_all_rests(plan, rest, heads, cancel, ties, found, done);
    }
  }
  own.choices++;
  if (last.kind > WORD_REST_LENGTH) {
    if (last.kind != WORD_ENDED) fail(done, STATUS_CORRUPT);
    heads.present &= ~bit_of(input);
    return false;
  }
  const uint32_t own_bit = bit_of(input) & heads.present;
  const bool is_equal = (found.equal & own_bit) != 0;
  if (own_bit != 0 && !is_equal && (found.before & own_bit) == 0) fail(done, STATUS_NOT_SORTED);
  take_place(input, found, heads);
  may_go_on(done, rest.word, plan.steps_max, cancel);
  return is_equal;
}

/// The input whose row goes before all others; as many as there may be if none has one.
inline uint32_t find_first(const head_rows& heads) {
#pragma HLS ARRAY_PARTITION variable = heads.before complete
  uint32_t first = MERGE_INPUTS_MAX;
FIND_FIRST:
  for (uint32_t input = 0; input < MERGE_INPUTS_MAX; input++) {
#pragma HLS UNROLL
    const uint32_t others = heads.present & ~bit_of(input);
    const bool is_present = (heads.present & bit_of(input)) != 0;
    if (is_present && (heads.before[input] & others) == others) first = input;
  }
  return first;
}

/// Takes what is left of the keys: the next call must not find it.
inline void drain_words(uint32_t input_count, order_stream words[MERGE_INPUTS_MAX]) {
  uint32_t open = input_count;
  uint32_t input = 0;
  uint32_t idle = 0;
DRAIN_WORDS:
  while (open > 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 512
    const bool moved = !words[input].empty();
    if (moved) {
      const order_word word = words[input].read();
      if (word.kind == WORD_LAST) open--;
    }
    input = input + 1 < input_count ? input + 1 : 0;
    idle = moved ? 0 : idle + 1;
    if (idle >= input_count) NS_IDLE();
  }
}

/// Process: words of keys in, out which input's row is next.
inline void choose(const choose_plan& plan, order_stream words[MERGE_INPUTS_MAX],
                   const volatile uint32_t* cancel, request_stream& requests, word_stream& bytes,
                   turn_stream& turns, report_stream& reports) {
  head_rows heads;
  tie_port ties(requests, bytes);
  process_report own = empty_report();
  progress done = no_progress();
  done.steps = plan.steps;
  uint32_t skips = plan.skips;
  uint32_t same_as_last = 0;
CLEAR_HEADS:
  for (uint32_t input = 0; input < MERGE_INPUTS_MAX; input++) {
#pragma HLS UNROLL
    heads.place[input] = 0;
    heads.before[input] = 0;
    heads.equal[input] = 0;
  }
  heads.present = 0;
  may_go_on(done, 0, plan.steps_max, cancel);
FIRST_ROWS:
  for (uint32_t input = 0; input < plan.input_count; input++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    if (done.status != STATUS_OK) break;
    take_row(plan, input, words, cancel, ties, heads, own, done);
  }
CHOICES:
  while (done.status == STATUS_OK && heads.present != 0) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 34359738368
    const uint32_t first = find_first(heads);
    const uint32_t bit = bit_of(first);
    const bool is_other = (skips & bit) != 0;
    const bool is_again = plan.distinct && (same_as_last & bit) != 0;
    skips &= ~bit;
    turns.write(turn_token{static_cast<uint8_t>(first), !is_other && !is_again, false});
    same_as_last = heads.equal[first] & ~bit;
    if (take_row(plan, first, words, cancel, ties, heads, own, done)) same_as_last |= bit;
  }
  turns.write(turn_token{0, false, true});
  requests.write(last_request());
  drain_words(plan.input_count, words);
  own.status = done.status;
  own.waits = done.waits;
  own.string_words = done.string_words;
  reports.write(own);
}

}  // namespace merging
}  // namespace nearscan
