// SPDX-License-Identifier: Apache-2.0
//! Makes seeded arrays for the four jobs, with the answers of plain Rust.
//!
//! Every job works on the same number of elements: of a merge, half of them are in either input.
//! The answers are found in the plainest way that there is, and not the one that a kernel or a loop
//! of the host goes: a merge is a sort.
//!
//! Numbers are of any size, so few are equal, and the units of a merge find shares of even length.
//! With many equal numbers the shares are uneven, because equal ones fall to one unit, and the
//! curve over units becomes irregular.

use nearscan_models::study::Average;

/// The value that Count looks for.
pub const SOUGHT: i32 = 42;
const SOUGHT_EVERY: usize = 64;

/// The arrays.
#[derive(Debug, Clone)]
pub struct Data {
    /// For Count, Average and Vector Addition. `[elements]`
    pub a: Vec<i32>,
    /// The other one for Vector Addition. `[elements]`
    pub b: Vec<i32>,
    /// Sorted, for Array Merge. `[elements / 2]`
    pub sorted_a: Vec<i32>,
    /// The other one. `[elements - elements / 2]`
    pub sorted_b: Vec<i32>,
}

/// The right answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Golden {
    /// The number of elements of `a` that are [`SOUGHT`].
    pub count: u64,
    /// Sum of `a`, and how many elements it has.
    pub average: Average,
    /// Sums of the elements of `a` and `b`.
    pub added: Vec<i32>,
    /// Each value of the sorted arrays once, sorted.
    pub merged: Vec<i32>,
}

impl Data {
    /// Makes the arrays; the same for the same seed, everywhere.
    #[must_use]
    pub fn new(elements: usize, seed: u64) -> Self {
        let mut words = Words(seed);
        let mut a = words.array(elements);
        // By chance there would be none.
        a.iter_mut().step_by(SOUGHT_EVERY).for_each(|element| *element = SOUGHT);
        let b = words.array(elements);
        let mut sorted_a = words.array(elements / 2);
        let mut sorted_b = words.array(elements - elements / 2);
        sorted_a.sort_unstable();
        sorted_b.sort_unstable();
        Self { a, b, sorted_a, sorted_b }
    }

    /// Finds the right answers.
    #[must_use]
    pub fn golden(&self) -> Golden {
        let mut merged = [self.sorted_a.as_slice(), self.sorted_b.as_slice()].concat();
        merged.sort_unstable();
        merged.dedup();
        Golden {
            count: self.a.iter().filter(|element| **element == SOUGHT).count() as u64,
            average: Average {
                sum: self.a.iter().map(|element| i64::from(*element)).sum(),
                count: self.a.len() as u64,
            },
            added: self.a.iter().zip(&self.b).map(|(a, b)| a.wrapping_add(*b)).collect(),
            merged,
        }
    }
}

/// `SplitMix64`.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Numbers of any size.
    fn array(&mut self, elements: usize) -> Vec<i32> {
        (0..elements).map(|_| ((self.next() >> 32) as u32).cast_signed()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_arrays() {
        let data = Data::new(1001, 7);
        let again = Data::new(1001, 7);
        assert_eq!((&data.a, &data.sorted_b), (&again.a, &again.sorted_b));
        assert_ne!(data.a, Data::new(1001, 8).a);
        assert_ne!(data.a, data.b);
        assert_eq!((data.sorted_a.len(), data.sorted_b.len()), (500, 501));
        assert!(data.sorted_a.is_sorted() && data.sorted_b.is_sorted());
    }

    #[test]
    fn answers_of_small_arrays_are_right() {
        let data = Data {
            a: vec![SOUGHT, 1, i32::MAX],
            b: vec![0, 2, 1],
            sorted_a: vec![1, 1, 3],
            sorted_b: vec![-5, 3],
        };
        let golden = data.golden();
        assert_eq!(golden.count, 1);
        assert_eq!(golden.average.sum, 43 + i64::from(i32::MAX));
        assert_eq!(golden.added, [SOUGHT, 3, i32::MIN]);
        assert_eq!(golden.merged, [-5, 1, 3]);
    }

    #[test]
    fn sought_value_is_in_the_array() {
        assert_eq!(Data::new(6400, 1).golden().count, 100);
    }
}
