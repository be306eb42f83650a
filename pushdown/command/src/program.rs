// SPDX-License-Identifier: Apache-2.0
//! Defines predicate and projection programs.
//!
//! A program is a list of steps; step `i` computes one value a row from columns, literals and
//! earlier steps. There are no jumps, so a kernel can lay the steps out in space, and the last step
//! of a predicate is its verdict (a row is kept when it is true; false and unknown are the same to
//! it).
//!
//! Values are 128-bit integers or null. An arithmetic result that leaves the step's [`Width`] ends
//! the unit with [`Status::Overflow`](crate::Status::Overflow): the steps of a predicate are
//! evaluated for every row, those of a projection for every kept row, and null operands overflow
//! nothing. Both branches of a [`Op::Select`] are evaluated: a branch that must not overflow where
//! it is not taken cannot be one.
//!
//! Logic is three-valued: NULL AND FALSE is FALSE, NULL OR TRUE is TRUE, NOT NULL is NULL; a
//! comparison with NULL is NULL; `a IN (..)` and BETWEEN follow from comparisons.

use crate::{
    error::{Error, Place},
    layout::{NONE, operand as packed},
    limits,
    types::{ValueKind, Width, wire_enum},
};

wire_enum! {
    /// The operation of a step.
    Op: u8 ("operation") {
        /// `a + b`
        Add = 1,
        /// `a - b`
        Subtract = 2,
        /// `a * b`
        Multiply = 3,
        /// `a / b`, cut off towards zero; b is a literal other than 0
        Divide = 4,
        /// `a / b`, rounded, halves away from zero; b is a literal other than 0
        DivideRound = 5,
        /// `a / b`, rounded down; b is a literal other than 0
        DivideFloor = 6,
        /// what `Divide` leaves over, with the sign of a; b is a literal other than 0
        Remainder = 7,
        /// `CASE WHEN a THEN b ELSE c END`
        Select = 8,
        /// the year of day `a` since 1970-01-01, Gregorian; `a` fits 32 bits
        Year = 9,
        /// its month, 1 to 12
        Month = 10,
        /// its day of the month, 1 to 31
        Day = 11,
        /// `a = b`
        Equal = 16,
        /// `a <> b`
        NotEqual = 17,
        /// `a < b`
        Less = 18,
        /// `a <= b`
        LessOrEqual = 19,
        /// `a > b`
        Greater = 20,
        /// `a >= b`
        GreaterOrEqual = 21,
        /// `a BETWEEN b AND c`
        Between = 22,
        /// `a IN (literal b ..= literal c)`
        In = 23,
        /// `a IS NULL`; never null itself
        IsNull = 24,
        /// `a IS NOT NULL`; never null itself
        IsNotNull = 25,
        /// the outcome of string test `a`; null when its column is
        Test = 26,
        /// `a IS DISTINCT FROM b`; never null itself
        IsDistinct = 27,
        /// `a IS NOT DISTINCT FROM b`; never null itself
        IsNotDistinct = 28,
        /// `a AND b`
        And = 32,
        /// `a OR b`
        Or = 33,
        /// `NOT a`
        Not = 34,
    }
}

impl Op {
    /// Whether the step's value is a number (else it is a truth value).
    pub const fn is_arithmetic(self) -> bool {
        self.code() < Self::Equal.code()
    }

    /// Whether it divides by its second operand.
    pub const fn is_division(self) -> bool {
        matches!(self, Self::Divide | Self::DivideRound | Self::DivideFloor | Self::Remainder)
    }
}

/// The source of a value of a step, slot or output column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A column of the fragment.
    Column(u16),
    /// An earlier step of the same program (for slots and output: a step of the projection).
    Step(u16),
    /// A literal of the fragment.
    Literal(u16),
    /// A string test of the fragment.
    Test(u16),
    /// NULL.
    Null,
    /// Nothing: the operation does not use this operand.
    None,
}

impl Operand {
    /// The 16 bits on the wire.
    pub(crate) fn pack(self) -> u16 {
        let join = |kind: u16, index: u16| kind << packed::KIND_SHIFT | index;
        match self {
            Self::Column(index) => join(packed::COLUMN, index),
            Self::Step(index) => join(packed::STEP, index),
            Self::Literal(index) => join(packed::LITERAL, index),
            Self::Test(index) => join(packed::TEST, index),
            Self::Null => join(packed::NULL, 0),
            Self::None => NONE,
        }
    }

    pub(crate) fn unpack(bits: u16) -> Result<Self, Error> {
        let index = bits & ((1 << packed::KIND_SHIFT) - 1);
        match bits >> packed::KIND_SHIFT {
            packed::COLUMN => Ok(Self::Column(index)),
            packed::STEP => Ok(Self::Step(index)),
            packed::LITERAL => Ok(Self::Literal(index)),
            packed::TEST => Ok(Self::Test(index)),
            packed::NULL if index == 0 => Ok(Self::Null),
            _ if bits == NONE => Ok(Self::None),
            _ => Err(Error::UnknownCode { what: "operand", value: u64::from(bits) }),
        }
    }
}

/// One step of a [`Program`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// The width that an arithmetic result must fit in; [`Width::Bool`] for truth values.
    pub width: Width,
    /// First operand.
    pub a: Operand,
    /// Second operand.
    pub b: Operand,
    /// Third operand.
    pub c: Operand,
}

impl Step {
    /// `a op b` with a numeric result of `width`.
    pub const fn arithmetic(op: Op, width: Width, a: Operand, b: Operand) -> Self {
        Self { op, width, a, b, c: Operand::None }
    }

    /// `CASE WHEN truth THEN b ELSE c END`; its width holds both.
    pub const fn select(width: Width, truth: Operand, b: Operand, c: Operand) -> Self {
        Self { op: Op::Select, width, a: truth, b, c }
    }

    /// `op(a)` with a numeric result of `width`: a part of a date.
    pub const fn part(op: Op, width: Width, a: Operand) -> Self {
        Self { op, width, a, b: Operand::None, c: Operand::None }
    }

    /// `a op b` with a truth value; also AND and OR.
    pub const fn compare(op: Op, a: Operand, b: Operand) -> Self {
        Self { op, width: Width::Bool, a, b, c: Operand::None }
    }

    /// `a BETWEEN b AND c`.
    pub const fn between(a: Operand, b: Operand, c: Operand) -> Self {
        Self { op: Op::Between, width: Width::Bool, a, b, c }
    }

    /// `a IN (first ..= last)`, both literals.
    pub const fn in_literals(a: Operand, first: u16, last: u16) -> Self {
        Self {
            op: Op::In,
            width: Width::Bool,
            a,
            b: Operand::Literal(first),
            c: Operand::Literal(last),
        }
    }

    /// NOT, IS NULL or IS NOT NULL of `a`.
    pub const fn unary(op: Op, a: Operand) -> Self {
        Self { op, width: Width::Bool, a, b: Operand::None, c: Operand::None }
    }

    /// The outcome of string test number `test` of the fragment.
    pub const fn test(test: u16) -> Self {
        Self::unary(Op::Test, Operand::Test(test))
    }
}

/// A list of steps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Program {
    /// In order of evaluation.
    pub steps: Vec<Step>,
}

/// The values that a program may refer to.
pub(crate) struct Scope<'a> {
    pub(crate) columns: &'a [ValueKind],
    pub(crate) literals: &'a [i128],
    pub(crate) test_count: usize,
}

/// The type of an operand while checking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Truth,
    Bytes,
}

impl Program {
    /// A program of these steps.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect() }
    }

    /// Whether it has no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Checks every step; `place` names a step in errors. Gives the kind of each step's value.
    pub(crate) fn check(&self, scope: &Scope<'_>, place: Locate) -> Result<Vec<Kind>, Error> {
        limit("steps", self.steps.len(), limits::STEPS_MAX)?;
        let mut kinds = Vec::with_capacity(self.steps.len());
        for (index, step) in self.steps.iter().enumerate() {
            let at = place(u32::try_from(index).unwrap_or(u32::MAX));
            kinds.push(step.check(scope, &kinds, at)?);
        }
        Ok(kinds)
    }
}

/// Makes a [`Place`] of a step's number.
pub(crate) type Locate = fn(u32) -> Place;

impl Step {
    fn check(&self, scope: &Scope<'_>, before: &[Kind], at: Place) -> Result<Kind, Error> {
        let number = |operand| need(operand, scope, before, at, Kind::Number);
        let truth = |operand| need(operand, scope, before, at, Kind::Truth);
        let unused = |operand| match operand {
            Operand::None => Ok(()),
            _ => Err(Error::Kind { place: at, expected: "no such operand" }),
        };
        match self.op {
            Op::Add
            | Op::Subtract
            | Op::Multiply
            | Op::Divide
            | Op::DivideRound
            | Op::DivideFloor
            | Op::Remainder => {
                number(self.a)?;
                number(self.b)?;
                unused(self.c)?;
                if self.op.is_division() {
                    divisor(self.b, scope, at)?;
                }
                return self.number(at);
            }
            Op::Select => {
                truth(self.a)?;
                number(self.b)?;
                number(self.c)?;
                return self.number(at);
            }
            Op::Year | Op::Month | Op::Day => {
                number(self.a)?;
                unused(self.b)?;
                unused(self.c)?;
                return self.number(at);
            }
            Op::IsDistinct
            | Op::IsNotDistinct
            | Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::LessOrEqual
            | Op::Greater
            | Op::GreaterOrEqual => {
                number(self.a)?;
                number(self.b)?;
                unused(self.c)?;
            }
            Op::Between => {
                number(self.a)?;
                number(self.b)?;
                number(self.c)?;
            }
            Op::In => {
                number(self.a)?;
                match (self.b, self.c) {
                    (Operand::Literal(first), Operand::Literal(last)) if first <= last => {
                        number(self.c)?;
                    }
                    _ => {
                        return Err(Error::Kind { place: at, expected: "a range of literals" });
                    }
                }
            }
            Op::IsNull | Op::IsNotNull => {
                kind_of(self.a, scope, before, at)?;
                unused(self.b)?;
                unused(self.c)?;
            }
            Op::Test => {
                let Operand::Test(test) = self.a else {
                    return Err(Error::Kind { place: at, expected: "a string test" });
                };
                if usize::from(test) >= scope.test_count {
                    return Err(index_error("string test", test, scope.test_count));
                }
                unused(self.b)?;
                unused(self.c)?;
            }
            Op::And | Op::Or => {
                truth(self.a)?;
                truth(self.b)?;
                unused(self.c)?;
            }
            Op::Not => {
                truth(self.a)?;
                unused(self.b)?;
                unused(self.c)?;
            }
        }
        match self.width {
            Width::Bool => Ok(Kind::Truth),
            _ => Err(Error::Kind { place: at, expected: "the width of a truth value" }),
        }
    }

    /// The kind of a step whose width must be one of numbers.
    fn number(&self, at: Place) -> Result<Kind, Error> {
        match self.width.is_numeric() {
            true => Ok(Kind::Number),
            false => Err(Error::Kind { place: at, expected: "a numeric width" }),
        }
    }
}

/// Checks that `operand` is a literal to divide by: of 64 bits, because that is what a divider in
/// hardware is made for.
fn divisor(operand: Operand, scope: &Scope<'_>, at: Place) -> Result<(), Error> {
    let refused = Error::Kind { place: at, expected: "a literal of 64 bits, not 0, to divide by" };
    let Operand::Literal(index) = operand else { return Err(refused) };
    match scope.literals.get(usize::from(index)).map(|literal| i64::try_from(*literal)) {
        Some(Ok(literal)) if literal != 0 => Ok(()),
        _ => Err(refused),
    }
}

/// Checks that `operand` exists and is of `kind`; NULL is of every kind.
pub(crate) fn need(
    operand: Operand,
    scope: &Scope<'_>,
    steps: &[Kind],
    at: Place,
    kind: Kind,
) -> Result<(), Error> {
    match kind_of(operand, scope, steps, at)? {
        None => Ok(()),
        Some(found) if found == kind => Ok(()),
        Some(_) => Err(Error::Kind {
            place: at,
            expected: match kind {
                Kind::Number => "a number",
                Kind::Truth => "a truth value",
                Kind::Bytes => "a byte string",
            },
        }),
    }
}

/// The kind of `operand`, `None` for NULL.
pub(crate) fn kind_of(
    operand: Operand,
    scope: &Scope<'_>,
    steps: &[Kind],
    at: Place,
) -> Result<Option<Kind>, Error> {
    match operand {
        Operand::Column(column) => match scope.columns.get(usize::from(column)) {
            Some(ValueKind::Integer) => Ok(Some(Kind::Number)),
            Some(ValueKind::Bytes) => Ok(Some(Kind::Bytes)),
            None => Err(index_error("column", column, scope.columns.len())),
        },
        Operand::Step(step) => match steps.get(usize::from(step)) {
            Some(kind) => Ok(Some(*kind)),
            None => Err(index_error("step", step, steps.len())),
        },
        Operand::Literal(literal) if usize::from(literal) < scope.literals.len() => {
            Ok(Some(Kind::Number))
        }
        Operand::Literal(literal) => Err(index_error("literal", literal, scope.literals.len())),
        Operand::Test(_) => Err(Error::Kind { place: at, expected: "a value, not a string test" }),
        Operand::Null => Ok(None),
        Operand::None => Err(Error::Kind { place: at, expected: "an operand" }),
    }
}

pub(crate) fn index_error(what: &'static str, index: u16, count: usize) -> Error {
    Error::Index { what, index: u64::from(index), count: count as u64 }
}

/// Refuses more than `limit` of something.
pub(crate) fn limit(what: &'static str, actual: usize, limit: u32) -> Result<(), Error> {
    if actual as u64 <= u64::from(limit) {
        Ok(())
    } else {
        Err(Error::Limit { what, actual: actual as u64, limit: u64::from(limit) })
    }
}
