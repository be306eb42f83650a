// SPDX-License-Identifier: Apache-2.0
//! Predicate and projection over batches.

use std::collections::HashSet;

use arrow::buffer::BooleanBuffer;
use nearscan_command::{Fragment, Op, Operand, Program, Step, StringTest, TestOp};

use crate::arithmetic::arithmetic;
use crate::compare::{List, Number, compare};
use crate::error::Stop;
use crate::vector::{Strings, Truth, Vector};

/// A program made ready: lists ordered, sets of strings hashed.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    program: &'a Program,
    literals: &'a [i128],
    /// For each step, its list.
    lists: Vec<Option<List>>,
    /// For each test of the fragment.
    tests: Vec<PreparedTest<'a>>,
}

#[derive(Debug)]
struct PreparedTest<'a> {
    test: &'a StringTest,
    /// The literals of a long list.
    set: Option<HashSet<&'a [u8]>>,
}

/// Up to so many strings are compared one by one: hashing a string costs as much.
const STRINGS_LINEAR_MAX: usize = 4;

/// What a program, a slot or an output column refers to.
pub(crate) struct Scope<'a> {
    pub(crate) columns: &'a [Vector],
    pub(crate) steps: &'a [Vector],
    pub(crate) literals: &'a [i128],
}

impl<'a> Scope<'a> {
    /// The vector of an operand, `None` for constants.
    pub(crate) fn vector(&self, operand: Operand) -> Option<&'a Vector> {
        match operand {
            Operand::Column(column) => self.columns.get(usize::from(column)),
            Operand::Step(step) => self.steps.get(usize::from(step)),
            Operand::Literal(_) | Operand::Test(_) | Operand::Null | Operand::None => None,
        }
    }

    pub(crate) fn number(&self, operand: Operand) -> Number<'a> {
        match (operand, self.vector(operand)) {
            (_, Some(Vector::Numbers(numbers))) => Number::Vector(numbers),
            (Operand::Literal(literal), _) => self
                .literals
                .get(usize::from(literal))
                .map_or(Number::Null, |literal| Number::Constant(*literal)),
            _ => Number::Null,
        }
    }

    /// The truth values of an operand; of anything else NULL.
    pub(crate) fn truth(&self, operand: Operand, rows: usize) -> Truth {
        match self.vector(operand) {
            Some(Vector::Truth(truth)) => truth.clone(),
            _ => Truth::null(rows),
        }
    }

    /// Which rows of an operand are not NULL; `None` when all are.
    pub(crate) fn validity(&self, operand: Operand, rows: usize) -> Option<BooleanBuffer> {
        match operand {
            Operand::Literal(_) => None,
            _ => match self.vector(operand) {
                Some(vector) => vector.validity(),
                None => Some(BooleanBuffer::new_unset(rows)),
            },
        }
    }
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(fragment: &'a Fragment, program: &'a Program) -> Self {
        let list = |step: &Step| match (step.op, step.b, step.c) {
            (Op::In, Operand::Literal(first), Operand::Literal(last)) => {
                fragment.literals.get(usize::from(first)..=usize::from(last)).map(List::new)
            }
            _ => None,
        };
        let test = |test: &'a StringTest| PreparedTest {
            test,
            set: (test.op == TestOp::In && test.strings.len() > STRINGS_LINEAR_MAX)
                .then(|| test.strings.iter().map(Vec::as_slice).collect()),
        };
        Self {
            program,
            literals: &fragment.literals,
            lists: program.steps.iter().map(list).collect(),
            tests: fragment.tests.iter().map(test).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.program.steps.is_empty()
    }

    /// The values of all steps over `rows` rows.
    ///
    /// # Errors
    /// [`Stop::OVERFLOW`].
    pub(crate) fn run(&self, columns: &[Vector], rows: usize) -> Result<Vec<Vector>, Stop> {
        let mut steps = Vec::with_capacity(self.program.steps.len());
        for (step, list) in self.program.steps.iter().zip(&self.lists) {
            let scope = Scope { columns, steps: &steps, literals: self.literals };
            let value = self.step(step, list.as_ref(), &scope, rows)?;
            steps.push(value);
        }
        Ok(steps)
    }

    fn step(
        &self,
        step: &Step,
        list: Option<&List>,
        scope: &Scope<'_>,
        rows: usize,
    ) -> Result<Vector, Stop> {
        let number = |operand| scope.number(operand);
        let truth = |operand| scope.truth(operand, rows);
        Ok(Vector::Truth(match step.op {
            Op::Add | Op::Subtract | Op::Multiply => {
                let values = arithmetic(step.op, step.width, number(step.a), number(step.b), rows)?;
                return Ok(Vector::Numbers(values));
            }
            Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::LessOrEqual
            | Op::Greater
            | Op::GreaterOrEqual => compare(step.op, number(step.a), number(step.b), rows),
            Op::Between => {
                let low = compare(Op::GreaterOrEqual, number(step.a), number(step.b), rows);
                low.and(&compare(Op::LessOrEqual, number(step.a), number(step.c), rows))
            }
            Op::In => match list {
                Some(list) => list.contains(number(step.a), rows),
                None => Truth::null(rows),
            },
            Op::IsNull => is_valid(scope, step.a, rows).not(),
            Op::IsNotNull => is_valid(scope, step.a, rows),
            Op::Test => self.test(step.a, scope, rows),
            Op::And => truth(step.a).and(&truth(step.b)),
            Op::Or => truth(step.a).or(&truth(step.b)),
            Op::Not => truth(step.a).not(),
        }))
    }

    fn test(&self, operand: Operand, scope: &Scope<'_>, rows: usize) -> Truth {
        let Operand::Test(index) = operand else {
            return Truth::null(rows);
        };
        let Some(prepared) = self.tests.get(usize::from(index)) else {
            return Truth::null(rows);
        };
        match scope.columns.get(usize::from(prepared.test.column)) {
            Some(Vector::Strings(strings)) => prepared.passes(strings, rows),
            _ => Truth::null(rows),
        }
    }
}

fn is_valid(scope: &Scope<'_>, operand: Operand, rows: usize) -> Truth {
    let is_true = scope.validity(operand, rows).unwrap_or_else(|| BooleanBuffer::new_set(rows));
    Truth { is_false: !&is_true, is_true }
}

impl PreparedTest<'_> {
    fn passes(&self, strings: &Strings, rows: usize) -> Truth {
        let holds = match &self.set {
            Some(set) => BooleanBuffer::collect_bool(rows, |row| set.contains(strings.get(row))),
            None => BooleanBuffer::collect_bool(rows, |row| self.test.passes(strings.get(row))),
        };
        Truth::of(holds, strings.validity.as_ref())
    }
}
