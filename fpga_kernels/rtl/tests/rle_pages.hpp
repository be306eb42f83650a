// SPDX-License-Identifier: Apache-2.0
// Pages of indexes for benches: Parquet's hybrid of repeated runs and bit-packed groups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "bench.hpp"

namespace rtl {

/// A page behind the byte that says how wide its numbers are.
struct page {
  uint32_t width;
  uint32_t values;
  std::vector<uint8_t> bytes;
};

/// Writes a page, run by run. Numbers are below `bound`, or of `width` bits if that is 0.
class page_maker {
 public:
  explicit page_maker(uint32_t width, uint32_t bound = 0) : width_(width), bound_(bound) {}

  void byte(uint8_t value) { bytes_.push_back(value); }

  /// A header in so many bytes, or as few as it takes if that is more.
  void header(uint64_t count, bool is_packed, uint32_t bytes_min) {
    uint64_t rest = count << 1 | (is_packed ? 1 : 0);
    for (uint32_t written = 1;; written++) {
      const bool more = (rest >> 7) != 0 || written < bytes_min;
      byte(static_cast<uint8_t>((rest & 0x7f) | (more ? 0x80 : 0)));
      rest >>= 7;
      if (!more) break;
    }
  }

  /// A repeated number.
  void number(dice& dice) {
    const uint32_t value = draw(dice);
    for (uint32_t i = 0; i < (width_ + 7) / 8; i++) byte(static_cast<uint8_t>(value >> (8 * i)));
  }

  /// So many numbers one behind the other; the last byte is filled up.
  void packed(dice& dice, uint32_t count) {
    uint64_t held = 0;
    uint32_t bits = 0;
    for (uint32_t i = 0; i < count; i++) {
      held |= static_cast<uint64_t>(draw(dice)) << bits;
      bits += width_;
      while (bits >= 8) {
        byte(static_cast<uint8_t>(held));
        held >>= 8;
        bits -= 8;
      }
    }
    if (bits > 0) byte(static_cast<uint8_t>(held));
  }

  void repeated(dice& dice, uint32_t count) {
    header(count, false, 1);
    number(dice);
  }

  void groups(dice& dice, uint32_t count) {
    header(count, true, 1);
    packed(dice, 8 * count);
  }

  rtl::page page(uint32_t values) const { return {width_, values, bytes_}; }

 private:
  uint32_t draw(dice& dice) const {
    const uint64_t mask = (1ull << width_) - 1;
    return static_cast<uint32_t>((bound_ == 0 ? dice.next() : dice.below(bound_)) & mask);
  }

  uint32_t width_;
  uint32_t bound_;
  std::vector<uint8_t> bytes_;
};

/// A page of some runs.
inline page random_runs(dice& dice, page_maker maker) {
  uint64_t values = 0;
  const uint64_t kind = dice.below(4);
  for (uint64_t runs = dice.below(kind == 0 ? 60 : 8) + 1; runs > 0; runs--) {
    const bool is_packed = dice.chance(50);
    const uint32_t header_bytes = dice.chance(10) ? 1 + static_cast<uint32_t>(dice.below(5)) : 1;
    if (is_packed) {
      const uint32_t groups = static_cast<uint32_t>(dice.below(kind == 1 ? 90 : 5));
      maker.header(groups, true, header_bytes);
      maker.packed(dice, 8 * groups);
      values += 8 * groups;
    } else {
      const uint32_t count = static_cast<uint32_t>(dice.below(kind == 2 ? 600 : 20));
      maker.header(count, false, header_bytes);
      maker.number(dice);
      values += count;
    }
  }
  // Often fewer are wanted, seldom more.
  if (dice.chance(40)) values = dice.below(values + 1);
  if (dice.chance(5)) values += dice.below(5);
  return maker.page(static_cast<uint32_t>(values));
}

inline page random_page(dice& dice) {
  return random_runs(dice, page_maker(static_cast<uint32_t>(dice.below(33))));
}

/// A page whose numbers are below a bound.
inline page page_below(dice& dice, uint32_t bound) {
  uint32_t width = 0;
  while (width < 32 && (1ull << width) < bound) width++;
  width += static_cast<uint32_t>(dice.below(33 - width));
  return random_runs(dice, page_maker(width, bound));
}

/// A run of a page: numbers, or groups of eight, behind a header of so many bytes.
struct page_run {
  bool is_packed;
  uint64_t count;
  uint32_t header_bytes;
};

/// The runs of a page that is whole.
inline std::vector<page_run> runs_of(const page& what) {
  std::vector<page_run> runs;
  for (size_t at = 0; at < what.bytes.size();) {
    uint64_t header = 0;
    uint32_t header_bytes = 0;
    bool more = true;
    while (more) {
      const uint8_t byte = what.bytes[at++];
      header |= static_cast<uint64_t>(byte & 0x7f) << (7 * header_bytes++);
      more = (byte & 0x80) != 0;
    }
    const bool is_packed = (header & 1) != 0;
    runs.push_back({is_packed, header >> 1, header_bytes});
    at += is_packed ? (header >> 1) * what.width : (what.width + 7) / 8;
  }
  return runs;
}

/// How many numbers the unpacker puts into each word: of a run as many as there are, of a group
/// what it unpacks in a cycle.
inline std::vector<uint32_t> word_counts(const page& what) {
  const uint64_t share = what.width <= 8 ? 8 : what.width <= 16 ? 4 : 2;
  std::vector<uint32_t> counts;
  for (const page_run& run : runs_of(what)) {
    const uint64_t most = run.is_packed ? share : 8;
    uint64_t left = run.is_packed ? 8 * run.count : run.count;
    for (; left > 0; left -= std::min(left, most)) {
      counts.push_back(static_cast<uint32_t>(std::min(left, most)));
    }
  }
  return counts;
}

/// Pages whose cycles are compared: runs of groups, runs of a number, or both in turn.
struct page_shape {
  const char* name;
  uint32_t width;
  /// Groups of a run, and so many more at most; numbers of a run likewise.
  uint32_t groups_min;
  uint32_t groups_more;
  uint32_t repeated_min;
  uint32_t repeated_more;
  model_kind model;
};

/// A page of that shape, whose numbers are below `bound`, or of any value if that is 0.
inline page make_page(dice& dice, const page_shape& shape, uint32_t bound) {
  const uint32_t values_wanted = 10000 + static_cast<uint32_t>(dice.below(10000));
  page_maker maker(shape.width, bound);
  uint32_t values = 0;
  while (values < values_wanted) {
    if (shape.groups_min != 0) {
      const uint32_t groups =
          shape.groups_min + static_cast<uint32_t>(dice.below(shape.groups_more));
      maker.groups(dice, groups);
      values += 8 * groups;
    }
    if (shape.repeated_min != 0) {
      const uint32_t count =
          shape.repeated_min + static_cast<uint32_t>(dice.below(shape.repeated_more));
      maker.repeated(dice, count);
      values += count;
    }
  }
  return maker.page(values);
}

/// The tokens of a page, of eight bytes, or of any number if there are `dice` for that.
template <typename Port>
std::deque<token<Port::BITS>> tokens_of(const std::vector<uint8_t>& bytes, dice* dice) {
  std::deque<token<Port::BITS>> tokens;
  size_t at = 0;
  bool is_last = false;
  while (!is_last) {
    size_t count = 8;
    if (dice != nullptr && dice->chance(40)) count = dice->below(9);
    if (count > bytes.size() - at) count = bytes.size() - at;
    token<Port::BITS> made;
    for (size_t i = 0; i < 8; i++) {
      // Behind its bytes a token may hold anything.
      const uint64_t noise = dice == nullptr ? 0 : dice->next() & 0xff;
      set(made, Port::data().at(static_cast<int>(i), 8), i < count ? bytes[at + i] : noise);
    }
    at += count;
    // The mark may come with the last bytes or behind them.
    is_last = at == bytes.size() && (dice == nullptr || dice->chance(70));
    set(made, Port::count(), count);
    set(made, Port::last(), is_last ? 1 : 0);
    tokens.push_back(made);
  }
  return tokens;
}

}  // namespace rtl
