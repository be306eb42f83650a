// SPDX-License-Identifier: Apache-2.0
//! Files in a few lines, and what becomes of their records.

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
    for record in script::read(text, Path::new("a.test"), dialect) {
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
async fn a_wrong_record_differs_from_the_suite_and_not_from_off() {
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
async fn a_table_that_lacks_a_statement_is_not_judged() {
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
async fn a_table_of_files_that_are_not_there_is_unsupported() {
    let text = "statement ok\nCREATE EXTERNAL TABLE t(a INT) STORED AS CSV \
                LOCATION '../no/such/folder/a.csv'\n\n\
                query I\nSELECT count(*) FROM t\n----\n3\n";
    let (counts, _) = run(text, Dialect::Datafusion, Mode::Off).await;
    let reasons: Vec<_> = counts.unsupported.keys().map(String::as_str).collect();
    assert_eq!((counts.failed, reasons), (0, vec!["after: file not found", "file not found"]));
}

#[tokio::test]
async fn a_query_without_an_answer_of_its_own_is_unstable() {
    let text = format!("{TABLE}query R\nSELECT random() FROM t WHERE a > 2\n----\n0.5\n");
    let (counts, _) = run(&text, Dialect::Sqlite, Mode::Force).await;
    assert_eq!((counts.unstable, counts.differ_from_off), (1, 0));
}

#[tokio::test]
async fn answers_of_other_rows_are_not_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let runner = FileRunner::open(Mode::Force, Dialect::Sqlite, folder.path(), 7).await.unwrap();
    let rows = async |sql: &str| runner.ask(sql).await;
    let (sort, expect) = (Sort::Unsorted, Expect::Success);
    let lines = ["1".to_owned(), "2".to_owned()];
    let asked = |sql| Asked { sql, letters: "I", sort, lines: Some(&lines), expect };
    let ordered = asked("SELECT a FROM t ORDER BY a");
    let open = asked("SELECT a FROM t");
    let one = rows("SELECT * FROM (VALUES (1), (2)) AS t(a)").await;
    let turned = rows("SELECT * FROM (VALUES (2), (1)) AS t(a)").await;
    let other = rows("SELECT * FROM (VALUES (1), (3)) AS t(a)").await;
    let refused = rows("SELECT a").await;
    assert!(runner.is_same(open, &one, &turned), "an order that nobody asked for");
    assert!(!runner.is_same(ordered, &one, &turned), "an order that was asked for");
    assert!(!runner.is_same(open, &one, &other));
    assert!(!runner.is_same(open, &one, &refused));
    assert!(runner.is_same(open, &refused, &refused));
}

#[rstest]
#[case("SELECT 1", "select")]
#[case("  -- why\n/* and */ ((select 1))", "select")]
#[case("-- only", "")]
#[case("insert into t", "insert")]
fn finds_the_first_word(#[case] sql: &str, #[case] expected: &str) {
    assert_eq!(first_word(sql), expected);
}

#[rstest]
#[case("SELECT a FROM t LIMIT 2", Some("SELECT a FROM t "))]
#[case("SELECT a FROM t limit 2 offset 1;", Some("SELECT a FROM t "))]
#[case("SELECT a FROM (SELECT a FROM t LIMIT 2) AS t", None)]
#[case("SELECT a FROM t", None)]
fn finds_the_limit_at_the_end(#[case] sql: &str, #[case] expected: Option<&str>) {
    assert_eq!(without_limit(sql), expected);
}

#[tokio::test]
async fn a_limit_may_take_any_of_the_rows_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let runner = FileRunner::open(Mode::Force, Dialect::Sqlite, folder.path(), 7).await.unwrap();
    let rows = async |values: &str| runner.ask(&format!("SELECT * FROM (VALUES {values})")).await;
    let sql = "SELECT a FROM (VALUES (1), (2), (2)) AS t(a) LIMIT 2";
    let open = async |one: &str, other: &str| {
        runner.leaves_rows_open(sql, &rows(one).await, &rows(other).await).await.unwrap()
    };
    assert!(open("(1), (2)", "(2), (2)").await);
    assert!(!open("(1), (2)", "(1), (1)").await, "a row that is there once");
    assert!(!open("(1), (2)", "(1), (3)").await, "a row that is not there");
    assert!(!open("(1), (2)", "(1)").await, "too few rows");
}
