// SPDX-License-Identifier: Apache-2.0
//! Parses the address of a card: its index, or its address on the PCI bus.

use std::fmt;

use crate::error::OpenError;

/// Which card.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Address {
    /// By the order in which the runtime finds them.
    Index(u32),
    /// `domain:bus:device.function`; which one that is does not change with what else is there.
    Bus(String),
}

impl Address {
    /// Reads one.
    ///
    /// # Errors
    /// [`OpenError::Target`] when it is neither.
    pub(crate) fn parse(text: &str) -> Result<Self, OpenError> {
        if let Ok(index) = text.parse() {
            return Ok(Self::Index(index));
        }
        match is_bus_address(text) {
            true => Ok(Self::Bus(text.to_owned())),
            false => Err(OpenError::Target { target: text.to_owned() }),
        }
    }

    pub(crate) fn is_index_below(&self, count: u32) -> bool {
        matches!(self, Self::Index(index) if *index < count)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::Bus(address) => f.write_str(address),
        }
    }
}

/// Whether text is `0000:01:00.1`.
pub(crate) fn is_bus_address(text: &str) -> bool {
    let shape = "xxxx:xx:xx.x";
    text.len() == shape.len()
        && text.chars().zip(shape.chars()).all(|(found, wanted)| match wanted {
            'x' => found.is_ascii_hexdigit(),
            separator => found == separator,
        })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0", "0")]
    #[case("12", "12")]
    #[case("0000:3b:00.1", "0000:3b:00.1")]
    fn cards_have_an_index_or_an_address(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(Address::parse(text).unwrap().to_string(), expected);
    }

    #[rstest]
    #[case("")]
    #[case("-1")]
    #[case("3b:00.1")]
    #[case("0000:3b:00,1")]
    #[case("0000:3g:00.1")]
    fn invalid_address_is_refused(#[case] text: &str) {
        let error = Address::parse(text).unwrap_err().to_string();
        assert!(error.contains("neither an index nor an address"), "{error}");
    }
}
