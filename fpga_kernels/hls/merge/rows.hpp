// SPDX-License-Identifier: Apache-2.0
// Holds the windows of all columns, and reads rows out of them: keys some rows ahead, and what a
// row is put out with when it has been chosen.
//
// One flat loop. In an iteration a word arrives at its place, and a value is read, or a half of one
// that has two words: numbers of 128 bits, and strings, of which the end of the one before is read
// first. A process that takes values may have no room; words arrive all the same, so that the
// process that reads device memory waits for no other one.
//
// A value that contradicts the format ends the merge: instead of it and of any later key it is said
// that the input has failed. The loop itself goes on as if nothing was: which value is next never
// depends on one that was read, which is there only some cycles later.
#pragma once

#include "allocation.hpp"

namespace nearscan {
namespace merging {

/// A half of a window: its first row in the block, and rows from `begin` to `end` of it.
struct half_state {
  uint16_t first;
  uint16_t begin;
  uint16_t end;
};

/// A position in an input: which half, and which row of it.
struct row_cursor {
  uint16_t row;
  uint8_t half;
  bool is_open;
};

/// How an input goes on behind the halves that are there.
enum input_end : uint8_t { GOES_ON = 0, ENDS = 1, ENDS_CORRUPT = 2, END_TOLD = 3 };

/// What a row is read for.
enum row_job : uint8_t { JOB_NONE = 0, JOB_PUT = 1, JOB_KEYS = 2 };

/// The value that is read: of which row and column, and which word of it.
struct row_step {
  row_job job;
  uint8_t input;
  uint8_t index;
  uint8_t word;
  /// Where the string before ended.
  uint32_t start;
};

/// Everything that is known of the inputs, in registers.
struct rows_state {
  half_state half[MERGE_INPUTS_MAX][2];
  uint8_t arrived[MERGE_INPUTS_MAX];
  uint8_t end[MERGE_INPUTS_MAX];
  row_cursor keys[MERGE_INPUTS_MAX];
  row_cursor put[MERGE_INPUTS_MAX];
  /// Rows whose keys may be read.
  uint8_t owed[MERGE_INPUTS_MAX];
};

/// The strings of a column: their first byte, and how many bytes there are.
struct column_strings {
  uint64_t at;
  uint32_t bytes;
};

static constexpr uint32_t WINDOWS = MERGE_INPUTS_MAX * OUTPUT_COLUMNS_MAX;

inline bool has_two_words(uint8_t width) { return width == WIDTH_W128 || width == WIDTH_BYTES; }

/// The place of a value in its half of a window.
inline uint32_t word_of_value(uint8_t width, uint32_t row, uint32_t half_of_two) {
  switch (width) {
    case WIDTH_BOOL:
      return row / 8;
    case WIDTH_W64:
      return row;
    case WIDTH_W128:
      return 2 * row + half_of_two;
    case WIDTH_BYTES:
      // First the end of the string before, then its own.
      return half_of_two == 0 ? (row + 1) / 2 : row / 2 + 1;
    default:
      return row / 2;
  }
}

/// A number out of its word, sign extended.
inline uint64_t number_of_word(uint8_t width, uint32_t row, uint64_t word) {
  if (width == WIDTH_BOOL) return (word >> (8 * (row % 8))) & 0xff;
  if (width == WIDTH_W32) {
    const int32_t number = static_cast<int32_t>(word >> (32 * (row % 2)));
    return static_cast<uint64_t>(static_cast<int64_t>(number));
  }
  return word;
}

/// Notes what a token says of an input.
inline void note(const place_token& token, rows_state& state) {
  if (token.kind == PLACE_READY) {
    half_state& half = state.half[token.input][token.half];
    half.first = static_cast<uint16_t>(token.bytes);
    half.begin = token.place;
    half.end = static_cast<uint16_t>(token.place + token.count);
    state.arrived[token.input]++;
  } else {
    state.end[token.input] = token.kind == PLACE_ENDED ? ENDS : ENDS_CORRUPT;
  }
}

/// Whether the next row of an input is there, or it is known that there is none.
inline bool can_read_keys(const rows_state& state, uint32_t input) {
  return state.keys[input].is_open || state.arrived[input] != 0 || state.end[input] != GOES_ON;
}

/// A token without a row.
inline key_token key_end(uint8_t input, uint8_t kind) {
  key_token token = key_token();
  token.input = input;
  token.kind = kind;
  token.ends_row = true;
  return token;
}

/// Bytes of a string that go on chip, as words of device memory.
inline request_token prefix_request(const value_token& value, uint32_t prefix_bytes) {
  const uint32_t bytes = value.length < prefix_bytes ? value.length : prefix_bytes;
  const uint32_t count = (static_cast<uint32_t>(value.word % 8) + bytes + 7) / 8;
  return request_token{value.word / 8, static_cast<uint8_t>(count), TO_KEYS, false};
}

/// The windows of all columns.
struct row_windows {
  uint64_t value[WINDOW_WORDS];
  uint64_t validity[WINDOWS * VALIDITY_WORDS];
  column_strings strings[2 * WINDOWS];
};

/// Takes a word to its place, or is told where the next ones go; whether there was any.
inline bool take_arrival(place_stream& places, word_stream& words, row_windows& windows,
                         rows_state& state, place_token& place, bool& more_places) {
  if (place.count != 0) {
    if (words.empty()) return false;
    const uint64_t word = words.read();
    if (place.kind == PLACE_VALUES) {
      windows.value[place.place] = word;
    } else {
      windows.validity[place.place] = word;
    }
    place.place++;
    place.count--;
    return true;
  }
  if (!more_places || places.empty()) return false;
  places.read(place);
  if (place.kind == PLACE_STRINGS) {
    windows.strings[place.place] = column_strings{place.at, place.bytes};
  } else if (place.kind == PLACE_LAST) {
    more_places = false;
  } else if (place.kind > PLACE_STRINGS) {
    note(place, state);
  }
  if (place.kind > PLACE_VALIDITY) place.count = 0;
  return true;
}

/// Enters the half that the other one is followed by.
inline void enter_half(const half_state halves[2], row_cursor& cursor) {
  cursor.half = static_cast<uint8_t>(1 - cursor.half);
  cursor.row = halves[cursor.half].begin;
  cursor.is_open = true;
}

/// Moves a cursor on by a row; whether that was the last of its half.
inline bool leave_row(const half_state halves[2], row_cursor& cursor) {
  cursor.row++;
  cursor.is_open = cursor.row != halves[cursor.half].end;
  return !cursor.is_open;
}

/// Begins with the row of an input whose turn it is. One that is not put out is passed over.
inline row_step begin_turn(const turn_token& turn, rows_state& state, freed_stream& freed) {
  row_cursor& cursor = state.put[turn.input];
  if (!cursor.is_open) enter_half(state.half[turn.input], cursor);
  if (turn.put) return row_step{JOB_PUT, static_cast<uint8_t>(turn.input), 0, 0, 0};
  state.owed[turn.input]++;
  if (leave_row(state.half[turn.input], cursor)) freed.write(turn.input);
  return row_step();
}

/// Enters the next half with the keys, or says that there is none; false if it is waited for.
inline bool go_on_with_keys(rows_state& state, key_stream& keys, row_step& step) {
  const uint8_t end = state.end[step.input];
  const bool is_end = end == ENDS_CORRUPT || (end == ENDS && state.arrived[step.input] == 0);
  if (end == END_TOLD) {
    step.job = JOB_NONE;
  } else if (is_end) {
    if (keys.full()) return false;
    keys.write(key_end(step.input, end == ENDS ? KEY_ENDED : KEY_FAILED));
    state.end[step.input] = END_TOLD;
    step.job = JOB_NONE;
  } else {
    if (state.arrived[step.input] == 0) return false;
    enter_half(state.half[step.input], state.keys[step.input]);
    state.arrived[step.input]--;
  }
  return true;
}

/// A value that was read, as far as it is known.
struct found_value {
  value_token value;
  /// Whether it goes on, whether it is the lower half of a number, whether it is in order.
  bool is_told;
  bool is_low;
  bool is_sound;
};

/// Reads a value, or its first word.
inline found_value read_value(const rows_plan& plan, const row_windows& windows, uint32_t column,
                              const half_state& half, const row_cursor& cursor, row_step& step) {
  const uint8_t width = plan.columns.width[column];
  const uint32_t of = step.input * plan.columns.count + column;
  // Of a key the higher half of a number comes first.
  const bool is_high = width == WIDTH_W128 && (step.word == 0) == (step.job == JOB_KEYS);
  const uint32_t half_of_two = width == WIDTH_W128 ? (is_high ? 1u : 0u) : step.word;
  const uint64_t word = windows.value[of * plan.window_words + cursor.half * plan.window_words / 2 +
                                      word_of_value(width, cursor.row, half_of_two)];
  const uint32_t bit = half.first % 64 + cursor.row;
  const uint64_t bits =
      windows.validity[of * VALIDITY_WORDS + cursor.half * VALIDITY_WORDS / 2 + bit / 64];
  const column_strings in = windows.strings[2 * of + cursor.half];
  found_value found;
  found.value = {number_of_word(width, cursor.row, word), 0, ((bits >> (bit % 64)) & 1) != 0,
                 false};
  found.is_told = width != WIDTH_BYTES || step.word == 1;
  found.is_low = width == WIDTH_W128 && !is_high;
  found.is_sound = width != WIDTH_BOOL || found.value.word <= 1;
  if (width == WIDTH_BYTES) {
    const bool is_upper = (cursor.row % 2 == 0) == (step.word == 0);
    const uint32_t end = static_cast<uint32_t>(word >> (is_upper ? 32 : 0));
    if (step.word == 0) {
      step.start = half.first == 0 && cursor.row == 0 ? 0 : end;
    } else {
      found.is_sound = end >= step.start && end <= in.bytes;
      found.value.word = in.at + step.start;
      found.value.length = found.value.valid && found.is_sound ? end - step.start : 0;
    }
  }
  if (!found.value.valid) found.value.word = 0;
  return found;
}

/// Sends a key; of one that is not in order, and of any behind it, that the input has failed.
inline void send_key(const rows_plan& plan, const row_step& step, const found_value& found,
                     bool is_string, bool ends_row, bool is_failed, key_stream& keys,
                     request_stream& requests) {
  key_token token = key_token();
  token.word = found.value.word;
  token.length = found.value.length;
  token.input = step.input;
  token.kind = is_string ? KEY_STRING : KEY_NUMBER;
  token.valid = found.value.valid;
  token.is_low = found.is_low;
  token.ends_row = ends_row;
  keys.write(is_failed ? key_end(step.input, KEY_FAILED) : token);
  if (found.value.length != 0 && !is_failed) {
    requests.write(prefix_request(found.value, plan.prefix_bytes));
  }
}

/// Reads a value and goes on to the next one.
inline void do_step(const rows_plan& plan, const row_windows& windows, freed_stream& freed,
                    key_stream& keys, request_stream& requests, value_stream& values,
                    rows_state& state, row_step& step, process_report& own) {
  const bool is_put = step.job == JOB_PUT;
  row_cursor& cursor = is_put ? state.put[step.input] : state.keys[step.input];
  const uint32_t column = is_put ? step.index : plan.key_column[step.index];
  const uint8_t width = plan.columns.width[column];
  const found_value found =
      read_value(plan, windows, column, state.half[step.input][cursor.half], cursor, step);
  const bool is_last_word = !has_two_words(width) || step.word == 1;
  const uint32_t values_of_row = is_put ? plan.columns.count : plan.key_count;
  const bool ends_row = is_last_word && step.index + 1u == values_of_row;
  // Of a column that is no key the row was chosen already.
  if (!found.is_sound) own.status = STATUS_CORRUPT;
  if (found.is_told && is_put) {
    values.write(found.value);
  } else if (found.is_told) {
    send_key(plan, step, found, width == WIDTH_BYTES, ends_row, own.status != STATUS_OK, keys,
             requests);
  }
  step.word = is_last_word ? 0 : 1;
  if (is_last_word) {
    own.values++;
    step.index++;
  }
  if (ends_row) {
    // The keys of a row behind follow at once if they are there.
    const bool goes_on = is_put && can_read_keys(state, step.input);
    if (is_put && !goes_on) state.owed[step.input]++;
    step.index = 0;
    step.job = goes_on ? JOB_KEYS : JOB_NONE;
    if (leave_row(state.half[step.input], cursor) && is_put) freed.write(step.input);
  }
}

inline void clear_rows(const rows_plan& plan, rows_state& state) {
CLEAR_INPUTS:
  for (uint32_t input = 0; input < MERGE_INPUTS_MAX; input++) {
#pragma HLS UNROLL
    state.half[input][0] = half_state();
    state.half[input][1] = half_state();
    state.arrived[input] = 0;
    state.end[input] = GOES_ON;
    // The first half that comes is half 0.
    state.keys[input] = row_cursor{0, 1, false};
    state.put[input] = row_cursor{0, 1, false};
    state.owed[input] = static_cast<uint8_t>(input < plan.input_count ? plan.rows_ahead : 0);
  }
}

/// Process: words and where they go in, turns in; keys out, and the values of the rows whose turn
/// it is.
inline void read_rows(const rows_plan& plan, place_stream& places, word_stream& words,
                      turn_stream& turns, freed_stream& freed, key_stream& keys,
                      request_stream& requests, value_stream& values, report_stream& reports) {
  row_windows windows;
#pragma HLS BIND_STORAGE variable = windows.value type = ram_2p impl = bram
#pragma HLS BIND_STORAGE variable = windows.validity type = ram_2p impl = bram
#pragma HLS BIND_STORAGE variable = windows.strings type = ram_2p impl = bram
  rows_state state;
#pragma HLS ARRAY_PARTITION variable = state.half complete
#pragma HLS ARRAY_PARTITION variable = state.arrived complete
#pragma HLS ARRAY_PARTITION variable = state.end complete
#pragma HLS ARRAY_PARTITION variable = state.keys complete
#pragma HLS ARRAY_PARTITION variable = state.put complete
#pragma HLS ARRAY_PARTITION variable = state.owed complete
  clear_rows(plan, state);
  process_report own = empty_report();
  place_token place = place_token();
  row_step step = row_step();
  uint8_t look = 0;
  uint64_t arrivals = 0;
  uint32_t idle = 0;
  bool more_places = true;
  bool more_turns = true;
  bool has_moved = false;
STEPS:
  while (more_places || more_turns || step.job != JOB_NONE) {
#pragma HLS PIPELINE II = 1
// A half is read once all of its words have arrived.
#pragma HLS DEPENDENCE variable = windows type = inter false
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const bool has_arrived = take_arrival(places, words, windows, state, place, more_places);
    if (has_arrived) arrivals++;
    bool moved = has_arrived;
    if (step.job == JOB_NONE) {
      // Behind the last turn no process reads keys.
      if (more_turns && state.owed[look] != 0 && can_read_keys(state, look)) {
        // Not counted: the half was waited for.
        step = row_step{JOB_KEYS, look, 0, 0, 0};
        state.owed[look]--;
        moved = true;
      } else if (more_turns && !turns.empty() && !values.full() && !keys.full()) {
        const turn_token turn = turns.read();
        more_turns = !turn.last;
        if (turn.last) {
          freed.write(NO_INPUT);
          values.write(value_token{0, 0, false, true});
          keys.write(key_end(0, KEY_LAST));
        } else {
          step = begin_turn(turn, state, freed);
        }
        own.iterations++;
        moved = true;
      }
      look = look + 1u == plan.input_count ? 0 : static_cast<uint8_t>(look + 1);
    } else if (step.job == JOB_KEYS && !state.keys[step.input].is_open) {
      const bool goes_on = go_on_with_keys(state, keys, step);
      // Behind the last half nothing is counted.
      if (goes_on && step.job != JOB_NONE) own.iterations++;
      moved = moved || goes_on;
    } else if (step.job == JOB_PUT ? !values.full() : !keys.full() && !requests.full()) {
      do_step(plan, windows, freed, keys, requests, values, state, step, own);
      own.iterations++;
      moved = true;
    }
    has_moved = has_moved || moved;
    idle = moved ? 0 : idle + 1;
    if (idle >= plan.input_count) {
      NS_IDLE_AFTER(has_moved);
      has_moved = false;
    }
  }
  requests.write(last_request());
  if (own.iterations < arrivals) own.iterations = arrivals;
  reports.write(own);
}

}  // namespace merging
}  // namespace nearscan
