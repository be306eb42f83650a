// SPDX-License-Identifier: Apache-2.0
//! Lists the 22 queries with their validation parameters, and the facts for comparing their
//! answers.

use crate::error::Error;

/// Number of queries.
pub const QUERY_COUNT: u32 = 22;

/// A query.
#[derive(Debug, Clone, Copy)]
pub struct Query {
    /// From 1 to 22.
    pub number: u32,
    /// One statement, or three where a view is made and dropped around it (query 15).
    pub sql: &'static str,
    /// Columns of the result by which it is ordered, in the order of `ORDER BY`.
    pub order: &'static [usize],
    /// Columns of the result that are averages or quotients, which have no exact digits.
    pub quotients: &'static [usize],
}

/// All queries, in order.
pub static QUERIES: [Query; QUERY_COUNT as usize] = [
    query(1, include_str!("../queries/q01.sql"), &[0, 1], &[6, 7, 8]),
    query(2, include_str!("../queries/q02.sql"), &[0, 2, 1, 3], &[]),
    query(3, include_str!("../queries/q03.sql"), &[1, 2], &[]),
    query(4, include_str!("../queries/q04.sql"), &[0], &[]),
    query(5, include_str!("../queries/q05.sql"), &[1], &[]),
    query(6, include_str!("../queries/q06.sql"), &[], &[]),
    query(7, include_str!("../queries/q07.sql"), &[0, 1, 2], &[]),
    query(8, include_str!("../queries/q08.sql"), &[0], &[1]),
    query(9, include_str!("../queries/q09.sql"), &[0, 1], &[]),
    query(10, include_str!("../queries/q10.sql"), &[2], &[]),
    query(11, include_str!("../queries/q11.sql"), &[1], &[]),
    query(12, include_str!("../queries/q12.sql"), &[0], &[]),
    query(13, include_str!("../queries/q13.sql"), &[1, 0], &[]),
    query(14, include_str!("../queries/q14.sql"), &[], &[0]),
    query(15, include_str!("../queries/q15.sql"), &[0], &[]),
    query(16, include_str!("../queries/q16.sql"), &[3, 0, 1, 2], &[]),
    query(17, include_str!("../queries/q17.sql"), &[], &[0]),
    query(18, include_str!("../queries/q18.sql"), &[4, 3], &[]),
    query(19, include_str!("../queries/q19.sql"), &[], &[]),
    query(20, include_str!("../queries/q20.sql"), &[0], &[]),
    query(21, include_str!("../queries/q21.sql"), &[1, 0], &[]),
    query(22, include_str!("../queries/q22.sql"), &[0], &[]),
];

impl Query {
    /// The name that files and reports use, for example `q01`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("q{:02}", self.number)
    }
}

/// Returns the query of a number.
#[must_use]
pub fn find(number: u32) -> Option<&'static Query> {
    QUERIES.iter().find(|query| query.number == number)
}

/// Reads a list of query numbers such as `1,6,12-14`.
///
/// # Errors
/// [`Error::QueryNumber`] with the first part that names no query.
pub fn parse_list(text: &str) -> Result<Vec<&'static Query>, Error> {
    let mut queries = Vec::new();
    for part in text.split(',').map(str::trim) {
        let refuse = || Error::QueryNumber { text: part.to_owned() };
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().trim_start_matches('q').parse::<u32>().ok();
        let (first, last) = number(first).zip(number(last)).ok_or_else(refuse)?;
        if first > last || last > QUERY_COUNT {
            return Err(refuse());
        }
        for number in first..=last {
            queries.push(find(number).ok_or_else(refuse)?);
        }
    }
    Ok(queries)
}

const fn query(
    number: u32,
    sql: &'static str,
    order: &'static [usize],
    quotients: &'static [usize],
) -> Query {
    Query { number, sql, order, quotients }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn queries_are_numbered_in_order() {
        let numbers: Vec<u32> = QUERIES.iter().map(|query| query.number).collect();
        assert_eq!(numbers, (1..=QUERY_COUNT).collect::<Vec<_>>());
    }

    #[rstest]
    #[case("1", &[1])]
    #[case("1,6, 12-14", &[1, 6, 12, 13, 14])]
    #[case("q06,q22", &[6, 22])]
    fn reads_lists(#[case] text: &str, #[case] expected: &[u32]) {
        let numbers: Vec<u32> =
            parse_list(text).unwrap().iter().map(|query| query.number).collect();
        assert_eq!(numbers, expected);
    }

    #[rstest]
    #[case("")]
    #[case("0")]
    #[case("23")]
    #[case("3-1")]
    #[case("1-4000000000")]
    #[case("1,x")]
    fn refuses_invalid_query_names(#[case] text: &str) {
        assert!(parse_list(text).is_err());
    }
}
