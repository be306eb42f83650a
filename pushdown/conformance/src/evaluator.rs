// SPDX-License-Identifier: Apache-2.0
//! What a command means, one row at a time.
//!
//! This is the definition that every drive is held to. It is slow on purpose: each rule of
//! `docs/command-format.md` stands here once and plainly, and nothing is shared with a backend.
//!
//! The fragment must have passed [`Fragment::check`]; rows hold a value for each column.

use std::collections::BTreeMap;

use nearscan_command::{
    Aggregate, Fragment, Function, Op, Operand, Output, Program, Row, Step, Value, Width,
};

/// What a command gives for certain rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The rows of the result; `None` when the unit must end with
    /// [`Status::Overflow`](nearscan_command::Status::Overflow). Of rows in their order, of groups
    /// ordered by their keys.
    pub rows: Option<Vec<Row>>,
    /// Whether a drive may end with `Overflow` all the same: the sum of absolute values left 128
    /// bits, or something overflowed behind the limit.
    pub overflow_allowed: bool,
    /// Rows the predicate keeps; behind a limit they may be counted or not.
    pub rows_kept: u64,
}

/// A result left its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Overflow;

/// Evaluates `fragment` over `rows`.
pub fn evaluate(fragment: &Fragment, rows: &[Row]) -> Verdict {
    match &fragment.output {
        Output::Rows { columns, limit } => {
            let columns: Vec<(Operand, Width)> =
                columns.iter().map(|column| (column.operand, column.width)).collect();
            evaluate_rows(fragment, rows, &columns, limit.unwrap_or(u64::MAX))
        }
        Output::States { keys, aggregates } => evaluate_states(fragment, rows, keys, aggregates)
            .unwrap_or(Verdict { rows: None, overflow_allowed: true, rows_kept: 0 }),
    }
}

fn evaluate_rows(
    fragment: &Fragment,
    rows: &[Row],
    columns: &[(Operand, Width)],
    limit: u64,
) -> Verdict {
    let mut out = Vec::new();
    let mut rows_kept = 0;
    let mut overflow_allowed = false;
    for row in rows {
        let is_needed = (out.len() as u64) < limit;
        match evaluate_row(fragment, row, columns) {
            Ok(None) => {}
            Ok(Some(values)) => {
                rows_kept += 1;
                if is_needed {
                    out.push(values);
                }
            }
            Err(Overflow) if is_needed => {
                return Verdict { rows: None, overflow_allowed: true, rows_kept };
            }
            Err(Overflow) => overflow_allowed = true,
        }
    }
    Verdict { rows: Some(out), overflow_allowed, rows_kept }
}

/// The output of one row, `None` when the predicate does not keep it.
fn evaluate_row(
    fragment: &Fragment,
    row: &Row,
    columns: &[(Operand, Width)],
) -> Result<Option<Row>, Overflow> {
    if !is_kept(fragment, row)? {
        return Ok(None);
    }
    let steps = run(&fragment.projection, fragment, row)?;
    let scope = Scope { fragment, row, steps: &steps };
    let values = columns.iter().map(|(operand, width)| match (width, operand) {
        (Width::Bytes, Operand::Column(column)) => Ok(row[usize::from(*column)].clone()),
        (Width::Bytes, _) => Ok(Value::Null),
        (width, operand) => match scope.number(*operand) {
            None => Ok(Value::Null),
            Some(number) if width.fits(number) => Ok(Value::Number(number)),
            Some(_) => Err(Overflow),
        },
    });
    values.collect::<Result<Row, Overflow>>().map(Some)
}

fn is_kept(fragment: &Fragment, row: &Row) -> Result<bool, Overflow> {
    let steps = run(&fragment.predicate, fragment, row)?;
    Ok(match steps.last() {
        None => true,
        Some(verdict) => *verdict == Some(1),
    })
}

/// The values of all steps; truth values are 0 and 1.
fn run(program: &Program, fragment: &Fragment, row: &Row) -> Result<Vec<Option<i128>>, Overflow> {
    let mut steps = Vec::with_capacity(program.steps.len());
    for step in &program.steps {
        let scope = Scope { fragment, row, steps: &steps };
        let value = scope.step(step)?;
        steps.push(value);
    }
    Ok(steps)
}

/// What a step can refer to.
struct Scope<'a> {
    fragment: &'a Fragment,
    row: &'a Row,
    steps: &'a [Option<i128>],
}

impl Scope<'_> {
    /// The number or truth value of an operand, `None` for NULL.
    fn number(&self, operand: Operand) -> Option<i128> {
        match operand {
            Operand::Column(column) => match self.row[usize::from(column)] {
                Value::Number(number) => Some(number),
                Value::Null | Value::Bytes(_) => None,
            },
            Operand::Step(step) => self.steps[usize::from(step)],
            Operand::Literal(literal) => Some(self.fragment.literals[usize::from(literal)]),
            Operand::Test(_) | Operand::Null | Operand::None => None,
        }
    }

    fn truth(&self, operand: Operand) -> Option<bool> {
        self.number(operand).map(|number| number == 1)
    }

    fn is_null(&self, operand: Operand) -> bool {
        match operand {
            Operand::Column(column) => self.row[usize::from(column)] == Value::Null,
            other => self.number(other).is_none(),
        }
    }

    fn step(&self, step: &Step) -> Result<Option<i128>, Overflow> {
        let as_number = |truth: Option<bool>| Ok(truth.map(i128::from));
        let compare =
            |holds: fn(&i128, &i128) -> bool| as_number(self.compare(step.a, step.b, holds));
        match step.op {
            Op::Add => self.arithmetic(step, i128::checked_add),
            Op::Subtract => self.arithmetic(step, i128::checked_sub),
            Op::Multiply => self.arithmetic(step, i128::checked_mul),
            Op::Equal => compare(i128::eq),
            Op::NotEqual => compare(i128::ne),
            Op::Less => compare(i128::lt),
            Op::LessOrEqual => compare(i128::le),
            Op::Greater => compare(i128::gt),
            Op::GreaterOrEqual => compare(i128::ge),
            Op::Between => as_number(and(
                self.compare(step.a, step.b, i128::ge),
                self.compare(step.a, step.c, i128::le),
            )),
            Op::In => as_number(self.is_in(step)),
            Op::IsNull => as_number(Some(self.is_null(step.a))),
            Op::IsNotNull => as_number(Some(!self.is_null(step.a))),
            Op::Test => as_number(self.test(step.a)),
            Op::And => as_number(and(self.truth(step.a), self.truth(step.b))),
            Op::Or => as_number(or(self.truth(step.a), self.truth(step.b))),
            Op::Not => as_number(self.truth(step.a).map(|truth| !truth)),
        }
    }

    fn arithmetic(
        &self,
        step: &Step,
        apply: fn(i128, i128) -> Option<i128>,
    ) -> Result<Option<i128>, Overflow> {
        let (Some(a), Some(b)) = (self.number(step.a), self.number(step.b)) else {
            return Ok(None);
        };
        match apply(a, b) {
            Some(result) if step.width.fits(result) => Ok(Some(result)),
            Some(_) | None => Err(Overflow),
        }
    }

    fn compare(&self, a: Operand, b: Operand, holds: fn(&i128, &i128) -> bool) -> Option<bool> {
        Some(holds(&self.number(a)?, &self.number(b)?))
    }

    fn is_in(&self, step: &Step) -> Option<bool> {
        let number = self.number(step.a)?;
        let (Operand::Literal(first), Operand::Literal(last)) = (step.b, step.c) else {
            return None;
        };
        let list = &self.fragment.literals[usize::from(first)..=usize::from(last)];
        Some(list.contains(&number))
    }

    fn test(&self, operand: Operand) -> Option<bool> {
        let Operand::Test(test) = operand else {
            return None;
        };
        let test = &self.fragment.tests[usize::from(test)];
        match &self.row[usize::from(test.column)] {
            Value::Bytes(value) => Some(passes(test, value)),
            Value::Null | Value::Number(_) => None,
        }
    }
}

fn passes(test: &nearscan_command::StringTest, value: &[u8]) -> bool {
    use nearscan_command::TestOp;
    let literal = test.strings[0].as_slice();
    match test.op {
        TestOp::In => test.strings.iter().any(|literal| literal == value),
        TestOp::Less => value < literal,
        TestOp::LessOrEqual => value <= literal,
        TestOp::Greater => value > literal,
        TestOp::GreaterOrEqual => value >= literal,
    }
}

fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        (None, _) | (_, None) => None,
    }
}

fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        (None, _) | (_, None) => None,
    }
}

fn evaluate_states(
    fragment: &Fragment,
    rows: &[Row],
    keys: &[u16],
    aggregates: &[Aggregate],
) -> Result<Verdict, Overflow> {
    let mut groups: BTreeMap<Row, Vec<Slot>> = BTreeMap::new();
    let empty = || vec![Slot::default(); aggregates.len()];
    if keys.is_empty() {
        groups.insert(Vec::new(), empty());
    }
    let mut rows_kept = 0;
    for row in rows {
        if !is_kept(fragment, row)? {
            continue;
        }
        rows_kept += 1;
        let steps = run(&fragment.projection, fragment, row)?;
        let scope = Scope { fragment, row, steps: &steps };
        let key: Row = keys.iter().map(|key| row[usize::from(*key)].clone()).collect();
        let slots = groups.entry(key).or_insert_with(empty);
        for (slot, aggregate) in slots.iter_mut().zip(aggregates) {
            slot.add(aggregate, &scope);
        }
    }
    let mut out = Vec::new();
    let mut overflow_allowed = false;
    for (key, slots) in groups {
        let mut row = key;
        for (slot, aggregate) in slots.iter().zip(aggregates) {
            overflow_allowed |= slot.sum_of_absolutes.number().is_none();
            row.push(slot.state(aggregate)?);
        }
        out.push(row);
    }
    Ok(Verdict { rows: Some(out), overflow_allowed, rows_kept })
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
}

impl Slot {
    fn add(&mut self, aggregate: &Aggregate, scope: &Scope<'_>) {
        if aggregate.filter != Operand::None && scope.truth(aggregate.filter) != Some(true) {
            return;
        }
        match aggregate.function {
            Function::CountRows => self.count += 1,
            Function::Count => self.count += u64::from(!scope.is_null(aggregate.operand)),
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
        let number = match aggregate.function {
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
    fn a_sum_may_leave_128_bits_on_the_way() {
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

    #[test]
    fn truth_tables_are_those_of_three_valued_logic() {
        let [f, n, t] = [Some(false), None, Some(true)];
        let table = |op: fn(Option<bool>, Option<bool>) -> Option<bool>| {
            [f, n, t].map(|a| [f, n, t].map(|b| op(a, b)))
        };
        assert_eq!(table(and), [[f, f, f], [f, n, n], [f, n, t]]);
        assert_eq!(table(or), [[f, n, t], [n, n, t], [t, t, t]]);
    }
}
