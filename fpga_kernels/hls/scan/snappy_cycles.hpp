// SPDX-License-Identifier: Apache-2.0
// The cycles that the module `snappy_decoder` (fpga_kernels/rtl) takes for pages of raw Snappy,
// with input always there and no back-pressure.
//
// The module has three stages with FIFOs between them, and here each has a clock:
//
// - The parser takes a step a cycle. A step is a literal of up to 8 bytes and the copy behind it, 8
//   bytes of a longer literal, or what is left of one and the copy behind it. A word of the page in
//   which no step begins takes a cycle, too: a step of more than 8 stored bytes takes an eighth of
//   a cycle more for each of them, in the mean of all places in a word.
// - The writer takes a part a cycle: up to 8 bytes of a literal and up to 8 of the copy behind
// them.
//   Of a step the writer makes one part, and one more for each further 8 bytes of its copy. The
//   history, near or far, is never waited for.
// - The output passes 8 bytes a cycle on.
//
// A stage is never ahead of the one before it, and ahead of the one behind it by no more than the
// FIFO between them holds. The clocks go on from page to page, since pages overlap.
//
// The bench of the module compares this with Verilator (docs/rtl.md). It holds for pages that do
// not fail, and is no part of the kernel: the module itself needs no such clocks.
#pragma once

#include "tokens.hpp"

namespace nearscan {

/// The clocks of the module's stages. They are told of all elements of all pages, and go on by a
/// stretch of elements at a time: a literal, and the copies up to the next one.
struct snappy_cycles {
  /// Cycles of each run of the module that are not those of its pages: from its start to the first
  /// byte of the first page, and from the last byte of the last page to its end.
  static constexpr uint64_t FILL = 33;
  /// A cycle of a clock, which counts bytes at the full rate.
  static constexpr uint64_t CYCLE = 8;
  /// How far the parser may be ahead of the writer. The FIFO between them has 16 steps, which are
  /// taken for steps of one part.
  static constexpr uint64_t PARSER_AHEAD = 16 * CYCLE;
  /// How far the writer may be ahead of the output. The FIFO between them has 64 words, of which 28
  /// are for the parts that still come when there is no room.
  static constexpr uint64_t WRITER_AHEAD = (64 - 28) * CYCLE;
  /// Bytes of the tag and the distance of a copy behind a literal. It may have two, but is of four
  /// bytes or more then, and the output takes as long for them as the parser does with three.
  static constexpr uint32_t COPY_HEADER = 3;

  uint64_t parser;
  uint64_t writer;
  uint64_t output;
  /// Of the stretch: its copies, their parts, and the bytes that it becomes; stored bytes of the
  /// last step of the literal. All are none before the first literal of a page: that stretch is the
  /// size in front of the page.
  uint32_t copies;
  uint32_t parts;
  uint32_t bytes;
  uint32_t tail;

  snappy_cycles() : parser(0), writer(0), output(0), copies(0), parts(0), bytes(0), tail(0) {}

  /// Cycles of the pages that have ended. Those of one page are what it adds.
  uint64_t total() const { return output / CYCLE; }

  /// A literal of `length` bytes behind `header` bytes.
  NS_HOT void add_literal(uint32_t header, uint32_t length) {
    end_stretch();
    bytes = length;
    tail = header + length;
    const bool is_long = header > 1;
    if (length <= 8 && !is_long) return;
    // The first step has the tag and 8 bytes, but only the header if the length is behind the tag.
    const uint64_t steps = (length - 1) / 8 + (is_long ? 1 : 0);
    parser += steps * CYCLE + (is_long ? 0 : 1);
    writer += steps * CYCLE;
    tail = (length - 1) % 8 + 1;
  }

  /// A copy of `length` bytes.
  NS_HOT void add_copy(uint32_t length) {
    copies++;
    parts += (length + 7) / 8;
    bytes += length;
  }

  /// The end of a page: the last stretch ends, and the end itself is a step, a part and a token.
  void end_page() {
    end_stretch();
    bytes = CYCLE;
    tail = 0;
    end_stretch();
    bytes = 0;
  }

  /// Brings the clocks to the end of the stretch. Its first copy is in a step and in a part of the
  /// literal.
  void end_stretch() {
    const uint32_t stored = tail + (copies > 0 ? COPY_HEADER : 0);
    parser += (copies > 1 ? copies : 1) * CYCLE + (stored > 8 ? stored - 8 : 0);
    writer += (parts > 1 ? parts : 1) * CYCLE;
    output += bytes;
    writer = max_u64(writer, parser);
    output = max_u64(output, writer);
    if (writer + WRITER_AHEAD < output) writer = output - WRITER_AHEAD;
    if (parser + PARSER_AHEAD < writer) parser = writer - PARSER_AHEAD;
    copies = 0;
    parts = 0;
  }
};

}  // namespace nearscan
