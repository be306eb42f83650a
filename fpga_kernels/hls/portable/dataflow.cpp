// SPDX-License-Identifier: Apache-2.0
#include "dataflow.hpp"

#include <sys/mman.h>

#include <string>
#include <utility>
#include <vector>

#include "switch.hpp"

#ifdef NS_OWN_SWITCH
#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".globl ns_portable_switch\n"
    ".type ns_portable_switch, @function\n"
    "ns_portable_switch:\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  ret\n"
    ".size ns_portable_switch, .-ns_portable_switch\n");
#else
__asm__(
    ".text\n"
    ".globl ns_portable_switch\n"
    ".type ns_portable_switch, %function\n"
    "ns_portable_switch:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n"
    "  stp x21, x22, [sp, #16]\n"
    "  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n"
    "  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n"
    "  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n"
    "  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n"
    "  str x9, [x0]\n"
    "  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n"
    "  ldp x21, x22, [sp, #16]\n"
    "  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n"
    "  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n"
    "  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n"
    "  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n"
    ".size ns_portable_switch, .-ns_portable_switch\n");
#endif
#endif

namespace nearscan_portable {
namespace {

/// Stages keep their on-chip memories on the stack: the largest has some 350 KiB of them, a block
/// of rows; the states of all groups have 300.
constexpr size_t STACK_BYTES = 1 << 20;
constexpr size_t PAGE_BYTES = 4096;

/// Stacks are kept for the next kernel call of the same thread: making one costs as much as a page
/// of data.
struct stack_pool {
  std::vector<void*> free;

  void* take() {
    if (!free.empty()) {
      void* stack = free.back();
      free.pop_back();
#ifdef NS_ADDRESS_SANITIZER
      // A stage is left where it ended, not returned from: the frames it had are still marked.
      __asan_unpoison_memory_region(stack, STACK_BYTES);
#endif
      return stack;
    }
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* stack = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (stack == MAP_FAILED) return nullptr;
    // Whoever needs more shall fault, and not write into another stage's memories.
    mprotect(stack, PAGE_BYTES, PROT_NONE);
    return stack;
  }

  ~stack_pool() {
    for (void* stack : free) munmap(stack, STACK_BYTES);
  }
};

thread_local stack_pool stacks;
thread_local depth_mode depths = depth_mode::roomy;
thread_local std::string stuck;

enum class waiting { no, to_read, to_write, a_round, ended };

struct task {
  const char* call;
  int lane;
  std::function<void()> body;
  context place;
  void* stack;
  waiting what;
  fifo_state* fifo;
};

}  // namespace

struct region_state {
  std::vector<task*> tasks;
  context scheduler;
  task* current;
  /// Whether a stage is not stuck but takes its time, or did something before it gave way.
  bool takes_time;
};

namespace {

thread_local region_state* region = nullptr;

void give_way(waiting what, fifo_state* fifo) {
  region_state* own = region;
  task* self = own->current;
  self->what = what;
  self->fifo = fifo;
  switch_context(self->place, own->scheduler);
}

void enter() {
#ifdef NS_ADDRESS_SANITIZER
  context& scheduler = region->scheduler;
  __sanitizer_finish_switch_fiber(nullptr, &scheduler.stack_bottom, &scheduler.stack_bytes);
#endif
  region->current->body();
  give_way(waiting::ended, nullptr);
}

/// Whether something that the stage waits for has happened; a stage that polls does not tell.
bool ready(const task& stage) {
  switch (stage.what) {
    case waiting::no:
      return true;
    case waiting::to_read:
      return stage.fifo->holds_some();
    case waiting::to_write:
      return stage.fifo->has_room();
    case waiting::a_round:
    case waiting::ended:
      return false;
  }
  return false;
}

void resume(region_state& own, task& stage) {
  own.current = &stage;
  switch_context(own.scheduler, stage.place);
}

/// Lets every stage that can go on do so once; true when one could or ended.
bool run_round(region_state& own) {
  bool progress = false;
  for (task* stage : own.tasks) {
    if (ready(*stage)) {
      progress = true;
      resume(own, *stage);
    } else if (stage->what == waiting::a_round) {
      resume(own, *stage);
      progress = progress || stage->what != waiting::a_round;
    }
  }
  return progress;
}

bool all_ended(const region_state& own) {
  for (const task* stage : own.tasks) {
    if (stage->what != waiting::ended) return false;
  }
  return true;
}

std::string describe(const task& stage) {
  std::string text(stage.call);
  text = text.substr(0, text.find('('));
  if (stage.lane >= 0) text += "[" + std::to_string(stage.lane) + "]";
  switch (stage.what) {
    case waiting::to_read:
      return text + " waits to read";
    case waiting::to_write:
      return text + " waits to write";
    default:
      return text + " polls";
  }
}

}  // namespace

void set_depth_mode(depth_mode mode) { depths = mode; }
depth_mode current_depth_mode() { return depths; }
const char* last_stuck() { return stuck.c_str(); }
void clear_stuck() { stuck.clear(); }

void wait_to_read(fifo_state* fifo) { give_way(waiting::to_read, fifo); }
void wait_to_write(fifo_state* fifo) { give_way(waiting::to_write, fifo); }
void wait_a_round(bool has_moved) {
  if (has_moved) region->takes_time = true;
  give_way(waiting::a_round, nullptr);
}

void take_time() {
  const int rounds = region != nullptr && depths == depth_mode::smallest ? 100 : 0;
  for (int round = 0; round < rounds; round++) {
    region->takes_time = true;
    wait_a_round();
  }
}

dataflow::dataflow() : state_(new region_state()) {}

dataflow::~dataflow() {
  for (task* stage : state_->tasks) {
    if (stage->stack != nullptr) stacks.free.push_back(stage->stack);
    delete stage;
  }
  delete state_;
}

void dataflow::add(const char* call, int lane, std::function<void()> body) {
  task* stage = new task();
  stage->call = call;
  stage->lane = lane;
  stage->body = std::move(body);
  stage->stack = stacks.take();
  stage->what = waiting::no;
  state_->tasks.push_back(stage);
}

void dataflow::run() {
  stuck.clear();
  for (task* stage : state_->tasks) {
    if (stage->stack == nullptr) {
      stuck = "no memory for the stack of a stage";
      return;
    }
    prepare(stage->place, stage->stack, STACK_BYTES, enter);
#ifdef NS_ADDRESS_SANITIZER
    stage->place.stack_bottom = stage->stack;
    stage->place.stack_bytes = STACK_BYTES;
#endif
  }
  region_state* outer = region;
  region = state_;
  // A polling stage may see the work of another one only in the round after: two rounds without
  // progress for certain, and one more for each stage that polls.
  const size_t idle_rounds_max = state_->tasks.size() + 2;
  size_t idle_rounds = 0;
  bool has_moved = false;
  while (idle_rounds < idle_rounds_max && !all_ended(*state_)) {
    state_->takes_time = false;
    const bool moved = run_round(*state_) || state_->takes_time;
    has_moved = has_moved || moved;
    idle_rounds = moved ? 0 : idle_rounds + 1;
    if (moved || outer == nullptr) continue;
    // What its stages wait for may come from the region around it, which finds out if it does not.
    region = outer;
    wait_a_round(has_moved);
    region = state_;
    has_moved = false;
    idle_rounds = 0;
  }
  region = outer;
  for (task* stage : state_->tasks) {
    if (stage->what == waiting::ended) continue;
    if (!stuck.empty()) stuck += ", ";
    stuck += describe(*stage);
  }
}

}  // namespace nearscan_portable
