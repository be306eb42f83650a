// SPDX-License-Identifier: Apache-2.0
// The parts of the golden model that are more than a comparison: quotients, dates, patterns,
// floats.
//
// Each goes another way than the kernel does.
#pragma once

#include <cstring>

#include "tb_model.hpp"

namespace nearscan_tb {

/// A quotient or remainder, by magnitudes.
struct golden_quotient {
  i128 number = 0;
  bool overflowed = false;

  golden_quotient(uint8_t op, i128 a, i128 b) {
    const u128 x = a < 0 ? static_cast<u128>(0) - static_cast<u128>(a) : static_cast<u128>(a);
    const u128 y = b < 0 ? static_cast<u128>(0) - static_cast<u128>(b) : static_cast<u128>(b);
    u128 quotient = x / y;
    const u128 rest = x % y;
    const bool negative = (a < 0) != (b < 0);
    // Without one the remainder would be the 0 of a quotient that is not there.
    const u128 most = (static_cast<u128>(1) << 127) - (negative ? 0 : 1);
    overflowed = quotient > most;
    if (op == OP_REMAINDER) {
      number = a < 0 ? -static_cast<i128>(rest) : static_cast<i128>(rest);
      return;
    }
    // A divisor has 64 bits, so twice the rest has 65.
    if (op == OP_DIVIDE_ROUND && 2 * rest >= y) quotient++;
    if (op == OP_DIVIDE_FLOOR && negative && rest != 0) quotient++;
    number = static_cast<i128>(negative ? static_cast<u128>(0) - quotient : quotient);
  }
};

/// A date, found by counting years and months.
struct golden_date {
  int64_t year = 1970;
  int64_t month = 1;
  int64_t day = 1;

  static bool is_leap(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  }

  explicit golden_date(int64_t days) {
    // 400 years have always the same days.
    const int64_t cycle = 146097;
    while (days < 0 || days >= cycle) {
      int64_t cycles = days / cycle;
      if (days < 0 && cycles == 0) cycles = -1;
      days -= cycles * cycle;
      year += cycles * 400;
    }
    while (days >= (is_leap(year) ? 366 : 365)) {
      days -= is_leap(year) ? 366 : 365;
      year++;
    }
    const int64_t months[] = {31, is_leap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    while (days >= months[month - 1]) {
      days -= months[month - 1];
      month++;
    }
    day = days + 1;
  }
};

/// Whether `text` is like `pattern`, by its definition, remembering which rests do not match.
struct golden_like {
  const std::string& text;
  const std::string& pattern;
  std::vector<bool> failed;

  golden_like(const std::string& value, const std::string& like)
      : text(value), pattern(like), failed((value.size() + 1) * (like.size() + 1)) {}

  size_t behind_character(size_t at) const {
    at++;
    while (at < text.size() && (text[at] & 0xc0) == 0x80) at++;
    return at;
  }

  bool matches(size_t at, size_t item) {
    if (item == pattern.size()) return at == text.size();
    if (failed[at * (pattern.size() + 1) + item]) return false;
    const uint8_t byte = static_cast<uint8_t>(pattern[item]);
    const bool more = at < text.size();
    bool found;
    if (byte == PATTERN_ANY) {
      found = matches(at, item + 1) || (more && matches(behind_character(at), item));
    } else if (byte == PATTERN_ONE) {
      found = more && matches(behind_character(at), item + 1);
    } else {
      found = more && static_cast<uint8_t>(text[at]) == byte && matches(at + 1, item + 1);
    }
    if (!found) failed[at * (pattern.size() + 1) + item] = true;
    return found;
  }
};

/// The float at a place in the total order.
inline double golden_float(i128 place) {
  const int64_t signed_place = static_cast<int64_t>(place);
  // Place -1 is that of -0.0, and -2 that of the number before it.
  const uint64_t sign = static_cast<uint64_t>(1) << 63;
  const uint64_t bits = signed_place >= 0 ? static_cast<uint64_t>(signed_place)
                                          : sign | static_cast<uint64_t>(-1 - signed_place);
  double number;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

/// The place of a float in the total order; that of every NaN is the same.
inline int64_t golden_place(double number) {
  if (number != number) return 0x7ff8000000000000;
  uint64_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  const int64_t size = static_cast<int64_t>(bits << 1 >> 1);
  return bits >> 63 == 0 ? size : -1 - size;
}

}  // namespace nearscan_tb
