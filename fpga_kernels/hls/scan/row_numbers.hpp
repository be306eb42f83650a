// SPDX-License-Identifier: Apache-2.0
// Numbers of eight rows: how they are compared and computed with.
//
// Operands have 64 bits, and a result that leaves them ends the unit. Only the sums of aggregates
// have more: see groups.hpp.
#pragma once

#include "../common/calendar.hpp"
#include "plan.hpp"

namespace nearscan {

/// The same number in every row.
inline number_token repeat(int64_t value) {
  number_token numbers;
REPEAT:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    numbers.row[row] = value;
  }
  return numbers;
}

/// Whether a number of 64 bits fits in a width of the format.
inline bool fits_narrow(int64_t number, uint8_t width) {
  if (width == WIDTH_W32) return number == static_cast<int32_t>(number);
  if (width == WIDTH_BOOL) return number == 0 || number == 1;
  return true;
}

/// Rows of numbers that do not fit a width.
inline uint8_t misfits(const number_token& number, uint8_t width) {
  if (width != WIDTH_W32 && width != WIDTH_BOOL) return 0;
  uint32_t rows = 0;
WIDTHS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    rows |= static_cast<uint32_t>(!fits_narrow(number.row[row], width)) << row;
  }
  return static_cast<uint8_t>(rows);
}

/// In which rows `a` is less than `b`.
inline uint8_t less_rows(const number_token& a, const number_token& b) {
  uint32_t less = 0;
LESS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    less |= static_cast<uint32_t>(a.row[row] < b.row[row]) << row;
  }
  return static_cast<uint8_t>(less);
}

/// In which rows they are equal.
inline uint8_t equal_rows(const number_token& a, const number_token& b) {
  uint32_t equal = 0;
EQUAL:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    equal |= static_cast<uint32_t>(a.row[row] == b.row[row]) << row;
  }
  return static_cast<uint8_t>(equal);
}

/// One comparison of eight rows, as bits.
inline uint8_t compare_rows(uint8_t op, const number_token& a, const number_token& b) {
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

/// Sums or differences; gives the rows that leave 64 bits.
inline uint8_t add_rows(bool subtract, const number_token& a, const number_token& b,
                        number_token& out) {
  // A difference is the sum with the complement, and one more.
  const uint64_t flip = subtract ? ~static_cast<uint64_t>(0) : 0;
  const uint64_t one = subtract ? 1 : 0;
  uint32_t overflowed = 0;
SUMS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    const uint64_t left = static_cast<uint64_t>(a.row[row]);
    const uint64_t right = static_cast<uint64_t>(b.row[row]) ^ flip;
    const uint64_t sum = left + right + one;
    overflowed |= static_cast<uint32_t>(((left ^ sum) & (right ^ sum)) >> 63) << row;
    out.row[row] = static_cast<int64_t>(sum);
  }
  return static_cast<uint8_t>(overflowed);
}

/// Products; gives the rows that leave 64 bits.
inline uint8_t multiply_rows(const number_token& a, const number_token& b, number_token& out) {
  uint32_t overflowed = 0;
PRODUCTS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS UNROLL
    const i128 product = static_cast<i128>(a.row[row]) * b.row[row];
    const int64_t low = static_cast<int64_t>(product);
    out.row[row] = low;
    overflowed |= static_cast<uint32_t>(static_cast<int64_t>(product >> 64) != (low >> 63)) << row;
  }
  return static_cast<uint8_t>(overflowed);
}

/// Sums, differences or products; gives the rows that do not fit the width.
inline uint8_t compute_rows(const step& at, const number_token& a, const number_token& b,
                            number_token& out) {
  const uint8_t overflowed =
      at.op == OP_MULTIPLY ? multiply_rows(a, b, out) : add_rows(at.op == OP_SUBTRACT, a, b, out);
  return overflowed | misfits(out, at.width);
}

/// Quotients or remainders of eight rows by one number; gives the rows that do not fit the width.
inline uint8_t divide_rows(const step& at, const number_token& a, int64_t divisor,
                           number_token& out) {
  uint32_t overflowed = 0;
DIVIDE_ROWS:
  for (int row = 0; row < ROWS; row++) {
// A divider for each row: see divide_overflows.
#pragma HLS UNROLL
    int64_t result;
    const bool too_large = divide_overflows(at.op, a.row[row], divisor, &result);
    out.row[row] = result;
    overflowed |= static_cast<uint32_t>(too_large) << row;
  }
  return static_cast<uint8_t>(overflowed | misfits(out, at.width));
}

/// A part of the dates of eight rows; gives the rows that are no days.
inline uint8_t date_rows(const step& at, const number_token& a, number_token& out) {
DATE_ROWS:
  for (int row = 0; row < ROWS; row++) {
#pragma HLS PIPELINE II = 1
    const civil_date date = date_of(static_cast<int32_t>(a.row[row]));
    const int32_t part = at.op == OP_YEAR ? date.year : at.op == OP_MONTH ? date.month : date.day;
    out.row[row] = part;
  }
  return misfits(a, WIDTH_W32);
}

}  // namespace nearscan
