// SPDX-License-Identifier: Apache-2.0
// A lane's words on their way out.
#pragma once

#include "memory_lane.hpp"

namespace nearscan {

/// The word that fills, and the words before it that have not gone: one, or as many as there are
/// behind one that waits for device memory, to be read or to be written. They go in their order.
///
/// Nothing in here waits for room to ask while an answer waits to be read.
struct word_ring {
  /// As many as a LUT has places when it is used as memory. More than are on their way to device
  /// memory and back, so that a lane goes on while its answers wait to be taken.
  static constexpr uint32_t WORDS = 64;
  value_token ring[WORDS];
  /// Rows of a word that wait for a look-up, and the requests to write that have to be answered
  /// before it goes.
  uint8_t waits[WORDS];
  uint64_t written[WORDS];
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

  /// Whether the oldest word waits for nothing.
  bool is_ready(const memory_lane& memory) const {
    return waits[oldest] == 0 && written[oldest] <= memory.answered;
  }

  /// Takes an answer that the oldest word waits for to be written, or sends the word on, with what
  /// it has looked up.
  void advance(value_stream& values, memory_lane& memory) {
    if (written[oldest] > memory.answered) {
      memory.answered += memory.written.read();
      return;
    }
    value_token& word = ring[oldest];
    if (waits[oldest] != 0) {
      fill(word, waits[oldest], memory.found);
      waiting--;
    }
    values.write(word);
    oldest = (oldest + 1) % WORDS;
    full--;
  }

  /// Asks for what the word that fills needs and waits for it. No other word is waiting.
  void settle(memory_lane& memory) {
    if (asked.rows == 0) return;
    memory.requests.write(asked);
    fill(filling(), asked.rows, memory.found);
    asked.rows = 0;
    asked.stored = 0;
  }

  void drain(value_stream& values, memory_lane& memory) {
  DRAIN:
    while (full > 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 64
      advance(values, memory);
    }
  }

  /// The word that fills is full, or the last one.
  void put(value_stream& values, memory_lane& memory) {
    if (asked.rows != 0) {
    MAKE_ROOM:
      while (waiting > 0 && memory.requests.full()) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
        advance(values, memory);
      }
      memory.requests.write(asked);
      waiting++;
    }
    const uint32_t place = (oldest + full) % WORDS;
    waits[place] = asked.rows;
    written[place] = memory.asked;
    full++;
    asked.rows = 0;
    asked.stored = 0;
    memory.look_for_answer();
  KEEP_ORDER:
    while (full == WORDS || (full > 1 && is_ready(memory))) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      advance(values, memory);
    }
    // Values of the word that was here before stay behind in rows that turn out to be null.
    filling().valid = 0;
    filling().count = 0;
  }
};

}  // namespace nearscan
