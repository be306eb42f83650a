// SPDX-License-Identifier: Apache-2.0
// Runs the stages of a dataflow region as cooperative threads over bounded FIFOs.
//
// In hardware the stages of a region run side by side and wait for each other when a FIFO is empty
// or full. Here each stage is a coroutine that gives way at the same points, so a simulation shows
// the deadlocks that running the stages one after the other over endless FIFOs would hide: when no
// stage can go on and some have not ended, `run` says which.
//
// A stage may run a region of its own, whose stages share FIFOs with those around it: where none of
// them can go on, the stage polls. If nothing moves any more, it is this stage that looks stuck.
//
// Depths: `roomy` gives each FIFO some KiB, which makes a simulation fast; `declared` gives it
// exactly the depth that the kernel declares, which is what the hardware will have; `smallest`
// gives every FIFO one place, so that a kernel that passes does not lean on any depth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace nearscan_portable {

/// The part of a FIFO that the scheduler looks at: tokens written and read since it was made.
struct fifo_state {
  size_t written = 0;
  size_t taken = 0;
  size_t capacity = 0;

  bool holds_some() const { return written != taken; }
  bool has_room() const { return written - taken < capacity; }
};

enum class depth_mode { roomy, declared, smallest };

/// Sets the depth of the FIFOs that this thread makes from now on.
void set_depth_mode(depth_mode mode);
depth_mode current_depth_mode();

/// Called by a stage: gives way until `fifo` holds something, or has room.
void wait_to_read(fifo_state* fifo);
void wait_to_write(fifo_state* fifo);
/// Called by a stage that polls: gives way to every other stage once. Stages that poll each other
/// say whether they have done something since they last did, or they would look stuck.
void wait_a_round(bool has_moved = false);
/// Called where something takes its time, in a stage or outside of a region: where every FIFO has
/// one place, gives way for some rounds.
void take_time();

/// Which stages the last region of this thread left waiting for each other, with what each waited
/// for; empty when all had ended. Valid until the next region of this thread runs.
const char* last_stuck();
void clear_stuck();

struct region_state;

/// A dataflow region of one kernel call.
class dataflow {
 public:
  dataflow();
  ~dataflow();
  dataflow(const dataflow&) = delete;
  dataflow& operator=(const dataflow&) = delete;

  /// Adds a stage. `call` is its text, of which what stands before the parenthesis is its name; it
  /// must outlive the region. `lane` is negative for a stage that is there once.
  void add(const char* call, int lane, std::function<void()> body);

  /// Runs all stages until each has ended or waits for another: see `last_stuck`. Within a stage
  /// of another region it does not return while a stage waits.
  void run();

 private:
  region_state* state_;
};

}  // namespace nearscan_portable
