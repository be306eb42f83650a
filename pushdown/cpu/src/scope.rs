// SPDX-License-Identifier: Apache-2.0
//! Resolves the operands of programs, slots and output columns.

use arrow::buffer::BooleanBuffer;
use nearscan_command::Operand;

use crate::{
    compare::Number,
    vector::{Coded, Truth, Vector},
};

/// The values of a batch.
#[derive(Clone, Copy)]
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

    /// The rows of an operand that are codes of numbers.
    pub(crate) fn coded_numbers(&self, operand: Operand) -> Option<&'a Coded> {
        match self.vector(operand) {
            Some(Vector::Coded(coded)) if coded.dictionary.has_numbers() => Some(coded),
            _ => None,
        }
    }

    pub(crate) fn number(&self, operand: Operand) -> Number<'a> {
        match operand {
            Operand::Literal(literal) => self
                .literals
                .get(usize::from(literal))
                .map_or(Number::Null, |literal| Number::Constant(*literal)),
            _ => match self.vector(operand).and_then(Vector::numbers) {
                Some(numbers) => Number::Vector(numbers),
                None => Number::Null,
            },
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
