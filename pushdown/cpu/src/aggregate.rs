// SPDX-License-Identifier: Apache-2.0
//! Holds the states of aggregate slots, for one group or for many.

use arrow::buffer::BooleanBuffer;
use nearscan_command::{Aggregate, Function, Operand, Value, Width, float_order};

use crate::{
    error::Stop,
    floats::{AdditionOrder, add_floats},
    fold::{Fold, Groups, State, count, each, fold},
    scope::Scope,
    values::intersect,
    vector::Vector,
};

/// One slot: its state in every group.
#[derive(Debug)]
pub(crate) struct Slot {
    aggregate: Aggregate,
    states: States,
}

/// `[groups]`.
#[derive(Debug)]
enum States {
    /// Counts, sums and extremes of numbers.
    Numbers(Vec<State>),
    /// Sums of floats, `None` as long as there was none.
    Floats(Vec<Option<f64>>, AdditionOrder),
    /// Extremes of byte strings.
    Strings(Vec<Option<Box<[u8]>>>),
}

impl Slot {
    /// A slot without groups.
    pub(crate) const fn new(aggregate: Aggregate, order: AdditionOrder) -> Self {
        let states = match (aggregate.function, aggregate.width) {
            (Function::SumFloat, _) => States::Floats(Vec::new(), order),
            (Function::Min | Function::Max, Width::Bytes) => States::Strings(Vec::new()),
            _ => States::Numbers(Vec::new()),
        };
        Self { aggregate, states }
    }

    /// Bytes of a written state, at least.
    pub(crate) const fn state_bytes_min(&self) -> u64 {
        match self.states {
            States::Numbers(_) | States::Floats(..) => 16,
            // Where the string ends.
            States::Strings(_) => 4,
        }
    }

    /// Makes room for so many groups.
    pub(crate) fn resize(&mut self, group_count: usize) {
        match &mut self.states {
            States::Numbers(states) => states.resize(group_count, State::default()),
            States::Floats(states, _) => states.resize(group_count, None),
            States::Strings(states) => states.resize(group_count, None),
        }
    }

    /// Takes `rows` rows in.
    ///
    /// # Errors
    /// [`Stop::OVERFLOW`] when a sum leaves 128 bits.
    pub(crate) fn update(
        &mut self,
        scope: &Scope<'_>,
        groups: Groups<'_>,
        rows: usize,
    ) -> Result<(), Stop> {
        let filter = match self.aggregate.filter {
            Operand::None => None,
            filter => Some(scope.truth(filter, rows).is_true),
        };
        let operand = self.aggregate.operand;
        let counted = match self.aggregate.function {
            Function::CountRows => filter,
            Function::Count
            | Function::Sum
            | Function::Min
            | Function::Max
            | Function::SumFloat => {
                intersect(filter.as_ref(), scope.validity(operand, rows).as_ref())
            }
        };
        let counted = counted.as_ref();
        let number = || scope.number(operand);
        match (&mut self.states, self.aggregate.function) {
            (States::Numbers(states), Function::CountRows | Function::Count) => {
                count(states, groups, counted, rows);
            }
            (States::Numbers(states), Function::Min) => {
                fold(Fold::Min, states, number(), groups, counted, rows)?;
            }
            (States::Numbers(states), Function::Max) => {
                fold(Fold::Max, states, number(), groups, counted, rows)?;
            }
            (States::Numbers(states), Function::Sum | Function::SumFloat) => {
                fold(Fold::Sum, states, number(), groups, counted, rows)?;
            }
            (States::Floats(sums, order), _) => {
                add_floats(sums, *order, number(), groups, counted, rows);
            }
            (States::Strings(states), function) => {
                let is_max = function == Function::Max;
                keep_strings(states, scope, operand, groups, counted, rows, |new, old| {
                    if is_max { new > old } else { new < old }
                });
            }
        }
        Ok(())
    }

    /// The final state of a group.
    ///
    /// # Errors
    /// [`Stop::OVERFLOW`] when it does not fit the slot's width.
    pub(crate) fn state(&self, group: usize) -> Result<Value, Stop> {
        let number = match &self.states {
            States::Strings(states) => {
                let value = states.get(group).and_then(Option::as_ref);
                return Ok(value.map_or(Value::Null, |value| Value::Bytes(value.to_vec())));
            }
            States::Floats(states, _) => match states.get(group).copied().flatten() {
                None => return Ok(Value::Null),
                // The payload of a NaN from an addition depends on the machine.
                Some(sum) if sum.is_nan() => i128::from(float_order(f64::NAN)),
                Some(sum) => i128::from(float_order(sum)),
            },
            States::Numbers(states) => {
                let state = states.get(group).copied().unwrap_or_default();
                match self.aggregate.function {
                    Function::CountRows | Function::Count => i128::from(state.count),
                    _ if state.count == 0 => return Ok(Value::Null),
                    _ => state.value,
                }
            }
        };
        if self.aggregate.width.fits(number) {
            Ok(Value::Number(number))
        } else {
            Err(Stop::OVERFLOW)
        }
    }
}

/// Keeps a string where it `goes_before` what a group has.
fn keep_strings(
    states: &mut [Option<Box<[u8]>>],
    scope: &Scope<'_>,
    operand: Operand,
    groups: Groups<'_>,
    counted: Option<&BooleanBuffer>,
    rows: usize,
    goes_before: impl Fn(&[u8], &[u8]) -> bool,
) {
    let mut take = |group: usize, value: &[u8]| {
        if let Some(state) = states.get_mut(group)
            && state.as_ref().is_none_or(|old| goes_before(value, old))
        {
            *state = Some(Box::from(value));
        }
    };
    let vector = scope.vector(operand);
    if let (Groups::One, Some(Vector::Coded(coded))) = (groups, vector)
        && let Some(entries) = coded.dictionary.strings()
        && coded.dictionary.len() <= rows
    {
        // Each entry is compared once, however many rows have it.
        let mut occurs = vec![false; coded.dictionary.len()];
        each(counted, rows, |row| occurs[coded.codes[row] as usize] = true);
        let entries_of_rows = (0..occurs.len()).filter(|entry| occurs[*entry]);
        return entries_of_rows.for_each(|entry| take(0, entries.get(entry)));
    }
    if let Some(strings) = vector.and_then(Vector::strings) {
        each(counted, rows, |row| take(groups.of(row), strings.get(row)));
    }
}
