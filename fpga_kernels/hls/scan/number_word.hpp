// SPDX-License-Identifier: Apache-2.0
// Numbers of eight rows: how they are held, compared and computed with.
//
// All are of 128 bits. Nearly all fit in 64, and a simulation is much faster when it leaves the
// other half out: so a word of numbers says whether it has one. In hardware that saves half of the
// streams between the stages, and no time.
#pragma once

#include "../common/calendar.hpp"
#include "plan.hpp"

namespace nearscan {

/// Numbers of eight rows. Those of null rows are any.
///
/// Unless the word is `wide`, all fit in 64 bits and `high` holds nothing.
struct number_word {
  half_token low;
  half_token high;
  bool wide;

  i128 at(int row) const {
    if (!wide) return static_cast<i128>(low.row[row]);
    return make_i128(static_cast<uint64_t>(low.row[row]), static_cast<uint64_t>(high.row[row]));
  }

  /// Sets both halves of a row. `settle` follows when all rows have been set so.
  void set(int row, i128 value) {
    low.row[row] = static_cast<int64_t>(value);
    high.row[row] = static_cast<int64_t>(value >> 64);
  }

  /// Finds out whether the word is wide.
  void settle() {
    int64_t beyond = 0;
  SETTLE:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      beyond |= high.row[row] ^ (low.row[row] >> 63);
    }
    wide = beyond != 0;
  }

  /// Gives every row the same number.
  void fill(i128 value) {
  FILL_LOW:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      low.row[row] = static_cast<int64_t>(value);
    }
    wide = !fits_64(value);
    if (!wide) return;
  FILL_HIGH:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      high.row[row] = static_cast<int64_t>(value >> 64);
    }
  }

  void copy(const number_word& from) {
    low = from.low;
    wide = from.wide;
    if (wide) high = from.high;
  }
};

/// Reads a word of numbers.
NS_HOT void read_numbers(half_stream& in, bool wide, number_word& number) {
  number.low = in.read();
  number.wide = wide;
  if (wide) number.high = in.read();
}

/// Sends a word of numbers.
NS_HOT void send_numbers(const number_word& number, half_stream& out) {
  out.write(number.low);
  if (number.wide) out.write(number.high);
}

/// Rows of numbers that do not fit a width.
inline uint8_t misfits(const number_word& number, uint8_t width) {
  if (!number.wide && width != WIDTH_W32 && width != WIDTH_BOOL) return 0;
  uint32_t rows = 0;
WIDTHS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    rows |= static_cast<uint32_t>(!fits_width(number.at(row), width)) << row;
  }
  return static_cast<uint8_t>(rows);
}

/// In which rows `a` is less than `b`.
inline uint8_t less_rows(const number_word& a, const number_word& b) {
  uint32_t less = 0;
  if (a.wide || b.wide) {
  WIDE_LESS:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      less |= static_cast<uint32_t>(a.at(row) < b.at(row)) << row;
    }
  } else {
  NARROW_LESS:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      less |= static_cast<uint32_t>(a.low.row[row] < b.low.row[row]) << row;
    }
  }
  return static_cast<uint8_t>(less);
}

/// In which rows they are equal.
inline uint8_t equal_rows(const number_word& a, const number_word& b) {
  uint32_t equal = 0;
  if (a.wide || b.wide) {
  WIDE_EQUAL:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      equal |= static_cast<uint32_t>(a.at(row) == b.at(row)) << row;
    }
  } else {
  NARROW_EQUAL:
    for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
      equal |= static_cast<uint32_t>(a.low.row[row] == b.low.row[row]) << row;
    }
  }
  return static_cast<uint8_t>(equal);
}

/// One comparison of eight rows, as bits.
inline uint8_t compare_rows(uint8_t op, const number_word& a, const number_word& b) {
  switch (op) {
    case OP_EQUAL:
      return equal_rows(a, b);
    case OP_NOT_EQUAL:
      return static_cast<uint8_t>(~equal_rows(a, b));
    case OP_LESS:
      return less_rows(a, b);
    case OP_LESS_OR_EQUAL:
      return static_cast<uint8_t>(~less_rows(b, a));
    case OP_GREATER:
      return less_rows(b, a);
    default:
      return static_cast<uint8_t>(~less_rows(a, b));
  }
}

/// Sums or differences of numbers of 64 bits; false when some do not fit in 64 bits.
inline bool add_narrow(bool subtract, const half_token& a, const half_token& b, number_word& out) {
  // A difference is the sum with the complement, and one more.
  const uint64_t flip = subtract ? ~static_cast<uint64_t>(0) : 0;
  const uint64_t one = subtract ? 1 : 0;
  uint64_t overflowed = 0;
NARROW_SUMS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
    const uint64_t left = static_cast<uint64_t>(a.row[row]);
    const uint64_t right = static_cast<uint64_t>(b.row[row]) ^ flip;
    const uint64_t sum = left + right + one;
    overflowed |= (left ^ sum) & (right ^ sum);
    out.low.row[row] = static_cast<int64_t>(sum);
  }
  out.wide = false;
  return (overflowed >> 63) == 0;
}

/// Products of numbers of 64 bits; false when some do not fit in 64 bits.
inline bool multiply_narrow(const half_token& a, const half_token& b, number_word& out) {
  int64_t beyond = 0;
NARROW_PRODUCTS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
    const i128 product = static_cast<i128>(a.row[row]) * b.row[row];
    out.low.row[row] = static_cast<int64_t>(product);
    beyond |= static_cast<int64_t>(product >> 64) ^ (static_cast<int64_t>(product) >> 63);
  }
  out.wide = false;
  return beyond == 0;
}

/// Sums, differences or products; gives the rows that leave 128 bits.
NS_APART uint8_t compute_wide(uint8_t op, const number_word& a, const number_word& b,
                              number_word& out) {
  uint32_t overflowed = 0;
WIDE_ARITHMETIC:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
    i128 result = 0;
    bool too_large;
    switch (op) {
      case OP_ADD:
        too_large = add_overflows(a.at(row), b.at(row), &result);
        break;
      case OP_SUBTRACT:
        too_large = subtract_overflows(a.at(row), b.at(row), &result);
        break;
      default:
        too_large = multiply_overflows(a.at(row), b.at(row), &result);
        break;
    }
    out.set(row, result);
    overflowed |= static_cast<uint32_t>(too_large) << row;
  }
  out.settle();
  return static_cast<uint8_t>(overflowed);
}

/// Sums, differences or products; gives the rows that do not fit the width.
inline uint8_t compute_rows(const step& at, const number_word& a, const number_word& b,
                            number_word& out) {
  if (!a.wide && !b.wide) {
    const bool fits = at.op == OP_MULTIPLY ? multiply_narrow(a.low, b.low, out)
                                           : add_narrow(at.op == OP_SUBTRACT, a.low, b.low, out);
    if (fits) return misfits(out, at.width);
  }
  const uint8_t overflowed = compute_wide(at.op, a, b, out);
  return overflowed | misfits(out, at.width);
}

/// Quotients or remainders of eight rows by one number; gives the rows that do not fit the width.
inline uint8_t divide_rows(const step& at, const number_word& a, int64_t divisor,
                           number_word& out) {
  uint32_t overflowed = 0;
DIVIDE_ROWS:
  for (int row = 0; row < ROWS; row++) {
// A divider for each row: see divide_overflows.
#pragma HLS UNROLL
    i128 result;
    const bool too_large = divide_overflows(at.op, a.at(row), divisor, &result);
    out.set(row, result);
    overflowed |= static_cast<uint32_t>(too_large) << row;
  }
  out.settle();
  return static_cast<uint8_t>(overflowed | misfits(out, at.width));
}

/// A part of the dates of eight rows; gives the rows that are no days.
inline uint8_t date_rows(const step& at, const number_word& a, number_word& out) {
DATE_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
    const civil_date date = date_of(static_cast<int32_t>(a.low.row[row]));
    const int32_t part = at.op == OP_YEAR ? date.year : at.op == OP_MONTH ? date.month : date.day;
    out.low.row[row] = part;
  }
  out.wide = false;
  return misfits(a, WIDTH_W32);
}

}  // namespace nearscan
