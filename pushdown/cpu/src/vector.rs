// SPDX-License-Identifier: Apache-2.0
//! The values of a batch: one vector a column or step.

use arrow::buffer::BooleanBuffer;
use parquet::data_type::ByteArray;

/// One value for each row of a batch.
#[derive(Debug, Clone)]
pub(crate) enum Vector {
    /// Numbers.
    Numbers(Numbers),
    /// Truth values.
    Truth(Truth),
    /// Byte strings.
    Strings(Strings),
    /// Of a column that nothing refers to.
    Unused,
}

/// Numbers; what stands in null rows does not matter.
#[derive(Debug, Clone)]
pub(crate) struct Numbers {
    pub(crate) values: NumberValues,
    /// `None` when no row is null.
    pub(crate) validity: Option<BooleanBuffer>,
}

/// The storage of numbers: as narrow as the values of this batch allow.
#[derive(Debug, Clone)]
pub(crate) enum NumberValues {
    /// Each fits in 64 bits.
    Narrow(Vec<i64>),
    /// Some do not.
    Wide(Vec<i128>),
}

/// Truth values: two bitmaps that share no row. A row in neither is NULL.
#[derive(Debug, Clone)]
pub(crate) struct Truth {
    pub(crate) is_true: BooleanBuffer,
    pub(crate) is_false: BooleanBuffer,
}

/// Byte strings: references into pages and dictionaries, nothing is copied.
#[derive(Debug, Clone)]
pub(crate) struct Strings {
    pub(crate) values: Vec<ByteArray>,
    pub(crate) validity: Option<BooleanBuffer>,
}

impl Strings {
    /// The bytes of `row`; of a null row, none.
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        self.values[row].data()
    }
}

impl Numbers {
    pub(crate) const fn narrow(values: Vec<i64>, validity: Option<BooleanBuffer>) -> Self {
        Self { values: NumberValues::Narrow(values), validity }
    }
}

impl Truth {
    /// Of a comparison: `holds` where both sides are there, NULL elsewhere.
    pub(crate) fn of(holds: BooleanBuffer, validity: Option<&BooleanBuffer>) -> Self {
        match validity {
            None => Self { is_false: !&holds, is_true: holds },
            Some(validity) => Self { is_true: &holds & validity, is_false: &!&holds & validity },
        }
    }

    /// NULL in every row.
    pub(crate) fn null(rows: usize) -> Self {
        let none = BooleanBuffer::new_unset(rows);
        Self { is_true: none.clone(), is_false: none }
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        Self { is_true: &self.is_true & &other.is_true, is_false: &self.is_false | &other.is_false }
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        Self { is_true: &self.is_true | &other.is_true, is_false: &self.is_false & &other.is_false }
    }

    pub(crate) fn not(&self) -> Self {
        Self { is_true: self.is_false.clone(), is_false: self.is_true.clone() }
    }

    /// Which rows are not NULL.
    pub(crate) fn validity(&self) -> BooleanBuffer {
        &self.is_true | &self.is_false
    }
}

impl Vector {
    /// Which rows are not NULL; `None` when all are.
    pub(crate) fn validity(&self) -> Option<BooleanBuffer> {
        match self {
            Self::Numbers(numbers) => numbers.validity.clone(),
            Self::Strings(strings) => strings.validity.clone(),
            Self::Truth(truth) => Some(truth.validity()),
            Self::Unused => None,
        }
    }

    /// The rows of `indices`, in their order.
    pub(crate) fn gather(&self, indices: &[usize]) -> Self {
        match self {
            Self::Numbers(numbers) => Self::Numbers(Numbers {
                values: match &numbers.values {
                    NumberValues::Narrow(values) => NumberValues::Narrow(pick(values, indices)),
                    NumberValues::Wide(values) => NumberValues::Wide(pick(values, indices)),
                },
                validity: numbers.validity.as_ref().map(|bits| pick_bits(bits, indices)),
            }),
            Self::Strings(strings) => Self::Strings(Strings {
                values: pick(&strings.values, indices),
                validity: strings.validity.as_ref().map(|bits| pick_bits(bits, indices)),
            }),
            Self::Truth(truth) => Self::Truth(Truth {
                is_true: pick_bits(&truth.is_true, indices),
                is_false: pick_bits(&truth.is_false, indices),
            }),
            Self::Unused => Self::Unused,
        }
    }
}

fn pick<T: Clone>(values: &[T], indices: &[usize]) -> Vec<T> {
    indices.iter().map(|index| values[*index].clone()).collect()
}

fn pick_bits(bits: &BooleanBuffer, indices: &[usize]) -> BooleanBuffer {
    BooleanBuffer::collect_bool(indices.len(), |row| bits.value(indices[row]))
}

/// The rows that are in both; `None` stands for all rows.
pub(crate) fn intersect(
    a: Option<&BooleanBuffer>,
    b: Option<&BooleanBuffer>,
) -> Option<BooleanBuffer> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a & b),
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of false, NULL and true.
    fn pairs() -> (Truth, Truth) {
        let make = |of: fn(usize) -> usize| Truth {
            is_true: BooleanBuffer::collect_bool(9, |row| of(row) == 2),
            is_false: BooleanBuffer::collect_bool(9, |row| of(row) == 0),
        };
        (make(|row| row / 3), make(|row| row % 3))
    }

    /// `f`, `n` and `t` for each row.
    fn letters(truth: &Truth) -> String {
        (0..truth.is_true.len())
            .map(|row| match (truth.is_true.value(row), truth.is_false.value(row)) {
                (true, false) => 't',
                (false, true) => 'f',
                (false, false) => 'n',
                (true, true) => '!',
            })
            .collect()
    }

    #[test]
    fn logic_has_three_values() {
        let (a, b) = pairs();
        assert_eq!(letters(&a.and(&b)), "ffffnnfnt");
        assert_eq!(letters(&a.or(&b)), "fntnntttt");
        assert_eq!(letters(&a.not()), "tttnnnfff");
        assert_eq!(letters(&Truth::null(2)), "nn");
    }

    #[test]
    fn a_comparison_is_null_where_a_side_is() {
        let holds = BooleanBuffer::from(vec![true, true, false, false]);
        let valid = BooleanBuffer::from(vec![true, false, true, false]);
        assert_eq!(letters(&Truth::of(holds.clone(), Some(&valid))), "tnfn");
        assert_eq!(letters(&Truth::of(holds, None)), "ttff");
    }
}
