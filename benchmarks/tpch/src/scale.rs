// SPDX-License-Identifier: Apache-2.0
//! Defines the scale factor, the amount of data. One is about 1 GB of text and 360 MB of Parquet.

use std::{fmt, str::FromStr};

use crate::error::Error;

/// Largest scale factor of the specification.
const SCALE_MAX: f64 = 100_000.0;

/// A scale factor as it was typed; folders are named after the text, data is made by the value.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaleFactor {
    text: String,
    value: f64,
}

impl ScaleFactor {
    /// The number.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Name of the folder for its data and of the file with its answers, for example `sf0.01`.
    #[must_use]
    pub fn folder(&self) -> String {
        format!("sf{}", self.text)
    }
}

impl FromStr for ScaleFactor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |reason| Error::ScaleFactor { text: text.to_owned(), reason };
        if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return Err(refuse("expected a number such as 1 or 0.01"));
        }
        let value: f64 = text.parse().map_err(|_| refuse("expected a number such as 1 or 0.01"))?;
        if value <= 0.0 || value > SCALE_MAX {
            return Err(refuse("expected more than 0 and at most 100000"));
        }
        Ok(Self { text: text.to_owned(), value })
    }
}

impl fmt::Display for ScaleFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("1", "sf1", 1.0)]
    #[case("0.01", "sf0.01", 0.01)]
    #[case("10", "sf10", 10.0)]
    fn folder_is_named_as_typed(#[case] text: &str, #[case] folder: &str, #[case] value: f64) {
        let scale: ScaleFactor = text.parse().unwrap();
        assert_eq!((scale.folder().as_str(), scale.value()), (folder, value));
    }

    #[rstest]
    #[case("")]
    #[case("0")]
    #[case("-1")]
    #[case("1e3")]
    #[case("../1")]
    #[case("100001")]
    #[case("1.2.3")]
    fn refuses_invalid_scale(#[case] text: &str) {
        assert!(text.parse::<ScaleFactor>().is_err());
    }
}
