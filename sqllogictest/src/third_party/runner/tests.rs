// SPDX-License-Identifier: Apache-2.0
//! Tests the outcomes of records with short files.

use super::{
    super::{report::Counts, script},
    *,
};
use rstest::rstest;

/// Runs a text as a file.
async fn run(text: &str, dialect: Dialect, mode: Mode) -> (Counts, Vec<Failure>) {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = FileRunner::open(mode, dialect, folder.path(), 7).await.unwrap();
    let mut counts = Counts::default();
    let mut failures = Vec::new();
    for record in script::read(text.as_bytes(), Path::new("a.test"), dialect, folder.path()) {
        let outcome = runner.run(&record).await.unwrap();
        counts.add(&outcome);
        failures.extend(outcome.failure);
    }
    (counts, failures)
}

const TABLE: &str = "statement ok\nCREATE TABLE t(a INTEGER, b VARCHAR(10))\n\n\
    statement ok\nINSERT INTO t VALUES (1, 'x'), (2, NULL), (3, 'y')\n\n";

#[tokio::test]
async fn right_records_pass_on_the_drive() {
    let text = format!(
        "{TABLE}statement ok\nCREATE INDEX i ON t(a)\n\n\
         query IT nosort\nSELECT a, b FROM t WHERE a > 1 ORDER BY a\n----\n2\nNULL\n3\ny\n\n\
         query R rowsort\nSELECT avg(a) FROM t WHERE a < 3\n----\n1.500\n\n\
         statement error\nSELECT nothing FROM t\n"
    );
    let (counts, failures) = run(&text, Dialect::Sqlite, Mode::Force).await;
    assert_eq!(failures, []);
    assert_eq!((counts.passed, counts.failed, counts.queries, counts.queries_drive), (5, 0, 2, 2));
    assert_eq!(counts.ignored.get("CREATE INDEX"), Some(&1));
    // The query that is refused is refused with pushdown off too.
    assert_eq!((counts.compared_with_off, counts.differ_from_off), (3, 0));
}

#[tokio::test]
async fn without_a_drive_nothing_runs_on_it() {
    let text = format!("{TABLE}query I\nSELECT count(*) FROM t WHERE a > 1\n----\n2\n");
    let (counts, _) = run(&text, Dialect::Sqlite, Mode::Off).await;
    assert_eq!((counts.passed, counts.units_drive, counts.compared_with_off), (3, 0, 0));
}

#[tokio::test]
async fn wrong_record_differs_from_the_suite_and_not_from_off() {
    let text = format!("{TABLE}query I\nSELECT a FROM t WHERE a > 2\n----\n4\n");
    let (counts, failures) = run(&text, Dialect::Sqlite, Mode::Force).await;
    assert_eq!((counts.failed, counts.differ_from_off), (1, 0));
    let [failure] = failures.as_slice() else { panic!("{failures:?}") };
    assert_eq!(
        (failure.place.as_str(), failure.sql.as_str()),
        ("a.test:7", "SELECT a FROM t WHERE a > 2")
    );
    assert_eq!((failure.expected.as_str(), failure.found.as_str()), ("4", "3"));
    assert!(failure.differs_from_suite && !failure.differs_from_off);
}

#[rstest]
#[case("query I\nSELECT no_such(a) FROM t\n----\n1\n", "function no_such")]
#[case("query I\nEXPLAIN SELECT 1\n----\n1\n", "statement EXPLAIN")]
#[case("statement ok\nPRAGMA x\n", "statement PRAGMA")]
#[case("query I\nSELECT a FROM t\n----\n3\n2\n1\n", "order that the query leaves open")]
#[case("statement error\nINSERT INTO t VALUES (1, 'x')\n", "refusal that the engine does not have")]
#[case("query T\nSELECT b FROM t\n----\n<REGEX>:x.*\n", "pattern in a result")]
#[tokio::test]
async fn what_cannot_be_judged_is_unsupported(#[case] record: &str, #[case] reason: &str) {
    let (counts, failures) = run(&format!("{TABLE}{record}"), Dialect::Duckdb, Mode::Force).await;
    assert_eq!(failures, []);
    let reasons: Vec<_> = counts.unsupported.into_iter().collect();
    assert_eq!(reasons, [(reason.to_owned(), 1)]);
}

#[tokio::test]
async fn table_that_lacks_a_statement_is_not_judged() {
    let text = format!(
        "{TABLE}statement ok\nINSERT INTO t VALUES (no_such(1), 'x')\n\n\
         query I\nSELECT count(*) FROM t WHERE a > 0\n----\n4\n\n\
         statement ok\nDROP TABLE t\n\n{TABLE}\
         query I\nSELECT count(*) FROM t WHERE a > 0\n----\n4\n"
    );
    let (counts, _) = run(&text, Dialect::Sqlite, Mode::Force).await;
    assert_eq!(counts.unsupported.get("after: function no_such"), Some(&1));
    assert_eq!(counts.failed, 1);
}

#[tokio::test]
async fn nulls_stand_where_they_stand_for_the_dialect() {
    let query = "query I\nSELECT a FROM (VALUES (1), (NULL)) AS t(a) ORDER BY a\n----\n";
    let first = format!("{query}NULL\n1\n\n");
    let last = format!("{query}1\nNULL\n\n");
    let set = "statement ok\nSET default_null_order='nulls_first'\n\n";
    let duckdb = format!("{last}{set}{first}");
    for (text, dialect, passed) in [(first, Dialect::Sqlite, 1), (duckdb, Dialect::Duckdb, 3)] {
        let (counts, failures) = run(&text, dialect, Mode::Off).await;
        assert_eq!((counts.passed, failures), (passed, Vec::new()));
    }
}

#[tokio::test]
async fn table_of_files_that_are_not_there_is_unsupported() {
    let text = "statement ok\nCREATE EXTERNAL TABLE t(a INT) STORED AS CSV \
                LOCATION '../no/such/folder/a.csv'\n\n\
                query I\nSELECT count(*) FROM t\n----\n3\n";
    let (counts, _) = run(text, Dialect::Datafusion, Mode::Off).await;
    let reasons: Vec<_> = counts.unsupported.keys().map(String::as_str).collect();
    assert_eq!((counts.failed, reasons), (0, vec!["after: file not found", "file not found"]));
}

/// `force` or `off`, as a query is told: by it the two can be made to differ.
const MODE: &str =
    "(SELECT value FROM information_schema.df_settings WHERE name = 'nearscan.pushdown.mode')";

/// The outcome of one record, `MODE` replaced, about rows 1 to 4 and twice 4.
async fn one(record: &str) -> (Counts, Vec<Failure>) {
    let table = "statement ok\nCREATE TABLE t(a INTEGER, b INTEGER, x DOUBLE)\n\n\
                 statement ok\nINSERT INTO t VALUES (1, 1, 0.1), (2, 1, 0.2), (3, 2, 0.3), \
                 (4, 2, 0.4), (4, 3, 0.5)\n\n";
    run(&format!("{table}{}", record.replace("MODE", MODE)), Dialect::Sqlite, Mode::Force).await
}

#[rstest]
// Other rows, which are those of the suite or not.
#[case(
    "query I\nSELECT CASE WHEN MODE = 'force' THEN a ELSE b END FROM t WHERE a > 3\n----\n4\n4\n"
)]
#[case(
    "query I\nSELECT CASE WHEN MODE = 'force' THEN a ELSE b END FROM t WHERE a > 3\n----\n2\n3\n"
)]
// Other rows of an order, and none that ties could explain.
#[case(
    "query I\nSELECT a FROM t WHERE a > 0 \
     ORDER BY CASE WHEN MODE = 'force' THEN -a ELSE a END LIMIT 2\n----\n1\n2\n"
)]
#[case(
    "query I\nSELECT a FROM t WHERE a > 0 ORDER BY CASE WHEN MODE = 'force' THEN -a ELSE a END\n----\n7\n"
)]
#[case(
    "query I rowsort\nSELECT a FROM(t)WHERE a > 0 \
     ORDER BY CASE WHEN MODE = 'force' THEN -a ELSE a END\n----\n1\n2\n3\n4\n4\n"
)]
// Wrong only sometimes, and only with pushdown.
#[case(
    "query R\nSELECT CASE WHEN MODE = 'force' THEN random() ELSE 0.5 END FROM t WHERE a = 3\n\
     ----\n0.500\n"
)]
// The low bits of a number that nothing adds up, the sign of zero, and the text NULL.
#[case(
    "query R\nSELECT CASE WHEN MODE = 'force' THEN x + 0.000000000000001 ELSE x END FROM t \
     WHERE a = 3\n----\n0.300\n"
)]
#[case(
    "query R\nSELECT CASE WHEN MODE = 'force' THEN -0.0 ELSE 0.0 END FROM t WHERE a = 3\n\
     ----\n0.000\n"
)]
#[case("query T\nSELECT CASE WHEN MODE = 'force' THEN 'NULL' END FROM t WHERE a = 3\n----\nNULL\n")]
// Statements that are refused with pushdown alone, and that are not refused with pushdown alone.
#[case(
    "query I\nSELECT CAST(CASE WHEN MODE = 'force' THEN 'x' ELSE '7' END AS INT) FROM t \
     WHERE a = 3\n----\n7\n"
)]
#[case(
    "statement error\nSELECT CAST(CASE WHEN MODE = 'off' THEN 'x' ELSE '7' END AS INT) FROM t \
     WHERE a = 3\n"
)]
// Rows that a statement reads, and that are not the suite's business.
#[case(
    "statement ok\nCREATE TABLE u AS SELECT CASE WHEN MODE = 'force' THEN a ELSE b END AS c FROM t \
     WHERE a > 3\n"
)]
#[case(
    "statement ok\nINSERT INTO t(a) SELECT CASE WHEN MODE = 'force' THEN a ELSE b END FROM t \
     WHERE a > 3\n"
)]
#[tokio::test]
async fn what_pushdown_changes_differs(#[case] record: &str) {
    let (counts, failures) = one(record).await;
    assert_eq!((counts.differ_from_off, counts.unstable), (1, 0), "{failures:?}");
    let [failure] = failures.as_slice() else { panic!("{failures:?}") };
    assert!(failure.differs_from_off && failure.found_off.is_some(), "{failure:?}");
    assert_eq!(u64::from(failure.differs_from_suite), counts.failed, "{failure:?}");
}

#[rstest]
// Random with pushdown off too.
#[case("query R\nSELECT random() FROM t WHERE a = 3\n----\n0.5\n", 1)]
// Rows that have the same key, and a LIMIT that takes one of all.
#[case("query I\nSELECT a FROM t WHERE a > 0 ORDER BY b LIMIT 5\n----\n1\n2\n3\n4\n4\n", 0)]
#[case(
    "query I\nSELECT a FROM (SELECT a, b FROM t WHERE a > 0 \
     ORDER BY CASE WHEN MODE = 'force' THEN -a ELSE a END LIMIT 9) AS u LIMIT 1\n----\n9\n",
    1
)]
// No order at all.
#[case(
    "query I\nSELECT a FROM (SELECT a FROM t WHERE a > 0 \
     ORDER BY CASE WHEN MODE = 'force' THEN -a ELSE a END LIMIT 9) AS u\n----\n9\n",
    0
)]
// Sums of floating-point numbers.
#[case(
    "query R\nSELECT sum(x) + CASE WHEN MODE = 'force' THEN 0.000000000000001 ELSE 0 END FROM t \
     WHERE a > 0\n----\n1.500\n",
    0
)]
#[tokio::test]
async fn what_a_query_leaves_open_is_forgiven(#[case] record: &str, #[case] unstable: u64) {
    let (counts, failures) = one(record).await;
    assert_eq!((counts.differ_from_off, counts.unstable), (0, unstable), "{failures:?}");
    assert!(counts.compared_with_off > 0);
}

#[tokio::test]
async fn no_wrong_row_of_a_drive_goes_into_a_table() {
    let record = "statement ok\nCREATE TABLE u AS SELECT CASE WHEN MODE = 'force' THEN a ELSE b END \
                  AS c FROM t WHERE a > 3\n\nquery I rowsort\nSELECT c FROM u WHERE c > 0\n----\n2\n3\n";
    let (counts, failures) = one(record).await;
    assert_eq!((counts.passed, counts.failed, counts.differ_from_off), (4, 0, 1), "{failures:?}");
    // The units of a statement are the drive's, and it is no query.
    assert_eq!((counts.queries, counts.queries_drive), (1, 1));
}

#[tokio::test]
async fn what_is_prepared_is_compared() {
    let query = "SELECT CASE WHEN MODE = 'force' THEN a ELSE b END FROM t WHERE a > $1";
    let record = format!(
        "statement ok\nPREPARE p(INT) AS {query}\n\nquery I\nEXECUTE p(3)\n----\n4\n4\n\n\
         statement ok\nDEALLOCATE p\n\nstatement ok\nPREPARE p(INT) AS INSERT INTO t(a) VALUES ($1)\n\n\
         query I\nEXECUTE p(7)\n----\n1\n\nquery I\nSELECT count(*) FROM t WHERE a = 7\n----\n1\n"
    );
    let (counts, failures) = one(&record).await;
    assert_eq!((counts.failed, counts.differ_from_off), (0, 1), "{failures:?}");
}

#[tokio::test]
async fn texts_of_several_statements_change_something_once() {
    let record = "statement ok\nSELECT a FROM t WHERE a > 9; INSERT INTO t(a) VALUES (7)\n\n\
                  query I\nSELECT 1; SELECT count(*) FROM t WHERE a = 7\n----\n1\n";
    let (counts, failures) = one(record).await;
    assert_eq!((counts.passed, counts.differ_from_off), (4, 0), "{failures:?}");
}

#[rstest]
#[case("statement count 2\nINSERT INTO t(a) VALUES (7), (8)\n", "passed")]
#[case("statement count 3\nINSERT INTO t(a) VALUES (7), (8)\n", "failed")]
#[case("statement count 2\nSELECT a FROM t WHERE a > 3\n", "passed")]
#[case("statement count 1\nSELECT a FROM t WHERE a > 3\n", "failed")]
#[case("statement count 1\nCREATE TABLE u(a INT)\n", "count of a statement without one")]
#[case(
    "query I nosort\nSELECT a FROM t WHERE a > 3\n----\n2 values hashing to x\n",
    "hash of an open order"
)]
#[case(
    "query I nosort\nSELECT a FROM t WHERE a > 3 ORDER BY a\n----\n2 values hashing to x\n",
    "failed"
)]
#[case("query I nosort\nSELECT a FROM t WHERE a = 3\n----\n1 values hashing to x\n", "failed")]
#[tokio::test]
async fn counts_and_hashes_are_compared(#[case] record: &str, #[case] expected: &str) {
    let (counts, _) = one(record).await;
    let found = match (counts.passed, counts.failed) {
        (3, 0) => "passed",
        (2, 1) => "failed",
        _ => counts.unsupported.keys().next().unwrap(),
    };
    assert_eq!(found, expected);
}

#[tokio::test]
async fn queries_that_are_refused_are_not_compared_with_their_rows() {
    let (counts, _) = one("query I\nSELECT no_such(a) FROM t\n----\n1\n").await;
    assert_eq!((counts.queries, counts.queries_drive), (0, 0));
}

#[tokio::test]
async fn statement_of_another_connection_is_missed() {
    let text = format!(
        "{TABLE}statement ok con1\nINSERT INTO t VALUES (4, 'z')\n\n\
         query I\nSELECT count(*) FROM t WHERE a > 0\n----\n4\n"
    );
    let (counts, failures) = run(&text, Dialect::Duckdb, Mode::Force).await;
    assert_eq!(failures, []);
    let reasons: Vec<_> = counts.unsupported.keys().map(String::as_str).collect();
    assert_eq!(reasons, ["after: directive connection", "directive connection"]);
}
