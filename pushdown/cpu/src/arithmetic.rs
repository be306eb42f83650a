// SPDX-License-Identifier: Apache-2.0
//! Computes arithmetic on numbers, with the overflow that a step declares.
//!
//! A batch is first computed in 64 bits, whatever the width: a loop without branches that remembers
//! whether any row, null rows included, left 64 bits (or the width). That nearly never happens;
//! when it does, the batch is computed once more in 128 bits, row by row, null rows left out.

use arrow::buffer::BooleanBuffer;
use nearscan_command::{Op, Width};

use crate::{
    compare::{Number, Side},
    error::Stop,
    simd::by_level,
    values::{NumberValues, Numbers, intersect},
};

/// `a op b` for each of `rows` rows.
///
/// # Errors
/// [`Stop::OVERFLOW`] when a row whose operands are not null leaves `width`.
pub(crate) fn arithmetic(
    op: Op,
    width: Width,
    a: Number<'_>,
    b: Number<'_>,
    rows: usize,
) -> Result<Numbers, Stop> {
    if matches!(a, Number::Null) || matches!(b, Number::Null) {
        let none = BooleanBuffer::new_unset(rows);
        return Ok(Numbers::narrow(vec![0; rows], Some(none)));
    }
    let validity = intersect(a.validity(), b.validity());
    if let (Some(a), Some(b)) = (a.narrow(), b.narrow()) {
        let (values, is_exact) = match op {
            Op::Add => zip(a, b, rows, i64::overflowing_add),
            Op::Subtract => zip(a, b, rows, i64::overflowing_sub),
            Op::Divide => zip(a, b, rows, divide),
            Op::DivideRound => zip(a, b, rows, divide_round),
            Op::DivideFloor => zip(a, b, rows, divide_floor),
            Op::Remainder => zip(a, b, rows, remainder),
            _ if product_fits(a, b, rows) => zip(a, b, rows, |a, b| (a.wrapping_mul(b), false)),
            _ => zip(a, b, rows, i64::overflowing_mul),
        };
        let numbers = Numbers::narrow(values, validity.clone());
        if is_exact && numbers.fit(width) {
            return Ok(numbers);
        }
    }
    let values = exact(op, width, a, b, rows, validity.as_ref())?;
    Ok(Numbers { values: NumberValues::of(values), validity })
}

/// Whether the size of no product leaves 63 bits. Finding out takes two fast loops, and a third one
/// that multiplies without looking for a cut is fast too.
fn product_fits(a: Side<'_, i64>, b: Side<'_, i64>, rows: usize) -> bool {
    let bits = |side| match side {
        Side::Slice(values) => size_bits(&values[..rows]),
        Side::Constant(value) => size_bits(&[value]),
    };
    bits(a) + bits(b) < 63
}

by_level! {
    /// Bits of the largest size of a value.
    pub(crate) fn size_bits[](values: &[i64]) -> u32 {
        let sizes = values.iter().fold(0, |sizes, value| sizes | (value ^ (value >> 63)));
        64 - sizes.leading_zeros()
    }
}

/// The results in 64 bits, and whether none of them was cut.
fn zip(
    a: Side<'_, i64>,
    b: Side<'_, i64>,
    rows: usize,
    apply: impl Fn(i64, i64) -> (i64, bool),
) -> (Vec<i64>, bool) {
    match (a, b) {
        (Side::Slice(a), Side::Slice(b)) => both(&a[..rows], &b[..rows], apply),
        (Side::Slice(a), Side::Constant(b)) => each(&a[..rows], |a| apply(a, b)),
        (Side::Constant(a), Side::Slice(b)) => each(&b[..rows], |b| apply(a, b)),
        (Side::Constant(a), Side::Constant(b)) => {
            let (value, is_cut) = apply(a, b);
            (vec![value; rows], !is_cut)
        }
    }
}

by_level! {
    /// The results of one side, and whether none of them was cut.
    fn each[F: Fn(i64) -> (i64, bool)](values: &[i64], apply: F) -> (Vec<i64>, bool) {
        let mut is_cut = false;
        let mut results = Vec::with_capacity(values.len());
        results.extend(values.iter().map(|value| {
            let (result, cut) = apply(*value);
            is_cut |= cut;
            result
        }));
        (results, !is_cut)
    }
}

by_level! {
    /// The results of two sides of one length, and whether none of them was cut.
    fn both[F: Fn(i64, i64) -> (i64, bool)](
        a: &[i64],
        b: &[i64],
        apply: F,
    ) -> (Vec<i64>, bool) {
        let mut is_cut = false;
        let mut results = Vec::with_capacity(a.len());
        results.extend(a.iter().zip(b).map(|(a, b)| {
            let (result, cut) = apply(*a, *b);
            is_cut |= cut;
            result
        }));
        (results, !is_cut)
    }
}

/// The results in 128 bits; null rows hold zero.
fn exact(
    op: Op,
    width: Width,
    a: Number<'_>,
    b: Number<'_>,
    rows: usize,
    validity: Option<&BooleanBuffer>,
) -> Result<Vec<i128>, Stop> {
    let apply = match op {
        Op::Add => i128::checked_add,
        Op::Subtract => i128::checked_sub,
        Op::Divide => i128::checked_div,
        Op::DivideRound => wide_divide_round,
        Op::DivideFloor => wide_divide_floor,
        Op::Remainder => i128::checked_rem,
        _ => i128::checked_mul,
    };
    let one = |row: usize| {
        if validity.is_some_and(|validity| !validity.value(row)) {
            return Ok(0);
        }
        apply(a.wide(row), b.wide(row)).filter(|value| width.fits(*value)).ok_or(Stop::OVERFLOW)
    };
    (0..rows).map(one).collect()
}

/// `a / b`, cut off; cut in 64 bits for the least by -1, and for what cannot be divided.
fn divide(a: i64, b: i64) -> (i64, bool) {
    a.checked_div(b).map_or((0, true), |quotient| (quotient, false))
}

fn remainder(a: i64, b: i64) -> (i64, bool) {
    a.checked_rem(b).map_or((0, true), |rest| (rest, false))
}

/// `a / b`, halves away from zero.
fn divide_round(a: i64, b: i64) -> (i64, bool) {
    let ((quotient, is_cut), (rest, _)) = (divide(a, b), remainder(a, b));
    let rest_size = rest.unsigned_abs();
    // Twice the rest against the divisor, without doubling anything.
    let is_half = rest != 0 && rest_size >= b.unsigned_abs() - rest_size;
    let away = if (a < 0) == (b < 0) { 1 } else { -1 };
    (quotient + i64::from(is_half) * away, is_cut)
}

/// `a / b`, rounded down.
fn divide_floor(a: i64, b: i64) -> (i64, bool) {
    let ((quotient, is_cut), (rest, _)) = (divide(a, b), remainder(a, b));
    let is_below = rest != 0 && (rest < 0) != (b < 0);
    (quotient - i64::from(is_below), is_cut)
}

fn wide_divide_round(a: i128, b: i128) -> Option<i128> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    let rest_size = rest.unsigned_abs();
    let is_half = rest != 0 && rest_size >= b.unsigned_abs() - rest_size;
    let away = if (a < 0) == (b < 0) { 1 } else { -1 };
    quotient.checked_add(if is_half { away } else { 0 })
}

fn wide_divide_floor(a: i128, b: i128) -> Option<i128> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    let is_below = rest != 0 && (rest < 0) != (b < 0);
    quotient.checked_sub(i128::from(is_below))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::at_each_level;

    /// The results of the three divisions and the remainder of `values` by `divisor`.
    fn divided(values: Vec<i128>, divisor: i128, width: Width) -> [Result<Vec<i128>, Stop>; 4] {
        let rows = values.len();
        let numbers = Numbers { values: NumberValues::of(values), validity: None };
        [Op::Divide, Op::DivideRound, Op::DivideFloor, Op::Remainder].map(|op| {
            let (a, b) = (Number::Vector(&numbers), Number::Constant(divisor));
            let result = arithmetic(op, width, a, b, rows)?;
            Ok((0..rows).filter_map(|row| result.get(row)).collect())
        })
    }

    #[test]
    fn results_and_cuts_agree_at_each_level_with_those_of_rows() {
        let a: Vec<i64> = (0..100).map(|row: i64| (row - 50).wrapping_pow(9)).collect();
        let b: Vec<i64> = (0..100).map(|row: i64| row * 7 - 300).collect();
        for (op, apply) in [
            (Op::Add, i128::checked_add as fn(i128, i128) -> Option<i128>),
            (Op::Subtract, i128::checked_sub),
            (Op::Multiply, i128::checked_mul),
        ] {
            for rows in [0, 1, 7, 100] {
                let numbers = |values: &[i64]| Numbers::narrow(values[..rows].to_vec(), None);
                let (left, right) = (numbers(&a), numbers(&b));
                let row = |(a, b): (&i64, &i64)| apply(i128::from(*a), i128::from(*b)).unwrap();
                let expected: Vec<i128> = a.iter().zip(&b).take(rows).map(row).collect();
                let bits = size_bits(&a[..rows]);
                for found in at_each_level(|| {
                    let (left, right) = (Number::Vector(&left), Number::Vector(&right));
                    let numbers = arithmetic(op, Width::W128, left, right, rows).unwrap();
                    let values: Vec<_> = (0..rows).filter_map(|row| numbers.get(row)).collect();
                    (values, size_bits(&a[..rows]))
                }) {
                    assert_eq!(found, (expected.clone(), bits), "{op:?} of {rows}");
                }
            }
        }
    }

    #[test]
    fn each_division_rounds_as_defined() {
        // The same in 64 bits and, with a wide value in the batch, in 128.
        for wide in [None, Some(1 << 100)] {
            let of = |values: &[i128], divisor| {
                let all = values.iter().copied().chain(wide).collect();
                divided(all, divisor, Width::W128).map(|result| {
                    let mut values = result.unwrap();
                    values.truncate(values.len() - wide.iter().len());
                    values
                })
            };
            let expected = [vec![3, -3, 3], vec![4, -4, 3], vec![3, -4, 3], vec![1, -1, 0]];
            assert_eq!(of(&[7, -7, 6], 2), expected);
            let expected = [vec![-1, 1], vec![-2, 2], vec![-2, 1], vec![2, -2]];
            assert_eq!(of(&[6, -6], -4), expected);
            assert_eq!(of(&[1, -1, 2], 4)[1], [0, 0, 1]);
        }
    }

    #[test]
    fn least_number_by_minus_one_leaves_64_bits() {
        let least = i128::from(i64::MIN);
        let [divide, round, floor, rest] = divided(vec![least], -1, Width::W64);
        for result in [divide, round, floor] {
            assert_eq!(result, Err(Stop::OVERFLOW));
        }
        assert_eq!(rest, Ok(vec![0]));
        assert_eq!(divided(vec![least], -1, Width::W128)[0], Ok(vec![1 << 63]));
        assert_eq!(divided(vec![i128::MIN], 3, Width::W128)[1], Ok(vec![i128::MIN / 3 - 1]));
        assert_eq!(divided(vec![1 << 40], 2, Width::W32)[0], Err(Stop::OVERFLOW));
        // No command divides by zero; if one did, it would not be a panic.
        assert_eq!(divided(vec![1], 0, Width::W64)[1], Err(Stop::OVERFLOW));
    }
}
