// SPDX-License-Identifier: Apache-2.0
// Which input has the next row: the row that an input has now is compared with those of all others
// at once.
//
//     before[a], a bit for each b    Of the rows at the heads of two inputs it is known which goes
//                                    first. The one that goes before all others is next. When it
//                                    has left, the next row of its input is held against the other
//                                    heads, and against the one that left: inputs must be sorted.
//
// Words of keys are compared in the order in which they come, one in an iteration, with those of
// all heads: the memory of each input gives its word, as many comparators say which is less. Equal
// rows leave in the order of their inputs: it is stable. An input without a row loses to all.
//
// No row is begun before the one before it has been chosen. So behind the words of each come
// iterations in which nothing is done but to pass the choice on (CHOICE_DEPTH): the loop begins one
// in each cycle because what it finds is needed no sooner. It is left where it cannot be so: to
// look at the cancel word, and for strings that are equal as far as their words go, which are read
// on from device memory in pairs.
#pragma once

#include "allocation.hpp"
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

/// What the loop does next: take a word, note how the row compared, or pass the choice on.
enum choice_mode : uint8_t { TAKE_WORD = 0, NOTE_ROW = 1, PASS_ON = 2 };

/// An input that was chosen; or the end.
struct choice {
  uint8_t input;
  bool is_end;
};

/// Where the loop stands.
struct choice_state {
  choice_mode mode;
  uint8_t input;
  /// Iterations until the choice is there.
  uint8_t wait;
  /// Inputs that have got their first row.
  uint8_t filled;
  bool is_over;
  /// Whether strings have to be read on before the next word.
  bool has_rest;
  /// Iterations in which no word was there.
  uint32_t idle;
  comparison found;
  rest_of_string rest;
  order_word last;
  uint32_t skips;
  /// Inputs whose rows equal the one that was chosen last.
  uint32_t same_as_last;
};

/// Begins to take the next row of an input.
inline void begin_row(uint32_t present, choice_state& state) {
  state.mode = TAKE_WORD;
  state.found.before = 0;
  state.found.equal = present;
  state.rest.word = 0;
}

/// Takes a word of the next row of an input and holds it against those of the rows that the row has
/// equalled so far.
inline void take_word(order_stream words[MERGE_INPUTS_MAX], head_rows& heads, choice_state& state) {
#pragma HLS ARRAY_PARTITION variable = heads.words dim = 1 complete
#pragma HLS BIND_STORAGE variable = heads.words type = ram_2p impl = lutram
#pragma HLS ARRAY_PARTITION variable = heads.place complete
  const order_word word = words[state.input].read();
  uint32_t before = 0;
  uint32_t equal = 0;
ALL_HEADS:
  for (uint32_t other = 0; other < MERGE_INPUTS_MAX; other++) {
#pragma HLS UNROLL
    const order_word& held = heads.words[other][heads.place[other] * KEY_WORDS + state.rest.word];
    if (is_less(held, word)) before |= bit_of(other);
    if (is_same(held, word)) equal |= bit_of(other);
  }
  if (word.kind == WORD_COMPARED) {
    state.found.before |= state.found.equal & before;
    state.found.equal &= equal;
  } else if (word.kind == WORD_REST) {
    state.rest.at = word.word;
  } else if (word.kind == WORD_REST_LENGTH) {
    state.rest.length = word.word;
    state.rest.descending = word.descending;
    state.has_rest = state.found.equal != 0;
  }
  if (word.kind <= WORD_REST_LENGTH) {
    const uint32_t place = (1u - heads.place[state.input]) * KEY_WORDS + state.rest.word;
    heads.words[state.input][place] = word;
    state.rest.word++;
  }
  state.last = word;
  if (word.ends_row) state.mode = NOTE_ROW;
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
  const uint32_t own = bit_of(input);
  uint32_t behind = 0;
NOTE_ORDER:
  for (uint32_t other = 0; other < MERGE_INPUTS_MAX; other++) {
#pragma HLS UNROLL
    const uint32_t bit = bit_of(other);
    const bool is_equal = (found.equal & bit) != 0;
    const bool goes_before = is_equal ? other < input : (found.before & bit) != 0;
    heads.before[other] = (heads.before[other] & ~own) | (goes_before ? own : 0);
    heads.equal[other] = (heads.equal[other] & ~own) | (is_equal ? own : 0);
    behind |= goes_before ? 0 : bit;
  }
  heads.before[input] = behind;
  heads.equal[input] = found.equal;
  heads.place[input] = static_cast<uint8_t>(1 - heads.place[input]);
  heads.present |= own;
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

/// Notes the row that was taken, or that there was none, and says whose is next.
inline choice note_row(const choose_plan& plan, head_rows& heads, choice_state& state,
                       turn_stream& turns, progress& done) {
#pragma HLS ARRAY_PARTITION variable = heads.equal complete
  const uint32_t bit = bit_of(state.input);
  const bool is_row = state.last.kind <= WORD_REST_LENGTH;
  const bool has_before = (heads.present & bit) != 0;
  const bool is_again = is_row && has_before && (state.found.equal & bit) != 0;
  // Of the row that has left its equals are known; it was the one that was chosen last.
  state.same_as_last = has_before ? (heads.equal[state.input] & ~bit) | (is_again ? bit : 0) : 0;
  if (is_row) {
    const bool is_sorted = !has_before || is_again || (state.found.before & bit) != 0;
    if (!is_sorted) fail(done, STATUS_NOT_SORTED);
    take_place(state.input, state.found, heads);
  } else {
    if (state.last.kind != WORD_ENDED) fail(done, STATUS_CORRUPT);
    heads.present &= ~bit;
  }
  done.steps += state.rest.word;
  if (state.filled < plan.input_count) state.filled++;
  if (state.filled < plan.input_count && done.status == STATUS_OK) {
    return choice{state.filled, false};
  }
  state.filled = static_cast<uint8_t>(plan.input_count);
  if (done.status != STATUS_OK || heads.present == 0) return choice{0, true};
  const uint32_t first = find_first(heads);
  const bool is_other = (state.skips & bit_of(first)) != 0;
  const bool is_double = plan.distinct && (state.same_as_last & bit_of(first)) != 0;
  state.skips &= ~bit_of(first);
  turns.write(turn_token{static_cast<uint8_t>(first), !is_other && !is_double, false});
  return choice{static_cast<uint8_t>(first), false};
}

/// Takes rows and chooses, until the merge is over or something has to be waited for.
inline void choose_rows(const choose_plan& plan, order_stream words[MERGE_INPUTS_MAX],
                        turn_stream& turns, head_rows& heads, choice_state& state,
                        process_report& own, progress& done) {
  // The choices on their way to the loop's beginning.
  choice passed[CHOICE_DEPTH - 2];
#pragma HLS ARRAY_PARTITION variable = passed complete
  bool more = true;
TAKE_ROWS:
  while (more) {
#pragma HLS PIPELINE II = 1
// Written when a row is noted, and read no sooner than with the choice.
#pragma HLS DEPENDENCE variable = heads type = inter direction = RAW distance = 2 true
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    choice fresh = choice();
    if (state.mode == TAKE_WORD && words[state.input].empty()) {
      // What is waited for may be long strings that are copied.
      state.idle++;
      more = state.idle < STEPS_A_POLL;
      NS_IDLE();
    } else if (state.mode == TAKE_WORD) {
      take_word(words, heads, state);
      own.iterations++;
      more = state.last.kind != WORD_REST_LENGTH;
    } else if (state.mode == NOTE_ROW) {
      fresh = note_row(plan, heads, state, turns, done);
      own.choices++;
      state.mode = PASS_ON;
      state.wait = CHOICE_DEPTH - 2;
    } else if (state.wait == 1) {
      state.input = passed[0].input;
      state.is_over = passed[0].is_end;
      begin_row(heads.present, state);
      more = !state.is_over && done.steps - done.polled < STEPS_A_POLL;
    } else {
      state.wait--;
    }
  PASS_CHOICE:
    for (uint32_t at = 0; at + 1 < CHOICE_DEPTH - 2; at++) {
#pragma HLS UNROLL
      passed[at] = passed[at + 1];
    }
    passed[CHOICE_DEPTH - 3] = fresh;
  }
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
                   turn_stream& turns, stop_stream& stop, report_stream& reports) {
  head_rows heads;
  tie_port ties(requests, bytes);
  process_report own = empty_report();
  progress done = no_progress();
  choice_state state = choice_state();
CLEAR_HEADS:
  for (uint32_t input = 0; input < MERGE_INPUTS_MAX; input++) {
#pragma HLS UNROLL
    heads.place[input] = 0;
    heads.before[input] = 0;
    heads.equal[input] = 0;
  }
  heads.present = 0;
  state.skips = plan.skips;
  begin_row(heads.present, state);
  done.steps = plan.steps;
  may_go_on(done, 0, plan.steps_max, cancel);
  state.is_over = done.status != STATUS_OK;
CHOICES:
  while (!state.is_over) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 33554432
    choose_rows(plan, words, turns, heads, state, own, done);
    if (state.has_rest) {
      compare_all_rests(plan, state.rest, heads, cancel, ties, state.found, done);
      state.has_rest = false;
    }
    if (state.idle >= STEPS_A_POLL) {
      state.idle = 0;
      if (*cancel != 0) fail(done, STATUS_CANCELLED);
    }
    may_go_on(done, 0, plan.steps_max, cancel);
    state.is_over = state.is_over || done.status != STATUS_OK;
  }
  stop.write(done.status != STATUS_OK);
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
