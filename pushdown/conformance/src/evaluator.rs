// SPDX-License-Identifier: Apache-2.0
//! Defines the meaning of a command, one row at a time.
//!
//! This is the definition that every drive must match. It is slow on purpose: each rule of
//! `docs/command-format.md` is written here once and plainly, and no code is shared with a backend.
//!
//! The fragment must have passed [`Fragment::check`]; rows hold a value for each column.

mod keys;
mod merges;
mod numbers;
mod states;
mod strings;
mod wide;

use nearscan_command::{Fragment, Op, Operand, Output, Program, Row, Step, Top, Value, Width};

use keys::passes_all;
pub use merges::{MergeVerdict, evaluate_merge, order};
use numbers::{civil, divide_floor, divide_round};
use states::evaluate_states;
use strings::passes;
use wide::has_wide_number;

/// The result that a command must have for certain rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The rows of the result; `None` when the unit must end with a status that is allowed. Of
    /// rows in their order, of groups ordered by their keys.
    pub rows: Option<Vec<Row>>,
    /// Whether a drive may end with [`Status::Overflow`](nearscan_command::Status::Overflow): a
    /// result left its width, perhaps after the limit, the sum of absolute values left 128 bits, or
    /// an operand or a result of a step left 64.
    pub overflow_allowed: bool,
    /// Whether it may end with
    /// [`Status::GroupCardinality`](nearscan_command::Status::GroupCardinality) because a kept row
    /// has a key outside of its range. There are no rows then.
    pub outside_allowed: bool,
    /// Rows that the predicate and the key filters keep; behind a limit they may be counted or not.
    pub rows_kept: u64,
}

/// A result left its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Overflow;

/// Evaluates `fragment` over `rows`.
pub fn evaluate(fragment: &Fragment, rows: &[Row]) -> Verdict {
    let mut verdict = evaluate_output(fragment, rows);
    verdict.overflow_allowed = verdict.overflow_allowed || has_wide_number(fragment, rows);
    verdict
}

fn evaluate_output(fragment: &Fragment, rows: &[Row]) -> Verdict {
    match &fragment.output {
        Output::Rows { columns, limit, top } => {
            let columns: Vec<(Operand, Width)> =
                columns.iter().map(|column| (column.operand, column.width)).collect();
            let limit = limit.unwrap_or(u64::MAX);
            evaluate_rows(fragment, rows, &columns, limit, top.as_ref())
        }
        Output::States { keys, aggregates } => evaluate_states(fragment, rows, keys, aggregates),
    }
}

/// A row's place in a top: nulls are first or last by the first half alone.
type Rank = (bool, i128);

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
    let mut ranks: Vec<Rank> = Vec::new();
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
                return Verdict {
                    rows: None,
                    overflow_allowed: true,
                    outside_allowed: false,
                    rows_kept,
                };
            }
            Err(Overflow) => overflow_allowed = true,
        }
    }
    Verdict { rows: Some(out), overflow_allowed, outside_allowed: false, rows_kept }
}

/// The output of one row and its rank in the top, if there is one; `None` when the predicate does
/// not keep it. Of two ranks the lower comes first.
fn evaluate_row(
    fragment: &Fragment,
    row: &Row,
    columns: &[(Operand, Width)],
    top: Option<&Top>,
) -> Result<Option<(Row, Rank)>, Overflow> {
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
        None => (!top.nulls_first, 0),
        // The complement turns the order round and cannot overflow.
        Some(number) if top.descending => (top.nulls_first, !number),
        Some(number) => (top.nulls_first, number),
    });
    Ok(Some((values, rank)))
}

fn is_kept(fragment: &Fragment, row: &Row) -> Result<bool, Overflow> {
    let steps = run(&fragment.predicate, fragment, row)?;
    let is_true = match steps.last() {
        None => true,
        Some(verdict) => *verdict == Some(1),
    };
    Ok(is_true && passes_all(fragment, row))
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

/// The values that a step can refer to.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_tables_follow_three_valued_logic() {
        let [f, n, t] = [Some(false), None, Some(true)];
        let table = |op: fn(Option<bool>, Option<bool>) -> Option<bool>| {
            [f, n, t].map(|a| [f, n, t].map(|b| op(a, b)))
        };
        assert_eq!(table(and), [[f, f, f], [f, n, n], [f, n, t]]);
        assert_eq!(table(or), [[f, n, t], [n, n, t], [t, t, t]]);
    }
}
