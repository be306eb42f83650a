// SPDX-License-Identifier: Apache-2.0
//! Defines [`Fragment`], the part of a plan that one command can express, without addresses.

use crate::{
    error::{Error, Place},
    key_filter::KeyFilter,
    limits,
    program::{Kind, Operand, Program, Scope, index_error, kind_of, limit, need},
    types::{ValueKind, Width, wire_enum},
};

/// A column that a fragment reads, found by name in each file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Column {
    /// Name of a top-level column.
    pub name: String,
    /// Kind of the decoded values.
    pub kind: ValueKind,
}

impl Column {
    /// A column of this name and kind.
    pub fn new(name: impl Into<String>, kind: ValueKind) -> Self {
        Self { name: name.into(), kind }
    }
}

wire_enum! {
    /// The comparison of a string with the literals of a test, byte by byte.
    TestOp: u16 ("string test") {
        /// equal to any of the literals
        In = 1,
        /// less than the literal
        Less = 2,
        /// less than or equal to the literal
        LessOrEqual = 3,
        /// greater than the literal
        Greater = 4,
        /// greater than or equal to the literal
        GreaterOrEqual = 5,
        /// like the literal, which is a pattern: byte 0xff stands for any characters or none, 0xfe
        /// for one character of UTF-8, any other byte for itself
        Like = 6,
    }
}

/// Wildcard bytes of a pattern; no text has them, because they are not valid in UTF-8.
pub mod pattern {
    /// Any characters or none: `%`.
    pub const ANY: u8 = 0xff;
    /// One character: `_`.
    pub const ONE: u8 = 0xfe;
}

/// A test of a byte-string column against literals: once for each dictionary entry, or for each
/// value of a plain page. Its outcome is an operand of the programs ([`Operand::Test`]); null
/// values have a null outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StringTest {
    /// The column.
    pub column: u16,
    /// The comparison.
    pub op: TestOp,
    /// One literal (for [`TestOp::Like`] a pattern); for [`TestOp::In`] one or more.
    pub strings: Vec<Vec<u8>>,
}

impl StringTest {
    /// Whether `value` passes.
    pub fn passes(&self, value: &[u8]) -> bool {
        let compare = |holds: fn(std::cmp::Ordering) -> bool| {
            self.strings.first().is_some_and(|literal| holds(value.cmp(literal.as_slice())))
        };
        match self.op {
            TestOp::In => self.strings.iter().any(|literal| literal == value),
            TestOp::Less => compare(std::cmp::Ordering::is_lt),
            TestOp::LessOrEqual => compare(std::cmp::Ordering::is_le),
            TestOp::Greater => compare(std::cmp::Ordering::is_gt),
            TestOp::GreaterOrEqual => compare(std::cmp::Ordering::is_ge),
            TestOp::Like => self.strings.first().is_some_and(|pattern| is_like(value, pattern)),
        }
    }
}

/// Whether `value` is like `pattern`: goes through both at once, and where they part takes up the
/// latest [`pattern::ANY`] again, one character further on.
fn is_like(value: &[u8], pattern: &[u8]) -> bool {
    let (mut at, mut item) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match pattern.get(item) {
            Some(&pattern::ANY) => {
                retry = Some((at, item + 1));
                item += 1;
                continue;
            }
            Some(&pattern::ONE) if at < value.len() => {
                at = character_end(value, at);
                item += 1;
                continue;
            }
            Some(byte) if value.get(at) == Some(byte) => {
                at += 1;
                item += 1;
                continue;
            }
            None if at == value.len() => return true,
            _ => {}
        }
        match retry {
            Some((from, after)) if from < value.len() => {
                at = character_end(value, from);
                item = after;
                retry = Some((at, after));
            }
            _ => return false,
        }
    }
}

/// The place behind the character that begins at `at`.
fn character_end(value: &[u8], at: usize) -> usize {
    let is_inside = |byte: &&u8| **byte & 0xc0 == 0x80;
    at + 1 + value[at + 1..].iter().take_while(is_inside).count()
}

wire_enum! {
    /// The function of an aggregate slot. AVG is a [`Function::Sum`] and a [`Function::Count`].
    Function: u8 ("aggregate function") {
        /// kept rows; has no operand
        CountRows = 1,
        /// kept rows whose operand is not null
        Count = 2,
        /// exact sum of what is not null; null when nothing is
        Sum = 3,
        /// least; null when nothing is not null; of byte strings the least byte by byte
        Min = 4,
        /// greatest; null when nothing is not null; of byte strings the greatest byte by byte
        Max = 5,
        /// sum of floats, added as 8-byte IEEE numbers in the order of the rows; null when nothing
        /// is not null. Operand and state are places in the total order, see `ReadAs`
        SumFloat = 6,
    }
}

/// One aggregate slot.
///
/// A sum is exact in 128 bits; [`Status::Overflow`](crate::Status::Overflow) when it leaves
/// `width`, and possibly when the sum of the operands' absolute values leaves 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Aggregate {
    /// The function that is computed.
    pub function: Function,
    /// The values that are aggregated: a column, a step of the projection, or a literal.
    pub operand: Operand,
    /// The width that the state must fit in.
    pub width: Width,
    /// Only rows for which this step of the projection is true; [`Operand::None`] for all.
    pub filter: Operand,
}

impl Aggregate {
    /// A slot over every kept row.
    pub const fn new(function: Function, operand: Operand, width: Width) -> Self {
        Self { function, operand, width, filter: Operand::None }
    }

    /// COUNT(*).
    pub const fn count_rows() -> Self {
        Self::new(Function::CountRows, Operand::None, Width::W64)
    }
}

/// One group key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// A column, or with a range also a step of the projection.
    pub operand: Operand,
    /// Which numbers it can be; none for a column that is grouped by its dictionary codes.
    pub range: Option<KeyRange>,
}

/// The numbers that a key can be: a value outside of them ends the unit with
/// [`Status::GroupCardinality`](crate::Status::GroupCardinality).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// The least.
    pub first: i64,
    /// Number of values of the range, the least included.
    pub count: u32,
}

impl Key {
    /// A dictionary-encoded column.
    pub const fn column(column: u16) -> Self {
        Self { operand: Operand::Column(column), range: None }
    }

    /// A column or step whose numbers are `first`, `first + 1` and so on, `count` of them.
    pub const fn range(operand: Operand, first: i64, count: u32) -> Self {
        Self { operand, range: Some(KeyRange { first, count }) }
    }

    /// The column whose codes are the key, if it is one of those.
    pub const fn code_column(&self) -> Option<u16> {
        match (self.operand, self.range) {
            (Operand::Column(column), None) => Some(column),
            _ => None,
        }
    }
}

/// Which rows of a unit can be among the first by some number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Top {
    /// The number: a column or a step of the projection.
    pub operand: Operand,
    /// Whether greater numbers come first.
    pub descending: bool,
    /// Whether nulls come before all numbers (else behind them).
    pub nulls_first: bool,
    /// Number of rows that are asked for.
    pub count: u32,
}

/// One column of a row output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowColumn {
    /// A column, a step of the projection, a literal or NULL.
    pub operand: Operand,
    /// Width of the values in the result.
    pub width: Width,
}

/// The output of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Output {
    /// Aggregate states: one row a group, first the keys, then the slots (each 16 bytes). Without
    /// keys there is exactly one row.
    States {
        /// The keys of the groups, in the order of the output.
        keys: Vec<Key>,
        /// The slots.
        aggregates: Vec<Aggregate>,
    },
    /// The kept rows, in their order.
    Rows {
        /// The columns; there may be none when only the number of rows matters.
        columns: Vec<RowColumn>,
        /// After this many rows the rest may be left out.
        limit: Option<u64>,
        /// A kept row is left out when at least [`Top::count`] kept rows before it come strictly
        /// before it in this order; ties stay. Not together with a limit.
        top: Option<Top>,
    },
}

/// The part of a physical plan that one command can express: a scan of some columns of one table, a
/// predicate, a projection and aggregates or rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// The columns that are read.
    pub columns: Vec<Column>,
    /// Which rows are kept, if the key filters pass them too; empty keeps all.
    pub predicate: Program,
    /// The values that are computed of the kept rows.
    pub projection: Program,
    /// Numbers that the programs refer to.
    pub literals: Vec<i128>,
    /// String tests, in the order of their columns.
    pub tests: Vec<StringTest>,
    /// Sets that numbers of a row are looked up in: a row that the predicate keeps is dropped when
    /// one of them does not pass it.
    pub key_filters: Vec<KeyFilter>,
    /// The form of the result.
    pub output: Output,
}

impl Fragment {
    /// Checks every rule of the format: counts within [`limits`], operands in range and of the
    /// right kind, tests in the order of their columns.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), Error> {
        limit("columns", self.columns.len(), limits::COLUMNS_MAX)?;
        limit("literals", self.literals.len(), limits::LITERALS_MAX)?;
        for (index, column) in self.columns.iter().enumerate() {
            limit("bytes in a column's name", column.name.len(), limits::NAME_BYTES_MAX)?;
            if self.columns[..index].iter().any(|other| other.name == column.name) {
                return Err(Error::Inconsistent { what: "a column is listed twice" });
            }
        }
        self.check_tests()?;
        self.check_key_filters()?;
        let kinds: Vec<ValueKind> = self.columns.iter().map(|column| column.kind).collect();
        let scope =
            Scope { columns: &kinds, literals: &self.literals, test_count: self.tests.len() };
        let verdict = self.predicate.check(&scope, Place::Predicate)?;
        if matches!(verdict.last(), Some(Kind::Number | Kind::Bytes)) {
            return Err(Error::Inconsistent { what: "the predicate ends in a number" });
        }
        let steps = self.projection.check(&scope, Place::Projection)?;
        match &self.output {
            Output::States { keys, aggregates } => {
                limit("group keys", keys.len(), limits::KEYS_MAX)?;
                limit("aggregates", aggregates.len(), limits::AGGREGATES_MAX)?;
                self.check_states(keys, aggregates, &scope, &steps)
            }
            Output::Rows { columns, limit: rows, top } => {
                limit("output columns", columns.len(), limits::OUTPUT_COLUMNS_MAX)?;
                check_rows(columns, &scope, &steps)?;
                match top {
                    None => Ok(()),
                    Some(_) if rows.is_some() => {
                        Err(Error::Inconsistent { what: "an output has both a limit and a top" })
                    }
                    Some(top) => check_top(top, &scope, &steps),
                }
            }
        }
    }

    fn check_tests(&self) -> Result<(), Error> {
        limit("string tests", self.tests.len(), limits::TESTS_MAX)?;
        let strings = self.tests.iter().map(|test| test.strings.len()).sum();
        limit("string literals", strings, limits::STRINGS_MAX)?;
        let bytes = self.tests.iter().flat_map(|test| &test.strings).map(Vec::len).sum();
        limit("bytes of string literals", bytes, limits::BYTES_MAX)?;
        let mut previous = 0;
        for (index, test) in self.tests.iter().enumerate() {
            let place = Place::Test(u32::try_from(index).unwrap_or(u32::MAX));
            match self.columns.get(usize::from(test.column)) {
                None => return Err(index_error("column", test.column, self.columns.len())),
                Some(column) if column.kind != ValueKind::Bytes => {
                    return Err(Error::Kind { place, expected: "a column of byte strings" });
                }
                Some(_) => {}
            }
            if test.column < previous {
                return Err(Error::Inconsistent { what: "string tests are not ordered by column" });
            }
            previous = test.column;
            if test.strings.is_empty() || (test.op != TestOp::In && test.strings.len() != 1) {
                return Err(Error::Kind { place, expected: "one literal, or several for IN" });
            }
            for literal in &test.strings {
                limit("bytes of a string literal", literal.len(), limits::STRING_BYTES_MAX)?;
                if test.op == TestOp::Like {
                    let bytes = literal.iter().filter(|byte| **byte != pattern::ANY).count();
                    limit("places of a pattern", bytes, limits::PATTERN_PLACES_MAX)?;
                }
            }
            self.check_lane_tests(test.column)?;
        }
        Ok(())
    }

    fn check_key_filters(&self) -> Result<(), Error> {
        limit("key filters", self.key_filters.len(), limits::KEY_FILTERS_MAX)?;
        let bytes = usize::try_from(self.key_bits_bytes()).unwrap_or(usize::MAX);
        limit("bytes of key filters", bytes, limits::KEY_BITS_BYTES_MAX)?;
        for (index, filter) in self.key_filters.iter().enumerate() {
            let place = Place::KeyFilter(u32::try_from(index).unwrap_or(u32::MAX));
            match self.columns.get(usize::from(filter.column)) {
                None => return Err(index_error("column", filter.column, self.columns.len())),
                Some(column) if column.kind != ValueKind::Integer => {
                    return Err(Error::Kind { place, expected: "a column of numbers" });
                }
                Some(_) => filter.check(index)?,
            }
        }
        Ok(())
    }

    /// Bytes of the bits of all key filters.
    pub fn key_bits_bytes(&self) -> u64 {
        self.key_filters.iter().map(|filter| filter.keys.bytes()).sum()
    }

    /// Checks that the string tests of one column fit in its lane.
    fn check_lane_tests(&self, column: u16) -> Result<(), Error> {
        let tests = || self.tests.iter().filter(|test| test.column == column);
        let literals = || tests().flat_map(|test| &test.strings);
        let bytes = literals().map(|literal| literal.len().next_multiple_of(8)).sum();
        let patterns = tests().filter(|test| test.op == TestOp::Like).count();
        limit("string tests of a column", tests().count(), limits::TESTS_PER_COLUMN_MAX)?;
        limit("patterns of a column", patterns, limits::PATTERNS_PER_COLUMN_MAX)?;
        limit("literals of a column", literals().count(), limits::STRINGS_PER_COLUMN_MAX)?;
        limit("bytes of a column's literals", bytes, limits::STRING_BYTES_PER_COLUMN_MAX)
    }

    fn check_states(
        &self,
        keys: &[Key],
        aggregates: &[Aggregate],
        scope: &Scope<'_>,
        steps: &[Kind],
    ) -> Result<(), Error> {
        for (index, key) in keys.iter().enumerate() {
            self.check_key(index, key, scope, steps)?;
            if keys[..index].iter().any(|other| other.operand == key.operand) {
                return Err(Error::Inconsistent { what: "a group key is listed twice" });
            }
        }
        for (index, slot) in aggregates.iter().enumerate() {
            let place = Place::Aggregate(u32::try_from(index).unwrap_or(u32::MAX));
            match slot.function {
                Function::CountRows if slot.operand == Operand::None => {}
                Function::CountRows => {
                    return Err(Error::Kind { place, expected: "no operand" });
                }
                Function::Count => {
                    kind_of(slot.operand, scope, steps, place)?;
                }
                Function::Min | Function::Max
                    if kind_of(slot.operand, scope, steps, place)? == Some(Kind::Bytes) => {}
                Function::Sum | Function::Min | Function::Max => {
                    need(slot.operand, scope, steps, place, Kind::Number)?;
                }
                Function::SumFloat => match slot.operand {
                    Operand::Column(_) => need(slot.operand, scope, steps, place, Kind::Number)?,
                    _ => return Err(Error::Kind { place, expected: "a column of floats" }),
                },
            }
            if slot.filter != Operand::None {
                need(slot.filter, scope, steps, place, Kind::Truth)?;
            }
            let shows_bytes = self.slot_width(slot) == Width::Bytes;
            match slot.width {
                Width::Bytes if shows_bytes => {}
                width if width.is_numeric() && !shows_bytes => {}
                _ => return Err(Error::Kind { place, expected: "a width of the slot's kind" }),
            }
            if slot.function == Function::SumFloat && slot.width != Width::W64 {
                return Err(Error::Kind { place, expected: "the width of a float" });
            }
        }
        Ok(())
    }

    fn check_key(
        &self,
        index: usize,
        key: &Key,
        scope: &Scope<'_>,
        steps: &[Kind],
    ) -> Result<(), Error> {
        let place = Place::Key(u32::try_from(index).unwrap_or(u32::MAX));
        match (key.operand, key.range) {
            (Operand::Column(column), None) => match self.columns.get(usize::from(column)) {
                Some(_) => Ok(()),
                None => Err(index_error("column", column, self.columns.len())),
            },
            (Operand::Column(_) | Operand::Step(_), Some(range)) => {
                need(key.operand, scope, steps, place, Kind::Number)?;
                limit("numbers of a key", range.count as usize, limits::GROUPS_MAX - 1)?;
                match range.first.checked_add(i64::from(range.count)) {
                    Some(_) if range.count > 0 => Ok(()),
                    _ => Err(Error::Kind { place, expected: "a range of 64-bit numbers" }),
                }
            }
            _ => Err(Error::Kind { place, expected: "a column, or a step with a range" }),
        }
    }

    /// The width in which the state of a slot is written.
    fn slot_width(&self, slot: &Aggregate) -> Width {
        let operand = match slot.operand {
            Operand::Column(column) => self.columns.get(usize::from(column)),
            _ => None,
        };
        let is_extreme = matches!(slot.function, Function::Min | Function::Max);
        match operand {
            Some(column) if is_extreme && column.kind == ValueKind::Bytes => Width::Bytes,
            _ => Width::W128,
        }
    }

    /// The widths of the output's columns, in order.
    pub fn output_widths(&self) -> Vec<Width> {
        match &self.output {
            Output::States { keys, aggregates } => {
                let column = |key: &Key| self.columns.get(usize::from(key.code_column()?));
                let key = |key: &Key| match column(key).map(|column| column.kind) {
                    Some(ValueKind::Bytes) => Width::Bytes,
                    Some(ValueKind::Integer) | None => Width::W64,
                };
                let slot = |slot: &Aggregate| self.slot_width(slot);
                keys.iter().map(key).chain(aggregates.iter().map(slot)).collect()
            }
            Output::Rows { columns, .. } => columns.iter().map(|column| column.width).collect(),
        }
    }
}

fn check_top(top: &Top, scope: &Scope<'_>, steps: &[Kind]) -> Result<(), Error> {
    let place = Place::Top;
    match top.operand {
        Operand::Column(_) | Operand::Step(_) => {}
        _ => return Err(Error::Kind { place, expected: "a column or a step" }),
    }
    need(top.operand, scope, steps, place, Kind::Number)?;
    limit("rows of a top", top.count as usize, limits::TOP_MAX)?;
    match top.count {
        0 => Err(Error::Kind { place, expected: "at least one row" }),
        _ => Ok(()),
    }
}

fn check_rows(columns: &[RowColumn], scope: &Scope<'_>, steps: &[Kind]) -> Result<(), Error> {
    for (index, column) in columns.iter().enumerate() {
        let place = Place::OutputColumn(u32::try_from(index).unwrap_or(u32::MAX));
        let expected = match column.width {
            Width::W32 | Width::W64 | Width::W128 => Kind::Number,
            Width::Bool => Kind::Truth,
            Width::Bytes => Kind::Bytes,
        };
        need(column.operand, scope, steps, place, expected)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_like_does() {
        let like = |value: &str, pattern: &str| {
            let bytes = pattern.bytes().map(|byte| match byte {
                b'%' => pattern::ANY,
                b'_' => pattern::ONE,
                other => other,
            });
            is_like(value.as_bytes(), &bytes.collect::<Vec<_>>())
        };
        for (value, pattern) in [
            ("", ""),
            ("", "%"),
            ("abc", "a%"),
            ("abc", "%c"),
            ("abc", "a_c"),
            ("abcabd", "%ab_"),
            ("aab", "%ab"),
            ("größe", "gr__e"),
            ("größe", "%öß%"),
            ("special packages requests", "%special%requests%"),
        ] {
            assert!(like(value, pattern), "{value} LIKE {pattern}");
        }
        for (value, pattern) in [
            ("", "_"),
            ("abc", "ab"),
            ("abc", "b%"),
            ("abc", "a_"),
            ("größe", "gr___e"),
            ("requests special", "%special%requests%"),
        ] {
            assert!(!like(value, pattern), "{value} NOT LIKE {pattern}");
        }
    }
}
