// SPDX-License-Identifier: Apache-2.0
//! Lists the cases: the queries of TPC-H, and merges, of which TPC-H has none.

use anyhow::Result;
use nearscan_tpch::queries::{self, Query};

/// A query.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The name in reports.
    pub name: &'static str,
    /// Its statements, of which one delivers rows.
    pub sql: &'static str,
    /// The query of TPC-H that it is, if it is one.
    pub query: Option<&'static Query>,
    /// Whether the query says how all rows are ordered.
    pub order: RowOrder,
}

/// The extent to which a query fixes the order of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOrder {
    /// Rows may tie, or come as they like.
    Partial,
    /// No two rows tie.
    Total,
}

/// The word for the merges in a list of queries.
const MERGES_WORD: &str = "merges";

/// Merges: of all rows, of keys without repetition, and one that stops early below a join.
pub const MERGES: [Case; 3] = [
    Case {
        name: "merge",
        sql: "SELECT l_shipdate, l_orderkey, l_linenumber, l_quantity FROM shipped_even \
              WHERE l_quantity < 10 \
              UNION ALL \
              SELECT l_shipdate, l_orderkey, l_linenumber, l_quantity FROM shipped_odd \
              ORDER BY l_shipdate, l_orderkey, l_linenumber",
        query: None,
        order: RowOrder::Total,
    },
    Case {
        name: "merge-distinct",
        sql: "SELECT l_shipdate FROM shipped_even UNION SELECT l_shipdate FROM shipped_odd \
              ORDER BY l_shipdate",
        query: None,
        order: RowOrder::Total,
    },
    Case {
        name: "merge-join",
        sql: "SELECT l_shipdate, l_orderkey, l_linenumber, o_orderpriority FROM ( \
                SELECT l_shipdate, l_orderkey, l_linenumber FROM shipped_even \
                UNION ALL \
                SELECT l_shipdate, l_orderkey, l_linenumber FROM shipped_odd \
                ORDER BY l_shipdate, l_orderkey, l_linenumber LIMIT 5000) AS first \
              JOIN orders ON o_orderkey = l_orderkey WHERE o_orderpriority <> '1-URGENT' \
              ORDER BY l_shipdate, l_orderkey, l_linenumber",
        query: None,
        order: RowOrder::Total,
    },
];

/// Names of the queries of TPC-H in reports.
const NAMES: [&str; queries::QUERY_COUNT as usize] = [
    "q01", "q02", "q03", "q04", "q05", "q06", "q07", "q08", "q09", "q10", "q11", "q12", "q13",
    "q14", "q15", "q16", "q17", "q18", "q19", "q20", "q21", "q22",
];

impl Case {
    /// A query of TPC-H.
    #[must_use]
    pub fn of(query: &'static Query) -> Self {
        let name = usize::try_from(query.number).ok().and_then(|number| NAMES.get(number - 1));
        Self {
            name: name.copied().unwrap_or_default(),
            sql: query.sql,
            query: Some(query),
            order: RowOrder::Partial,
        }
    }
}

/// Reads a list such as `1,6,12-14,merges`.
///
/// # Errors
/// The first part that names nothing.
pub fn parse_list(text: &str) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part {
            MERGES_WORD => cases.extend(MERGES),
            numbers => cases.extend(queries::parse_list(numbers)?.into_iter().map(Case::of)),
        }
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_queries_and_merges() {
        let names = |text: &str| -> Vec<&str> {
            parse_list(text).unwrap().iter().map(|case| case.name).collect()
        };
        assert_eq!(names("1,21-22"), ["q01", "q21", "q22"]);
        assert_eq!(names("merges, 6"), ["merge", "merge-distinct", "merge-join", "q06"]);
        assert!(parse_list("mergers").is_err());
    }

    #[test]
    fn every_query_has_its_own_name() {
        for query in &queries::QUERIES {
            assert_eq!(Case::of(query).name, query.name());
        }
    }
}
