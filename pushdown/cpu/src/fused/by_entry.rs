// SPDX-License-Identifier: Apache-2.0
//! Decides conjuncts on one column by the entries of its dictionary.
//!
//! A conjunct is evaluated once for each entry, as if the entries were the rows of a batch. If no
//! entry passes, rows whose values are in the dictionary are dropped before they are read, and
//! their pages are not even decompressed; otherwise the codes of the rows are looked up.

use arrow::buffer::BooleanBuffer;
use nearscan_command::{Fragment, Op, Program};

use super::conjuncts::columns_of;
use crate::{
    dictionary::Dictionary,
    program::Prepared,
    simd::by_level,
    vector::{Coded, Vector, pack},
};

/// So many entries for each row that is left are too many to evaluate them all.
const ENTRIES_PER_ROW_MAX: usize = 16;

/// What is known of the entries of a column's dictionary, in one row group.
#[derive(Debug)]
pub(super) struct ByEntry {
    /// The only column of the conjunct.
    pub(super) column: usize,
    passing: Option<Passing>,
}

/// The entries that pass.
#[derive(Debug)]
enum Passing {
    Nothing,
    /// The one with this code.
    One(u32),
    /// Those that have a 1, `[entries]`.
    Several(Vec<u8>),
}

impl ByEntry {
    /// Of a conjunct, if an entry alone decides it: it has one column, cannot fail, and drops NULL.
    pub(super) fn of(program: &Program, fragment: &Fragment) -> Option<Self> {
        let [column] = columns_of(program, fragment)[..] else { return None };
        let is_decided = program.steps.iter().all(|step| match step.op {
            Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::LessOrEqual
            | Op::Greater
            | Op::GreaterOrEqual
            | Op::Between
            | Op::In
            | Op::Test
            | Op::And
            | Op::Or
            | Op::Not => true,
            Op::Add
            | Op::Subtract
            | Op::Multiply
            | Op::Divide
            | Op::DivideRound
            | Op::DivideFloor
            | Op::Remainder
            | Op::Select
            | Op::Year
            | Op::Month
            | Op::Day
            | Op::IsDistinct
            | Op::IsNotDistinct
            | Op::IsNull
            | Op::IsNotNull => false,
        });
        is_decided.then_some(Self { column, passing: None })
    }

    /// Prepares for another row group, which has another dictionary.
    pub(super) fn forget(&mut self) {
        self.passing = None;
    }

    /// Evaluates the conjunct for the entries, unless they are too many for the rows that are left.
    pub(super) fn learn(&mut self, program: &Prepared, dictionary: &Dictionary, rows: usize) {
        let is_worth_it = dictionary.len() <= rows.saturating_mul(ENTRIES_PER_ROW_MAX);
        if self.passing.is_some() || !is_worth_it {
            return;
        }
        let mut columns: Vec<Vector> =
            std::iter::repeat_with(|| Vector::Unused).take(self.column).collect();
        columns.push(Vector::of_entries(dictionary));
        // What cannot be evaluated stays unknown, and fails where rows are evaluated.
        let Ok(mut steps) = program.run(&columns, dictionary.len()) else { return };
        let Some(Vector::Truth(verdict)) = steps.pop() else { return };
        let passes = verdict.is_true;
        let codes = || passes.set_indices().filter_map(|code| u32::try_from(code).ok());
        self.passing = Some(match (passes.count_set_bits(), codes().next()) {
            (1, Some(code)) => Passing::One(code),
            (_, Some(_)) => Passing::Several(Dictionary::table(&passes)),
            (_, None) => Passing::Nothing,
        });
    }

    /// Whether no entry passes, as far as that is known.
    pub(super) const fn drops_all(&self) -> bool {
        matches!(self.passing, Some(Passing::Nothing))
    }

    /// Which rows pass; none if that is not known.
    pub(super) fn holds(&self, columns: &[Vector]) -> Option<BooleanBuffer> {
        let Some(Vector::Coded(coded)) = columns.get(self.column) else { return None };
        let Coded { codes, validity, .. } = coded;
        let holds = match self.passing.as_ref()? {
            Passing::Nothing => return Some(BooleanBuffer::new_unset(codes.len())),
            Passing::One(code) => pack(&equal(codes, *code)),
            Passing::Several(table) => return Some(coded.look_up(table).is_true),
        };
        Some(match validity {
            None => holds,
            Some(validity) => &holds & validity,
        })
    }
}

by_level! {
    /// For each code 1 if it is `one`, else 0.
    fn equal[](codes: &[u32], one: u32) -> Vec<u8> {
        codes.iter().map(|code| u8::from(*code == one)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::at_each_level;

    #[test]
    fn equal_codes_are_found_alike_at_each_level() {
        let codes: Vec<u32> = (0..100).map(|row| row * 7 % 5).collect();
        let expected: Vec<u8> = codes.iter().map(|code| u8::from(*code == 3)).collect();
        for found in at_each_level(|| equal(&codes, 3)) {
            assert_eq!(found, expected);
        }
    }
}
