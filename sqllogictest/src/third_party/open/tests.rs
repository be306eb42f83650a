// SPDX-License-Identifier: Apache-2.0
//! Tests queries with answers that they leave open or do not.

use rstest::rstest;

use super::*;
use crate::third_party::{directive::Dialect, value};

/// Tables in memory are enough: what a query promises is not about a drive.
async fn engine() -> Engine {
    let engine = Engine::builder().threads(2).build().await.unwrap();
    for sql in [
        "CREATE TABLE t(a INT, b INT, x DOUBLE) AS VALUES (1, 1, 0.5), (2, 1, 0.5), (3, 2, 1.5), \
         (4, 2, 1.5), (4, 2, 1.5), (5, 3, NULL)",
        "CREATE VIEW v AS SELECT b, sum(x) AS s FROM t GROUP BY b",
    ] {
        engine.sql(sql).await.unwrap().collect().await.unwrap();
    }
    engine
}

async fn rows(engine: &Engine, plan: LogicalPlan) -> Vec<Vec<Value>> {
    let frame = engine.uncorrected_context().execute_logical_plan(plan).await.unwrap();
    let batches = frame.collect().await.unwrap();
    let rows = |batch| value::rows(batch, Dialect::Sqlite).unwrap();
    batches.iter().flat_map(rows).collect()
}

#[rstest]
// Rows that have the same key may change places.
#[case("SELECT a FROM t ORDER BY b", "1,2,3,4,4,5", true)]
#[case("SELECT a FROM t ORDER BY b", "2,1,4,4,3,5", true)]
#[case("SELECT a FROM t ORDER BY b", "1,3,2,4,4,5", false)]
#[case("SELECT a FROM t ORDER BY b", "1,2,3,3,4,5", false)]
#[case("SELECT a FROM t ORDER BY b DESC", "5,4,3,4,2,1", true)]
#[case("SELECT a FROM t ORDER BY a", "2,1,3,4,4,5", false)]
#[case("SELECT a FROM t ORDER BY -a", "5,4,4,3,2,1", true)]
#[case("SELECT a FROM t ORDER BY -a", "1,2,3,4,4,5", false)]
// A LIMIT takes any rows of the last key, and no others.
#[case("SELECT a FROM t ORDER BY b LIMIT 3", "1,2,4", true)]
#[case("SELECT a FROM t ORDER BY b LIMIT 3", "2,1,3", true)]
#[case("SELECT a FROM t ORDER BY b LIMIT 3", "1,2,5", false)]
#[case("SELECT a FROM t ORDER BY b LIMIT 3", "1,3,4", false)]
#[case("SELECT a FROM t ORDER BY b LIMIT 3", "1,2", false)]
#[case("SELECT a FROM t ORDER BY b LIMIT 2 OFFSET 1", "1,4", true)]
#[case("SELECT a FROM t ORDER BY b LIMIT 2 OFFSET 1", "4,1", false)]
#[case("SELECT a FROM t ORDER BY b LIMIT 5 OFFSET 4", "3,5", true)]
#[case("SELECT a FROM t ORDER BY (SELECT 1), b LIMIT 1", "2", true)]
#[case("SELECT a FROM t ORDER BY (SELECT 1), b LIMIT 1", "3", false)]
#[case("SELECT sum(a) FROM t GROUP BY b ORDER BY count(*) LIMIT 2", "5,3", true)]
#[case("SELECT sum(a) FROM t GROUP BY b ORDER BY count(*) LIMIT 2", "3,5", false)]
#[case("SELECT DISTINCT b FROM t ORDER BY b LIMIT 2", "1,2", true)]
#[case("SELECT DISTINCT b FROM t ORDER BY b LIMIT 2", "1,1", false)]
#[case("SELECT a FROM t UNION ALL SELECT b FROM t ORDER BY 1 LIMIT 3", "1,1,1", true)]
#[case("SELECT a FROM t UNION ALL SELECT b FROM t ORDER BY 1 LIMIT 3", "1,1,2", false)]
// Without an order it takes any rows at all.
#[case("SELECT a FROM t LIMIT 2", "5,1", true)]
#[case("SELECT a FROM t LIMIT 2", "4,4", true)]
#[case("SELECT a FROM t LIMIT 2", "5,5", false)]
#[case("SELECT a FROM t LIMIT 2", "7,1", false)]
#[case("SELECT a FROM t LIMIT 2", "1", false)]
#[tokio::test]
async fn explains_the_answers_that_a_query_leaves_open(
    #[case] sql: &str,
    #[case] answer: &str,
    #[case] expected: bool,
) {
    let engine = engine().await;
    let promise = Promise::of(&engine, sql).await.unwrap();
    let open = promise.open.unwrap();
    let all = rows(&engine, open.whole.clone()).await;
    let value = |text: &str| Value { text: text.to_owned(), kind: value::Kind::Exact };
    let rows = answer.split(',').map(|text| vec![value(text)]).collect();
    let answer = Answer { rows, ..Answer::default() };
    assert_eq!(open.explains(&answer, &all, promise.precision), expected);
}

#[rstest]
#[case("SELECT a FROM t", false, false)]
#[case("SELECT a FROM t ORDER BY b", true, true)]
#[case("SELECT a FROM t LIMIT 2", false, true)]
#[case("SELECT row_number() OVER (ORDER BY a) FROM t", false, false)]
#[case("SELECT a FROM (SELECT a FROM t ORDER BY b LIMIT 2) AS u WHERE a > 0", false, false)]
#[tokio::test]
async fn only_the_end_of_a_query_leaves_something_open(
    #[case] sql: &str,
    #[case] is_sorted: bool,
    #[case] is_open: bool,
) {
    let promise = Promise::of(&engine().await, sql).await.unwrap();
    assert_eq!((promise.is_sorted, promise.open.is_some()), (is_sorted, is_open));
}

#[rstest]
#[case("SELECT x, sum(a) FROM t GROUP BY x", Precision::Bits)]
#[case("SELECT sum(x) FROM t", Precision::Digits)]
#[case("SELECT a FROM t WHERE x < (SELECT avg(x) FROM t)", Precision::Digits)]
#[case("SELECT s FROM v", Precision::Digits)]
#[case("SELECT sum(x) OVER (PARTITION BY b) FROM t", Precision::Digits)]
#[case("SELECT min(x), max(x), count(x) FROM t", Precision::Bits)]
#[case("SELECT x * 2 FROM t", Precision::Bits)]
#[tokio::test]
async fn sums_of_floats_are_not_exact(#[case] sql: &str, #[case] expected: Precision) {
    assert_eq!(Promise::of(&engine().await, sql).await.unwrap().precision, expected);
}

#[rstest]
#[case("no SQL")]
#[case("SELECT DISTINCT ON (b) a FROM t ORDER BY b, a")]
#[tokio::test]
async fn some_queries_promise_nothing_that_is_known(#[case] sql: &str) {
    assert!(Promise::of(&engine().await, sql).await.is_none());
}

#[tokio::test]
async fn execution_promises_what_was_prepared() {
    let engine = engine().await;
    let prepare = "PREPARE p(INT) AS SELECT a FROM t WHERE a > $1 ORDER BY b LIMIT 1";
    engine.sql(prepare).await.unwrap().collect().await.unwrap();
    let promise = Promise::of(&engine, "EXECUTE p(3)").await.unwrap();
    let all = rows(&engine, promise.open.unwrap().whole).await;
    assert_eq!((promise.is_sorted, all.len()), (true, 3));
}
