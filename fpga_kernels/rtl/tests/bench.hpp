// SPDX-License-Identifier: Apache-2.0
// What the benches of all modules share: the clock, FIFOs that stall at random, runs, and figures.
//
// A bench drives the wrapper of a module (wrap.py) with the ports of the HLS tool, cycle by cycle:
//
//     rtl::bench<Vname_blackbox> bench(argc, argv);
//     rtl::source<ports::in::BITS, ...> in(bench, bench.top().in_dout, ...);
//     rtl::sink<ports::out::BITS, ...> out(bench, bench.top().out_din, ...);
//     in.queue(tokens); bench.run(PACE, cycles_max); compare(out.taken());
//
// A run is checked against the protocol as it goes: nothing moves while the clock enable is low or
// outside of the run, nothing is read from an empty FIFO or written to a full one, what waits stays
// as it is, and the run ends.
#pragma once

#include <verilated.h>
#include <verilated_vcd_c.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "token.hpp"

namespace rtl {

/// Numbers by chance, the same on every machine (SplitMix64).
class dice {
 public:
  explicit dice(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  /// Below `bound`.
  uint64_t below(uint64_t bound) { return next() % bound; }
  bool chance(uint32_t percent) { return below(100) < percent; }

 private:
  uint64_t state_;
};

/// How the world around a module behaves.
enum class pace {
  /// Input is always there, output always has room.
  FREE,
  /// Each side waits at random, half of the time, and the clock enable drops now and then.
  RANDOM,
  /// Each side waits nearly always.
  STALLED,
  /// Input is always there, output nearly never has room.
  BLOCKED,
};
static constexpr pace PACES[] = {pace::FREE, pace::RANDOM, pace::STALLED, pace::BLOCKED};

/// Ends the program as failed.
[[noreturn]] inline void fail(const char* format, ...) {
  std::va_list list;
  va_start(list, format);
  std::fprintf(stderr, "failed: ");
  std::vfprintf(stderr, format, list);
  std::fprintf(stderr, "\n");
  va_end(list);
  std::exit(1);
}

/// A port of the model as words, whatever type Verilator gives it.
template <int Bits, typename Port>
inline void drive(Port& port, const token<Bits>& value) {
  if constexpr (std::is_integral<Port>::value) {
    uint64_t bits = value.word[0];
    if constexpr (Bits > 32) bits |= static_cast<uint64_t>(value.word[1]) << 32;
    port = static_cast<Port>(bits);
  } else {
    for (int i = 0; i < token<Bits>::WORDS; i++) port[i] = value.word[i];
  }
}

template <int Bits, typename Port>
inline token<Bits> sample(const Port& port) {
  token<Bits> value;
  if constexpr (std::is_integral<Port>::value) {
    value.word[0] = static_cast<uint32_t>(port);
    if constexpr (Bits > 32) value.word[1] = static_cast<uint32_t>(port >> 32);
  } else {
    for (int i = 0; i < token<Bits>::WORDS; i++) value.word[i] = port[i];
  }
  return value;
}

/// A stream's end outside of the module.
class end {
 public:
  virtual ~end() {}
  /// Before the cycle: what the module sees in it.
  virtual void offer(pace how, dice& chance) = 0;
  /// In the cycle: takes note of what moved. `may_move` is whether anything may.
  virtual void settle(bool may_move) = 0;
  /// Forgets everything.
  virtual void clear() = 0;
  /// Whether the module may still wait for something here.
  virtual bool is_done() const = 0;
};

/// The model of a module in its wrapper, with a clock.
template <typename Top>
class bench {
 public:
  bench(int argc, char** argv) : chance_(1) {
    context_.commandArgs(argc, argv);
    for (int i = 1; i < argc; i++) {
      if (std::strncmp(argv[i], "--vcd=", 6) == 0) vcd_path_ = argv[i] + 6;
    }
    context_.traceEverOn(!vcd_path_.empty());
    top_ = std::make_unique<Top>(&context_);
    reset();
  }
  ~bench() {
    if (vcd_) vcd_->close();
    top_->final();
  }

  Top& top() { return *top_; }
  void add(end* stream) { streams_.push_back(stream); }
  uint64_t cycles() const { return cycles_; }

  /// Whether this run of the program is for a waveform.
  bool is_drawing() const { return !vcd_path_.empty(); }

  /// From here on cycles go into the waveform.
  void draw() {
    if (!is_drawing() || vcd_) return;
    vcd_ = std::make_unique<VerilatedVcdC>();
    top_->trace(vcd_.get(), 1);
    vcd_->open(vcd_path_.c_str());
  }

  void reset() {
    top_->ap_rst = 1;
    top_->ap_ce = 1;
    top_->ap_start = 0;
    top_->ap_continue = 0;
    for (end* stream : streams_) stream->clear();
    for (int i = 0; i < 4; i++) clock(false);
    top_->ap_rst = 0;
    clock(false);
  }

  /// Runs the module once; gives the cycles from its start to its end. The numbers of the run are
  /// set before. `chance` decides who waits when.
  uint64_t run(pace how, uint64_t seed, uint64_t cycles_max) {
    chance_ = dice(seed);
    wait_for_idle();
    // The start may come late.
    for (uint64_t wait = how == pace::FREE ? 0 : chance_.below(4); wait > 0; wait--) {
      step(how, false);
    }
    top_->ap_start = 1;
    const uint64_t first = cycles_;
    uint64_t last = 0;
    bool ready_seen = false;
    while (true) {
      const bool was_running = last == 0;
      step(how, was_running);
      if (top_->ap_ready) {
        ready_seen = true;
        top_->ap_start = 0;
      }
      if (top_->ap_done && last == 0) {
        last = cycles_;
        if (!top_->ap_ready) fail("done without ready");
        for (end* stream : streams_) {
          if (!stream->is_done()) fail("done with tokens left in a stream");
        }
        break;
      }
      if (cycles_ - first > cycles_max) fail("no end after %llu cycles", as_printed(cycles_max));
    }
    if (!ready_seen) fail("never ready");
    top_->ap_start = 0;
    // Whoever takes the result may be late: it stays done until then.
    for (uint64_t wait = how == pace::FREE ? 0 : chance_.below(6); wait > 0; wait--) {
      step(how, false);
      if (!top_->ap_done) fail("done was withdrawn");
    }
    top_->ap_continue = 1;
    do {
      step(how, false);
    } while (!top_->ap_ce && cycles_ - first < 2 * cycles_max);
    top_->ap_continue = 0;
    top_->ap_ce = 1;
    return last - first;
  }

  /// Begins a run and stops in the middle of it: for a reset there.
  void abandon(pace how, uint64_t seed, uint64_t cycles) {
    chance_ = dice(seed);
    top_->ap_start = 1;
    for (uint64_t cycle = 0; cycle < cycles; cycle++) step(how, true);
    reset();
  }

 private:
  static unsigned long long as_printed(uint64_t number) { return number; }

  void wait_for_idle() {
    for (int i = 0; !top_->ap_idle; i++) {
      if (i == 16) fail("not idle after a run");
      clock(false);
    }
  }

  void step(pace how, bool is_run) {
    for (end* stream : streams_) stream->offer(how, chance_);
    const bool is_enabled = how == pace::FREE || how == pace::BLOCKED;
    top_->ap_ce = is_enabled || chance_.chance(how == pace::RANDOM ? 85 : 60);
    clock(is_run);
  }

  void clock(bool is_run) {
    top_->ap_clk = 0;
    top_->eval();
    const bool may_move = is_run && top_->ap_ce && !top_->ap_rst;
    for (end* stream : streams_) stream->settle(may_move);
    dump();
    top_->ap_clk = 1;
    top_->eval();
    dump();
    cycles_++;
  }

  void dump() {
    if (vcd_) vcd_->dump(time_);
    time_++;
  }

  VerilatedContext context_;
  std::string vcd_path_;
  std::unique_ptr<Top> top_;
  std::unique_ptr<VerilatedVcdC> vcd_;
  std::vector<end*> streams_;
  dice chance_;
  uint64_t cycles_ = 0;
  uint64_t time_ = 0;
};

/// Percent of the cycles in which input is there, and in which output has room.
inline uint32_t offers(pace how) {
  return how == pace::FREE || how == pace::BLOCKED ? 100 : how == pace::RANDOM ? 50 : 8;
}
inline uint32_t takes(pace how) { return how == pace::FREE ? 100 : how == pace::RANDOM ? 50 : 8; }

/// Sends tokens into the module.
template <int Bits, typename Data>
class source : public end {
 public:
  template <typename Bench>
  source(Bench& bench, Data& dout, CData& empty_n, CData& read)
      : dout_(dout), empty_n_(empty_n), read_(read) {
    bench.add(this);
  }

  void queue(const token<Bits>& value) { tokens_.push_back(value); }
  void queue(const std::deque<token<Bits>>& values) {
    tokens_.insert(tokens_.end(), values.begin(), values.end());
  }

  void offer(pace how, dice& chance) override {
    // A FIFO that has a token has it until it is read.
    if (empty_n_ && !was_read_) return;
    empty_n_ = !tokens_.empty() && chance.chance(offers(how));
    if (empty_n_) {
      drive<Bits>(dout_, tokens_.front());
    } else {
      // Nobody may look at what an empty FIFO shows.
      token<Bits> noise;
      for (uint32_t& word : noise.word) word = static_cast<uint32_t>(chance.next());
      if (Bits % 32 != 0) noise.word[token<Bits>::WORDS - 1] &= (1u << (Bits % 32)) - 1;
      drive<Bits>(dout_, noise);
    }
  }

  void settle(bool may_move) override {
    was_read_ = read_ != 0;
    if (!was_read_) return;
    if (!empty_n_) fail("an empty FIFO was read");
    if (!may_move) fail("a FIFO was read outside of a run");
    tokens_.pop_front();
  }

  void clear() override {
    tokens_.clear();
    empty_n_ = 0;
    was_read_ = false;
  }
  bool is_done() const override { return tokens_.empty(); }

 private:
  Data& dout_;
  CData& empty_n_;
  CData& read_;
  std::deque<token<Bits>> tokens_;
  bool was_read_ = false;
};

/// Takes tokens out of the module.
template <int Bits, typename Data>
class sink : public end {
 public:
  template <typename Bench>
  sink(Bench& bench, Data& din, CData& full_n, CData& write)
      : din_(din), full_n_(full_n), write_(write) {
    bench.add(this);
  }

  void offer(pace how, dice& chance) override { full_n_ = chance.chance(takes(how)); }

  void settle(bool may_move) override {
    if (!write_) return;
    if (!full_n_) fail("a full FIFO was written to");
    if (!may_move) fail("a FIFO was written to outside of a run");
    taken_.push_back(sample<Bits>(din_));
  }

  void clear() override { taken_.clear(); }
  bool is_done() const override { return true; }

  /// What the module has written since the last call.
  std::deque<token<Bits>> take() {
    std::deque<token<Bits>> all;
    all.swap(taken_);
    return all;
  }

 private:
  Data& din_;
  CData& full_n_;
  CData& write_;
  std::deque<token<Bits>> taken_;
};

/// Compares what came out with what the model says; gives how many tokens that were.
template <int Bits>
size_t compare(const char* name, const std::deque<token<Bits>>& got,
               const std::deque<token<Bits>>& expected) {
  const size_t count = got.size() < expected.size() ? got.size() : expected.size();
  for (size_t i = 0; i < count; i++) {
    if (got[i] == expected[i]) continue;
    std::fprintf(stderr, "%s, token %zu (highest word first)\n", name, i);
    for (const token<Bits>* each : {&got[i], &expected[i]}) {
      std::fprintf(stderr, "  %s", each == &got[i] ? "got     " : "expected");
      for (int word = token<Bits>::WORDS - 1; word >= 0; word--) {
        std::fprintf(stderr, " %08x", each->word[word]);
      }
      std::fprintf(stderr, "\n");
    }
    fail("%s differs", name);
  }
  if (got.size() != expected.size()) {
    fail("%s: %zu tokens instead of %zu", name, got.size(), expected.size());
  }
  return count;
}

/// A measured run: so many items in so many cycles, and bytes of the side of the module that its
/// description names.
struct figure {
  const char* workload;
  /// What an item is.
  const char* item;
  uint64_t items;
  uint64_t bytes;
  uint64_t cycles;
};

/// Prints it as a line of JSON.
inline void print(const figure& measured) {
  std::printf(
      "{\"workload\": \"%s\", \"item\": \"%s\", \"items\": %llu, \"bytes\": %llu, "
      "\"cycles\": %llu}\n",
      measured.workload, measured.item, static_cast<unsigned long long>(measured.items),
      static_cast<unsigned long long>(measured.bytes),
      static_cast<unsigned long long>(measured.cycles));
}

/// What says how many cycles a run has.
enum class model_kind {
  /// The HLS stage, which counts its iterations of the same input: what the time model charges.
  STAGE,
  /// The module's rule: what the time model would charge if the kernel called the module.
  RULE,
};
/// Their names in tables of workloads.
static constexpr model_kind STAGE = model_kind::STAGE;
static constexpr model_kind RULE = model_kind::RULE;

/// A run as Verilator counts its cycles, and as a model does.
struct comparison {
  const char* workload;
  /// What an item is.
  const char* item;
  uint64_t items;
  uint64_t cycles;
  uint64_t cycles_modelled;
  model_kind model;
  /// Iterations of the HLS stage for the same; 0 where the kernel calls the module in its place.
  uint64_t stage_iterations;

  /// How far the model is from Verilator, in thousandths.
  uint64_t difference_millis() const {
    const uint64_t more =
        cycles > cycles_modelled ? cycles - cycles_modelled : cycles_modelled - cycles;
    return (1000 * more + cycles / 2) / cycles;
  }
  const char* model_name() const {
    return model == model_kind::STAGE ? "HLS stage" : "module's rule";
  }
};

/// How far the model may be from Verilator, in thousandths.
static constexpr uint64_t DIFFERENCE_MILLIS_MAX = 50;

/// Fails if the model is too far from Verilator.
inline void expect_near(const comparison& compared) {
  const uint64_t difference = compared.difference_millis();
  if (difference <= DIFFERENCE_MILLIS_MAX) return;
  fail("%s: the %s has %llu cycles instead of %llu, which differs by %llu.%llu %%",
       compared.workload, compared.model_name(),
       static_cast<unsigned long long>(compared.cycles_modelled),
       static_cast<unsigned long long>(compared.cycles),
       static_cast<unsigned long long>(difference / 10),
       static_cast<unsigned long long>(difference % 10));
}

/// Compares a run with the rule, and gives that; or gives the iterations of the stage in its place
/// where these are what the run is compared with.
inline comparison checked_by_rule(comparison compared, uint64_t by_rule) {
  const model_kind model = compared.model;
  compared.model = model_kind::RULE;
  compared.cycles_modelled = by_rule;
  expect_near(compared);
  if (model == model_kind::RULE) return compared;
  compared.model = model;
  compared.cycles_modelled = compared.stage_iterations;
  return compared;
}

/// Prints it as a line of JSON.
inline void print_comparison(const comparison& compared) {
  std::printf(
      "{\"workload\": \"%s\", \"item\": \"%s\", \"items\": %llu, \"cycles\": %llu, "
      "\"cycles_modelled\": %llu, \"model\": \"%s\", \"stage_iterations\": %llu}\n",
      compared.workload, compared.item, static_cast<unsigned long long>(compared.items),
      static_cast<unsigned long long>(compared.cycles),
      static_cast<unsigned long long>(compared.cycles_modelled), compared.model_name(),
      static_cast<unsigned long long>(compared.stage_iterations));
}

/// Workloads of one kind that are drawn anew: each has to be near, and the furthest is printed.
template <typename Compare>
void compare_sets(uint64_t seed, const Compare& compare) {
  static constexpr uint64_t SETS = 4;
  comparison furthest = {};
  for (uint64_t set = 0; set < SETS; set++) {
    const comparison compared = compare(seed + set);
    expect_near(compared);
    if (set == 0 || compared.difference_millis() > furthest.difference_millis()) {
      furthest = compared;
    }
  }
  print_comparison(furthest);
}

/// Prints how many results were compared in how many runs: the last line of a bench.
inline void print_vectors(uint64_t runs, uint64_t results) {
  std::printf("{\"runs\": %llu, \"vectors\": %llu}\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(results));
}

}  // namespace rtl
