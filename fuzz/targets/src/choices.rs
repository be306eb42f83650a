// SPDX-License-Identifier: Apache-2.0
//! Reads bytes as a sequence of choices; after the end all are 0.

/// The bytes that are left to choose from.
pub(crate) struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    /// Eight bytes.
    pub(crate) fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// A number below `bound`, which is up to 256.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    /// A number that a field might wrongly hold: one beside the original, one at the edge of some
    /// width, or any.
    pub(crate) fn wrong_number(&mut self, original: i64) -> i64 {
        let edge = |bits: u32| 1i64.checked_shl(bits).unwrap_or(i64::MIN);
        match self.byte() % 6 {
            0 => original.wrapping_add(1),
            1 => original.wrapping_sub(1),
            2 => original.wrapping_add(i64::from(self.byte().cast_signed())),
            3 => edge(u32::from(self.byte()) % 64).wrapping_sub(1),
            4 => edge(u32::from(self.byte()) % 64).wrapping_neg(),
            _ => i64::from_le_bytes(self.word().to_le_bytes()),
        }
    }
}
