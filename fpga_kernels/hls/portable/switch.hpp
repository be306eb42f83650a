// SPDX-License-Identifier: Apache-2.0
// Switching between the stacks of stages.
//
// On Linux with x86-64 or aarch64 a switch saves the callee-saved registers and changes the stack
// pointer: some nanoseconds. Elsewhere, or with NS_PORTABLE_UCONTEXT defined, it is the C library's
// swapcontext, which also saves the signal mask and so makes a system call each time. The address
// sanitizer is told of each switch, or it would take another stack's bytes for its own.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define NS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NS_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && \
    !defined(NS_PORTABLE_UCONTEXT)
#define NS_OWN_SWITCH 1
#else
#include <ucontext.h>
#endif

#ifdef NS_ADDRESS_SANITIZER
// Declared here because not every compiler comes with the sanitizer's headers.
extern "C" void __sanitizer_start_switch_fiber(void** save, const void* bottom, size_t bytes);
extern "C" void __sanitizer_finish_switch_fiber(void* saved, const void** bottom, size_t* bytes);
extern "C" void __asan_unpoison_memory_region(const volatile void* first, size_t bytes);
#endif

#ifdef NS_OWN_SWITCH
/// Saves the registers on this stack, its pointer in `*save`, and goes on where `load` was saved.
extern "C" void ns_portable_switch(void** save, void* load);
#endif

namespace nearscan_portable {

/// A stack and where its code stands.
struct context {
#ifdef NS_OWN_SWITCH
  void* stack_pointer = nullptr;
#else
  ucontext_t registers;
#endif
#ifdef NS_ADDRESS_SANITIZER
  const void* stack_bottom = nullptr;
  size_t stack_bytes = 0;
  void* fake_stack = nullptr;
#endif
};

#ifdef NS_OWN_SWITCH

/// Makes `fresh` begin with `entry` on the given stack. `entry` must not return.
inline void prepare(context& fresh, void* stack, size_t bytes, void (*entry)()) {
  const uintptr_t end = (reinterpret_cast<uintptr_t>(stack) + bytes) & ~static_cast<uintptr_t>(15);
  uint64_t* words = reinterpret_cast<uint64_t*>(end);
#if defined(__x86_64__)
  // The frame that the switch pops: six registers, then the return address; an entered function
  // finds its stack 8 bytes off a multiple of 16, with a return address that leads nowhere.
  words -= 8;
  for (int i = 0; i < 8; i++) words[i] = 0;
  words[6] = reinterpret_cast<uintptr_t>(entry);
#else
  // The frame that the switch loads: x19 to x28, x29, x30 (the return address), d8 to d15.
  words -= 20;
  for (int i = 0; i < 20; i++) words[i] = 0;
  words[11] = reinterpret_cast<uintptr_t>(entry);
#endif
  fresh.stack_pointer = words;
}

inline void swap_registers(context& from, context& to) {
  ns_portable_switch(&from.stack_pointer, to.stack_pointer);
}

#else

inline void prepare(context& fresh, void* stack, size_t bytes, void (*entry)()) {
  getcontext(&fresh.registers);
  fresh.registers.uc_stack.ss_sp = stack;
  fresh.registers.uc_stack.ss_size = bytes;
  fresh.registers.uc_link = nullptr;
  makecontext(&fresh.registers, entry, 0);
}

inline void swap_registers(context& from, context& to) {
  swapcontext(&from.registers, &to.registers);
}

#endif

/// Leaves `from` for `to`; comes back when something switches to `from`.
inline void switch_context(context& from, context& to) {
#ifdef NS_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_bytes);
#endif
  swap_registers(from, to);
#ifdef NS_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

}  // namespace nearscan_portable
