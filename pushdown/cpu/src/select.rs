// SPDX-License-Identifier: Apache-2.0
//! Computes CASE WHEN: selects one of two numbers in each row.

use arrow::buffer::BooleanBuffer;
use nearscan_command::Width;

use crate::{
    compare::{Number, Side},
    error::Stop,
    values::{NumberValues, Numbers},
    vector::Truth,
};

/// `taken` where `truth` is true, else `other`, for each of `rows` rows.
///
/// # Errors
/// [`Stop::OVERFLOW`] when either of them leaves `width`, be it taken or not.
pub(crate) fn select(
    width: Width,
    truth: &Truth,
    taken: Number<'_>,
    other: Number<'_>,
    rows: usize,
) -> Result<Numbers, Stop> {
    check_width(width, taken, rows)?;
    check_width(width, other, rows)?;
    let is_true = &truth.is_true;
    let values = match (side(taken), side(other)) {
        (Some(taken), Some(other)) => NumberValues::Narrow(match (taken, other) {
            (Side::Slice(taken), Side::Slice(other)) => {
                pick(is_true, rows, |row| taken[row], |row| other[row])
            }
            (Side::Slice(taken), Side::Constant(other)) => {
                pick(is_true, rows, |row| taken[row], |_| other)
            }
            (Side::Constant(taken), Side::Slice(other)) => {
                pick(is_true, rows, |_| taken, |row| other[row])
            }
            (Side::Constant(taken), Side::Constant(other)) => {
                pick(is_true, rows, |_| taken, |_| other)
            }
        }),
        _ => NumberValues::of(pick(is_true, rows, |row| taken.wide(row), |row| other.wide(row))),
    };
    let taken = rows_of(taken, rows).map(|valid| &valid & is_true);
    let other = rows_of(other, rows).map(|valid| &valid & &!is_true);
    let validity = match (taken, other) {
        (None, None) => None,
        (Some(taken), None) => Some(&taken | &!is_true),
        (None, Some(other)) => Some(&other | is_true),
        (Some(taken), Some(other)) => Some(&taken | &other),
    };
    Ok(Numbers { values, validity })
}

fn pick<T>(
    is_true: &BooleanBuffer,
    rows: usize,
    taken: impl Fn(usize) -> T,
    other: impl Fn(usize) -> T,
) -> Vec<T> {
    let bits = is_true.iter().take(rows).enumerate();
    bits.map(|(row, bit)| if bit { taken(row) } else { other(row) }).collect()
}

/// As 64-bit numbers, if they all are; NULL is 0.
fn side(number: Number<'_>) -> Option<Side<'_, i64>> {
    match number {
        Number::Null => Some(Side::Constant(0)),
        _ => number.narrow(),
    }
}

/// Which rows are not NULL; `None` when all are.
fn rows_of(number: Number<'_>, rows: usize) -> Option<BooleanBuffer> {
    match number {
        Number::Null => Some(BooleanBuffer::new_unset(rows)),
        _ => number.validity().cloned(),
    }
}

/// Checks that every number that is not NULL fits `width`.
fn check_width(width: Width, number: Number<'_>, rows: usize) -> Result<(), Stop> {
    let fits = match number {
        Number::Null => true,
        Number::Constant(value) => rows == 0 || width.fits(value),
        Number::Vector(numbers) => numbers.fit(width),
    };
    if fits { Ok(()) } else { Err(Stop::OVERFLOW) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: &[Option<i128>]) -> Numbers {
        Numbers {
            values: NumberValues::of(values.iter().map(|value| value.unwrap_or(1 << 40)).collect()),
            validity: values
                .iter()
                .any(Option::is_none)
                .then(|| values.iter().map(Option::is_some).collect()),
        }
    }

    fn truth(letters: &str) -> Truth {
        let of = |wanted| letters.chars().map(|letter| letter == wanted).collect();
        Truth { is_true: of('t'), is_false: of('f') }
    }

    fn selected(width: Width, letters: &str, a: Number<'_>, b: Number<'_>) -> Vec<Option<i128>> {
        let rows = letters.len();
        let numbers = select(width, &truth(letters), a, b, rows).unwrap();
        (0..rows).map(|row| numbers.get(row)).collect()
    }

    #[test]
    fn second_number_is_selected_unless_the_condition_is_true() {
        let a = numbers(&[Some(1), Some(2), Some(3), None]);
        let b = numbers(&[Some(10), Some(20), None, Some(40)]);
        let (a, b) = (Number::Vector(&a), Number::Vector(&b));
        let of = |letters, a, b| selected(Width::W32, letters, a, b);
        assert_eq!(of("tfnt", a, b), [Some(1), Some(20), None, None]);
        assert_eq!(of("ffff", a, b), [Some(10), Some(20), None, Some(40)]);
        assert_eq!(of("tfnt", a, Number::Null), [Some(1), None, None, None]);
        assert_eq!(of("tfnt", Number::Null, b), [None, Some(20), None, None]);
        let five = Number::Constant(5);
        assert_eq!(of("tftt", a, five), [Some(1), Some(5), Some(3), None]);
        assert_eq!(of("tfft", five, five), [Some(5); 4]);
        assert_eq!(of("tfft", five, b), [Some(5), Some(20), None, Some(5)]);
    }

    #[test]
    fn both_numbers_must_fit_the_width() {
        let a = numbers(&[Some(1 << 70), None]);
        let b = numbers(&[Some(1), Some(2)]);
        let (a, b) = (Number::Vector(&a), Number::Vector(&b));
        assert_eq!(selected(Width::W128, "tf", a, b), [Some(1 << 70), Some(2)]);
        let refused = |a, b| select(Width::W64, &truth("ff"), a, b, 2).unwrap_err();
        assert_eq!(refused(a, b), Stop::OVERFLOW);
        assert_eq!(refused(b, a), Stop::OVERFLOW);
        assert_eq!(refused(b, Number::Constant(1 << 63)), Stop::OVERFLOW);
    }
}
