// SPDX-License-Identifier: Apache-2.0
// BYTE_STREAM_SPLIT: the first bytes of all values of a page, then the second ones, and so on.
//
// A value is whole only when the last stream has come, so the streams are put into the lane's
// scratch, each from a line of 64 bytes on, and read back in groups of eight values: a word of each
// stream. Groups are asked for ahead of the one that is taken, so that the way to device memory and
// back is paid once and not for each.
#pragma once

#include "numbers.hpp"

namespace nearscan {

struct split_reader {
  /// Groups that are on their way or wait to be taken.
  static constexpr uint32_t AHEAD = 4;
  static constexpr uint32_t STREAMS = FIXED_BYTES_MAX;
  static_assert(AHEAD * STREAMS / 2 <= FOUND_DUE, "there is room for the answers");
  uint64_t words[AHEAD][STREAMS];
  /// First word of the first stream, and from one stream to the next.
  uint64_t base;
  uint32_t stride;
  uint32_t streams;
  uint32_t values;
  /// The value that comes next.
  uint32_t at;
  /// Groups that were asked for, those that are whole, and the words that the next one has.
  uint32_t asked;
  uint32_t whole;
  uint32_t held;

  void start_page() {
    values = 0;
    at = 0;
    asked = 0;
    whole = 0;
    held = 0;
  }

  uint32_t groups() const { return (values + ROWS - 1) / ROWS; }

  /// Takes two words of a group, or its last one.
  void take_answer(memory_lane& memory) {
    const found_token answer = memory.found.read();
    words[whole % AHEAD][held] = answer.word[0];
    words[whole % AHEAD][held + 1] = answer.word[1];
    held += 2;
    if (held < streams) return;
    whole++;
    held = 0;
  }

  /// Asks for all groups that there is room for.
  void ask_ahead(memory_lane& memory) {
    const uint32_t end = at / ROWS + AHEAD;
    const uint32_t last = groups() < end ? groups() : end;
  ASK:
    while (asked < last) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 4
      memory.requests.write(
          spread_token{base + asked, stride, static_cast<uint8_t>(streams), false});
      asked++;
    }
  }

  /// The next value; there is one.
  void next(memory_lane& memory, stored_value& stored, uint64_t& iterations) {
    const uint32_t group = at / ROWS;
    if (at % ROWS == 0) {
      ask_ahead(memory);
    WAIT:
      while (whole == group) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 8
        take_answer(memory);
        iterations++;
      }
    }
    const uint32_t shift = 8 * (at % ROWS);
    stored.first = 0;
    stored.second = 0;
  BYTES:
    for (uint32_t i = 0; i < LINE_WORDS; i++) {
#pragma HLS UNROLL
      if (i < streams) stored.first |= ((words[group % AHEAD][i] >> shift) & 0xff) << (8 * i);
      if (LINE_WORDS + i < streams) {
        stored.second |= ((words[group % AHEAD][LINE_WORDS + i] >> shift) & 0xff) << (8 * i);
      }
    }
    at++;
  }

  /// Takes what was asked for and not needed: the next page must not find it.
  void drain(memory_lane& memory) {
  DRAIN:
    while (whole < asked) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 32
      take_answer(memory);
    }
  }
};

/// Puts the streams of a page into scratch: all of its `bytes` that are left.
template <typename Plan>
inline uint32_t store_streams(byte_stream& payload, memory_lane& memory, bit_reader& bits,
                              const Plan& plan, const scratch_cursor& scratch, uint64_t bytes,
                              uint64_t& steps, split_reader& split) {
  split.streams = plan.reading.stored_bits / 8u;
  split.values = static_cast<uint32_t>(bytes / split.streams);
  if (static_cast<uint64_t>(split.values) * split.streams != bytes) return STATUS_CORRUPT;
  split.base = scratch.at / 8;
  const uint64_t stride = (bytes / split.streams + 63) / 64 * LINE_WORDS;
  if (8 * stride * split.streams > scratch.end - scratch.at) return STATUS_SCRATCH_FULL;
  split.stride = static_cast<uint32_t>(stride);
STREAMS:
  for (uint32_t stream = 0; stream < split.streams; stream++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16
  WORDS:
    for (uint32_t at = 0; at < split.values; at += 8) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 32768
      const uint32_t left = split.values - at;
      const uint64_t word = bits.take(payload, left < 8 ? 8 * left : 64);
      if (bits.overrun) return STATUS_CORRUPT;
      memory.slots.put(split.base + stream * stride + at / 8, word);
      steps++;
      if (steps > plan.steps_max) return STATUS_STEPS_EXCEEDED;
    }
  }
  // They are read next.
  memory.settle();
  return STATUS_OK;
}

}  // namespace nearscan
