// SPDX-License-Identifier: Apache-2.0
// Device memory as the merge sees it: words out of lines that are held, and what all of it counts.
#pragma once

#include "plan.hpp"

namespace nearscan {
namespace merging {

/// What was done so far, and what ended it.
struct progress {
  uint32_t status;
  uint64_t lines_read;
  uint64_t values_read;
  uint64_t order_steps;
  uint64_t string_words;
  uint64_t steps;
  uint64_t polled;
};

inline progress no_progress() {
  progress done = progress();
  done.status = STATUS_OK;
  return done;
}

/// The first failure is the one that counts: nothing goes on behind it.
inline void fail(progress& done, uint32_t status) {
  if (done.status == STATUS_OK) done.status = status;
}

/// Steps between two looks at the cancel word: 3 us, and no more than a beat of the port in a
/// thousand.
static constexpr uint64_t STEPS_A_POLL = 1024;

/// Counts steps; false when the work has to end, because of its length or of somebody's wish.
inline bool may_go_on(progress& done, uint64_t steps, uint64_t steps_max,
                      const volatile uint32_t* cancel) {
  done.steps += steps;
  if (done.steps > steps_max) fail(done, STATUS_STEPS_EXCEEDED);
  if (done.steps - done.polled >= STEPS_A_POLL) {
    done.polled = done.steps;
    if (*cancel != 0) fail(done, STATUS_CANCELLED);
  }
  return done.status == STATUS_OK;
}

/// A line of device memory that is held on chip.
struct line_buffer {
  line_t line;
  uint64_t index;
  bool held;
};

/// Word `word` of the input, out of the line that is held or else of memory.
inline uint64_t read_word(const line_t* input, line_buffer& buffer, uint64_t word, progress& done) {
  const uint64_t index = word / 8;
  if (!buffer.held || buffer.index != index) {
    buffer.line = input[index];
    buffer.index = index;
    buffer.held = true;
    done.lines_read++;
  }
  return line_word(buffer.line, static_cast<int>(word % 8));
}

/// Up to 8 bytes from byte `at` on, of `left` that are there; zero behind them.
inline uint64_t read_bytes(const line_t* input, line_buffer& buffer, uint64_t at, uint64_t left,
                           progress& done) {
  const uint32_t count = left < 8 ? static_cast<uint32_t>(left) : 8;
  const uint32_t skipped = static_cast<uint32_t>(at % 8);
  uint64_t value = read_word(input, buffer, at / 8, done) >> (8 * skipped);
  if (skipped + count > 8) {
    value |= read_word(input, buffer, at / 8 + 1, done) << (64 - 8 * skipped);
  }
  done.string_words++;
  return low_bits(value, 8 * count);
}

}  // namespace merging
}  // namespace nearscan
