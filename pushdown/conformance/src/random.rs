// SPDX-License-Identifier: Apache-2.0
//! Generates seeded random numbers: the same seed gives the same cases on every machine.

/// A small generator (SplitMix64): good enough to choose cases, and three lines long.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator that starts from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        usize::try_from(self.word() % bound).unwrap_or(0)
    }

    /// An index below `bound`, as operands have it.
    pub fn index(&mut self, bound: usize) -> u16 {
        u16::try_from(self.below(bound)).unwrap_or(u16::MAX)
    }

    /// True once in `count` times.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// One of `list`, which is not empty.
    pub fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    /// A signed number between `-reach` and `reach`.
    pub fn around_zero(&mut self, reach: i64) -> i64 {
        let span = reach.unsigned_abs().saturating_mul(2).saturating_add(1);
        (self.word() % span).cast_signed() - reach
    }
}
