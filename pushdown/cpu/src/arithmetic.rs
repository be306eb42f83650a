// SPDX-License-Identifier: Apache-2.0
//! Arithmetic on numbers, with the overflow that a step declares.
//!
//! A batch is first computed in 64 bits, whatever the width: a loop without branches that remembers
//! whether any row, null rows included, left 64 bits (or the width). That nearly never happens;
//! when it does, the batch is computed once more in 128 bits, row by row, null rows left out.

use arrow::buffer::BooleanBuffer;
use nearscan_command::{Op, Width};

use crate::compare::{Number, Side};
use crate::error::Stop;
use crate::vector::{NumberValues, Numbers, intersect};

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
            _ => zip(a, b, rows, i64::overflowing_mul),
        };
        if is_exact && (width != Width::W32 || all_fit_32(&values)) {
            return Ok(Numbers::narrow(values, validity));
        }
    }
    let values = exact(op, width, a, b, rows, validity.as_ref())?;
    let narrow: Option<Vec<i64>> = values.iter().map(|value| i64::try_from(*value).ok()).collect();
    Ok(match narrow {
        Some(values) => Numbers::narrow(values, validity),
        None => Numbers { values: NumberValues::Wide(values), validity },
    })
}

/// The results in 64 bits, and whether none of them was cut.
fn zip(
    a: Side<'_, i64>,
    b: Side<'_, i64>,
    rows: usize,
    apply: impl Fn(i64, i64) -> (i64, bool),
) -> (Vec<i64>, bool) {
    let mut is_cut = false;
    let mut one = |a, b| {
        let (value, cut) = apply(a, b);
        is_cut |= cut;
        value
    };
    let values: Vec<i64> = match (a, b) {
        (Side::Slice(a), Side::Slice(b)) => {
            a[..rows].iter().zip(&b[..rows]).map(|(a, b)| one(*a, *b)).collect()
        }
        (Side::Slice(a), Side::Constant(b)) => a[..rows].iter().map(|a| one(*a, b)).collect(),
        (Side::Constant(a), Side::Slice(b)) => b[..rows].iter().map(|b| one(a, *b)).collect(),
        (Side::Constant(a), Side::Constant(b)) => vec![one(a, b); rows],
    };
    (values, !is_cut)
}

fn all_fit_32(values: &[i64]) -> bool {
    values.iter().fold(true, |fit, value| fit & i32::try_from(*value).is_ok())
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
