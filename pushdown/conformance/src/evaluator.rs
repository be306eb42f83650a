// SPDX-License-Identifier: Apache-2.0
//! What a command means, one row at a time.
//!
//! This is the definition that every drive is held to. It is slow on purpose: each rule of
//! `docs/command-format.md` stands here once and plainly, and nothing is shared with a backend.
//!
//! The fragment must have passed [`Fragment::check`]; rows hold a value for each column.

use std::collections::BTreeMap;

use nearscan_command::{
    Aggregate, Fragment, Function, Key, Op, Operand, Output, Program, Row, Step, Top, Value, Width,
    float_at, float_order,
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
        Output::Rows { columns, limit, top } => {
            let columns: Vec<(Operand, Width)> =
                columns.iter().map(|column| (column.operand, column.width)).collect();
            let limit = limit.unwrap_or(u64::MAX);
            evaluate_rows(fragment, rows, &columns, limit, top.as_ref())
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
    top: Option<&Top>,
) -> Verdict {
    let mut out = Vec::new();
    let mut rows_kept = 0;
    let mut overflow_allowed = false;
    let mut ranks: Vec<(bool, i128)> = Vec::new();
    for row in rows {
        let is_needed = (out.len() as u64) < limit;
        match evaluate_row(fragment, row, columns, top) {
            Ok(None) => {}
            Ok(Some((values, rank))) => {
                rows_kept += 1;
                let before = ranks.iter().filter(|other| **other < rank).count() as u64;
                if is_needed && top.is_none_or(|top| before < u64::from(top.count)) {
                    out.push(values);
                }
                ranks.extend(top.map(|_| rank));
            }
            Err(Overflow) if is_needed => {
                return Verdict { rows: None, overflow_allowed: true, rows_kept };
            }
            Err(Overflow) => overflow_allowed = true,
        }
    }
    Verdict { rows: Some(out), overflow_allowed, rows_kept }
}

/// The output of one row and its rank in the top, if there is one; `None` when the predicate does
/// not keep it. Of two ranks the lower comes first.
fn evaluate_row(
    fragment: &Fragment,
    row: &Row,
    columns: &[(Operand, Width)],
    top: Option<&Top>,
) -> Result<Option<(Row, (bool, i128))>, Overflow> {
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
    let values = values.collect::<Result<Row, Overflow>>()?;
    let rank = top.map(|top| (scope.number(top.operand), top));
    let rank = rank.map_or((false, 0), |(number, top)| match number {
        // Nulls are first or last by the first half of the rank alone.
        None => (!top.nulls_first, 0),
        // The complement turns the order round and cannot overflow.
        Some(number) if top.descending => (top.nulls_first, !number),
        Some(number) => (top.nulls_first, number),
    });
    Ok(Some((values, rank)))
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
            Op::Divide => self.arithmetic(step, i128::checked_div),
            Op::DivideRound => self.arithmetic(step, divide_round),
            Op::DivideFloor => self.arithmetic(step, divide_floor),
            Op::Remainder => self.arithmetic(step, i128::checked_rem),
            Op::Select => {
                let (b, c) = (self.number(step.b), self.number(step.c));
                let taken = if self.truth(step.a) == Some(true) { b } else { c };
                match [b, c].into_iter().flatten().all(|number| step.width.fits(number)) {
                    true => Ok(taken),
                    false => Err(Overflow),
                }
            }
            Op::Year => self.part(step, |(year, _, _)| year),
            Op::Month => self.part(step, |(_, month, _)| month),
            Op::Day => self.part(step, |(_, _, day)| day),
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
            Op::IsDistinct => as_number(Some(self.number(step.a) != self.number(step.b))),
            Op::IsNotDistinct => as_number(Some(self.number(step.a) == self.number(step.b))),
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

    fn part(
        &self,
        step: &Step,
        pick: fn((i128, i128, i128)) -> i128,
    ) -> Result<Option<i128>, Overflow> {
        let Some(day) = self.number(step.a) else { return Ok(None) };
        if !Width::W32.fits(day) {
            return Err(Overflow);
        }
        let part = pick(civil(day));
        if step.width.fits(part) { Ok(Some(part)) } else { Err(Overflow) }
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

/// `a / b` rounded, halves away from zero.
fn divide_round(a: i128, b: i128) -> Option<i128> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    // Twice the rest against the divisor, without doubling anything.
    let is_half = rest.unsigned_abs() >= b.unsigned_abs() - rest.unsigned_abs();
    let away = if (a < 0) == (b < 0) { 1 } else { -1 };
    if rest != 0 && is_half { quotient.checked_add(away) } else { Some(quotient) }
}

/// `a / b` rounded down.
fn divide_floor(a: i128, b: i128) -> Option<i128> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    if rest != 0 && (rest < 0) != (b < 0) { quotient.checked_sub(1) } else { Some(quotient) }
}

/// Year, month and day of a day since 1970-01-01, counted month by month from the start of its
/// cycle of 400 years.
fn civil(day: i128) -> (i128, i128, i128) {
    const CYCLE_DAYS: i128 = 146_097;
    let is_leap = |year: i128| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    // 1970-01-01 is this many days into the cycle that begins with the year 1600.
    let since_1600 = day + 135_140;
    let cycles = divide_floor(since_1600, CYCLE_DAYS).unwrap_or(0);
    let mut rest = since_1600 - cycles * CYCLE_DAYS;
    let mut year = 1600 + cycles * 400;
    loop {
        let days = if is_leap(year) { 366 } else { 365 };
        if rest < days {
            break;
        }
        rest -= days;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for days in months {
        if rest < days {
            break;
        }
        rest -= days;
        month += 1;
    }
    (year, month, rest + 1)
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
        TestOp::Like => is_like(value, literal),
    }
}

/// By recursion, as the definition of LIKE reads.
fn is_like(value: &[u8], pattern: &[u8]) -> bool {
    use nearscan_command::pattern::{ANY, ONE};
    let character = |value: &[u8]| {
        1 + value[1..].iter().take_while(|byte| **byte & 0xc0 == 0x80).count()
    };
    match (pattern.split_first(), value.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((&ANY, after)), None) => is_like(value, after),
        (Some((&ANY, after)), Some(_)) => {
            is_like(value, after) || is_like(&value[character(value)..], pattern)
        }
        (Some((&ONE, after)), Some(_)) => is_like(&value[character(value)..], after),
        (Some((byte, after)), Some((first, rest))) => byte == first && is_like(rest, after),
        (Some(_), None) => false,
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
    keys: &[Key],
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
        let value = |key: &Key| match key.operand {
            Operand::Column(column) => row[usize::from(column)].clone(),
            step => scope.number(step).map_or(Value::Null, Value::Number),
        };
        let key: Row = keys.iter().map(value).collect();
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
        let bytes = |value: &Option<Vec<u8>>| {
            Ok(value.clone().map_or(Value::Null, Value::Bytes))
        };
        let number = match aggregate.function {
            Function::Min if aggregate.width == Width::Bytes => return bytes(&self.least_bytes),
            Function::Max if aggregate.width == Width::Bytes => return bytes(&self.greatest_bytes),
            Function::SumFloat if self.count == 0 => None,
            // Which NaN comes out of an addition is up to the machine.
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
    fn days_have_dates() {
        for (day, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (-719_528, (0, 1, 1)),
            (-719_529, (-1, 12, 31)),
            (2_932_896, (9999, 12, 31)),
        ] {
            assert_eq!(civil(day), date, "{day}");
        }
    }

    #[test]
    fn quotients_are_rounded_as_they_say() {
        let all = |a, b| [i128::checked_div(a, b), divide_round(a, b), divide_floor(a, b)];
        assert_eq!(all(7, 2), [Some(3), Some(4), Some(3)]);
        assert_eq!(all(-7, 2), [Some(-3), Some(-4), Some(-4)]);
        assert_eq!(all(7, -2), [Some(-3), Some(-4), Some(-4)]);
        assert_eq!(all(6, 4), [Some(1), Some(2), Some(1)]);
        assert_eq!(all(-5, 4), [Some(-1), Some(-1), Some(-2)]);
        assert_eq!(all(i128::MIN, 3)[1], Some(i128::MIN / 3 - 1));
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
