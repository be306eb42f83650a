// SPDX-License-Identifier: Apache-2.0
//! Compares numbers with numbers and with lists.

use arrow::buffer::BooleanBuffer;
use nearscan_command::Op;

use crate::{
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
        (Side::Slice(a), Side::Slice(b)) => {
            let (a, b) = (&a[..rows], &b[..rows]);
            BooleanBuffer::collect_bool(rows, |row| holds(a[row], b[row]))
        }
        (Side::Slice(a), Side::Constant(b)) => {
            let a = &a[..rows];
            BooleanBuffer::collect_bool(rows, |row| holds(a[row], b))
        }
        (Side::Constant(a), Side::Slice(b)) => {
            let b = &b[..rows];
            BooleanBuffer::collect_bool(rows, |row| holds(a, b[row]))
        }
        (Side::Constant(a), Side::Constant(b)) => match holds(a, b) {
            true => BooleanBuffer::new_set(rows),
            false => BooleanBuffer::new_unset(rows),
        },
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
                    BooleanBuffer::collect_bool(rows, |row| {
                        self.narrow
                            .iter()
                            .fold(false, |found, entry| found | (*entry == values[row]))
                    })
                } else {
                    BooleanBuffer::collect_bool(rows, |row| {
                        self.narrow.binary_search(&values[row]).is_ok()
                    })
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
