// SPDX-License-Identifier: Apache-2.0
// Runs the stages of a dataflow region as cooperative threads over bounded FIFOs.
//
// In hardware the stages of a region run side by side and wait for each other when a FIFO is empty or
// full. Here each stage is a coroutine that gives way at the same points, so a simulation shows the
// deadlocks that running the stages one after the other over endless FIFOs would hide: when no stage
// can go on and some have not ended, `run` says so.
//
// Two depths: `roomy` gives each FIFO some KiB, which makes a simulation fast; `declared` gives it exactly
// the depth that the kernel declares, which is what the hardware will have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace nearscan_portable {

/// The part of a FIFO that the scheduler looks at.
struct fifo_state {
  size_t count = 0;
  size_t capacity = 0;
};

enum class depth_mode { roomy, declared };

/// How deep the FIFOs are that this thread makes from now on.
void set_depth_mode(depth_mode mode);
depth_mode current_depth_mode();

/// Called by a stage: gives way until `fifo` holds something, or has room.
void wait_to_read(fifo_state* fifo);
void wait_to_write(fifo_state* fifo);
/// Called by a stage that polls: gives way to every other stage once.
void wait_a_round();

struct region_state;

/// A dataflow region of one kernel call.
class dataflow {
 public:
  dataflow();
  ~dataflow();
  dataflow(const dataflow&) = delete;
  dataflow& operator=(const dataflow&) = delete;

  /// Adds a stage; `name` is for the description of a deadlock and must outlive the region.
  void add(const char* name, std::function<void()> body);

  /// Runs all stages to their end. False when they wait for each other; then `stuck()` names the first
  /// that could not go on.
  bool run();
  const char* stuck() const;

 private:
  region_state* state_;
};

}  // namespace nearscan_portable
