// SPDX-License-Identifier: Apache-2.0
// The input and the output of a codec: bytes of a page, and the page as it becomes.
//
// A literal copies up to 8 bytes of the input a step, a copy up to 8 bytes of what was written
// before; so a step moves 8 bytes at most, and the number of steps, not of bytes, is what a page
// costs. The history is a ring on chip.
#pragma once

#include "bit_window.hpp"
#include "plan.hpp"
#include "snappy_cycles.hpp"

namespace nearscan {

/// Bytes of the current page that have been read and not yet taken.
struct page_reader {
  bit_window window;
  bool ended;

  page_reader() : ended(false) {}

  void start_page() {
    window.clear();
    ended = false;
  }

  /// Fills the window to at least `bytes` (<= 8); false when the page ends before.
  NS_HOT bool fill(byte_stream& in, uint32_t bytes) {
    if (window.held < 8 * bytes && !ended) {
      const byte_token token = in.read();
      window.push(token.data, 8u * token.count);
      ended = token.last;
    }
    return window.held >= 8 * bytes;
  }

  /// Takes `bytes` (<= 8) that `fill` has promised.
  uint64_t take(uint32_t bytes) { return window.take(8 * bytes); }

  void drain_page(byte_stream& in) {
  DRAIN:
    while (!ended) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      ended = in.read().last;
    }
  }
};

/// The whole words that a page has written, in a ring of 64 KiB. A word that was put into the
/// memory can be read from it some iterations later, so the latest are in registers too.
struct page_history {
  static constexpr uint32_t WORDS = SNAPPY_DISTANCE_MAX / 8;
  static constexpr uint32_t RECENT = 4;
  uint64_t ring[WORDS];
  hls::vector<uint64_t, RECENT> recent;
};

/// The end of a page as written so far, with the word that is not yet whole.
struct page_end {
  uint32_t words_written;
  uint32_t held;
  uint64_t hold;

  page_end() : words_written(0), held(0), hold(0) {}

  uint32_t bytes_written() const { return 8 * words_written + held; }

  /// Word `index` of the page; only the latest 64 KiB are there.
  uint64_t word(const page_history& history, uint32_t index) const {
    if (index == words_written) return hold;
    const bool is_recent = words_written - index <= page_history::RECENT;
    return is_recent ? history.recent[index % page_history::RECENT]
                     : history.ring[index % page_history::WORDS];
  }

  /// Appends `count` (1 to 8) bytes, and sends the word that they complete.
  NS_HOT void append(page_history& history, uint64_t bytes, uint32_t count, byte_stream& out) {
    const uint32_t shift = 8 * held;
    const uint64_t merged = hold | bytes << shift;
    held += count;
    hold = merged;
    if (held < 8) return;
    history.ring[words_written % page_history::WORDS] = merged;
    history.recent[words_written % page_history::RECENT] = merged;
    out.write(byte_token{merged, 8, false});
    words_written++;
    held -= 8;
    // In two shifts, for one by 64 is none.
    hold = bytes >> 1 >> (63 - shift);
  }

  /// `count` (1 to 8) bytes from `distance` back; where they overlap what they become, they repeat.
  NS_HOT uint64_t get(const page_history& history, uint32_t distance, uint32_t count) const {
    const uint32_t from = bytes_written() - distance;
    const uint32_t shift = 8 * (from % 8);
    // Of the second word nothing stays that has not been written.
    uint64_t bytes = word(history, from / 8) >> shift | word(history, from / 8 + 1)
                                                            << 1 << (63 - shift);
    if (distance < 8) {
      bytes = low_bytes(bytes, distance);
      // The pattern fills the word by doubling.
      bytes |= bytes << (8 * distance);
      if (distance < 4) bytes |= bytes << (16 * distance);
      if (distance < 2) bytes |= bytes << (32 * distance);
    }
    return low_bytes(bytes, count);
  }
};

/// The sizes of a page for a codec in bytes: stored, and as many as they become.
struct packed_sizes {
  uint32_t stored;
  uint32_t whole;
};

/// A piece of a page: bytes of the input to come, or a copy of what was written.
struct page_piece {
  uint32_t length;
  /// The distance back to the bytes that are copied; 0 for bytes of the input.
  uint32_t distance;
};

/// The state of a codec: its input, its output, its steps, and the cycles that the module
/// `snappy_decoder` takes for the pages of Snappy so far.
///
/// Each codec works on one of its own, so that a simulation keeps it in registers.
struct codec_state {
  page_reader reader;
  page_end end;
  uint64_t tokens;
  snappy_cycles cycles;
};

/// Writes the next `count` (1 to 8) bytes of a piece. False when the input ends before.
NS_HOT bool write_some(byte_stream& in, uint32_t distance, uint32_t count, codec_state& at,
                       page_history& history, byte_stream& out) {
  if (distance == 0 && !at.reader.fill(in, count)) return false;
  const uint64_t bytes =
      distance == 0 ? at.reader.take(count) : at.end.get(history, distance, count);
  at.end.append(history, bytes, count, out);
  return true;
}

}  // namespace nearscan
