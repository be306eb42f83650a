// SPDX-License-Identifier: Apache-2.0
//! Compares numbers with numbers and with lists.

use arrow::buffer::{BooleanBuffer, MutableBuffer};
use nearscan_command::Op;

use crate::{
    simd::by_level,
    values::{NumberValues, Numbers, intersect},
    vector::Truth,
};

/// A numeric operand.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number<'a> {
    /// One value a row.
    Vector(&'a Numbers),
    /// The same value in every row.
    Constant(i128),
    /// NULL in every row.
    Null,
}

/// One side of a loop over rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side<'a, T> {
    Slice(&'a [T]),
    Constant(T),
}

impl<'a> Number<'a> {
    pub(crate) fn validity(self) -> Option<&'a BooleanBuffer> {
        match self {
            Self::Vector(numbers) => numbers.validity.as_ref(),
            Self::Constant(_) | Self::Null => None,
        }
    }

    /// As 64-bit numbers, if they all are.
    pub(crate) fn narrow(self) -> Option<Side<'a, i64>> {
        match self {
            Self::Vector(Numbers { values: NumberValues::Narrow(values), .. }) => {
                Some(Side::Slice(values))
            }
            Self::Constant(value) => i64::try_from(value).ok().map(Side::Constant),
            Self::Vector(_) | Self::Null => None,
        }
    }

    /// The value of `row`; of a null row, anything.
    pub(crate) fn wide(self, row: usize) -> i128 {
        match self {
            Self::Vector(Numbers { values: NumberValues::Narrow(values), .. }) => {
                i128::from(values[row])
            }
            Self::Vector(Numbers { values: NumberValues::Wide(values), .. }) => values[row],
            Self::Constant(value) => value,
            Self::Null => 0,
        }
    }
}

/// `a op b` for each of `rows` rows.
pub(crate) fn compare(op: Op, a: Number<'_>, b: Number<'_>, rows: usize) -> Truth {
    if matches!(a, Number::Null) || matches!(b, Number::Null) {
        return Truth::null(rows);
    }
    let holds = match (a.narrow(), b.narrow()) {
        (Some(a), Some(b)) => match op {
            Op::Equal => zip(a, b, rows, |a, b| a == b),
            Op::NotEqual => zip(a, b, rows, |a, b| a != b),
            Op::Less => zip(a, b, rows, |a, b| a < b),
            Op::LessOrEqual => zip(a, b, rows, |a, b| a <= b),
            Op::Greater => zip(a, b, rows, |a, b| a > b),
            _ => zip(a, b, rows, |a, b| a >= b),
        },
        _ => BooleanBuffer::collect_bool(rows, |row| {
            let (a, b) = (a.wide(row), b.wide(row));
            match op {
                Op::Equal => a == b,
                Op::NotEqual => a != b,
                Op::Less => a < b,
                Op::LessOrEqual => a <= b,
                Op::Greater => a > b,
                _ => a >= b,
            }
        }),
    };
    Truth::of(holds, intersect(a.validity(), b.validity()).as_ref())
}

/// `a IS DISTINCT FROM b` for each of `rows` rows; never NULL.
pub(crate) fn is_distinct(a: Number<'_>, b: Number<'_>, rows: usize) -> Truth {
    let is_null = |number| matches!(number, Number::Null);
    let is_true = match (is_null(a), is_null(b)) {
        (true, true) => BooleanBuffer::new_unset(rows),
        (true, false) => is_valid(b, rows),
        (false, true) => is_valid(a, rows),
        (false, false) => {
            // Where both are there they differ, or only one of them is there.
            let differs = compare(Op::NotEqual, a, b, rows).is_true;
            match (a.validity(), b.validity()) {
                (None, None) => differs,
                _ => &differs | &(&is_valid(a, rows) ^ &is_valid(b, rows)),
            }
        }
    };
    Truth { is_false: !&is_true, is_true }
}

fn is_valid(number: Number<'_>, rows: usize) -> BooleanBuffer {
    number.validity().cloned().unwrap_or_else(|| BooleanBuffer::new_set(rows))
}

/// A bitmap of `holds` over both sides. The shape of the sides is decided before the loop.
fn zip(
    a: Side<'_, i64>,
    b: Side<'_, i64>,
    rows: usize,
    holds: impl Fn(i64, i64) -> bool,
) -> BooleanBuffer {
    match (a, b) {
        (Side::Slice(a), Side::Slice(b)) => both(&a[..rows], &b[..rows], holds),
        (Side::Slice(a), Side::Constant(b)) => each(&a[..rows], |a| holds(a, b)),
        (Side::Constant(a), Side::Slice(b)) => each(&b[..rows], |b| holds(a, b)),
        (Side::Constant(a), Side::Constant(b)) => match holds(a, b) {
            true => BooleanBuffer::new_set(rows),
            false => BooleanBuffer::new_unset(rows),
        },
    }
}

/// Rows of a word of a bitmap.
const WORD: usize = 64;

by_level! {
    /// A bitmap of the values that `holds` is true of.
    fn each[F: Fn(i64) -> bool](values: &[i64], holds: F) -> BooleanBuffer {
        let (words, rest) = values.as_chunks::<WORD>();
        let mut bits = MutableBuffer::with_capacity(values.len().div_ceil(WORD) * 8);
        for values in words {
            let bit = |(row, value): (usize, &i64)| u64::from(holds(*value)) << row;
            bits.push(values.iter().enumerate().map(bit).fold(0, |word, bit| word | bit));
        }
        if !rest.is_empty() {
            let bit = |(row, value): (usize, &i64)| u64::from(holds(*value)) << row;
            bits.push(rest.iter().enumerate().map(bit).fold(0, |word, bit| word | bit));
        }
        BooleanBuffer::new(bits.into(), 0, values.len())
    }
}

by_level! {
    /// A bitmap of the pairs that `holds` is true of; both sides have the same length.
    fn both[F: Fn(i64, i64) -> bool](a: &[i64], b: &[i64], holds: F) -> BooleanBuffer {
        let ((a_words, a_rest), (b_words, b_rest)) =
            (a.as_chunks::<WORD>(), b.as_chunks::<WORD>());
        let mut bits = MutableBuffer::with_capacity(a.len().div_ceil(WORD) * 8);
        for (a, b) in a_words.iter().zip(b_words) {
            let pairs = a.iter().zip(b).enumerate();
            let bit = |(row, (a, b)): (usize, (&i64, &i64))| u64::from(holds(*a, *b)) << row;
            bits.push(pairs.map(bit).fold(0, |word, bit| word | bit));
        }
        if !a_rest.is_empty() {
            let pairs = a_rest.iter().zip(b_rest).enumerate();
            let bit = |(row, (a, b)): (usize, (&i64, &i64))| u64::from(holds(*a, *b)) << row;
            bits.push(pairs.map(bit).fold(0, |word, bit| word | bit));
        }
        BooleanBuffer::new(bits.into(), 0, a.len())
    }
}

/// A list of numbers, made for looking up.
#[derive(Debug, Clone)]
pub(crate) struct List {
    /// Those that fit in 64 bits, ordered.
    narrow: Vec<i64>,
    /// All, ordered.
    wide: Vec<i128>,
}

/// Up to so many entries are compared one by one: no branch of that loop is mispredicted.
const LINEAR_MAX: usize = 8;

impl List {
    pub(crate) fn new(literals: &[i128]) -> Self {
        let mut wide = literals.to_vec();
        wide.sort_unstable();
        wide.dedup();
        let narrow = wide.iter().filter_map(|value| i64::try_from(*value).ok()).collect();
        Self { narrow, wide }
    }

    /// Which rows of `a` are in the list.
    pub(crate) fn contains(&self, a: Number<'_>, rows: usize) -> Truth {
        let holds = match a {
            Number::Null => return Truth::null(rows),
            Number::Constant(value) => match self.wide.binary_search(&value) {
                Ok(_) => BooleanBuffer::new_set(rows),
                Err(_) => BooleanBuffer::new_unset(rows),
            },
            Number::Vector(Numbers { values: NumberValues::Narrow(values), .. }) => {
                let values = &values[..rows];
                if self.narrow.len() <= LINEAR_MAX {
                    let find = |value| {
                        self.narrow.iter().fold(false, |found, entry| found | (*entry == value))
                    };
                    each(values, find)
                } else {
                    each(values, |value| self.narrow.binary_search(&value).is_ok())
                }
            }
            Number::Vector(Numbers { values: NumberValues::Wide(values), .. }) => {
                BooleanBuffer::collect_bool(rows, |row| {
                    self.wide.binary_search(&values[row]).is_ok()
                })
            }
        };
        Truth::of(holds, a.validity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::at_each_level;

    fn numbers(values: &[Option<i128>]) -> Numbers {
        Numbers {
            values: NumberValues::of(values.iter().map(|value| value.unwrap_or(3)).collect()),
            validity: values
                .iter()
                .any(Option::is_none)
                .then(|| values.iter().map(Option::is_some).collect()),
        }
    }

    #[test]
    fn comparisons_agree_at_each_level_with_comparing_row_by_row() {
        let values: Vec<i64> = (0..200).map(|row: i64| row * 37 % 91 - 45).collect();
        let others: Vec<i64> = (0..200).map(|row: i64| row * 53 % 91 - 45).collect();
        let wrap = |values: &[i64]| Numbers::narrow(values.to_vec(), None);
        let list = List::new(&[-3, 0, 7]);
        for rows in [0, 1, 63, 64, 65, 200] {
            let (a, b) = (wrap(&values[..rows]), wrap(&others[..rows]));
            for found in at_each_level(|| {
                let (a, b) = (Number::Vector(&a), Number::Vector(&b));
                let less = compare(Op::Less, a, b, rows).is_true;
                let most = compare(Op::LessOrEqual, Number::Constant(7), b, rows).is_true;
                (less, most, list.contains(a, rows).is_true)
            }) {
                let row = |row: usize| (values[row], others[row]);
                let bits = |holds: fn(i64, i64) -> bool| {
                    BooleanBuffer::collect_bool(rows, |at| holds(row(at).0, row(at).1))
                };
                let listed = bits(|a, _| [-3, 0, 7].contains(&a));
                assert_eq!(found, (bits(|a, b| a < b), bits(|_, b| 7 <= b), listed), "{rows}");
            }
        }
    }

    #[test]
    fn null_is_distinct_from_numbers_only() {
        let a = numbers(&[Some(3), Some(3), None, None, Some(1 << 70)]);
        let b = numbers(&[Some(3), Some(4), Some(3), None, Some(1 << 71)]);
        let (a, b) = (Number::Vector(&a), Number::Vector(&b));
        let of = |a, b| is_distinct(a, b, 5).is_true.iter().map(u8::from).collect::<Vec<_>>();
        assert_eq!(of(a, b), [0, 1, 1, 0, 1]);
        assert_eq!(of(a, Number::Null), [1, 1, 0, 0, 1]);
        assert_eq!(of(Number::Null, b), [1, 1, 1, 0, 1]);
        assert_eq!(of(Number::Null, Number::Null), [0; 5]);
        assert_eq!(of(a, Number::Constant(3)), [0, 0, 1, 1, 1]);
        let all = numbers(&[Some(3), Some(4), Some(5), Some(3), Some(0)]);
        assert_eq!(of(Number::Vector(&all), Number::Constant(3)), [0, 1, 1, 0, 1]);
        let verdict = is_distinct(a, b, 5);
        assert_eq!(verdict.is_false, !&verdict.is_true);
    }
}
