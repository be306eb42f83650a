// SPDX-License-Identifier: Apache-2.0
//! Evaluates groups and the states of their slots.

use std::collections::BTreeMap;

use nearscan_command::{
    Aggregate, Fragment, Function, Key, KeyRange, Operand, Row, Value, Width, float_at, float_order,
};

use super::{Overflow, Scope, Verdict, is_kept, run};

/// Groups the kept rows and gives the states of the groups.
pub(super) fn evaluate_states(
    fragment: &Fragment,
    rows: &[Row],
    keys: &[Key],
    aggregates: &[Aggregate],
) -> Verdict {
    let mut groups: BTreeMap<Row, Vec<Slot>> = BTreeMap::new();
    let empty = || vec![Slot::default(); aggregates.len()];
    if keys.is_empty() {
        groups.insert(Vec::new(), empty());
    }
    let (mut rows_kept, mut overflowed, mut outside) = (0, false, false);
    // Continues after a failure: of several, a drive may report any.
    for row in rows {
        let steps = match is_kept(fragment, row) {
            Ok(false) => continue,
            Ok(true) => run(&fragment.projection, fragment, row),
            Err(Overflow) => Err(Overflow),
        };
        let Ok(steps) = steps else {
            overflowed = true;
            continue;
        };
        rows_kept += 1;
        let scope = Scope { fragment, row, steps: &steps };
        let Some(key) = keys.iter().map(|key| scope.key(key)).collect::<Option<Row>>() else {
            outside = true;
            continue;
        };
        let slots = groups.entry(key).or_insert_with(empty);
        for (slot, aggregate) in slots.iter_mut().zip(aggregates) {
            slot.add(aggregate, &scope);
        }
    }
    let mut out = Vec::new();
    let mut overflow_allowed = false;
    for (mut row, slots) in groups {
        // A key of a dictionary is written with 64 bits, those of a range have no more.
        overflowed |= row.iter().any(|key| match key {
            Value::Number(number) => !Width::W64.fits(*number),
            Value::Null | Value::Bytes(_) => false,
        });
        for (slot, aggregate) in slots.iter().zip(aggregates) {
            overflow_allowed |= slot.sum_of_absolutes.number().is_none();
            let state = slot.state(aggregate);
            overflowed |= state.is_err();
            row.push(state.unwrap_or(Value::Null));
        }
        out.push(row);
    }
    Verdict {
        rows: (!overflowed && !outside).then_some(out),
        overflow_allowed: overflow_allowed || overflowed,
        outside_allowed: outside,
        rows_kept,
    }
}

impl Scope<'_> {
    /// The value of a group key; `None` when it is outside of its range.
    fn key(&self, key: &Key) -> Option<Value> {
        let value = match key.operand {
            Operand::Column(column) => self.row[usize::from(column)].clone(),
            step => self.number(step).map_or(Value::Null, Value::Number),
        };
        match (&value, key.range) {
            (Value::Number(number), Some(KeyRange { first, count })) => {
                let place = number.checked_sub(i128::from(first))?;
                (0..i128::from(count)).contains(&place).then_some(value)
            }
            _ => Some(value),
        }
    }
}

/// The state of one slot of one group.
#[derive(Debug, Clone, Default)]
struct Slot {
    /// Rows counted: all, or those whose operand is not null.
    count: u64,
    sum: Sum,
    sum_of_absolutes: Sum,
    least: Option<i128>,
    greatest: Option<i128>,
    least_bytes: Option<Vec<u8>>,
    greatest_bytes: Option<Vec<u8>>,
    /// In the order of the rows.
    sum_of_floats: f64,
}

impl Slot {
    fn add(&mut self, aggregate: &Aggregate, scope: &Scope<'_>) {
        if aggregate.filter != Operand::None && scope.truth(aggregate.filter) != Some(true) {
            return;
        }
        match aggregate.function {
            Function::CountRows => self.count += 1,
            Function::Count => self.count += u64::from(!scope.is_null(aggregate.operand)),
            Function::SumFloat => {
                if let Some(order) = scope.number(aggregate.operand) {
                    self.count += 1;
                    self.sum_of_floats += float_at(i64::try_from(order).unwrap_or_default());
                }
            }
            Function::Min | Function::Max if aggregate.width == Width::Bytes => {
                let Operand::Column(column) = aggregate.operand else { return };
                if let Value::Bytes(value) = &scope.row[usize::from(column)] {
                    if self.least_bytes.as_ref().is_none_or(|least| value < least) {
                        self.least_bytes = Some(value.clone());
                    }
                    if self.greatest_bytes.as_ref().is_none_or(|greatest| value > greatest) {
                        self.greatest_bytes = Some(value.clone());
                    }
                }
            }
            Function::Sum | Function::Min | Function::Max => {
                if let Some(number) = scope.number(aggregate.operand) {
                    self.count += 1;
                    self.least = Some(self.least.map_or(number, |least| least.min(number)));
                    self.greatest = Some(self.greatest.map_or(number, |most| most.max(number)));
                    if aggregate.function == Function::Sum {
                        self.sum.add(number);
                        self.sum_of_absolutes.add_unsigned(number.unsigned_abs());
                    }
                }
            }
        }
    }

    fn state(&self, aggregate: &Aggregate) -> Result<Value, Overflow> {
        let bytes = |value: &Option<Vec<u8>>| Ok(value.clone().map_or(Value::Null, Value::Bytes));
        let number = match aggregate.function {
            Function::Min if aggregate.width == Width::Bytes => return bytes(&self.least_bytes),
            Function::Max if aggregate.width == Width::Bytes => return bytes(&self.greatest_bytes),
            Function::SumFloat if self.count == 0 => None,
            // The payload of a NaN from an addition depends on the machine.
            Function::SumFloat if self.sum_of_floats.is_nan() => {
                Some(i128::from(float_order(f64::NAN)))
            }
            Function::SumFloat => Some(i128::from(float_order(self.sum_of_floats))),
            Function::CountRows | Function::Count => Some(i128::from(self.count)),
            Function::Sum if self.count == 0 => None,
            Function::Sum => Some(self.sum.number().ok_or(Overflow)?),
            Function::Min => self.least,
            Function::Max => self.greatest,
        };
        match number {
            None => Ok(Value::Null),
            Some(number) if aggregate.width.fits(number) => Ok(Value::Number(number)),
            Some(_) => Err(Overflow),
        }
    }
}

/// A sum that cannot overflow: `high * 2^64 + low`, each half far from its limits for 2^31 rows.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    high: i128,
    low: u128,
}

impl Sum {
    fn add(&mut self, number: i128) {
        // The low half is not negative, the high half carries the sign.
        self.low += u128::from(low_half(number.cast_unsigned()));
        self.high += number >> 64;
    }

    fn add_unsigned(&mut self, number: u128) {
        self.low += u128::from(low_half(number));
        self.high += (number >> 64).cast_signed();
    }

    /// The sum, if it fits in 128 bits.
    fn number(&self) -> Option<i128> {
        let carried = self.high + (self.low >> 64).cast_signed();
        let high = i64::try_from(carried).ok()?;
        Some(i128::from(high) << 64 | i128::from(low_half(self.low)))
    }
}

/// The low 64 bits.
fn low_half(number: u128) -> u64 {
    let bytes = number.to_le_bytes();
    bytes[..8].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intermediate_sum_may_exceed_128_bits() {
        let mut sum = Sum::default();
        for number in [i128::MAX, i128::MAX, i128::MIN, -5, i128::MIN] {
            sum.add(number);
        }
        assert_eq!(sum.number(), Some(-7));
        let mut two = Sum::default();
        two.add(i128::MIN);
        two.add(-1);
        assert_eq!(two.number(), None);
        two.add(1);
        assert_eq!(two.number(), Some(i128::MIN));
    }
}
