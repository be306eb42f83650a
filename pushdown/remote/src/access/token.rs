// SPDX-License-Identifier: Apache-2.0
//! Defines [`Token`], the secret of a client, and [`Digest`], what a server keeps of it.
//!
//! A token is 256 random bits of the system, written as `nsd_` and 64 hexadecimal digits. Its hash
//! is the SHA-256 of that text, so that anyone can make one: `printf %s TOKEN | sha256sum`. A hash
//! that is slow on purpose is for passwords; 256 random bits cannot be guessed.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq};

/// The start of each token: whoever finds one in a log knows what it is.
const PREFIX: &str = "nsd_";

/// Random bytes of a token.
const RANDOM_BYTES: usize = 32;

/// Bytes of text that is looked at as a token, at most. A token of ours has 68.
const TEXT_BYTES_MAX: usize = 512;

/// The secret by which a client is known.
///
/// It is shown once, by [`Token::reveal`]; no other text of this crate has it.
pub struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; RANDOM_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(format!("{PREFIX}{}", Hex(&bytes))))
    }

    /// The text that the client presents.
    pub fn reveal(self) -> String {
        self.0
    }

    pub(super) fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The SHA-256 of a token or a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Digest([u8; 32]);

impl Digest {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The hash of what a client presents as its token; nothing when it is too long to be one.
    pub(super) fn of_bearer(text: &str) -> Option<Self> {
        (text.len() <= TEXT_BYTES_MAX).then(|| Self::of(text.as_bytes()))
    }

    /// Reads 64 hexadecimal digits.
    pub(super) fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() || !text.is_ascii() {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let [high, low] = [digits[0], digits[1]].map(|digit| char::from(digit).to_digit(16));
            *byte = u8::try_from(high? << 4 | low?).ok()?;
        }
        Some(Self(bytes))
    }
}

/// In a time that does not depend on where they differ.
impl ConstantTimeEq for Digest {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Hex(&self.0), f)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Hex(&self.0), f)
    }
}

/// Bytes as hexadecimal digits.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_random_text_of_known_form() {
        let (first, second) = (Token::random().unwrap(), Token::random().unwrap());
        let (first, second) = (first.reveal(), second.reveal());
        assert_ne!(first, second);
        let digits = first.strip_prefix("nsd_").unwrap();
        assert_eq!(digits.len(), 64);
        assert!(digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')), "{digits}");
        assert_ne!(digits, "0".repeat(64));
    }

    #[test]
    fn token_is_not_in_its_debug_text() {
        let token = Token::random().unwrap();
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn hash_is_the_sha_256_of_the_text() {
        // From `printf %s abc | sha256sum`.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_string(), abc);
        assert_eq!(Digest::from_hex(abc), Digest::of_bearer("abc"));
        assert_eq!(Digest::from_hex(&abc.to_uppercase()), Some(Digest::of(b"abc")));
        assert_eq!(Digest::of_bearer(&"x".repeat(TEXT_BYTES_MAX + 1)), None);
    }

    #[test]
    fn text_that_is_no_hash_is_refused() {
        let good = "0".repeat(64);
        let texts = ["", "00", &good[1..], &format!("{good}0"), &format!("{}g", &good[1..])];
        for text in texts.iter().chain(&[&*"é".repeat(32), &*format!("+{}", &good[1..])]) {
            assert_eq!(Digest::from_hex(text), None, "{text}");
        }
    }
}
