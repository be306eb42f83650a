// SPDX-License-Identifier: Apache-2.0
// A lane's words on their way out.
#pragma once

#include "memory_lane.hpp"

namespace nearscan {

/// The word that fills, and the words before it that have not gone: one, or as many as there are
/// behind one whose strings are not in device memory yet. They go in their order. No burst of
/// strings stays open for more than half of the ring: words wait for it.
struct word_ring {
  /// As many as a LUT has places when it is used as memory. More than are on their way to device
  /// memory, so that a lane goes on while its answers wait to be taken.
  static constexpr uint32_t WORDS = 64;
  value_token ring[WORDS];
  /// The bursts that have to be answered before a word goes.
  uint64_t written[WORDS];
  /// Full words, from `oldest` on; the one that fills stands behind them.
  uint32_t oldest;
  uint32_t full;

  word_ring() : oldest(0), full(0) {
  CLEAR:
    for (uint32_t word = 0; word < WORDS; word++) {
#pragma HLS PIPELINE II = 1
      ring[word] = EMPTY_WORD;
    }
  }

  /// Whether the word that fills has rows.
  bool begun() const { return ring[(oldest + full) % WORDS].count != 0; }

  value_token& filling() { return ring[(oldest + full) % WORDS]; }

  /// Takes an answer that the oldest word waits for, or sends the word on.
  void advance(value_stream& values, memory_lane& memory) {
    if (written[oldest] > memory.answered) {
      memory.answered += memory.written.read();
      return;
    }
    values.write(ring[oldest]);
    oldest = (oldest + 1) % WORDS;
    full--;
  }

  void drain(value_stream& values, memory_lane& memory) {
    memory.flush();
  DRAIN:
    while (full > 0) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 64
      advance(values, memory);
    }
  }

  /// The word that fills is full, or the last one.
  void put(value_stream& values, memory_lane& memory) {
    written[(oldest + full) % WORDS] = memory.asked();
    full++;
    if ((oldest + full) % (WORDS / 2) == 0) memory.flush();
    memory.look_for_answer();
  KEEP_ORDER:
    while (full == WORDS || (full > 1 && written[oldest] <= memory.answered)) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      advance(values, memory);
    }
    // Values of the word that was here before stay behind in rows that turn out to be null.
    filling().far = 0;
    filling().valid = 0;
    filling().count = 0;
  }
};

}  // namespace nearscan
