// SPDX-License-Identifier: Apache-2.0
//! Compares two answers of one engine to one query.
//!
//! Not the comparison with a file ([`super::expected`]), which knows of dialects and of digits that
//! a file does not show: two runs of one engine owe each other every bit, the kind of every value
//! and the types of the columns. Sums of floating-point numbers are the exception, for they may be
//! added in any order; the caller passes [`Precision::Digits`] for a query with one.

use std::{
    collections::HashMap,
    mem::{Discriminant, discriminant},
};

use nearscan::{Error as EngineError, arrow::datatypes::DataType};

use super::value::{Kind, Value};
use crate::render;

/// All rows of a query, and where they came from.
#[derive(Debug, Default)]
pub struct Answer {
    /// The rows, in their order.
    pub rows: Vec<Vec<Value>>,
    /// Types of the columns, as they were declared.
    pub types: Vec<DataType>,
    /// Types that the columns of some rows have instead, where they have others.
    pub other_types: Vec<Vec<DataType>>,
    /// Units that ran on the drive.
    pub units_drive: u64,
    /// Units that a drive was meant for and the CPU ran.
    pub units_cpu: u64,
    /// The reason why no unit ran on the drive.
    pub kept: Option<String>,
}

/// The reason why there are no rows.
#[derive(Debug)]
pub enum Refusal {
    /// The engine says why.
    Engine(Box<EngineError>),
    /// A column has no text.
    ColumnType(String),
    /// It panicked.
    Panic(String),
}

/// Rows, or why there are none.
pub type Answered = Result<Answer, Refusal>;

/// The precision with which floating-point numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Every bit.
    Bits,
    /// Twelve significant digits.
    Digits,
}

/// The relation of two answers to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// The same rows in the same order.
    Same,
    /// The same rows.
    OtherOrder,
    /// Other rows, or columns of other types.
    Differs,
}

/// A value as it is compared; any NaN is the same as any other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cell {
    kind: Discriminant<Kind>,
    text: String,
}

/// Rows, each with how often it is there.
#[derive(Debug, Default)]
pub struct Rows(HashMap<Vec<Cell>, usize>);

impl Answer {
    /// Whether the columns have the same types, declared and found.
    #[must_use]
    pub fn has_types_of(&self, other: &Self) -> bool {
        self.types == other.types && self.other_types == other.other_types
    }

    /// Compares with another answer to the same query.
    #[must_use]
    pub fn likeness(&self, other: &Self, precision: Precision) -> Likeness {
        if !self.has_types_of(other) || self.rows.len() != other.rows.len() {
            return Likeness::Differs;
        }
        let cells = |answer: &Self| -> Vec<Vec<Cell>> {
            answer.rows.iter().map(|row| cells(row, precision)).collect()
        };
        let (one, other) = (cells(self), cells(other));
        if one == other {
            return Likeness::Same;
        }
        let mut left = Rows::default();
        one.into_iter().for_each(|row| left.add(row));
        match other.iter().all(|row| left.take(row)) {
            true => Likeness::OtherOrder,
            false => Likeness::Differs,
        }
    }
}

impl Rows {
    /// Adds a row.
    pub fn add(&mut self, row: Vec<Cell>) {
        *self.0.entry(row).or_default() += 1;
    }

    /// Takes a row out once; says whether it was there.
    pub fn take(&mut self, row: &[Cell]) -> bool {
        match self.0.get_mut(row) {
            Some(count @ 1..) => {
                *count -= 1;
                true
            }
            Some(0) | None => false,
        }
    }
}

impl Refusal {
    /// Whether a query that is refused both ways is refused in the same way. What the engine says
    /// is not compared; that it breaks is something else than that it says no.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        discriminant(self) == discriminant(other) && self.is_defect() == other.is_defect()
    }

    /// Whether the engine broke one of its invariants.
    fn is_defect(&self) -> bool {
        match self {
            Self::Engine(error) => matches!(**error, EngineError::Internal(_)),
            Self::ColumnType(_) => false,
            Self::Panic(_) => true,
        }
    }
}

/// The values of a row as they are compared.
#[must_use]
pub fn cells(row: &[Value], precision: Precision) -> Vec<Cell> {
    let text = |value: &Value| match (value.kind, precision) {
        (Kind::Float(number), Precision::Bits) if number.is_nan() => "NaN".to_owned(),
        (Kind::Float(number), Precision::Bits) => format!("{:016x}", number.to_bits()),
        (Kind::Float(number), Precision::Digits) => render::double(number),
        (
            Kind::Null | Kind::Boolean | Kind::Exact | Kind::Text | Kind::Moment | Kind::Other,
            Precision::Bits | Precision::Digits,
        ) => value.text.clone(),
    };
    row.iter().map(|value| Cell { kind: discriminant(&value.kind), text: text(value) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearscan::datafusion::common::DataFusionError;
    use rstest::rstest;

    fn answer(values: &[(&str, Kind)]) -> Answer {
        let row =
            |(text, kind): &(&str, Kind)| vec![Value { text: (*text).to_owned(), kind: *kind }];
        let rows = values.iter().map(row).collect();
        Answer { rows, types: vec![DataType::Int32], ..Answer::default() }
    }

    const ONE: (&str, Kind) = ("1", Kind::Exact);
    const TWO: (&str, Kind) = ("2", Kind::Exact);

    #[rstest]
    #[case(&[ONE, TWO], &[ONE, TWO], Likeness::Same)]
    #[case(&[ONE, TWO], &[TWO, ONE], Likeness::OtherOrder)]
    #[case(&[ONE, ONE, TWO], &[TWO, TWO, ONE], Likeness::Differs)]
    #[case(&[ONE], &[ONE, ONE], Likeness::Differs)]
    #[case(&[("NULL", Kind::Null)], &[("NULL", Kind::Text)], Likeness::Differs)]
    #[case(&[("1", Kind::Text)], &[ONE], Likeness::Differs)]
    fn rows_are_compared(
        #[case] one: &[(&str, Kind)],
        #[case] other: &[(&str, Kind)],
        #[case] expected: Likeness,
    ) {
        let (one, other) = (answer(one), answer(other));
        assert_eq!(one.likeness(&other, Precision::Bits), expected);
        assert_eq!(one.likeness(&other, Precision::Digits), expected);
    }

    #[rstest]
    #[case(0.1 + 0.2, 0.3, Likeness::Differs, Likeness::Same)]
    #[case(0.0, -0.0, Likeness::Differs, Likeness::Same)]
    #[case(f64::NAN, -f64::NAN, Likeness::Same, Likeness::Same)]
    #[case(0.1, 0.1001, Likeness::Differs, Likeness::Differs)]
    fn floats_are_compared_by_bits_or_by_digits(
        #[case] one: f64,
        #[case] other: f64,
        #[case] bits: Likeness,
        #[case] digits: Likeness,
    ) {
        let (one, other) =
            (answer(&[("x", Kind::Float(one))]), answer(&[("x", Kind::Float(other))]));
        assert_eq!(one.likeness(&other, Precision::Bits), bits);
        assert_eq!(one.likeness(&other, Precision::Digits), digits);
    }

    #[test]
    fn columns_of_other_types_differ() {
        let one = answer(&[ONE]);
        let declared = Answer { types: vec![DataType::Int64], ..answer(&[ONE]) };
        let found = Answer { other_types: vec![vec![DataType::Int64]], ..answer(&[ONE]) };
        for other in [declared, found] {
            assert_eq!(one.likeness(&other, Precision::Digits), Likeness::Differs);
        }
    }

    #[test]
    fn panic_and_internal_error_are_not_refusals() {
        let engine = |error| Refusal::Engine(Box::new(error));
        let source = || Box::new(DataFusionError::Internal("x".to_owned()));
        let refusals = [
            engine(EngineError::Plan(source())),
            engine(EngineError::Internal(source())),
            Refusal::Panic("x".to_owned()),
            Refusal::ColumnType("x".to_owned()),
        ];
        for (index, one) in refusals.iter().enumerate() {
            let alike: Vec<bool> = refusals.iter().map(|other| one.is_like(other)).collect();
            let expected: Vec<bool> = (0..refusals.len()).map(|other| other == index).collect();
            assert_eq!(alike, expected);
        }
        let memory = engine(EngineError::Memory(source()));
        assert!(refusals[0].is_like(&memory), "messages are not compared");
    }
}
