// SPDX-License-Identifier: Apache-2.0
//! Defines [`LinkLimit`], how fast a link is, and reads its parts as they stand in URLs.
//!
//! A rate is a number and a unit of bytes or bits a second (`375MB`, `3Gbit`, `1.5GiB`), a latency
//! a number and a unit of time (`500us`, `1ms`). Units are exact in upper and lower case, because
//! `Mb` means bits to some and bytes to others. What is shown can be read again.

use std::{fmt, num::NonZeroU64, time::Duration};

/// The latency of one direction, at most: more is a mistake in a unit rather than a link.
pub const LATENCY_MAX: Duration = Duration::from_secs(60);

/// Digits of a number, at most, so that what is calculated with it fits.
const DIGITS_MAX: usize = 18;

/// Units of a rate and their size in bits, the larger ones first.
const RATE_UNITS: &[(&str, u64)] = &[
    ("TB", 8_000_000_000_000),
    ("GB", 8_000_000_000),
    ("MB", 8_000_000),
    ("kB", 8_000),
    ("KB", 8_000),
    ("TiB", 8 << 40),
    ("GiB", 8 << 30),
    ("MiB", 8 << 20),
    ("KiB", 8 << 10),
    ("Tbit", 1_000_000_000_000),
    ("Gbit", 1_000_000_000),
    ("Mbit", 1_000_000),
    ("kbit", 1_000),
    ("Kbit", 1_000),
    ("B", 8),
    ("bit", 1),
];

/// Units of a latency and their size in nanoseconds.
const TIME_UNITS: &[(&str, u64)] =
    &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// How fast a link is, in each of its two directions. Without a rate and a latency it is as fast as
/// the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkLimit {
    /// Bytes a second of each direction.
    pub bytes_per_s: Option<NonZeroU64>,
    /// Time that a byte is on its way in one direction: half of what `ping` shows. What is above
    /// [`LATENCY_MAX`] counts as that.
    pub latency: Duration,
}

/// Text that is no rate or no latency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// It does not begin with a number.
    #[error("'{text}' does not begin with a number such as 3 or 1.5")]
    Number {
        /// The given value.
        text: String,
    },
    /// The unit is missing or unknown.
    #[error("'{text}' needs a unit behind the number: {units}")]
    Unit {
        /// The given value.
        text: String,
        /// The units that there are.
        units: String,
    },
    /// It is nothing, or less than one byte a second.
    #[error("'{text}' is less than one byte a second")]
    Nothing {
        /// The given value.
        text: String,
    },
    /// It is too much.
    #[error("'{text}' is more than {max}")]
    TooMuch {
        /// The given value.
        text: String,
        /// The largest value.
        max: String,
    },
}

impl LinkLimit {
    /// No limit.
    pub const NONE: Self = Self { bytes_per_s: None, latency: Duration::ZERO };

    /// Reads a rate, as `375MB` or `3Gbit`; what is less than a whole byte a second is cut off.
    ///
    /// # Errors
    /// [`LimitError`] when the text is none, or none that a link can have.
    pub fn parse_rate(text: &str) -> Result<NonZeroU64, LimitError> {
        let bits = scaled(text, RATE_UNITS)?;
        let too_much = |_error| LimitError::TooMuch {
            text: text.to_owned(),
            max: format!("{} bytes a second", u64::MAX),
        };
        let bytes = u64::try_from(bits / 8).map_err(too_much)?;
        NonZeroU64::new(bytes).ok_or_else(|| LimitError::Nothing { text: text.to_owned() })
    }

    /// Reads a latency, as `500us` or `1ms`; what is less than a nanosecond is cut off.
    ///
    /// # Errors
    /// [`LimitError`] when the text is none, or more than [`LATENCY_MAX`].
    pub fn parse_latency(text: &str) -> Result<Duration, LimitError> {
        let ns = scaled(text, TIME_UNITS)?;
        let latency = u64::try_from(ns).ok().map(Duration::from_nanos);
        latency.filter(|latency| *latency <= LATENCY_MAX).ok_or_else(|| LimitError::TooMuch {
            text: text.to_owned(),
            max: format!("{LATENCY_MAX:?}"),
        })
    }
}

/// The number at the start of a text times the unit behind it.
fn scaled(text: &str, units: &[(&str, u64)]) -> Result<u128, LimitError> {
    let wrong = || LimitError::Number { text: text.to_owned() };
    let end = text.find(|sign: char| !(sign.is_ascii_digit() || sign == '.'));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let has_bare_dot = number.contains('.') && part.is_empty();
    let digits = [whole, part].concat();
    if whole.is_empty() || has_bare_dot || part.contains('.') || digits.len() > DIGITS_MAX {
        return Err(wrong());
    }
    let digits: u64 = digits.parse().map_err(|_error| wrong())?;
    let Some((_, size)) = units.iter().find(|(name, _)| *name == unit) else {
        let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
        return Err(LimitError::Unit { text: text.to_owned(), units: names.join(", ") });
    };
    let divisor = part.bytes().fold(1_u128, |divisor, _digit| divisor * 10);
    Ok(u128::from(digits) * u128::from(*size) / divisor)
}

/// The rate in the largest unit of which it is a whole number.
fn shown_rate(bytes_per_s: NonZeroU64) -> String {
    let bits = u128::from(bytes_per_s.get()) * 8;
    let fits = |(_, size): &&(&str, u64)| bits.is_multiple_of(u128::from(*size));
    match RATE_UNITS.iter().find(fits) {
        Some((name, size)) => format!("{}{name}", bits / u128::from(*size)),
        None => format!("{bytes_per_s}B"),
    }
}

impl fmt::Display for LinkLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.bytes_per_s, self.latency) {
            (None, Duration::ZERO) => f.write_str("no limit"),
            (None, latency) => write!(f, "{} each way", shown_time(latency)),
            (Some(rate), Duration::ZERO) => write!(f, "{}/s", shown_rate(rate)),
            (Some(rate), latency) => {
                write!(f, "{}/s, {} each way", shown_rate(rate), shown_time(latency))
            }
        }
    }
}

/// A time in the largest unit of which it is a whole number.
fn shown_time(time: Duration) -> String {
    let ns = time.as_nanos();
    let fits = |(_, size): &&(&str, u64)| ns.is_multiple_of(u128::from(*size));
    match TIME_UNITS.iter().find(fits) {
        Some((name, size)) => format!("{}{name}", ns / u128::from(*size)),
        None => format!("{ns}ns"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("375MB", 375_000_000, "375MB/s")]
    #[case("3Gbit", 375_000_000, "375MB/s")]
    #[case("1.5GiB", 1_610_612_736, "1536MiB/s")]
    #[case("0.5KiB", 512, "512B/s")]
    #[case("12.5Mbit", 1_562_500, "12500kbit/s")]
    #[case("1KB", 1_000, "1kB/s")]
    #[case("8bit", 1, "1B/s")]
    #[case("100B", 100, "100B/s")]
    #[case("2TB", 2_000_000_000_000, "2TB/s")]
    fn rates_are_read_and_shown(#[case] text: &str, #[case] bytes: u64, #[case] shown: &str) {
        let rate = LinkLimit::parse_rate(text).unwrap();
        assert_eq!(rate.get(), bytes);
        let limit = LinkLimit { bytes_per_s: Some(rate), latency: Duration::ZERO };
        assert_eq!(limit.to_string(), shown);
        let again = shown.strip_suffix("/s").unwrap();
        assert_eq!(LinkLimit::parse_rate(again), Ok(rate));
    }

    #[rstest]
    #[case("500us", 500_000, "500us each way")]
    #[case("1ms", 1_000_000, "1ms each way")]
    #[case("0.25ms", 250_000, "250us each way")]
    #[case("1.5s", 1_500_000_000, "1500ms each way")]
    #[case("7ns", 7, "7ns each way")]
    #[case("60s", 60_000_000_000, "60s each way")]
    #[case("0ms", 0, "no limit")]
    fn latencies_are_read_and_shown(#[case] text: &str, #[case] ns: u64, #[case] shown: &str) {
        let latency = LinkLimit::parse_latency(text).unwrap();
        assert_eq!(latency, Duration::from_nanos(ns));
        assert_eq!(LinkLimit { bytes_per_s: None, latency }.to_string(), shown);
    }

    #[rstest]
    #[case("", "'' does not begin with a number such as 3 or 1.5")]
    #[case("MB", "'MB' does not begin with a number such as 3 or 1.5")]
    #[case("-1MB", "'-1MB' does not begin with a number such as 3 or 1.5")]
    #[case(".5MB", "'.5MB' does not begin with a number such as 3 or 1.5")]
    #[case("1.MB", "'1.MB' does not begin with a number such as 3 or 1.5")]
    #[case("1.2.3MB", "'1.2.3MB' does not begin with a number such as 3 or 1.5")]
    #[case("0MB", "'0MB' is less than one byte a second")]
    #[case("7bit", "'7bit' is less than one byte a second")]
    #[case("99999999TB", "'99999999TB' is more than 18446744073709551615 bytes a second")]
    fn invalid_rate_is_refused(#[case] text: &str, #[case] why: &str) {
        assert_eq!(LinkLimit::parse_rate(text).unwrap_err().to_string(), why);
    }

    #[rstest]
    #[case("5")]
    #[case("5Mb")]
    #[case("5 MB")]
    #[case("5MB/s")]
    fn rate_without_known_unit_is_refused_with_the_units(#[case] text: &str) {
        let error = LinkLimit::parse_rate(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("'{text}' needs a unit")), "{error}");
        assert!(error.contains("MB") && error.contains("Gbit"), "{error}");
    }

    #[rstest]
    #[case("1m", "'1m' needs a unit behind the number: s, ms, us, ns")]
    #[case("61s", "'61s' is more than 60s")]
    #[case("ms", "'ms' does not begin with a number such as 3 or 1.5")]
    fn invalid_latency_is_refused(#[case] text: &str, #[case] why: &str) {
        assert_eq!(LinkLimit::parse_latency(text).unwrap_err().to_string(), why);
    }

    #[test]
    fn limit_of_both_kinds_is_shown() {
        let rate = LinkLimit::parse_rate("10Gbit").unwrap();
        let limit = LinkLimit { bytes_per_s: Some(rate), latency: Duration::from_micros(50) };
        assert_eq!(limit.to_string(), "1250MB/s, 50us each way");
    }
}
