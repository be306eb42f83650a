// SPDX-License-Identifier: Apache-2.0
//! Computes parts of dates: days since 1970-01-01 in the Gregorian calendar.

use arrow::buffer::BooleanBuffer;
use nearscan_command::{Op, Width};

use crate::{
    compare::{Number, Side},
    error::Stop,
    values::Numbers,
};

/// The year, month or day of `a` for each of `rows` rows.
///
/// # Errors
/// [`Stop::OVERFLOW`] when a day that is not NULL leaves 32 bits, or its part leaves `width`.
pub(crate) fn part(op: Op, width: Width, a: Number<'_>, rows: usize) -> Result<Numbers, Stop> {
    let pick: fn(i64) -> i64 = match op {
        Op::Year => |day| civil(day).0,
        Op::Month => |day| civil(day).1,
        _ => |day| civil(day).2,
    };
    if matches!(a, Number::Null) {
        let none = BooleanBuffer::new_unset(rows);
        return Ok(Numbers::narrow(vec![0; rows], Some(none)));
    }
    let is_day = match a {
        Number::Vector(days) => days.fit(Width::W32),
        Number::Constant(day) => rows == 0 || Width::W32.fits(day),
        Number::Null => true,
    };
    // The value of a null row need not be a day.
    let day = |day: i64| pick(i64::from(i32::try_from(day).unwrap_or(0)));
    let values = match a.narrow() {
        _ if !is_day => return Err(Stop::OVERFLOW),
        Some(Side::Slice(days)) => days[..rows].iter().map(|it| day(*it)).collect(),
        Some(Side::Constant(constant)) => vec![day(constant); rows],
        None => (0..rows).map(|row| day(i64::try_from(a.wide(row)).unwrap_or(0))).collect(),
    };
    let parts = Numbers::narrow(values, a.validity().cloned());
    if parts.fit(width) { Ok(parts) } else { Err(Stop::OVERFLOW) }
}

/// Year, month and day of a day that fits 32 bits.
///
/// Years are counted from March, so that the day that comes and goes is the last one of a year:
/// then a day of the year says its month by a line of 153 days in 5 months.
fn civil(day: i64) -> (i64, i64, i64) {
    /// Days of 400 years.
    const CYCLE: i64 = 146_097;
    // 1970-01-01 is this many days behind 0000-03-01.
    let day = day + 719_468;
    let (cycle, day) = (day.div_euclid(CYCLE), day.rem_euclid(CYCLE));
    // Without the leap days before it, but with the one that ends a cycle.
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (cycle * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::NumberValues;

    #[test]
    fn days_have_dates() {
        for (day, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (-25_509, (1900, 2, 28)),
            (-25_508, (1900, 3, 1)),
            (-719_528, (0, 1, 1)),
            (-719_529, (-1, 12, 31)),
            (2_932_896, (9999, 12, 31)),
            (i64::from(i32::MAX), (5_881_580, 7, 11)),
            (i64::from(i32::MIN), (-5_877_641, 6, 23)),
        ] {
            assert_eq!(civil(day), date, "{day}");
        }
    }

    #[test]
    fn consecutive_days_have_consecutive_dates() {
        let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut expected = (1599, 12, 31);
        for day in -135_141..150_000 {
            assert_eq!(civil(day), expected, "{day}");
            let (year, month, date) = expected;
            let length = match month {
                2 if is_leap(year) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            expected = match (month, date == length) {
                (_, false) => (year, month, date + 1),
                (12, true) => (year + 1, 1, 1),
                (_, true) => (year, month + 1, 1),
            };
        }
    }

    #[test]
    fn only_days_of_32_bits_have_parts() {
        let day = Number::Constant(11_016);
        fn year(a: Number<'_>, rows: usize) -> Result<Numbers, Stop> {
            part(Op::Year, Width::W32, a, rows)
        }
        assert_eq!(year(day, 2).unwrap().get(1), Some(2000));
        assert_eq!(part(Op::Month, Width::W64, day, 1).unwrap().get(0), Some(2));
        assert_eq!(part(Op::Day, Width::W64, day, 1).unwrap().get(0), Some(29));
        assert_eq!(year(Number::Constant(1 << 31), 1).unwrap_err(), Stop::OVERFLOW);
        assert_eq!(year(Number::Null, 1).unwrap().get(0), None);
        let validity = Some(BooleanBuffer::from(vec![false, true]));
        for values in [NumberValues::Narrow(vec![1 << 40, 0]), NumberValues::Wide(vec![1 << 90, 0])]
        {
            let numbers = Numbers { values, validity: validity.clone() };
            let years = year(Number::Vector(&numbers), 2).unwrap();
            assert_eq!([years.get(0), years.get(1)], [None, Some(1970)]);
            let all = Numbers { validity: None, ..numbers };
            assert_eq!(year(Number::Vector(&all), 2).unwrap_err(), Stop::OVERFLOW);
        }
    }
}
