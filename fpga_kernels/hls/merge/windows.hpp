// SPDX-License-Identifier: Apache-2.0
// Device memory as the merge reads it: windows of lines on chip, filled ahead of their readers.
//
//     window of a column     [ lines that are read | lines behind them, asked for already ]
//
// Each part of each column of each input is read from its beginning to its end, all at their own
// pace. So each has a window of two halves: when its reader enters one half, the lines behind are
// asked for into the other one, and are there when it needs them. The port answers in the order of
// the requests, so bursts that are older are put into their windows on the way.
//
// A line that nobody has asked for is waited for. That is so where a block begins, where strings
// are compared or copied, and for every line of a search, which reads no further than it looks.
#pragma once

#include "progress.hpp"

namespace nearscan {
namespace merging {

/// Lines of a half. A column of 16 bytes a row has 16 rows in one, each of which takes several
/// comparisons: longer than a round trip to the memory.
static constexpr uint32_t HALF_LINES = 4;
/// Bursts in flight, as many as the port keeps.
static constexpr uint32_t IN_FLIGHT_MAX = 16;

/// The parts of a column.
enum column_part : uint32_t { PART_VALIDITY = 0, PART_VALUES = 1, PART_STRINGS = 2 };
static constexpr uint32_t COLUMN_PARTS = 3;

/// Windows: those of the columns, one for headers, two for strings that tie, and one for the
/// strings of each input that are copied.
static constexpr uint32_t COLUMN_WINDOWS = MERGE_INPUTS_MAX * OUTPUT_COLUMNS_MAX * COLUMN_PARTS;
static constexpr uint32_t WINDOW_HEADERS = COLUMN_WINDOWS;
static constexpr uint32_t WINDOW_TIE_A = COLUMN_WINDOWS + 1;
static constexpr uint32_t WINDOW_TIE_B = COLUMN_WINDOWS + 2;
static constexpr uint32_t WINDOW_COPIES = COLUMN_WINDOWS + 3;
static constexpr uint32_t WINDOWS = WINDOW_COPIES + MERGE_INPUTS_MAX;

inline uint32_t column_window(uint32_t input, uint32_t column, column_part part) {
  return (input * OUTPUT_COLUMNS_MAX + column) * COLUMN_PARTS + part;
}

/// Some lines, asked for and perhaps not there yet.
struct line_range {
  uint64_t first;
  uint32_t count;
  bool is_asked;
};

inline bool holds(const line_range& range, uint64_t line) {
  return line >= range.first && line - range.first < range.count;
}

struct line_window {
  line_range half[2];
  /// The half that is read.
  uint32_t current;
  /// The line behind the last one that may be read.
  uint64_t end;
};

/// A burst that is under way.
struct burst_in_flight {
  uint32_t window;
  uint32_t half;
};

/// All windows, and what is under way to them.
struct line_store {
  line_t lines[WINDOWS][2][HALF_LINES];
  line_window windows[WINDOWS];
  burst_in_flight in_flight[IN_FLIGHT_MAX];
  uint32_t oldest;
  uint32_t in_flight_count;
  /// Whether columns are read from one end to the other.
  bool is_ahead;
};

inline void clear_store(line_store& store) {
  store.oldest = 0;
  store.in_flight_count = 0;
  store.is_ahead = false;
CLEAR_WINDOWS:
  for (uint32_t window = 0; window < WINDOWS; window++) {
#pragma HLS PIPELINE II = 1
    store.windows[window] = line_window();
  }
}

/// Puts the oldest burst that is under way into its window.
inline void take_burst(line_port& input, line_store& store) {
  const burst_in_flight burst = store.in_flight[store.oldest];
  line_range& range = store.windows[burst.window].half[burst.half];
TAKE_LINES:
  for (uint32_t line = 0; line < range.count; line++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4
#pragma HLS PIPELINE II = 1
    store.lines[burst.window][burst.half][line] = input.read();
  }
  range.is_asked = false;
  store.oldest = (store.oldest + 1) % IN_FLIGHT_MAX;
  store.in_flight_count--;
}

/// Takes bursts until a half of a window is there.
inline void take_half(line_port& input, line_store& store, uint32_t window, uint32_t half) {
TAKE_UNTIL:
  while (store.windows[window].half[half].is_asked) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    take_burst(input, store);
  }
}

/// Takes all that is under way: the next call must not find it.
inline void take_all(line_port& input, line_store& store) {
TAKE_ALL:
  while (store.in_flight_count > 0) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    take_burst(input, store);
  }
}

/// Asks for `count` lines from `first` on into a half, which loses what it holds.
inline void ask_for(line_port& input, line_store& store, uint32_t window, uint32_t half,
                    uint64_t first, uint32_t count, progress& done) {
  take_half(input, store, window, half);
  if (store.in_flight_count == IN_FLIGHT_MAX) take_burst(input, store);
  input.read_request(first, count);
  store.windows[window].half[half] = {first, count, true};
  store.in_flight[(store.oldest + store.in_flight_count) % IN_FLIGHT_MAX] = {window, half};
  store.in_flight_count++;
  done.lines_read += count;
}

/// The number of lines that are asked for at once from `line` on.
inline uint32_t lines_at_once(const line_window& window, uint64_t line) {
  if (line >= window.end) return 1;
  const uint64_t left = window.end - line;
  return left < HALF_LINES ? static_cast<uint32_t>(left) : HALF_LINES;
}

/// Makes the half that holds a line the current one.
NS_APART void enter_line(line_port& input, line_store& store, uint32_t index, uint64_t line,
                         progress& done) {
  line_window& window = store.windows[index];
  const bool is_column = index < COLUMN_WINDOWS;
  if (holds(window.half[1 - window.current], line)) {
    window.current = 1 - window.current;
  } else {
    const uint32_t count = is_column && !store.is_ahead ? 1 : lines_at_once(window, line);
    ask_for(input, store, index, window.current, line, count, done);
    done.waits++;
  }
  const uint32_t current = window.current;
  const uint64_t behind = window.half[current].first + window.half[current].count;
  if (is_column && store.is_ahead && behind < window.end &&
      !holds(window.half[1 - current], behind)) {
    ask_for(input, store, index, 1 - current, behind, lines_at_once(window, behind), done);
  }
  take_half(input, store, index, current);
}

/// Word `word` of the input, out of a window.
inline uint64_t read_word(line_port& input, line_store& store, uint32_t index, uint64_t word,
                          progress& done) {
  const uint64_t line = word / 8;
  const line_window& window = store.windows[index];
  if (!holds(window.half[window.current], line)) enter_line(input, store, index, line, done);
  const uint32_t half = window.current;
  const line_t& held = store.lines[index][half][line - window.half[half].first];
  return line_word(held, static_cast<int>(word % 8));
}

/// Up to 8 bytes from byte `at` on, of `left` that are there; zero behind them.
inline uint64_t read_bytes(line_port& input, line_store& store, uint32_t index, uint64_t at,
                           uint64_t left, progress& done) {
  const uint32_t count = left < 8 ? static_cast<uint32_t>(left) : 8;
  const uint32_t skipped = static_cast<uint32_t>(at % 8);
  uint64_t value = read_word(input, store, index, at / 8, done) >> (8 * skipped);
  if (skipped + count > 8) {
    value |= read_word(input, store, index, at / 8 + 1, done) << (64 - 8 * skipped);
  }
  done.string_words++;
  return low_bits(value, 8 * count);
}

/// Lets a window read the words of a range and no further.
inline void limit_window(line_store& store, uint32_t index, uint64_t end_word) {
  store.windows[index].end = (end_word + 7) / 8;
}

}  // namespace merging
}  // namespace nearscan
