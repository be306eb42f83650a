// SPDX-License-Identifier: Apache-2.0
// Bits of a page, lowest first: the order of Parquet's bit-packing and of little-endian numbers
// alike.
#pragma once

#include "bit_window.hpp"
#include "plan.hpp"

namespace nearscan {

/// Bits of the current page. A read behind the end gives zero and sets `overrun`.
struct bit_reader {
  bit_window window;
  bool ended;
  bool overrun;
  /// Iterations for lengths and other numbers that are read a byte per iteration.
  uint64_t iterations;

  bit_reader() : ended(true), overrun(false), iterations(0) {}

  void start_page() {
    window.clear();
    ended = false;
    overrun = false;
  }

  /// Whether the page has `bits` (<= 64) more.
  NS_HOT bool has(byte_stream& in, uint32_t bits) {
    if (window.held < bits && !ended) {
      const byte_token token = in.read();
      window.push(token.data, 8u * token.count);
      ended = token.last;
    }
    return window.held >= bits;
  }

  /// The next `bits` (<= 64).
  NS_HOT uint64_t take(byte_stream& in, uint32_t bits) {
    if (!has(in, bits)) {
      overrun = true;
      return 0;
    }
    return window.take(bits);
  }

  /// The next number in groups of 7 bits, the lowest first, of at most `groups` (<= 10).
  uint64_t take_varint(byte_stream& in, uint32_t groups) {
    uint64_t number = 0;
    bool more = true;
  VARINT:
    for (uint32_t group = 0; group < groups && more && !overrun; group++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 10
      const uint64_t byte = take(in, 8);
      number |= (byte & 0x7f) << (7 * group);
      iterations++;
      more = (byte & 0x80) != 0;
    }
    if (more) overrun = true;
    return number;
  }

  /// The next `count` (<= `At_once`) numbers of `bits` (<= 64 / `At_once`) each; what is behind
  /// them in `numbers` [At_once] is written over. Gives one that neither `largest` nor any of them
  /// is above.
  template <uint32_t At_once, typename Number>
  NS_HOT Number take_side_by_side(byte_stream& in, uint32_t bits, uint32_t count, Number largest,
                                  Number* numbers) {
    const Number mask = static_cast<Number>(low_bits(~static_cast<uint64_t>(0), bits));
    uint64_t taken = take(in, count * bits);
  NUMBERS:
    for (uint32_t i = 0; i < At_once; i++) {
#pragma HLS UNROLL
      const Number number = static_cast<Number>(taken) & mask;
      numbers[i] = number;
      largest = number > largest ? number : largest;
      taken = bits < 64 ? taken >> bits : 0;
    }
    return largest;
  }

  /// The next `count` (<= 8) numbers of `bits` (<= 64 / `At_once`) each, `At_once` per iteration;
  /// what is behind them in `numbers` [count + At_once] may be written over. Gives one that none of
  /// them is above.
  template <uint32_t At_once, typename Number>
  NS_HOT Number take_numbers(byte_stream& in, uint32_t bits, uint32_t count, Number* numbers) {
    Number largest = 0;
  TAKES:
    for (uint32_t got = 0; got < count; got += At_once) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 4
      const uint32_t some = count - got < At_once ? count - got : At_once;
      largest = take_side_by_side<At_once>(in, bits, some, largest, numbers + got);
    }
    return largest;
  }

  /// Whether every byte of the page has been taken.
  bool at_end(byte_stream& in) { return window.held == 0 && !has(in, 1); }

  void drain_page(byte_stream& in) {
  DRAIN:
    while (!ended) {
#pragma HLS PIPELINE II = 1
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

  /// The next `bits` (<= 64); behind the end zero, and `*overrun` is set.
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

/// The state of a hybrid of runs and bit-packed groups: `left` values of the current run.
struct hybrid_run {
  uint32_t left;
  bool packed;
  uint32_t value;
};

/// Reads a run header.
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
