// SPDX-License-Identifier: Apache-2.0
//! The states of aggregate slots, for one group or for many.

use arrow::buffer::BooleanBuffer;
use nearscan_command::{Aggregate, Function, Operand, Value};

use crate::compare::Number;
use crate::error::Stop;
use crate::program::Scope;
use crate::vector::{NumberValues, intersect};

/// One slot: its state in every group.
#[derive(Debug)]
pub(crate) struct Slot {
    aggregate: Aggregate,
    groups: Vec<State>,
}

/// A slot's state in one group.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// Rows, or values that are not null.
    count: u64,
    /// Sum, minimum or maximum; nothing as long as the count is 0.
    value: i128,
}

/// Which group each row belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Groups<'a> {
    /// All to the only one.
    One,
    /// `[rows]`.
    Many(&'a [u32]),
}

impl Slot {
    /// A slot without groups.
    pub(crate) const fn new(aggregate: Aggregate) -> Self {
        Self { aggregate, groups: Vec::new() }
    }

    /// Makes room for so many groups.
    pub(crate) fn resize(&mut self, group_count: usize) {
        self.groups.resize(group_count, State::default());
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
            Function::Count | Function::Sum | Function::Min | Function::Max => {
                intersect(filter.as_ref(), scope.validity(operand, rows).as_ref())
            }
        };
        let counted = counted.as_ref();
        match self.aggregate.function {
            Function::CountRows | Function::Count => {
                self.count(groups, counted, rows);
                Ok(())
            }
            Function::Sum => {
                let mut is_exact = true;
                self.fold(scope.number(operand), groups, counted, rows, |state, value| {
                    let (sum, cut) = state.overflowing_add(value);
                    is_exact &= !cut;
                    sum
                });
                if is_exact { Ok(()) } else { Err(Stop::OVERFLOW) }
            }
            Function::Min => {
                self.fold(scope.number(operand), groups, counted, rows, i128::min);
                Ok(())
            }
            Function::Max => {
                self.fold(scope.number(operand), groups, counted, rows, i128::max);
                Ok(())
            }
        }
    }

    fn count(&mut self, groups: Groups<'_>, counted: Option<&BooleanBuffer>, rows: usize) {
        match groups {
            Groups::One => {
                let count = counted.map_or(rows, BooleanBuffer::count_set_bits);
                if let Some(state) = self.groups.first_mut() {
                    state.count += count as u64;
                }
            }
            Groups::Many(groups) => {
                let states = &mut self.groups;
                each(counted, rows, |row| states[groups[row] as usize].count += 1);
            }
        }
    }

    /// Folds the counted values into the states of their groups.
    fn fold(
        &mut self,
        number: Number<'_>,
        groups: Groups<'_>,
        counted: Option<&BooleanBuffer>,
        rows: usize,
        fold: impl FnMut(i128, i128) -> i128,
    ) {
        match number {
            Number::Null => {}
            Number::Constant(value) => self.fold_values(|_| value, groups, counted, rows, fold),
            Number::Vector(numbers) => match &numbers.values {
                NumberValues::Narrow(values) => {
                    self.fold_values(|row| i128::from(values[row]), groups, counted, rows, fold);
                }
                NumberValues::Wide(values) => {
                    self.fold_values(|row| values[row], groups, counted, rows, fold);
                }
            },
        }
    }

    fn fold_values(
        &mut self,
        value: impl Fn(usize) -> i128,
        groups: Groups<'_>,
        counted: Option<&BooleanBuffer>,
        rows: usize,
        mut fold: impl FnMut(i128, i128) -> i128,
    ) {
        let mut add = |state: &mut State, row: usize| {
            let value = value(row);
            state.value = if state.count == 0 { value } else { fold(state.value, value) };
            state.count += 1;
        };
        match groups {
            Groups::One => {
                // In registers, not in the vector.
                let mut state = self.groups.first().copied().unwrap_or_default();
                each(counted, rows, |row| add(&mut state, row));
                if let Some(group) = self.groups.first_mut() {
                    *group = state;
                }
            }
            Groups::Many(groups) => {
                let states = &mut self.groups;
                each(counted, rows, |row| add(&mut states[groups[row] as usize], row));
            }
        }
    }

    /// The final state of a group.
    ///
    /// # Errors
    /// [`Stop::OVERFLOW`] when it does not fit the slot's width.
    pub(crate) fn state(&self, group: usize) -> Result<Value, Stop> {
        let state = self.groups.get(group).copied().unwrap_or_default();
        let number = match self.aggregate.function {
            Function::CountRows | Function::Count => i128::from(state.count),
            Function::Sum | Function::Min | Function::Max if state.count == 0 => {
                return Ok(Value::Null);
            }
            Function::Sum | Function::Min | Function::Max => state.value,
        };
        if self.aggregate.width.fits(number) {
            Ok(Value::Number(number))
        } else {
            Err(Stop::OVERFLOW)
        }
    }
}

/// Calls `visit` with each row that is counted.
fn each(counted: Option<&BooleanBuffer>, rows: usize, visit: impl FnMut(usize)) {
    match counted {
        None => (0..rows).for_each(visit),
        Some(counted) => counted.set_indices().for_each(visit),
    }
}
