// SPDX-License-Identifier: Apache-2.0
// The one place that knows whether the vendor's tool or a plain C++ compiler reads the kernels.
//
// - Under Vitis (`__VITIS_HLS__`) the vendor's integer and stream types are used, and a dataflow
//   region is the plain calls of its stages.
// - Elsewhere our stand-ins are, and the stages run as cooperative threads (portable/dataflow.hpp).
//
// In a top function:
//
//     NS_REGION(flow);
//     NS_STAGE(flow, fetch(input, plan.fetch, lines));
//     NS_LANE_STAGE(flow, lane, used[lane], decode(lines[lane], words[lane]));
//     NS_RUN(flow);
//
// NS_STAGE_IF is a stage that ends at once where a command has no use for it; a simulation leaves
// it out.
//
// NS_IDLE stands where a stage that polls has found nothing to do; NS_IDLE_AFTER where the stages
// that it waits for poll too, with whether it has done something since it last stood there.
//
// NS_HOT stands before a function that a simulation calls for every few bytes: calling it would
// take longer than it does. NS_APART stands before one that would crowd such a function where it is
// seldom called. The synthesis tool decides for itself.
//
// NS_LANE_STAGE stands in an unrolled loop over `lane`. In hardware every lane is there, and one
// that a command does not use ends at once; a simulation leaves it out.
//
// NS_NEEDED_DEPTH(type, depth) stands behind the namespace of a token. It says that whoever writes
// such tokens relies on that many places: its reader asks for no more, or does not begin before.
// The synthesis tool is told by the type of the FIFO.
//
// NS_RARE stands for `inline` before a function that common queries do not call: a compiler then
// makes the code around its calls as if it were not there, which a simulation is faster with.
#pragma once

#include <cstdint>

#ifdef __VITIS_HLS__

#include <ap_int.h>
#include <hls_burst_maxi.h>
#include <hls_stream.h>
#include <hls_streamofblocks.h>
#include <hls_vector.h>

#define NS_REGION(name)
#define NS_STAGE(name, call) call
#define NS_STAGE_IF(name, used, call) call
#define NS_LANE_STAGE(name, lane, used, call) call
#define NS_RUN(name)
#define NS_IDLE()
#define NS_IDLE_AFTER(moved)
#define NS_HOT inline
#define NS_APART inline
#define NS_RARE inline
#define NS_NEEDED_DEPTH(token, depth)

// A number of so many bits, up to 64.
template <int Bits>
using small_uint = ap_uint<Bits>;

#else

#include "../portable/ap_int.h"
#include "../portable/hls_burst_maxi.h"
#include "../portable/hls_stream.h"
#include "../portable/hls_streamofblocks.h"
#include "../portable/hls_vector.h"
#include "../portable/small_uint.hpp"

#define NS_REGION(name) nearscan_portable::dataflow name
#define NS_STAGE(name, call) name.add(#call, -1, [&] { call; })
#define NS_STAGE_IF(name, used, call) \
  do {                                \
    if (used) NS_STAGE(name, call);   \
  } while (false)
#define NS_LANE_STAGE(name, lane, used, call) \
  do {                                        \
    if (used) {                               \
      name.add(#call, lane, [&, lane] {       \
        (void)lane;                           \
        call;                                 \
      });                                     \
    }                                         \
  } while (false)
#define NS_RUN(name) name.run()
#define NS_IDLE() nearscan_portable::wait_a_round()
#define NS_IDLE_AFTER(moved) nearscan_portable::wait_a_round(moved)
#define NS_HOT inline __attribute__((always_inline))
#define NS_APART inline __attribute__((noinline))
#define NS_RARE inline __attribute__((noinline, cold))
#define NS_NEEDED_DEPTH(token, depth)      \
  namespace nearscan_portable {            \
  template <>                              \
  struct needed_depth<token> {             \
    static constexpr size_t value = depth; \
  };                                       \
  }

template <int Bits>
using small_uint = typename nearscan_portable::small_uint_of<Bits>::type;

#endif

namespace nearscan {

typedef ap_int<128> i128;
typedef ap_uint<128> u128;
/// One beat of a 512-bit port.
typedef ap_uint<512> line_t;
static constexpr uint32_t LINE_BYTES = 64;
/// 8-byte words of it.
static constexpr uint32_t LINE_WORDS = LINE_BYTES / 8;
/// Ports of lines, of words and of pairs of words that a kernel asks for bursts itself.
typedef hls::burst_maxi<line_t> line_port;
typedef hls::burst_maxi<uint64_t> word_port;
typedef hls::burst_maxi<u128> pair_port;

/// 64-bit word `index` of a line.
inline uint64_t line_word(const line_t& line, int index) {
#ifdef __VITIS_HLS__
  return line.range(64 * index + 63, 64 * index).to_uint64();
#else
  return line.word(index);
#endif
}

/// Puts a word into a line.
inline void set_line_word(line_t& line, uint32_t index, uint64_t word) {
#ifdef __VITIS_HLS__
  line.range(64 * index + 63, 64 * index) = word;
#else
  line.words[index] = word;
#endif
}

/// Four-byte number `lane` of a line, of sixteen.
inline int32_t line_number(const line_t& line, uint32_t lane) {
#ifdef __VITIS_HLS__
  return static_cast<int32_t>(line.range(32 * lane + 31, 32 * lane).to_uint64());
#else
  return static_cast<int32_t>(line.word(lane / 2) >> (32 * (lane % 2)));
#endif
}

/// Puts a four-byte number into a line.
inline void set_line_number(line_t& line, uint32_t lane, int32_t number) {
  const uint64_t bits = static_cast<uint32_t>(number);
#ifdef __VITIS_HLS__
  line.range(32 * lane + 31, 32 * lane) = bits;
#else
  const uint32_t shift = 32 * (lane % 2);
  const uint64_t kept = line.words[lane / 2] & ~(static_cast<uint64_t>(0xffffffffu) << shift);
  line.words[lane / 2] = kept | bits << shift;
#endif
}

}  // namespace nearscan
