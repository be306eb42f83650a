// SPDX-License-Identifier: Apache-2.0
// Byte strings: their tests against literals, and their way into scratch.
#pragma once

#include "bit_reader.hpp"
#include "scratch.hpp"

namespace nearscan {

static constexpr int PREFIX_WORDS = STRING_BYTES_MAX / 8;

/// The first 128 bytes of a value, zero behind its end, and its length.
struct string_prefix {
  uint64_t words[PREFIX_WORDS];
  uint32_t length;
};

/// Below zero, zero or above: the order of the value against literal `index`, byte by byte.
///
/// A literal has at most 128 bytes, so the prefix decides. Padding with zero puts a string before
/// its extensions except where these go on with zero bytes; the lengths decide then.
inline int compare_literal(const string_prefix& value, const lane_tests& tests, uint32_t index,
                           uint64_t& iterations) {
  const uint32_t length = tests.length[index];
  const uint32_t words = (length + 7) / 8;
  int order = 0;
COMPARE:
  for (uint32_t i = 0; i < PREFIX_WORDS; i++) {
#pragma HLS PIPELINE II = 1
    // Behind the longer of the two there are only zeros.
    if (order != 0 || (i >= words && i * 8 >= value.length)) break;
    iterations++;
    const uint64_t theirs = i < words ? tests.words[tests.word_first[index] + i] : 0;
    const uint64_t a = byte_swap(value.words[i]);
    const uint64_t b = byte_swap(theirs);
    order = a < b ? -1 : a > b ? 1 : 0;
  }
  if (order != 0) return order;
  return value.length < length ? -1 : value.length > length ? 1 : 0;
}

/// The automata of a column's patterns while a value goes by, a bit a state.
///
/// In a state of `here` the next byte begins a character or stands for itself. A state of `later`
/// was reached by a character that stands for any: it comes into force behind the continuation
/// bytes of that character, all there are.
struct pattern_run {
  uint64_t here[TESTS_PER_COLUMN_MAX];
  uint64_t later[TESTS_PER_COLUMN_MAX];

  void start() {
  START:
    for (uint32_t test = 0; test < TESTS_PER_COLUMN_MAX; test++) {
#pragma HLS UNROLL
      here[test] = 1;
      later[test] = 0;
    }
  }

  /// Takes the first `count` (<= 8) bytes of a word: a byte a cycle, all patterns side by side.
  void take(const lane_tests& tests, uint64_t word, uint32_t count) {
  PATTERN_BYTES:
    for (uint32_t i = 0; i < 8; i++) {
#pragma HLS PIPELINE II = 1
      if (i >= count) break;
      const uint8_t byte = static_cast<uint8_t>(word >> (8 * i));
      const bool goes_on = (byte & 0xc0) == 0x80;
    PATTERNS:
      for (uint32_t test = 0; test < TESTS_PER_COLUMN_MAX; test++) {
#pragma HLS UNROLL
        if ((tests.pattern_mask >> test) == 0) break;
        if (((tests.pattern_mask >> test) & 1) == 0) continue;
        const pattern_plan& pattern = tests.patterns[test];
        const uint64_t now = goes_on ? here[test] : here[test] | later[test];
        const uint64_t held = goes_on ? later[test] : 0;
        here[test] = (now & pattern.literal[byte]) << 1;
        later[test] = held | ((now & pattern.one) << 1) | (now & pattern.any);
      }
    }
  }

  /// Which tests are patterns that the value matches, a bit each.
  uint32_t outcomes(const lane_tests& tests) const {
    uint32_t matched = 0;
  PATTERN_ENDS:
    for (uint32_t test = 0; test < TESTS_PER_COLUMN_MAX; test++) {
#pragma HLS UNROLL
      if (((tests.pattern_mask >> test) & 1) == 0) continue;
      const bool ends = ((here[test] | later[test]) & tests.patterns[test].end) != 0;
      matched |= static_cast<uint32_t>(ends) << test;
    }
    return matched;
  }
};

/// The outcomes of all tests of a column against literals for one value, one bit a test, and the
/// iterations: one for each literal, and one for each of its words that is compared.
inline uint16_t run_tests(const string_prefix& value, const lane_tests& tests,
                          uint64_t& iterations) {
  uint16_t outcomes = 0;
  uint32_t literal = 0;
TESTS:
  for (uint32_t test = 0; test < tests.test_count; test++) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 16
    bool passes = false;
  LITERALS:
    for (; literal < tests.string_end[test]; literal++) {
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 256
      iterations++;
      // Lengths that differ decide equality without looking at a byte.
      if (tests.op[test] == TEST_IN && value.length != tests.length[literal]) continue;
      const int order = compare_literal(value, tests, literal, iterations);
      switch (tests.op[test]) {
        case TEST_IN:
          passes = passes || order == 0;
          break;
        case TEST_LESS:
          passes = order < 0;
          break;
        case TEST_LESS_OR_EQUAL:
          passes = order <= 0;
          break;
        case TEST_GREATER:
          passes = order > 0;
          break;
        default:
          passes = order >= 0;
          break;
      }
    }
    if (passes) outcomes = static_cast<uint16_t>(outcomes | (1u << test));
  }
  return outcomes;
}

/// The scratch range of a lane: dictionary slots from the start, strings behind them.
struct scratch_cursor {
  uint64_t at;
  uint64_t end;

  /// Room for `bytes`, a multiple of 8; false when there is none.
  bool reserve(uint64_t bytes, uint64_t* where) {
    if (bytes > end - at) return false;
    *where = at;
    at += bytes;
    return true;
  }
};

/// A value, or the reference to a string, and what its tests say.
struct tested_value {
  int64_t value;
  uint16_t outcomes;
};

/// Reads one string of a plain page: tests it and, if it is shown, puts it into scratch.
inline uint32_t read_string(byte_stream& payload, scratch_stream& requests, bit_reader& bits,
                            const decode_plan& plan, scratch_buffer& buffer,
                            scratch_cursor& scratch, uint64_t& steps, uint64_t& iterations,
                            tested_value& read) {
  string_prefix prefix;
  pattern_run patterns;
  const uint64_t length = bits.take(payload, 32);
  if (bits.overrun) return STATUS_CORRUPT;
  if (length > VALUE_BYTES_MAX) return STATUS_ENCODING;
  prefix.length = static_cast<uint32_t>(length);
CLEAR:
  for (int i = 0; i < PREFIX_WORDS; i++) {
#pragma HLS UNROLL
    prefix.words[i] = 0;
  }
  if (plan.tests.pattern_mask != 0) patterns.start();
  uint64_t where = 0;
  if (plan.needs_bytes && !scratch.reserve((length + 7) / 8 * 8, &where)) {
    return STATUS_SCRATCH_FULL;
  }
  const uint32_t words = static_cast<uint32_t>((length + 7) / 8);
WORDS:
  for (uint32_t i = 0; i < words; i++) {
// A word a cycle; with patterns a byte a cycle.
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2097152
    const uint64_t left = length - static_cast<uint64_t>(i) * 8;
    const uint64_t word = bits.take(payload, left < 8 ? static_cast<uint32_t>(8 * left) : 64);
    if (bits.overrun) return STATUS_CORRUPT;
    if (i < static_cast<uint32_t>(PREFIX_WORDS)) prefix.words[i] = word;
    if (plan.tests.pattern_mask != 0) {
      const uint32_t count = left < 8 ? static_cast<uint32_t>(left) : 8;
      patterns.take(plan.tests, word, count);
      steps += count - 1;
      iterations += count - 1;
    }
    if (plan.needs_bytes) buffer.put(requests, where / 8 + i, word);
    steps++;
    iterations++;
  }
  read.value = static_cast<int64_t>(((where / 8) << STRING_LENGTH_BITS) | length);
  read.outcomes = run_tests(prefix, plan.tests, iterations);
  if (plan.tests.pattern_mask != 0) {
    read.outcomes = static_cast<uint16_t>(read.outcomes | patterns.outcomes(plan.tests));
  }
  return STATUS_OK;
}

}  // namespace nearscan
