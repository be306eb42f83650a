// SPDX-License-Identifier: Apache-2.0
// Pages of Snappy for the benches of the decoder: of chosen elements, of random ones, and what an
// encoder makes of dictionaries and of text.
#pragma once

#include "bench.hpp"
#include "snappy_encoder.hpp"

namespace rtl {

/// A page as it is stored, and the sizes that it is said to have.
struct stored_page {
  bytes_t bytes;
  uint32_t whole;
  /// As the page's header has it; by the length of its bytes the decoder sees where it ends.
  uint32_t stored;
};

inline stored_page page_of(const bytes_t& bytes, uint64_t whole) {
  return {bytes, static_cast<uint32_t>(whole), static_cast<uint32_t>(bytes.size())};
}

/// Elements put one by one, and what they become.
struct page_writer {
  bytes_t elements;
  bytes_t whole;

  void literal(dice& chance, uint64_t count, int length_bytes) {
    bytes_t bytes;
    for (uint64_t i = 0; i < count; i++) bytes.push_back(static_cast<uint8_t>(chance.next()));
    put_literal(elements, bytes.data(), count, length_bytes);
    whole.insert(whole.end(), bytes.begin(), bytes.end());
  }
  void copy(uint64_t distance, uint64_t count, int distance_bytes) {
    put_copy(elements, distance, count, distance_bytes);
    for (uint64_t i = 0; i < count; i++) whole.push_back(whole[whole.size() - distance]);
  }
  stored_page page() const {
    bytes_t bytes;
    put_size(bytes, whole.size());
    bytes.insert(bytes.end(), elements.begin(), elements.end());
    return page_of(bytes, whole.size());
  }
};

/// How random elements are made: percent of copies, and the longest of each.
struct taste {
  uint32_t copy_percent;
  uint64_t literal_max;
  uint64_t copy_max;
  uint64_t distance_max;
  bool wild;
};

/// Adds an element of a taste.
inline void add_random(page_writer& page, dice& chance, const taste& how) {
  const uint64_t written = page.whole.size();
  if (written == 0 || !chance.chance(how.copy_percent)) {
    const uint64_t count = 1 + chance.below(how.literal_max);
    int length_bytes = 0;
    if (how.wild && chance.chance(20)) {
      length_bytes = static_cast<int>(1 + chance.below(4));
      if (count > 256 && length_bytes == 1) length_bytes = 2;
      if (count > 65536 && length_bytes == 2) length_bytes = 3;
    }
    page.literal(chance, count, length_bytes);
    return;
  }
  const uint64_t reach = written < how.distance_max ? written : how.distance_max;
  uint64_t distance = 1 + chance.below(reach);
  // As far as it goes, and as near as the word that is not yet whole.
  if (chance.chance(10)) distance = reach;
  if (chance.chance(25) && reach >= 20) distance = 1 + chance.below(20);
  const uint64_t count = 1 + chance.below(how.copy_max);
  int distance_bytes = distance > 65535 || (how.wild && chance.chance(15)) ? 4 : 2;
  if (count >= 4 && count <= 11 && distance < 2048 && chance.chance(70)) distance_bytes = 1;
  page.copy(distance, count, distance_bytes);
}

inline page_writer random_elements(dice& chance, const taste& how, uint64_t bytes) {
  page_writer page;
  while (page.whole.size() < bytes) add_random(page, chance, how);
  return page;
}

static constexpr taste TASTES[] = {
    {50, 8, 8, 65536, false},  {50, 20, 64, 65536, true}, {50, 3, 4, 300, true},
    {80, 70, 64, 65536, true}, {20, 700, 10, 4000, true}, {95, 5, 64, 24, false},
    {50, 8, 12, 600, false},   {60, 12, 20, 280, true},
};

inline const taste& any_taste(dice& chance) {
  return TASTES[chance.below(sizeof(TASTES) / sizeof(TASTES[0]))];
}

/// Numbers of eight bytes as a dictionary of prices has them: all different, in no order.
inline bytes_t prices(dice& chance, uint64_t count, uint64_t range) {
  bytes_t page;
  for (uint64_t i = 0; i < count; i++) put_number(page, 90000 + chance.below(range), 8);
  return page;
}

/// The same in order, as a dictionary of keys has them.
inline bytes_t keys(dice& chance, uint64_t count) {
  bytes_t page;
  uint64_t key = 1;
  for (uint64_t i = 0; i < count; i++) {
    put_number(page, key, 8);
    key += 1 + (chance.chance(12) ? 24 : 0) + chance.below(2);
  }
  return page;
}

/// Sentences out of few words, each behind its length.
inline bytes_t comments(dice& chance, uint64_t bytes) {
  static const char* const WORDS[] = {
      "furiously", "carefully", "quickly",      "final",       "regular",  "ironic",
      "pending",   "deposits",  "accounts",     "requests",    "packages", "theodolites",
      "above",     "among",     "the",          "slyly",       "express",  "blithely",
      "unusual",   "sleep",     "haggle",       "according",   "foxes",    "even",
      "bold",      "silent",    "dependencies", "instructions"};
  bytes_t page;
  while (page.size() < bytes) {
    bytes_t text;
    const uint64_t length = 10 + chance.below(34);
    while (text.size() < length) {
      for (const char* at = WORDS[chance.below(28)]; *at != 0; at++) text.push_back(uint8_t(*at));
      text.push_back(' ');
    }
    text.resize(length);
    put_number(page, length, 4);
    page.insert(page.end(), text.begin(), text.end());
  }
  return page;
}

inline stored_page packed(const bytes_t& page) { return page_of(compress(page), page.size()); }

}  // namespace rtl
