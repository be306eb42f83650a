// SPDX-License-Identifier: Apache-2.0
// What a codec reads from and what it writes to: bytes of a page, and the page as it becomes.
//
// A literal copies up to 8 bytes of the input a step, a copy up to 8 bytes of what was written
// before; so a step moves 8 bytes at most, and the number of steps, not of bytes, is what a page
// costs. The history is a ring on chip.
#pragma once

#include "bit_window.hpp"
#include "plan.hpp"

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
  FILL:
    while (window.held < 8 * bytes && !ended) {
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 2
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
#pragma HLS LOOP_TRIPCOUNT min = 0 max = 1
      ended = in.read().last;
    }
  }
};

/// What a page has written: whole words in a ring of 64 KiB, and the word that is not yet whole.
struct page_history {
  static constexpr uint32_t WORDS = SNAPPY_DISTANCE_MAX / 8;
  uint64_t ring[WORDS];
  uint32_t words_written;
  uint64_t hold;
  uint8_t held;

  void start_page() {
    words_written = 0;
    hold = 0;
    held = 0;
  }

  uint32_t bytes_written() const { return 8 * words_written + held; }

  /// Word `index` of the page; only the latest 64 KiB are there.
  uint64_t word(uint32_t index) const {
    return index == words_written ? hold : ring[index % WORDS];
  }

  /// Appends `count` (1 to 8) bytes; true when that made `whole`.
  bool append(uint64_t bytes, uint8_t count, uint64_t* whole) {
    const uint32_t shift = 8u * held;
    const uint64_t merged = hold | bytes << shift;
    const bool full = held + count >= 8;
    if (full) {
      ring[words_written % WORDS] = merged;
      words_written++;
      hold = held == 0 ? 0 : bytes >> (64 - shift);
    } else {
      hold = merged;
    }
    held = static_cast<uint8_t>((held + count) % 8);
    *whole = merged;
    return full;
  }

  /// `count` (1 to 8) bytes from `distance` back; where they overlap what they become, they repeat.
  uint64_t get(uint32_t distance, uint8_t count) const {
    const uint32_t from = bytes_written() - distance;
    const uint32_t shift = 8 * (from % 8);
    uint64_t bytes = word(from / 8) >> shift;
    if (shift != 0 && distance + from % 8 > 8) bytes |= word(from / 8 + 1) << (64 - shift);
    if (distance < 8) {
      bytes = low_bits(bytes, 8 * distance);
      // The pattern fills the word by doubling.
      bytes |= bytes << (8 * distance);
      if (distance < 4) bytes |= bytes << (16 * distance);
      if (distance < 2) bytes |= bytes << (32 * distance);
    }
    return low_bits(bytes, 8u * count);
  }
};

/// What a codec has before it: bytes as they are stored, and as many as they become.
struct packed_sizes {
  uint32_t stored;
  uint32_t whole;
};

/// A piece of a page: bytes of the input to come, or a copy of what was written.
struct page_piece {
  uint32_t length;
  /// How far back it is copied from; 0 for bytes of the input.
  uint32_t distance;
};

/// Writes the next `count` (1 to 8) bytes of a piece. False when the input ends before.
inline bool write_some(byte_stream& in, page_reader& reader, uint32_t distance, uint8_t count,
                       page_history& history, byte_stream& out) {
  if (distance == 0 && !reader.fill(in, count)) return false;
  const uint64_t bytes = distance == 0 ? reader.take(count) : history.get(distance, count);
  uint64_t whole;
  if (history.append(bytes, count, &whole)) out.write(byte_token{whole, 8, false});
  return true;
}

}  // namespace nearscan
