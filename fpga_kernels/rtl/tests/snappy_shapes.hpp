// SPDX-License-Identifier: Apache-2.0
// Sets of pages whose cycles in Verilator are compared with those of the time model.
//
// None of them was used to find the rule of the model (scan/snappy_cycles.hpp): that came from
// other seeds, and from fewer shapes.
#pragma once

#include <functional>

#include "snappy_pages.hpp"

namespace rtl {

/// The pages of a run.
typedef std::vector<stored_page> page_set;

/// A kind of page sets: the sets are made by chance.
struct shape {
  const char* name;
  std::function<page_set(dice&)> make;
};

/// Whether numbers are below a range, or rise by as much.
enum class order { NONE, RISING };

/// So many numbers of `bytes` bytes.
inline bytes_t numbers(dice& chance, uint64_t count, int bytes, uint64_t range, order how) {
  bytes_t page;
  uint64_t number = chance.below(range);
  for (uint64_t i = 0; i < count; i++) {
    // Of a wide number the upper bytes come first, as those of a decimal do, and are none.
    for (int wide = bytes; wide > 8; wide--) page.push_back(0);
    put_number(page, number, bytes < 8 ? bytes : 8);
    number = (how == order::RISING ? number + 1 : 0) + chance.below(range);
  }
  return page;
}

/// Strings of random letters out of an alphabet, each behind its length.
inline bytes_t strings(dice& chance, uint64_t bytes, uint64_t length_max, uint64_t letters) {
  bytes_t page;
  while (page.size() < bytes) {
    const uint64_t length = 1 + chance.below(length_max);
    put_number(page, length, 4);
    for (uint64_t i = 0; i < length; i++) page.push_back(uint8_t('a' + chance.below(letters)));
  }
  return page;
}

/// Names with a number at their end, as `Customer#000000042`.
inline bytes_t names(dice& chance, uint64_t count) {
  bytes_t page;
  uint64_t number = chance.below(1000);
  for (uint64_t i = 0; i < count; i++) {
    char text[24];
    std::snprintf(text, sizeof(text), "Customer#%09u", static_cast<unsigned>(number % 1000000000));
    put_number(page, 18, 4);
    page.insert(page.end(), text, text + 18);
    number += 1 + chance.below(300);
  }
  return page;
}

/// Adds random elements of a taste to a page.
inline void put_random(page_writer& page, dice& chance, const taste& how, uint64_t bytes) {
  const uint64_t end = page.whole.size() + bytes;
  while (page.whole.size() < end) add_random(page, chance, how);
}

/// A page whose taste changes every so many bytes.
inline stored_page changing(dice& chance, uint64_t bytes) {
  page_writer page;
  while (page.whole.size() < bytes) {
    put_random(page, chance, any_taste(chance), 500 + chance.below(8000));
  }
  return page.page();
}

/// The bytes of a literal, or none, and of a copy behind it.
struct element_pair {
  uint64_t literal;
  uint64_t copy;
};

/// A page in which stretches of two pairs take turns, for each of which another stage is the
/// slowest.
inline stored_page in_turn(dice& chance, const element_pair& first, const element_pair& second) {
  page_writer page;
  page.literal(chance, 8, 0);
  while (page.whole.size() < 100000) {
    const element_pair& pair = chance.chance(50) ? first : second;
    for (uint64_t i = 50 + chance.below(500); i > 0; i--) {
      if (pair.literal > 0) page.literal(chance, pair.literal, 0);
      const uint64_t reach = page.whole.size() < 2000 ? page.whole.size() : 2000;
      page.copy(1 + chance.below(reach), pair.copy, 2);
    }
  }
  return page.page();
}

inline stored_page long_literals(dice& chance, uint64_t count) {
  page_writer page;
  for (uint64_t i = 0; i < count; i++) {
    page.literal(chance, 20 + chance.below(chance.chance(10) ? 20000 : 300), 0);
    if (chance.chance(60)) page.copy(1 + chance.below(page.whole.size() % 60000 + 1), 4, 2);
  }
  return page.page();
}

inline stored_page long_copies(dice& chance, uint64_t count) {
  page_writer page;
  page.literal(chance, 100, 0);
  for (uint64_t i = 0; i < count; i++) {
    if (chance.chance(30)) page.literal(chance, 1 + chance.below(12), 0);
    page.copy(1 + chance.below(100), 30 + chance.below(35), 2);
  }
  return page.page();
}

/// All shapes but those of the tastes.
inline std::vector<shape> shapes() {
  const auto of = [](const char* name, std::function<bytes_t(dice&)> make) {
    return shape{name, [make](dice& chance) { return page_set{packed(make(chance))}; }};
  };
  return {
      of("dictionary of prices",
         [](dice& chance) { return prices(chance, 600 + chance.below(20000), 1000000); }),
      of("dictionary of prices, a wider range",
         [](dice& chance) { return prices(chance, 600 + chance.below(20000), 1ull << 31); }),
      of("dictionary of 32-bit keys",
         [](dice& chance) { return numbers(chance, 20000, 4, 1ull << 32, order::NONE); }),
      of("dictionary of 32-bit keys, a narrow range",
         [](dice& chance) { return numbers(chance, 20000, 4, 60000, order::NONE); }),
      of("dictionary of 32-bit keys in order",
         [](dice& chance) { return numbers(chance, 20000, 4, 40, order::RISING); }),
      of("dictionary of 64-bit keys in order",
         [](dice& chance) { return keys(chance, 1000 + chance.below(10000)); }),
      of("dictionary of decimals of 16 bytes",
         [](dice& chance) { return numbers(chance, 6000, 16, 1ull << 40, order::NONE); }),
      of("dictionary of short strings",
         [](dice& chance) { return strings(chance, 60000, 12, 26); }),
      of("dictionary of strings of few letters",
         [](dice& chance) { return strings(chance, 60000, 40, 4); }),
      of("dictionary of names", [](dice& chance) { return names(chance, 3000); }),
      of("dictionary of comments", [](dice& chance) { return comments(chance, 60000); }),
      {"long literals", [](dice& chance) { return page_set{long_literals(chance, 60)}; }},
      {"long copies", [](dice& chance) { return page_set{long_copies(chance, 1500)}; }},
      {"elements of all tastes in turn",
       [](dice& chance) { return page_set{changing(chance, 100000)}; }},
      {"slow to read and slow to write in turn",
       [](dice& chance) { return page_set{in_turn(chance, {8, 1}, {0, 9})}; }},
      {"slow to read and slow to pass on in turn",
       [](dice& chance) { return page_set{in_turn(chance, {1, 4}, {8, 8})}; }},
      {"slow to write and slow to pass on in turn",
       [](dice& chance) { return page_set{in_turn(chance, {0, 9}, {8, 8})}; }},
      {"pages of 1 to 4 KiB of any taste",
       [](dice& chance) {
         page_set all;
         for (int i = 0; i < 12; i++) {
           const uint64_t bytes = 1000 + chance.below(3000);
           all.push_back(random_elements(chance, any_taste(chance), bytes).page());
         }
         return all;
       }},
  };
}

}  // namespace rtl
