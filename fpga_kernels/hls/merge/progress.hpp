// SPDX-License-Identifier: Apache-2.0
// The progress of a search and its end: the first failure, its steps, a request to cancel.
#pragma once

#include "plan.hpp"

namespace nearscan {
namespace merging {

/// The work that was done so far, and the status that ended it. The merge goes on with the steps.
struct progress {
  uint32_t status;
  uint64_t lines_read;
  /// Bursts that nothing was done in the meantime of.
  uint64_t waits;
  uint64_t values_read;
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

}  // namespace merging
}  // namespace nearscan
