// SPDX-License-Identifier: Apache-2.0
//! Evaluates predicate and projection over batches.

use std::cell::OnceCell;

use arrow::buffer::BooleanBuffer;
use nearscan_command::{Fragment, Op, Operand, Program, Step};

use crate::{
    arithmetic::arithmetic,
    compare::{List, Number, compare, is_distinct},
    dates::part,
    dictionary::Dictionary,
    error::Stop,
    scope::Scope,
    select::select,
    strings::PreparedTest,
    vector::{Truth, Vector},
};

/// A prepared program: lists are sorted, sets of strings are hashed.
#[derive(Debug)]
pub(crate) struct Prepared {
    steps: Vec<PreparedStep>,
    literals: Vec<i128>,
    /// For each test of the fragment.
    tests: Vec<PreparedTest>,
}

#[derive(Debug)]
struct PreparedStep {
    step: Step,
    list: Option<List>,
    /// Its outcome for each entry of the dictionary of its column; a chunk has one at most.
    table: OnceCell<Vec<u8>>,
}

impl Prepared {
    pub(crate) fn new(fragment: &Fragment, program: &Program) -> Self {
        let list = |step: &Step| match (step.op, step.b, step.c) {
            (Op::In, Operand::Literal(first), Operand::Literal(last)) => {
                fragment.literals.get(usize::from(first)..=usize::from(last)).map(List::new)
            }
            _ => None,
        };
        let step =
            |step: &Step| PreparedStep { step: *step, list: list(step), table: OnceCell::new() };
        Self {
            steps: program.steps.iter().map(step).collect(),
            literals: fragment.literals.clone(),
            tests: fragment.tests.iter().map(PreparedTest::new).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Prepares for another chunk of each column.
    pub(crate) fn forget_dictionaries(&mut self) {
        self.steps.iter_mut().for_each(|step| drop(step.table.take()));
        self.tests.iter_mut().for_each(PreparedTest::forget_dictionary);
    }

    /// The values of all steps over `rows` rows.
    ///
    /// # Errors
    /// [`Stop::OVERFLOW`].
    pub(crate) fn run(&self, columns: &[Vector], rows: usize) -> Result<Vec<Vector>, Stop> {
        let mut steps = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let scope = Scope { columns, steps: &steps, literals: &self.literals };
            let value = match step.by_entry(&scope) {
                Some(truth) => Vector::Truth(truth),
                None => self.step(step, &scope, rows)?,
            };
            steps.push(value);
        }
        Ok(steps)
    }

    fn step(
        &self,
        prepared: &PreparedStep,
        scope: &Scope<'_>,
        rows: usize,
    ) -> Result<Vector, Stop> {
        let step = prepared.step;
        let (a, b) = (step.a, step.b);
        let number = |operand| scope.number(operand);
        let truth = |operand| scope.truth(operand, rows);
        Ok(Vector::Truth(match step.op {
            Op::Add
            | Op::Subtract
            | Op::Multiply
            | Op::Divide
            | Op::DivideRound
            | Op::DivideFloor
            | Op::Remainder => {
                let values = arithmetic(step.op, step.width, number(a), number(b), rows)?;
                return Ok(Vector::Numbers(values));
            }
            Op::Select => {
                let values = select(step.width, &truth(a), number(b), number(step.c), rows)?;
                return Ok(Vector::Numbers(values));
            }
            Op::Year | Op::Month | Op::Day => {
                return Ok(Vector::Numbers(part(step.op, step.width, number(a), rows)?));
            }
            Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::LessOrEqual
            | Op::Greater
            | Op::GreaterOrEqual
            | Op::Between
            | Op::In => prepared.compare(number(a), number(b), number(step.c), rows),
            Op::IsDistinct => is_distinct(number(a), number(b), rows),
            Op::IsNotDistinct => is_distinct(number(a), number(b), rows).not(),
            Op::IsNull => is_valid(scope, a, rows).not(),
            Op::IsNotNull => is_valid(scope, a, rows),
            Op::Test => match a {
                Operand::Test(test) => match self.tests.get(usize::from(test)) {
                    Some(test) => test.passes(scope.columns, rows),
                    None => Truth::null(rows),
                },
                _ => Truth::null(rows),
            },
            Op::And => truth(a).and(&truth(b)),
            Op::Or => truth(a).or(&truth(b)),
            Op::Not => truth(a).not(),
        }))
    }
}

impl PreparedStep {
    /// A comparison, BETWEEN or IN.
    fn compare(&self, a: Number<'_>, b: Number<'_>, c: Number<'_>, rows: usize) -> Truth {
        match (self.step.op, &self.list) {
            (Op::Between, _) => {
                let low = compare(Op::GreaterOrEqual, a, b, rows);
                low.and(&compare(Op::LessOrEqual, a, c, rows))
            }
            (Op::In, Some(list)) => list.contains(a, rows),
            (Op::In, None) => Truth::null(rows),
            (op, _) => compare(op, a, b, rows),
        }
    }

    /// A comparison of codes with constants: done once for each entry of the dictionary, and looked
    /// up for each row. `None` when the step is not one.
    fn by_entry(&self, scope: &Scope<'_>) -> Option<Truth> {
        let constants = match self.step.op {
            Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::LessOrEqual
            | Op::Greater
            | Op::GreaterOrEqual => &[self.step.b][..],
            Op::Between => &[self.step.b, self.step.c],
            Op::In => &[],
            _ => return None,
        };
        let coded = scope.coded_numbers(self.step.a)?;
        let number = |operand| scope.number(operand);
        if !constants.iter().all(|operand| matches!(number(*operand), Number::Constant(_))) {
            return None;
        }
        let entries = Number::Vector(coded.dictionary.numbers()?);
        let (b, c) = (number(self.step.b), number(self.step.c));
        let holds = || self.compare(entries, b, c, coded.dictionary.len()).is_true;
        Some(coded.look_up(self.table.get_or_init(|| Dictionary::table(&holds()))))
    }
}

fn is_valid(scope: &Scope<'_>, operand: Operand, rows: usize) -> Truth {
    let is_true = scope.validity(operand, rows).unwrap_or_else(|| BooleanBuffer::new_set(rows));
    Truth { is_false: !&is_true, is_true }
}
