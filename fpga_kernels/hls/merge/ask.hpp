// SPDX-License-Identifier: Apache-2.0
// Asks for the columns of all inputs, half a window at a time, as soon as there is room for it.
//
// A block is opened when its first half is asked for: its header is read, and the end of the last
// string of each column, one after the other, since each says where the next one is. These are the
// reads that are waited for; in the meantime the other half of the input is merged.
#pragma once

#include "allocation.hpp"
#include "input.hpp"

namespace nearscan {
namespace merging {

/// Reads single words for whoever opens blocks.
struct head_reader {
  request_stream& requests;
  word_stream& words;
  uint64_t waits;

  head_reader(request_stream& requests_out, word_stream& words_in)
      : requests(requests_out), words(words_in), waits(0) {}

  uint64_t read(uint32_t use, uint64_t word) {
    (void)use;
    requests.write(request_token{word, 1, TO_HEADS, false});
    waits++;
    return words.read();
  }
};

/// The position of an input: the next row of its block, and rows of it that are wanted yet.
struct ask_state {
  input_cursor cursor[MERGE_INPUTS_MAX];
  uint64_t wanted[MERGE_INPUTS_MAX];
  uint32_t row[MERGE_INPUTS_MAX];
  uint8_t half[MERGE_INPUTS_MAX];
  bool ended[MERGE_INPUTS_MAX];
};

/// The rows of a half: those from `first` on, of which `skipped` are not wanted.
struct half_rows {
  uint32_t first;
  uint32_t skipped;
  uint32_t count;
};

/// Asks for one column of a half.
inline void ask_column(const ask_plan& plan, uint8_t input, uint32_t column, const half_rows& rows,
                       const ask_state& state, request_stream& requests, place_stream& places) {
  const column_place& from = state.cursor[input].columns[column];
  const uint8_t width = plan.columns.width[column];
  const uint32_t window = input * plan.columns.count + column;
  const uint32_t end = rows.first + rows.skipped + rows.count;
  place_token place = place_token();
  place.input = input;
  place.half = state.half[input];
  place.kind = PLACE_VALIDITY;
  place.place = static_cast<uint16_t>(window * VALIDITY_WORDS + place.half * VALIDITY_WORDS / 2);
  place.count = static_cast<uint16_t>((end + 63) / 64 - rows.first / 64);
  places.write(place);
  requests.write(request_token{from.validity + rows.first / 64, static_cast<uint8_t>(place.count),
                               TO_ROWS, false});
  // Of strings the end of the one before is read as well, which may lie in the word before.
  const bool has_before = width == WIDTH_BYTES && rows.first > 0;
  const uint64_t first = from.values + static_cast<uint64_t>(rows.first) * value_bytes(width) / 8;
  const uint32_t count = ((end - rows.first) * value_bytes(width) + 7) / 8;
  const uint32_t behind = width == WIDTH_BYTES && !has_before ? 1 : 0;
  place.kind = PLACE_VALUES;
  place.place = static_cast<uint16_t>(window * plan.window_words +
                                      place.half * plan.window_words / 2 + behind);
  place.count = static_cast<uint16_t>(count + (has_before ? 1 : 0));
  places.write(place);
  requests.write(request_token{first - (has_before ? 1 : 0), static_cast<uint8_t>(place.count),
                               TO_ROWS, false});
  if (width != WIDTH_BYTES) return;
  place.kind = PLACE_STRINGS;
  place.place = static_cast<uint16_t>(2 * window + place.half);
  place.at = from.strings * 8;
  place.bytes = from.string_bytes;
  places.write(place);
}

/// Whether an input has another row, with its block open; says how it ended otherwise.
inline bool find_row(const ask_plan& plan, uint8_t input, head_reader& reader, ask_state& state,
                     uint8_t& end) {
  input_cursor& cursor = state.cursor[input];
  end = PLACE_ENDED;
  if (state.wanted[input] == 0) return false;
  if (state.row[input] < cursor.rows) return true;
  if (cursor.next_block == cursor.end) {
    // Fewer rows than the header promised.
    if (cursor.rows_left != 0) end = PLACE_CORRUPT;
    return false;
  }
  state.row[input] = 0;
  if (open_block(plan.columns, reader, cursor)) return true;
  end = PLACE_CORRUPT;
  return false;
}

/// Asks for the next half of an input.
inline void ask_half(const ask_plan& plan, uint8_t input, head_reader& reader, ask_state& state,
                     place_stream& places) {
  if (state.ended[input]) return;
  place_token token = place_token();
  token.input = input;
  token.half = state.half[input];
  uint8_t end = PLACE_READY;
  if (!find_row(plan, input, reader, state, end)) {
    state.ended[input] = true;
    token.kind = end;
    places.write(token);
    return;
  }
  const uint32_t row = state.row[input];
  half_rows rows;
  rows.skipped = row % plan.half_rows;
  rows.first = row - rows.skipped;
  rows.count = plan.half_rows - rows.skipped;
  const uint32_t left = state.cursor[input].rows - row;
  if (rows.count > left) rows.count = left;
  if (rows.count > state.wanted[input]) rows.count = static_cast<uint32_t>(state.wanted[input]);
ASK_COLUMNS:
  for (uint32_t column = 0; column < plan.columns.count; column++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 20
    ask_column(plan, input, column, rows, state, reader.requests, places);
  }
  token.kind = PLACE_READY;
  token.bytes = rows.first;
  token.place = static_cast<uint16_t>(rows.skipped);
  token.count = static_cast<uint16_t>(rows.count);
  places.write(token);
  state.row[input] += rows.count;
  state.wanted[input] -= rows.count;
  state.half[input] = static_cast<uint8_t>(1 - state.half[input]);
}

/// Process: halves that are free in, requests out, and where their words go.
inline void ask(const ask_plan& plan, freed_stream& freed, word_stream& heads,
                request_stream& requests, place_stream& places, report_stream& reports) {
  ask_state state;
  head_reader reader(requests, heads);
BEGIN_INPUTS:
  for (uint32_t input = 0; input < plan.input_count; input++) {
#pragma HLS PIPELINE off
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
    input_cursor& cursor = state.cursor[input];
    cursor.next_block = plan.start[input].block;
    cursor.end = plan.start[input].end;
    cursor.rows_left = plan.start[input].rows_left;
    cursor.block_row = 0;
    cursor.next_row = 0;
    cursor.rows = 0;
    state.wanted[input] = plan.start[input].wanted;
    state.half[input] = 0;
    state.ended[input] = false;
    // The row within the first block stands behind its opening.
    state.row[input] = 0;
    uint8_t end;
    const uint32_t row = plan.start[input].row;
    if (row != 0 && find_row(plan, static_cast<uint8_t>(input), reader, state, end)) {
      state.row[input] = row;
    }
  }
FIRST_HALVES:
  for (uint32_t half = 0; half < 2 * plan.input_count; half++) {
#pragma HLS LOOP_TRIPCOUNT min = 2 max = 32
    ask_half(plan, static_cast<uint8_t>(half % plan.input_count), reader, state, places);
  }
HALVES:
  while (true) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 268435456
    const uint8_t input = freed.read();
    if (input == NO_INPUT) break;
    ask_half(plan, input, reader, state, places);
  }
  requests.write(last_request());
  place_token end = place_token();
  end.kind = PLACE_LAST;
  places.write(end);
  process_report own = empty_report();
  own.waits = reader.waits;
  reports.write(own);
}

}  // namespace merging
}  // namespace nearscan
