// SPDX-License-Identifier: Apache-2.0
// A lane's words on their way out.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// The word that fills, and the words before it that have not gone: one, or as many as there are
/// behind one that waits for device memory. They go in their order.
///
/// Nothing in here waits for room to ask while an answer waits to be read.
struct word_ring {
  /// As many as a LUT has places when it is used as memory. More than are on their way to device
  /// memory and back, so that a lane goes on while its answers wait to be taken.
  static constexpr uint32_t WORDS = 64;
  value_token ring[WORDS];
  uint8_t waits[WORDS];
  /// Full words, from `oldest` on; the one that fills stands behind them.
  uint32_t oldest;
  uint32_t full;
  uint32_t waiting;
  scratch_token asked;

  word_ring() : oldest(0), full(0), waiting(0), asked() {
    asked.kind = SCRATCH_LOOK_UP;
  CLEAR:
    for (uint32_t word = 0; word < WORDS; word++) {
#pragma HLS PIPELINE II = 1
      ring[word] = EMPTY_WORD;
    }
  }

  /// Whether the word that fills has rows.
  bool begun() const { return ring[(oldest + full) % WORDS].count != 0; }

  value_token& filling() { return ring[(oldest + full) % WORDS]; }

  /// Row `row` of the word that fills gets what stands in a slot of device memory.
  void ask(uint32_t row, uint64_t slot) {
    asked.word[row] = slot;
    asked.rows = static_cast<uint8_t>(asked.rows | 1u << row);
  }

  /// The same with an entry of the store.
  void ask_store(uint32_t row, uint32_t place) {
    ask(row, place);
    asked.stored = static_cast<uint8_t>(asked.stored | 1u << row);
  }

  /// Puts the answer to what was asked for into a word.
  static void fill(value_token& word, uint8_t rows, found_stream& found) {
    const found_token answer = found.read();
  ANSWER:
    for (uint32_t row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      if (((rows >> row) & 1) != 0) {
        word.value.row[row] = answer.value.row[row];
        word.tests[row] = answer.tests[row];
      }
    }
  }

  /// Sends the oldest word on, with what it waits for.
  void release(value_stream& values, found_stream& found) {
    value_token& word = ring[oldest];
    if (waits[oldest] != 0) {
      fill(word, waits[oldest], found);
      waiting--;
    }
    values.write(word);
    oldest = (oldest + 1) % WORDS;
    full--;
  }

  /// Asks for what the word that fills needs and waits for it. No other word is waiting.
  void settle(scratch_stream& requests, found_stream& found) {
    if (asked.rows == 0) return;
    requests.write(asked);
    fill(filling(), asked.rows, found);
    asked.rows = 0;
    asked.stored = 0;
  }

  void drain(value_stream& values, found_stream& found) {
  DRAIN:
    while (full > 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 64
      release(values, found);
    }
  }

  /// The word that fills is full, or the last one.
  void put(value_stream& values, scratch_stream& requests, found_stream& found) {
    if (asked.rows != 0) {
    MAKE_ROOM:
      while (waiting > 0 && requests.full()) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
        release(values, found);
      }
      requests.write(asked);
      waiting++;
    }
    waits[(oldest + full) % WORDS] = asked.rows;
    full++;
    asked.rows = 0;
    asked.stored = 0;
  KEEP_ORDER:
    while (full == WORDS || (waiting == 0 && full > 1)) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      release(values, found);
    }
    // Values of the word that was here before stay behind in rows that turn out to be null.
    filling().valid = 0;
    filling().count = 0;
  }
};

}  // namespace nearscan
