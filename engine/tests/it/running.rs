// SPDX-License-Identifier: Apache-2.0
//! Parameters of statements, queries that are planned once, and runs that end early.

use std::time::Duration;

use futures::StreamExt;
use nearscan::{
    datafusion::common::ScalarValue,
    error::{Error, ParameterError},
};
use rstest::rstest;

use crate::support::{Data, ROWS, engine, engine_with_drive, rows_of, shown};

/// A query that does not end in time.
const ENDLESS: &str = "SELECT sum(value) FROM generate_series(1, 1000000000000)";

fn numbers(values: &[i64]) -> Vec<ScalarValue> {
    values.iter().map(|value| ScalarValue::Int64(Some(*value))).collect()
}

#[rstest]
#[case("SELECT count(*) FROM t WHERE k > $1 AND v = $2", &[990, 5], "1")]
#[case("SELECT count(*) FROM t WHERE k > ? AND v = ?", &[990, 5], "1")]
#[case("SELECT $2 - $1, $1", &[3, 10], "7 3")]
#[case("SELECT k FROM t ORDER BY k LIMIT $1 OFFSET $2", &[1, 6], "7")]
#[case("SELECT k FROM t WHERE k IN (SELECT k + $1 FROM t WHERE k = $1)", &[2], "4")]
#[tokio::test]
async fn positional_parameters_have_their_values(
    #[case] sql: &str,
    #[case] values: &[i64],
    #[case] expected: &str,
) {
    let data = Data::make().await;
    let engine = data.engine().await;
    let query = engine.sql(sql).await.unwrap().bind(numbers(values)).unwrap();
    assert_eq!(shown(query.collect().await.unwrap()), expected);
}

#[tokio::test]
async fn named_parameter_is_cast_to_the_type_that_the_plan_needs() {
    let data = Data::make().await;
    let engine = data.engine().await;
    let query = engine.sql("SELECT count(*) FROM t WHERE k <= $most").await.unwrap();
    for value in [ScalarValue::from("12"), ScalarValue::Int8(Some(12)), ScalarValue::from(12.0)] {
        let bound = query.clone().bind(vec![("most", value)]).unwrap();
        assert_eq!(shown(bound.collect().await.unwrap()), "12");
    }
}

#[tokio::test]
async fn values_that_do_not_fit_the_parameters_are_refused() {
    let data = Data::make().await;
    let engine = data.engine().await;
    let query = engine.sql("SELECT count(*) FROM t WHERE k <= $1").await.unwrap();
    let error = |values: Vec<ScalarValue>| query.clone().bind(values).unwrap_err();
    let missing = error(Vec::new());
    assert!(
        matches!(&missing, Error::Parameter(ParameterError::Missing { name, .. }) if name == "$1")
    );
    assert_eq!(missing.render(), "error: parameter $1 has no value\n  detail: parameters: $1");
    let unknown = error(numbers(&[1, 2]));
    assert!(matches!(unknown, Error::Parameter(ParameterError::Unknown { .. })), "{unknown}");
    let text = error(vec![ScalarValue::from("x")]);
    assert!(matches!(text, Error::Parameter(ParameterError::Type { .. })), "{text}");
    assert!(query.collect().await.is_err());
}

/// The build side of the join has another key in each step.
const RECURSIVE_JOIN: &str = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT k + 1 FROM r JOIN t ON k = n \
     WHERE k + n < 200) SELECT count(*), sum(n) FROM r";

#[tokio::test]
async fn recursive_query_joins_a_scan_in_each_step() {
    let data = Data::make().await;
    assert_eq!(rows_of(&data.engine().await, RECURSIVE_JOIN).await, ["100 5050"]);
}

#[rstest]
#[case::off("off")]
#[case::force("force")]
#[tokio::test]
async fn planned_query_has_its_rows_in_each_run(#[case] mode: &str) {
    let data = Data::make().await;
    let engine = engine_with_drive(mode).await;
    data.register_for_drives(&engine).await;
    for sql in [
        "SELECT v, count(*), sum(k) FROM t WHERE k > 17 GROUP BY v ORDER BY v",
        "SELECT k FROM t ORDER BY k DESC LIMIT 3",
        "SELECT a.k FROM t a JOIN t b ON a.k = b.k + 990 WHERE b.v < 5 ORDER BY a.k",
        "SELECT min(k), max(v) FROM t WHERE v < 7",
        "SELECT k FROM t WHERE k > (SELECT avg(k) * 1.99 FROM t) ORDER BY k",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) \
         SELECT sum(n) FROM r",
        RECURSIVE_JOIN,
    ] {
        let query = engine.sql(sql).await.unwrap();
        let expected = shown(query.collect().await.unwrap());
        assert!(!expected.is_empty());
        let planned = query.plan().await.unwrap();
        for _ in 0..3 {
            assert_eq!(shown(planned.collect().await.unwrap()), expected, "{sql}");
        }
        let (one, other) = (planned.clone(), planned.clone());
        let (one, other) = futures::join!(one.collect(), other.collect());
        assert_eq!((shown(one.unwrap()), shown(other.unwrap())), (expected.clone(), expected));
    }
}

#[tokio::test]
async fn planned_query_is_planned_once() {
    let data = Data::make().await;
    let engine = data.engine().await;
    let planned = engine.sql("SELECT count(*) FROM t").await.unwrap().plan().await.unwrap();
    let before = planned.profile().planning;
    // A name is looked up when a query is planned.
    engine.deregister("t").unwrap();
    for _ in 0..2 {
        let result = planned.collect().await.unwrap();
        assert_eq!(result.profile.planning, before);
        assert_eq!(shown(result), ROWS.to_string());
    }
}

#[tokio::test]
async fn cancelled_query_ends_with_an_error_from_another_task() {
    let engine = engine().await;
    let query = engine.sql(ENDLESS).await.unwrap();
    let handle = query.cancel_handle();
    let run = tokio::spawn(async move { query.collect().await });
    tokio::task::yield_now().await;
    assert!(!handle.is_cancelled());
    handle.clone().cancel();
    let error = run.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{}", error.render());
    assert!(handle.is_cancelled());
}

#[tokio::test]
async fn query_that_takes_longer_than_its_timeout_ends_with_an_error() {
    let engine = engine().await;
    let query = engine.sql(ENDLESS).await.unwrap().timeout(Duration::from_millis(30));
    let error = query.collect().await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{}", error.render());
    assert_eq!(error.to_string(), "the query took longer than 0.03 s");
    let quick = engine.sql("SELECT 1").await.unwrap().timeout(Duration::from_secs(600));
    assert_eq!(shown(quick.collect().await.unwrap()), "1");
}

#[tokio::test]
async fn run_has_an_id_of_its_own_which_the_log_knows() {
    let data = Data::make().await;
    let engine = engine_with_drive("force").await;
    data.register_for_drives(&engine).await;
    let query = engine.sql("SELECT sum(k) FROM t WHERE v = 3").await.unwrap();
    let planned = query.plan().await.unwrap();
    let mut ids = Vec::new();
    for result in [query.collect().await, planned.collect().await, planned.collect().await] {
        ids.push(result.unwrap().profile.query_id.unwrap().to_string());
    }
    let logged = "SELECT DISTINCT query_id FROM nearscan.pushdown_log ORDER BY 1";
    let logged = rows_of(&engine, logged).await;
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert_eq!(logged, ids);
}

#[tokio::test]
async fn record_batch_stream_has_the_schema_and_rows_of_the_query() {
    let data = Data::make().await;
    let engine = data.engine().await;
    let stream = engine.sql("SELECT k FROM t WHERE k <= 10").await.unwrap().stream().await.unwrap();
    let mut stream = stream.into_record_batch_stream();
    assert_eq!(stream.schema().field(0).name(), "k");
    let mut rows = 0;
    while let Some(batch) = stream.next().await {
        rows += batch.unwrap().num_rows();
    }
    assert_eq!(rows, 10);
}
