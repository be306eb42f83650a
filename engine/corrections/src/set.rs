// SPDX-License-Identifier: Apache-2.0
//! Defines the set of corrections that are on, the value of `nearscan.corrections`.

use std::{fmt, str::FromStr};

use crate::registry::{CORRECTIONS, Correction};

/// A set of corrections, written as `all`, `none`, or their names separated by commas.
///
/// ```
/// use nearscan_corrections::{Correction, CorrectionSet};
///
/// let set: CorrectionSet = "rewrite_not_in, protect_limits".parse()?;
/// assert!(set.contains(Correction::RewriteNotIn) && !set.contains(Correction::ProtectArrayHas));
/// assert_eq!(set.to_string(), "rewrite_not_in,protect_limits");
/// # Ok::<(), nearscan_corrections::UnknownCorrection>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CorrectionSet(u64);

/// A name that no correction has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown correction '{0}'")]
pub struct UnknownCorrection(pub String);

const _: () = assert!(size_of::<CorrectionSet>() == 8, "one bit for each correction");

impl CorrectionSet {
    /// Every correction.
    pub const ALL: Self = Self(u64::MAX);

    /// No correction: plans are those of plain DataFusion.
    pub const NONE: Self = Self(0);

    /// Returns the set of one correction.
    #[must_use]
    pub const fn only(correction: Correction) -> Self {
        Self(1 << correction as u8)
    }

    /// Returns the set with one more correction.
    #[must_use]
    pub const fn with(self, correction: Correction) -> Self {
        Self(self.0 | 1 << correction as u8)
    }

    /// Returns the set without one correction.
    #[must_use]
    pub fn without(self, correction: Correction) -> Self {
        let all = CORRECTIONS.iter().map(|row| row.correction);
        all.filter(|one| self.contains(*one) && *one != correction).collect()
    }

    /// Whether a correction is on.
    #[must_use]
    pub const fn contains(self, correction: Correction) -> bool {
        self.0 & (1 << correction as u8) != 0
    }

    /// Whether none is on.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Default for CorrectionSet {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Correction> for CorrectionSet {
    fn from_iter<I: IntoIterator<Item = Correction>>(corrections: I) -> Self {
        let bits = corrections.into_iter().fold(0, |bits, one| bits | 1 << one as u8);
        match bits == (1 << CORRECTIONS.len()) - 1 {
            true => Self::ALL,
            false => Self(bits),
        }
    }
}

impl FromStr for CorrectionSet {
    type Err = UnknownCorrection;

    fn from_str(text: &str) -> Result<Self, UnknownCorrection> {
        match text.trim().to_ascii_lowercase().as_str() {
            "all" => return Ok(Self::ALL),
            "none" | "" => return Ok(Self::NONE),
            _ => {}
        }
        text.split(',')
            .map(|name| {
                let name = name.trim().to_ascii_lowercase();
                let row = CORRECTIONS.iter().find(|row| row.name == name);
                row.map(|row| row.correction).ok_or(UnknownCorrection(name))
            })
            .collect()
    }
}

impl fmt::Display for CorrectionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ALL => f.write_str("all"),
            Self::NONE => f.write_str("none"),
            _ => {
                let on = CORRECTIONS.iter().filter(|row| self.contains(row.correction));
                let names: Vec<&str> = on.map(|row| row.name).collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("all", "all")]
    #[case("None", "none")]
    #[case("", "none")]
    #[case("rewrite_not_in", "rewrite_not_in")]
    #[case(" PROTECT_LIMITS ,rewrite_not_in", "rewrite_not_in,protect_limits")]
    fn set_is_parsed_and_formatted(#[case] text: &str, #[case] shown: &str) {
        let set: CorrectionSet = text.parse().unwrap();
        assert_eq!(set.to_string(), shown);
        assert_eq!(shown.parse(), Ok(set));
    }

    #[test]
    fn unknown_name_is_refused() {
        let refused = "rewrite_not_in,rewrite".parse::<CorrectionSet>();
        assert_eq!(refused, Err(UnknownCorrection("rewrite".to_owned())));
    }

    #[test]
    fn set_of_all_names_is_all() {
        let names: Vec<&str> = CORRECTIONS.iter().map(|row| row.name).collect();
        assert_eq!(names.join(",").parse(), Ok(CorrectionSet::ALL));
        let one_less = CorrectionSet::ALL.without(Correction::RewriteNotIn);
        assert!(!one_less.contains(Correction::RewriteNotIn));
        assert!(one_less.contains(Correction::ProtectLimits));
    }
}
