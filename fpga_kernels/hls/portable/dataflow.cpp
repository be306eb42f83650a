// SPDX-License-Identifier: Apache-2.0
#include "dataflow.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include <utility>
#include <vector>

namespace nearscan_portable {
namespace {

/// Stages keep their on-chip memories on the stack: the largest has two of 64 KiB and some tables.
constexpr size_t STACK_BYTES = 1 << 20;

/// Stacks are kept for the next kernel call of the same thread: making one costs as much as a page of data.
struct stack_pool {
  std::vector<void*> free;

  void* take() {
    if (!free.empty()) {
      void* stack = free.back();
      free.pop_back();
      return stack;
    }
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* stack = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    return stack == MAP_FAILED ? nullptr : stack;
  }

  ~stack_pool() {
    for (void* stack : free) munmap(stack, STACK_BYTES);
  }
};

thread_local stack_pool stacks;
thread_local depth_mode depths = depth_mode::roomy;

enum class waiting { no, to_read, to_write, a_round, ended };

struct task {
  const char* name;
  std::function<void()> body;
  ucontext_t context;
  void* stack;
  waiting what;
  fifo_state* fifo;
};

}  // namespace

struct region_state {
  std::vector<task*> tasks;
  ucontext_t scheduler;
  task* current;
  const char* stuck;
};

namespace {

thread_local region_state* region = nullptr;

void give_way(waiting what, fifo_state* fifo) {
  task* self = region->current;
  self->what = what;
  self->fifo = fifo;
  swapcontext(&self->context, &region->scheduler);
}

void enter() {
  region->current->body();
  give_way(waiting::ended, nullptr);
}

bool ready(const task& stage) {
  switch (stage.what) {
    case waiting::no:
    case waiting::a_round:
      return true;
    case waiting::to_read:
      return stage.fifo->count > 0;
    case waiting::to_write:
      return stage.fifo->count < stage.fifo->capacity;
    case waiting::ended:
      return false;
  }
  return false;
}

}  // namespace

void set_depth_mode(depth_mode mode) { depths = mode; }
depth_mode current_depth_mode() { return depths; }

void wait_to_read(fifo_state* fifo) { give_way(waiting::to_read, fifo); }
void wait_to_write(fifo_state* fifo) { give_way(waiting::to_write, fifo); }
void wait_a_round() { give_way(waiting::a_round, nullptr); }

dataflow::dataflow() : state_(new region_state()) { state_->stuck = nullptr; }

dataflow::~dataflow() {
  for (task* stage : state_->tasks) {
    if (stage->stack != nullptr) stacks.free.push_back(stage->stack);
    delete stage;
  }
  delete state_;
}

void dataflow::add(const char* name, std::function<void()> body) {
  task* stage = new task();
  stage->name = name;
  stage->body = std::move(body);
  stage->stack = stacks.take();
  stage->what = waiting::no;
  state_->tasks.push_back(stage);
}

bool dataflow::run() {
  region_state* outer = region;
  region = state_;
  for (task* stage : state_->tasks) {
    if (stage->stack == nullptr) {
      state_->stuck = "out of memory for a stage's stack";
      region = outer;
      return false;
    }
    getcontext(&stage->context);
    stage->context.uc_stack.ss_sp = stage->stack;
    stage->context.uc_stack.ss_size = STACK_BYTES;
    stage->context.uc_link = nullptr;
    makecontext(&stage->context, enter, 0);
  }
  bool progress = true;
  while (progress) {
    progress = false;
    for (task* stage : state_->tasks) {
      if (!ready(*stage)) continue;
      // A stage that only polls is no progress by itself: it moves others, or it is stuck with them.
      if (stage->what != waiting::a_round) progress = true;
      state_->current = stage;
      swapcontext(&state_->scheduler, &stage->context);
      if (stage->what != waiting::a_round) progress = true;
    }
  }
  region = outer;
  for (task* stage : state_->tasks) {
    if (stage->what == waiting::ended) continue;
    state_->stuck = stage->name;
    return false;
  }
  return true;
}

const char* dataflow::stuck() const { return state_->stuck; }

}  // namespace nearscan_portable
