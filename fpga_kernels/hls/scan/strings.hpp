// SPDX-License-Identifier: Apache-2.0
// Byte strings: their tests against literals, and their way into scratch.
#pragma once

#include "bit_reader.hpp"
#include "memory_lane.hpp"
#include "patterns.hpp"

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

/// The way of a string's words: to its prefix, and into scratch if it is shown.
struct string_sink {
  string_prefix prefix;
  bool is_shown;
  uint64_t first_word;

  void put(uint32_t at, uint64_t word, memory_lane& memory) {
    if (at < static_cast<uint32_t>(PREFIX_WORDS)) prefix.words[at] = word;
    if (is_shown) memory.strings.put(first_word + at, word);
  }
};

/// Reads the bytes of a string: a word per iteration. False when the page ends before.
inline bool read_words(byte_stream& payload, memory_lane& memory, bit_reader& bits, uint64_t length,
                       string_sink& sink) {
WORDS:
  for (uint64_t left = length; left > 0 && !bits.overrun;) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 2097152
    const uint32_t some = left < 8 ? static_cast<uint32_t>(left) : 8;
    const uint64_t word = bits.take(payload, 8 * some);
    sink.put(static_cast<uint32_t>((length - left) / 8), word, memory);
    left -= some;
  }
  return !bits.overrun;
}

/// The same with patterns to match: a byte per iteration that the prefilter finds, and one for all
/// others of a word up to the next such byte or the end. Adds its iterations to `taken`: at most
/// one for each byte.
inline bool match_bytes(byte_stream& payload, memory_lane& memory, bit_reader& bits,
                        uint64_t length, const pattern_plan& patterns, string_sink& sink,
                        pattern_run& run, uint64_t& taken) {
  prefilter_run prefilter;
  prefilter.start();
  uint64_t word = 0;
  uint32_t some = 0;
BYTES:
  for (uint64_t at = 0; at < length && !bits.overrun; taken++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = 16777215
    const uint32_t place = static_cast<uint32_t>(at % 8);
    if (place == 0) {
      const uint64_t left = length - at;
      some = left < 8 ? static_cast<uint32_t>(left) : 8;
      word = bits.take(payload, 8 * some);
      sink.put(static_cast<uint32_t>(at / 8), word, memory);
      prefilter.open_word(patterns.filter, word, some, left <= 8);
    }
    const uint32_t next = prefilter.next(place, some);
    const bool skips = next == some || (next != place && !prefilter.is_calm);
    run.take(patterns, skips ? pattern_run::SKIPPED : static_cast<uint8_t>(word >> (8 * next)));
    if (skips) {
      prefilter.skip();
    } else {
      prefilter.take(patterns.filter, next);
    }
    at += next - place + (skips ? 0 : 1);
  }
  return !bits.overrun;
}

/// Reads the bytes of a string of a column with tests, and gives their outcomes. False when the
/// page ends before.
inline bool read_tested(byte_stream& payload, memory_lane& memory, bit_reader& bits,
                        uint64_t length, const lane_tests& tests, string_sink& sink,
                        uint64_t& steps, uint64_t& iterations, tested_value& read) {
  const pattern_plan& patterns = tests.patterns;
  uint32_t matched = 0;
  uint64_t taken = 0;
  if (patterns.count == 0) {
    if (!read_words(payload, memory, bits, length, sink)) return false;
    taken = (length + 7) / 8;
  } else {
    pattern_run run;
    run.start();
    if (!match_bytes(payload, memory, bits, length, patterns, sink, run, taken)) return false;
    matched = run.outcomes(patterns);
  }
  steps += taken;
  iterations += taken;
  read.outcomes = static_cast<uint16_t>(run_tests(sink.prefix, tests, iterations) | matched);
  return true;
}

/// The same for a column without tests.
inline bool read_tested(byte_stream& payload, memory_lane& memory, bit_reader& bits,
                        uint64_t length, const no_tests& /*tests*/, string_sink& sink,
                        uint64_t& steps, uint64_t& iterations, tested_value& read) {
  read.outcomes = 0;
  if (!read_words(payload, memory, bits, length, sink)) return false;
  steps += (length + 7) / 8;
  iterations += (length + 7) / 8;
  return true;
}

/// Reads one string of a plain page: tests it and, if it is shown, puts it into scratch.
template <typename Plan>
inline uint32_t read_string(byte_stream& payload, memory_lane& memory, bit_reader& bits,
                            const Plan& plan, scratch_cursor& scratch, uint64_t& steps,
                            uint64_t& iterations, tested_value& read) {
  string_sink sink;
  const uint64_t length = bits.take(payload, 32);
  if (bits.overrun) return STATUS_CORRUPT;
  if (length > VALUE_BYTES_MAX) return STATUS_ENCODING;
  sink.prefix.length = static_cast<uint32_t>(length);
CLEAR:
  for (int i = 0; i < PREFIX_WORDS; i++) {
#pragma HLS UNROLL
    sink.prefix.words[i] = 0;
  }
  uint64_t where = 0;
  if (plan.needs_bytes && !scratch.reserve((length + 7) / 8 * 8, &where)) {
    return STATUS_SCRATCH_FULL;
  }
  sink.is_shown = plan.needs_bytes;
  sink.first_word = where / 8;
  if (!read_tested(payload, memory, bits, length, plan.tests, sink, steps, iterations, read)) {
    return STATUS_CORRUPT;
  }
  read.value = static_cast<int64_t>(((where / 8) << STRING_LENGTH_BITS) | length);
  return STATUS_OK;
}

}  // namespace nearscan
