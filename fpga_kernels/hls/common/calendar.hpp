// SPDX-License-Identifier: Apache-2.0
// Days as dates of the Gregorian calendar.
#pragma once

#include <cstdint>

namespace nearscan {

/// A date; years before the year 1 go on with 0 and -1.
struct civil_date {
  int32_t year;
  int32_t month;
  int32_t day;
};

static constexpr int64_t DAYS_OF_4_YEARS = 4 * 365 + 1;
static constexpr int64_t DAYS_OF_CENTURY = 25 * DAYS_OF_4_YEARS - 1;
static constexpr int64_t DAYS_OF_CYCLE = 4 * DAYS_OF_CENTURY + 1;
/// 1970-01-01, counted from 0000-03-01.
static constexpr int64_t DAYS_BEFORE_1970 = 719468;

/// The date of a day since 1970-01-01.
///
/// Years are taken to begin in March, so that a leap day is the last day of its year, its century
/// and its cycle. All divisors are constants: multipliers in hardware, no loop.
inline civil_date date_of(int32_t day) {
  const int64_t since = day + DAYS_BEFORE_1970;
  const int64_t cycle = (since >= 0 ? since : since - (DAYS_OF_CYCLE - 1)) / DAYS_OF_CYCLE;
  const int64_t in_cycle = since - cycle * DAYS_OF_CYCLE;
  // The leap days before this one do not count: then all years have 365 days.
  const int64_t leaps = in_cycle / (DAYS_OF_4_YEARS - 1) - in_cycle / DAYS_OF_CENTURY +
                        in_cycle / (DAYS_OF_CYCLE - 1);
  const int64_t year = (in_cycle - leaps) / 365;
  const int64_t in_year = in_cycle - (365 * year + year / 4 - year / 100);
  // Five months from March, August or January on have 153 days.
  const int64_t month = (5 * in_year + 2) / 153;
  const int64_t before_month = (153 * month + 2) / 5;
  const bool next_year = month >= 10;
  return {static_cast<int32_t>(cycle * 400 + year + (next_year ? 1 : 0)),
          static_cast<int32_t>(next_year ? month - 9 : month + 3),
          static_cast<int32_t>(in_year - before_month + 1)};
}

}  // namespace nearscan
