// SPDX-License-Identifier: Apache-2.0
// Looks far rows up: those whose entry is not in the dictionary on chip.
//
//     words -> ask_entries -> words that wait -> take_entries -> words
//                   |                                 ^
//                   +-> read_memory, look_up_store ---+
//
// One process asks, one takes the answers, and between them words wait in a FIFO, so that the way
// to device memory and back is paid once and not for each word. A lane is looked up before the
// filter if the filter needs its values, and behind it otherwise: for kept rows alone.
//
// A lane asks for no more entries than it has room for, so that the stage which reads device memory
// for all of them never waits for one.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// Words that wait for their entries: more than a lane decodes, four cycles each, while an entry is
/// on its way.
typedef hls::stream<value_token, VALUE_DEPTH> pending_stream;

/// The far rows of a word whose entries are in the store.
inline uint32_t stored_rows(const value_token& word) {
  uint32_t rows = 0;
STORED_ROWS:
  for (uint32_t row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    rows |= static_cast<uint32_t>(is_stored(word.value.row[row])) << row;
  }
  return rows & word.far;
}

/// Asks the store for the entries of some rows of a word.
inline void ask_store(const value_token& word, uint32_t rows, place_stream& places) {
  place_token token = place_token();
  token.rows = static_cast<uint8_t>(rows);
PLACES:
  for (uint32_t row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    token.place[row] =
        static_cast<uint32_t>(low_bits(referenced(word.value.row[row]), STORE_PLACE_BITS));
  }
  places.write(token);
}

/// Process: words of a lane in, as they are decoded or as the filter keeps them; the same out to
/// wait, and what their far rows need is asked for: a slot of device memory per iteration.
inline void ask_entries(const look_up_plan& plan, value_stream& decoded, value_stream& kept,
                        pending_stream& pending, slot_stream& slots, place_stream& places,
                        credit_stream& credits) {
  if (!plan.active) return;
  value_token word = EMPTY_WORD;
  uint32_t left = 0;
  uint32_t due = 0;
ASK_WORDS:
  while (left != 0 || !word.last) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 33554432
    if (left == 0) {
      read_either(plan.is_late, kept, decoded, word);
      pending.write(word);
      const uint32_t stored = word.last ? 0 : stored_rows(word);
      if (stored != 0) ask_store(word, stored, places);
      left = word.last ? 0 : word.far & ~stored;
    }
    if (left != 0) {
      if (due == static_cast<uint32_t>(ENTRIES_DUE)) due -= credits.read().count;
      const uint32_t row = lowest_bit(left);
      slots.write(slot_token{referenced(word.value.row[row]), false});
      left &= left - 1;
      due++;
    }
  }
  slots.write(slot_token{0, true});
  if (plan.has_store) {
    place_token end = place_token();
    end.last = true;
    places.write(end);
  }
  // The next command must not find them.
SETTLE:
  while (due != 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 64
    due -= credits.read().count;
  }
}

/// Puts what the store has answered into a word.
inline void take_stored(uint32_t rows, stored_stream& stored, value_token& word) {
  const stored_token answer = stored.read();
STORED:
  for (uint32_t row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    // An entry of the store is a number, which has no tests.
    if (((rows >> row) & 1) != 0) word.value.row[row] = answer.entry[row];
  }
}

/// Process: words that wait in, whole words out, to the filter or to the projection: an entry of
/// device memory per iteration. The projection is not told of the end.
inline void take_entries(const look_up_plan& plan, pending_stream& pending, entry_stream& entries,
                         stored_stream& stored, credit_stream& credits, value_stream& to_filter,
                         value_stream& to_projection) {
  if (!plan.active) return;
  value_token word = EMPTY_WORD;
  uint32_t left = 0;
  uint32_t asked = 0;
TAKE_WORDS:
  while (true) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 33554432
    if (left == 0) {
      pending.read(word);
      if (word.last) break;
      const uint32_t in_store = stored_rows(word);
      if (in_store != 0) take_stored(in_store, stored, word);
      left = word.far & ~in_store;
      asked = count_bits(static_cast<uint8_t>(left));
    }
    if (left != 0) {
      const entry_token entry = entries.read();
      const uint32_t row = lowest_bit(left);
      word.value.row[row] = entry.value;
      word.tests[row] = entry.tests;
      left &= left - 1;
      if (left == 0) credits.write(credit_token{static_cast<uint8_t>(asked)});
    }
    if (left == 0) {
      word.far = 0;
      if (plan.is_late) {
        to_projection.write(word);
      } else {
        to_filter.write(word);
      }
    }
  }
  if (!plan.is_late) to_filter.write(word);
}

}  // namespace nearscan
