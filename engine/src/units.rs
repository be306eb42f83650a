// SPDX-License-Identifier: Apache-2.0
//! Parses and formats sizes in bytes: `512MiB`, `4G`, `1000`.
//!
//! Binary and decimal suffixes have their usual meaning, but a bare `K`, `M`, `G` or `T` is binary,
//! as in DataFusion's settings.

/// Bytes per suffix, longest suffix first so that `MiB` is not read as `B`.
const SUFFIXES: [(&str, f64); 13] = [
    ("kib", 1024.0),
    ("mib", 1024.0 * 1024.0),
    ("gib", 1024.0 * 1024.0 * 1024.0),
    ("tib", 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("k", 1024.0),
    ("m", 1024.0 * 1024.0),
    ("g", 1024.0 * 1024.0 * 1024.0),
    ("t", 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ("b", 1.0),
];

/// Largest valid size: a larger `f64` does not represent every integer.
const BYTES_MAX: f64 = 9_007_199_254_740_992.0;

/// Reads a size such as `4MiB`, `1.5G` or `65536` and returns it in bytes.
///
/// # Errors
/// Returns the reason, as text that fits after "invalid size '...':".
pub fn parse_bytes(text: &str) -> Result<u64, &'static str> {
    let lower = text.trim().to_ascii_lowercase();
    let (number, bytes_per_unit) = SUFFIXES
        .iter()
        .find_map(|(suffix, bytes)| lower.strip_suffix(suffix).map(|number| (number, *bytes)))
        .unwrap_or((lower.as_str(), 1.0));
    let number: f64 = number.trim().parse().map_err(|_| "not a number with a unit such as MiB")?;
    if !number.is_finite() || number < 0.0 {
        return Err("a size is neither negative nor infinite");
    }
    let bytes = number * bytes_per_unit;
    if bytes > BYTES_MAX {
        return Err("larger than 8 PiB");
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above: finite, not negative and exactly representable"
    )]
    let bytes = bytes.round() as u64;
    Ok(bytes)
}

/// Writes a size with a binary suffix and at most one decimal: `0 B`, `1.5 KiB`, `4.4 MiB`.
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    #[allow(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{size:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("0", 0)]
    #[case("65536", 65_536)]
    #[case("12B", 12)]
    #[case("4MiB", 4 << 20)]
    #[case("4 mib", 4 << 20)]
    #[case("1.5G", 3 << 29)]
    #[case("2k", 2_048)]
    #[case("2kB", 2_000)]
    #[case("1TB", 1_000_000_000_000)]
    fn reads_sizes(#[case] text: &str, #[case] bytes: u64) {
        assert_eq!(parse_bytes(text), Ok(bytes));
    }

    #[rstest]
    #[case("")]
    #[case("MiB")]
    #[case("-1")]
    #[case("inf")]
    #[case("nan")]
    #[case("4 MiBs")]
    #[case("9000T")]
    fn refuses_invalid_sizes(#[case] text: &str) {
        assert!(parse_bytes(text).is_err());
    }

    #[rstest]
    #[case(0, "0 B")]
    #[case(1023, "1023 B")]
    #[case(1536, "1.5 KiB")]
    #[case(4_613_734, "4.4 MiB")]
    #[case(u64::MAX, "16777216.0 TiB")]
    fn writes_sizes(#[case] bytes: u64, #[case] text: &str) {
        assert_eq!(format_bytes(bytes), text);
    }
}
