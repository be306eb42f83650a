// SPDX-License-Identifier: Apache-2.0
// Bits of a page, lowest first: the order of Parquet's bit-packing and of little-endian numbers
// alike.
#pragma once

#include "plan.hpp"

namespace nearscan {

/// The low `bits` (<= 64) of a word.
inline uint64_t low_bits(uint64_t word, uint32_t bits) {
  return bits >= 64 ? word : word & ((static_cast<uint64_t>(1) << bits) - 1);
}

/// Bits of the current page. A read behind the end gives zero and sets `overrun`.
struct bit_reader {
  byte_stream& in;
  u128 window;
  uint32_t held;
  uint64_t bytes_taken_in;
  bool ended;
  bool overrun;

  explicit bit_reader(byte_stream& source)
      : in(source), window(0), held(0), bytes_taken_in(0), ended(true), overrun(false) {}

  void start_page() {
    window = 0;
    held = 0;
    bytes_taken_in = 0;
    ended = false;
    overrun = false;
  }

  bool has(uint32_t bits) {
  FILL:
    while (held < bits && !ended) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      const byte_token token = in.read();
      window |= static_cast<u128>(token.data) << held;
      held += 8u * token.count;
      bytes_taken_in += token.count;
      ended = token.last;
    }
    return held >= bits;
  }

  /// The next `bits` (<= 64).
  uint64_t take(uint32_t bits) {
    if (!has(bits)) {
      overrun = true;
      return 0;
    }
    const uint64_t value = low_bits(static_cast<uint64_t>(window), bits);
    window >>= bits;
    held -= bits;
    return value;
  }

  /// Whether every byte of the page has been taken.
  bool at_end() { return held == 0 && !has(1); }

  void drain_page() {
  DRAIN:
    while (!ended) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      ended = in.read().last;
    }
  }
};

/// Bits from a memory of 64-bit words: the buffered definition levels.
struct level_memory {
  static constexpr uint32_t WORDS = LEVEL_BYTES_MAX / 8;
  uint64_t words[WORDS];
  uint32_t bit;
  uint32_t bit_end;

  uint64_t take(uint32_t bits, bool* overrun) {
    if (bit + bits > bit_end) {
      *overrun = true;
      return 0;
    }
    const uint32_t word = bit / 64;
    const uint32_t shift = bit % 64;
    uint64_t value = words[word] >> shift;
    if (shift + bits > 64) value |= words[word + 1] << (64 - shift);
    bit += bits;
    return low_bits(value, bits);
  }
};

/// Where a hybrid of runs and bit-packed groups stands: `left` values of the current run.
struct hybrid_run {
  uint32_t left;
  bool packed;
  uint32_t value;
};

/// What a run header says.
inline hybrid_run open_run(uint64_t header) {
  hybrid_run run;
  run.packed = (header & 1) != 0;
  // A count above 2^31 is clipped: no page has as many values.
  const uint64_t count = run.packed ? (header >> 1) * 8 : header >> 1;
  run.left = count > 0x7fffffffu ? 0x7fffffffu : static_cast<uint32_t>(count);
  run.value = 0;
  return run;
}

}  // namespace nearscan
