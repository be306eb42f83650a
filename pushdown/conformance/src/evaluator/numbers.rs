// SPDX-License-Identifier: Apache-2.0
//! Evaluates quotients and dates.

/// `a / b` rounded, halves away from zero.
pub(super) fn divide_round(a: i128, b: i128) -> Option<i128> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    // Twice the rest against the divisor, without doubling anything.
    let is_half = rest.unsigned_abs() >= b.unsigned_abs() - rest.unsigned_abs();
    let away = if (a < 0) == (b < 0) { 1 } else { -1 };
    if rest != 0 && is_half { quotient.checked_add(away) } else { Some(quotient) }
}

/// `a / b` rounded down.
pub(super) fn divide_floor(a: i128, b: i128) -> Option<i128> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    if rest != 0 && (rest < 0) != (b < 0) { quotient.checked_sub(1) } else { Some(quotient) }
}

/// Year, month and day of a day since 1970-01-01, counted month by month from the start of its
/// cycle of 400 years.
pub(super) fn civil(day: i128) -> (i128, i128, i128) {
    const CYCLE_DAYS: i128 = 146_097;
    let is_leap = |year: i128| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    // 1970-01-01 is this many days into the cycle that begins with the year 1600.
    let since_1600 = day + 135_140;
    let cycles = divide_floor(since_1600, CYCLE_DAYS).unwrap_or(0);
    let mut rest = since_1600 - cycles * CYCLE_DAYS;
    let mut year = 1600 + cycles * 400;
    loop {
        let days = if is_leap(year) { 366 } else { 365 };
        if rest < days {
            break;
        }
        rest -= days;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for days in months {
        if rest < days {
            break;
        }
        rest -= days;
        month += 1;
    }
    (year, month, rest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        for (day, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (-719_528, (0, 1, 1)),
            (-719_529, (-1, 12, 31)),
            (2_932_896, (9999, 12, 31)),
        ] {
            assert_eq!(civil(day), date, "{day}");
        }
    }

    #[test]
    fn each_division_rounds_as_defined() {
        let all = |a, b| [i128::checked_div(a, b), divide_round(a, b), divide_floor(a, b)];
        assert_eq!(all(7, 2), [Some(3), Some(4), Some(3)]);
        assert_eq!(all(-7, 2), [Some(-3), Some(-4), Some(-4)]);
        assert_eq!(all(7, -2), [Some(-3), Some(-4), Some(-4)]);
        assert_eq!(all(6, 4), [Some(1), Some(2), Some(1)]);
        assert_eq!(all(-5, 4), [Some(-1), Some(-1), Some(-2)]);
        assert_eq!(all(i128::MIN, 3)[1], Some(i128::MIN / 3 - 1));
    }
}
