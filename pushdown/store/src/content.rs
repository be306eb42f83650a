// SPDX-License-Identifier: Apache-2.0
//! Hashes the bytes of an object while they are written.
//!
//! The hash tells whether objects of two stores have the same bytes; it is no proof against anyone
//! who makes bytes to have a certain hash.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

/// XXH3, of 128 bits, of all bytes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash(pub u128);

/// In hexadecimal, as `xxh128sum` prints it.
impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The hash of the bytes so far.
#[derive(Default)]
pub(crate) struct Hashing(Box<Xxh3>);

impl Hashing {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(&self) -> ContentHash {
        ContentHash(self.0.digest128())
    }
}

impl fmt::Debug for Hashing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hashing").field(&self.finish()).finish()
    }
}
