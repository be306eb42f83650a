// SPDX-License-Identifier: Apache-2.0
//! Evaluates string tests: once for each entry of a dictionary, otherwise for each value.

use std::{cell::OnceCell, collections::HashSet};

use arrow::buffer::{BooleanBuffer, Buffer};
use nearscan_command::{StringTest, TestOp};

use crate::{
    contains::rows_with,
    dictionary::Dictionary,
    like::Like,
    values::Strings,
    vector::{Truth, Vector},
};

/// A test made ready.
#[derive(Debug)]
pub(crate) struct PreparedTest {
    test: StringTest,
    matcher: Matcher,
    /// Its outcome for each entry of the column's dictionary; a chunk has one at most.
    table: OnceCell<Vec<u8>>,
}

#[derive(Debug)]
enum Matcher {
    /// The literals of a long list.
    Set(HashSet<Vec<u8>>),
    Like(Like),
    /// As the test is.
    Plain,
}

/// Up to so many strings are compared one by one: hashing a string costs as much.
const STRINGS_LINEAR_MAX: usize = 4;

impl PreparedTest {
    pub(crate) fn new(test: &StringTest) -> Self {
        let is_long = test.op == TestOp::In && test.strings.len() > STRINGS_LINEAR_MAX;
        let matcher = match Like::of(test) {
            Some(like) => Matcher::Like(like),
            None if is_long => Matcher::Set(test.strings.iter().cloned().collect()),
            None => Matcher::Plain,
        };
        Self { test: test.clone(), matcher, table: OnceCell::new() }
    }

    /// Prepares for another chunk of the column.
    pub(crate) fn forget_dictionary(&mut self) {
        self.table.take();
    }

    /// Which rows pass.
    pub(crate) fn passes(&self, columns: &[Vector], rows: usize) -> Truth {
        match columns.get(usize::from(self.test.column)) {
            Some(Vector::Strings(strings)) => {
                Truth::of(self.holds(strings, rows), strings.validity.as_ref())
            }
            Some(Vector::Coded(coded)) => match coded.dictionary.strings() {
                Some(entries) => {
                    let holds = || self.holds(entries, coded.dictionary.len());
                    coded.look_up(self.table.get_or_init(|| Dictionary::table(&holds())))
                }
                None => Truth::null(rows),
            },
            _ => Truth::null(rows),
        }
    }

    fn holds(&self, strings: &Strings, rows: usize) -> BooleanBuffer {
        let each = |holds: &dyn Fn(&[u8]) -> bool| {
            BooleanBuffer::collect_bool(rows, |row| holds(strings.get(row)))
        };
        match &self.matcher {
            Matcher::Like(Like::Starts(start)) => BooleanBuffer::collect_bool(rows, |row| {
                start.is_of(strings.head(row), strings.length(row))
            }),
            Matcher::Set(set) => each(&|value| set.contains(value)),
            Matcher::Like(like) => match like.piece() {
                Some(piece) => {
                    let mut words = vec![0_u64; rows.div_ceil(64)];
                    rows_with(piece, strings, rows, |row| {
                        let is_like = like.matches(strings.get(row));
                        words[row / 64] |= u64::from(is_like) << (row % 64);
                    });
                    BooleanBuffer::new(Buffer::from_vec(words), 0, rows)
                }
                None => each(&|value| like.matches(value)),
            },
            Matcher::Plain => each(&|value| self.test.passes(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nearscan_command::pattern;

    use super::*;
    use crate::values::View;

    /// The bytes behind a string are those of the next one, or there are none.
    #[test]
    fn start_is_compared_within_its_string_alone() {
        let page = Bytes::from_static(b"abcdefghijabcab");
        let buffers = vec![page];
        let places = [(0, 10), (0, 2), (0, 3), (10, 3), (10, 2), (13, 2), (14, 1), (15, 0), (1, 9)];
        let views = places.map(|(start, length)| View { buffer: 0, start, length });
        let null = View { buffer: 7, ..View::default() };
        let views: Vec<View> = views.into_iter().chain([null]).collect();
        let rows = views.len();
        let strings = Strings { buffers, views, validity: None };
        for start in ["", "a", "ab", "abc", "abcd", "abcdefgh", "abcdefghi", "b"] {
            let text = start.bytes().chain([pattern::ANY]).collect();
            let test = StringTest { column: 0, op: TestOp::Like, strings: vec![text] };
            let found: Vec<bool> = PreparedTest::new(&test).holds(&strings, rows).iter().collect();
            let expected: Vec<bool> =
                (0..rows).map(|row| strings.get(row).starts_with(start.as_bytes())).collect();
            assert_eq!(found, expected, "{start}");
        }
    }
}
