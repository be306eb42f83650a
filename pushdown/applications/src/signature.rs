// SPDX-License-Identifier: Apache-2.0
//! Hashes components, and checks who has signed a package.
//!
//! The signature is Ed25519, over [`signed_bytes`]: the manifest and the component, so that neither
//! rights nor code can be replaced.

use std::str::FromStr;

use ring::{digest, signature};

use crate::error::{Error, Result};

/// Whether packages without a signature are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unsigned {
    /// They are.
    #[default]
    Accepted,
    /// They are not.
    Refused,
}

/// A public key of Ed25519.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(pub [u8; 32]);

/// A signature of Ed25519.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature(pub [u8; 64]);

/// Reads bytes that are written as hexadecimal digits.
fn read_hex<const N: usize>(text: &str) -> Result<[u8; N]> {
    let wrong = || Error::Signature { reason: "a key has 64 hexadecimal digits, a signature 128" };
    let digit = |sign: u8| (sign as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return Err(wrong());
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let (high, low) = digit(pair[0]).zip(digit(pair[1])).ok_or_else(wrong)?;
        *byte = high << 4 | low;
    }
    Ok(bytes)
}

impl FromStr for PublicKey {
    type Err = Error;

    /// Reads a key of 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self> {
        read_hex(text).map(Self)
    }
}

impl FromStr for Signature {
    type Err = Error;

    /// Reads a signature of 128 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self> {
        read_hex(text).map(Self)
    }
}

/// Whose packages are taken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trust {
    /// Keys of whom is trusted.
    pub keys: Vec<PublicKey>,
    /// What is done with packages that nobody has signed.
    pub unsigned: Unsigned,
}

impl Trust {
    /// Checks a signature. One that is there has to be right, also where none is needed.
    pub(crate) fn check(
        &self,
        manifest: &str,
        component: &[u8],
        signature: Option<&Signature>,
    ) -> Result<()> {
        let Some(found) = signature else {
            return match self.unsigned {
                Unsigned::Accepted => Ok(()),
                Unsigned::Refused => Err(Error::Signature { reason: "there is none" }),
            };
        };
        let message = signed_bytes(manifest, component);
        let is_of = |key: &PublicKey| {
            let key = signature::UnparsedPublicKey::new(&signature::ED25519, key.0);
            key.verify(&message, &found.0).is_ok()
        };
        match self.keys.iter().any(is_of) {
            true => Ok(()),
            false => Err(Error::Signature { reason: "it is of no key that is trusted" }),
        }
    }
}

/// The SHA-256 of bytes, in hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let hash = digest::digest(&digest::SHA256, bytes);
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a signature is of: a line with the name of the format, a line with the SHA-256 of the
/// manifest and a line with that of the component, in hexadecimal digits.
#[must_use]
pub fn signed_bytes(manifest: &str, component: &[u8]) -> Vec<u8> {
    let (of_manifest, of_component) = (sha256(manifest.as_bytes()), sha256(component));
    format!("nearscan application 1\n{of_manifest}\n{of_component}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use ring::signature::{Ed25519KeyPair, KeyPair};
    use rstest::rstest;

    use super::*;

    fn pair(seed: u8) -> (Ed25519KeyPair, PublicKey) {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        let key = PublicKey(pair.public_key().as_ref().try_into().unwrap());
        (pair, key)
    }

    fn sign(seed: u8, manifest: &str, component: &[u8]) -> Signature {
        let message = signed_bytes(manifest, component);
        Signature(pair(seed).0.sign(&message).as_ref().try_into().unwrap())
    }

    #[test]
    fn hash_is_that_of_the_standard() {
        // The example of FIPS 180-2.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
    }

    #[rstest]
    #[case::right(1, "m", b"c", true)]
    #[case::of_another_key(2, "m", b"c", false)]
    #[case::of_another_manifest(1, "n", b"c", false)]
    #[case::of_another_component(1, "m", b"d", false)]
    fn signature_is_of_all_that_it_signs(
        #[case] seed: u8,
        #[case] manifest: &str,
        #[case] component: &[u8],
        #[case] expected: bool,
    ) {
        let trust = Trust { keys: vec![pair(3).1, pair(1).1], unsigned: Unsigned::Accepted };
        let signature = sign(seed, manifest, component);
        assert_eq!(trust.check("m", b"c", Some(&signature)).is_ok(), expected);
    }

    #[test]
    fn keys_are_read_from_hexadecimal_digits() {
        let text = format!("{}{}", "0aF".repeat(21), "1");
        let key: PublicKey = text.parse().unwrap();
        assert_eq!(key.0[..4], [0x0a, 0xf0, 0xaf, 0x0a]);
        assert_eq!(key.0[31], 0xf1);
        for wrong in ["", "00", &"g0".repeat(32), &"0".repeat(65), &"ä".repeat(32)] {
            assert!(wrong.parse::<PublicKey>().is_err(), "{wrong}");
        }
        assert!("00".repeat(64).parse::<Signature>().is_ok());
    }

    #[test]
    fn package_without_signature_is_taken_where_that_is_accepted() {
        let trust = |unsigned| Trust { keys: Vec::new(), unsigned };
        assert!(trust(Unsigned::Accepted).check("m", b"c", None).is_ok());
        assert!(trust(Unsigned::Refused).check("m", b"c", None).is_err());
    }
}
