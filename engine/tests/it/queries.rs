// SPDX-License-Identifier: Apache-2.0
//! Statements, streams, profiles and errors.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use nearscan::{Ending, Engine, Error};

use crate::support::{Data, ROWS, engine, failure, rows_of, shown};

/// Compiles only if a call's future may move between threads.
fn assert_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn calls_may_be_made_from_any_thread() {
    let data = Data::make().await;
    let engine = assert_send(Engine::builder().build()).await.unwrap();
    assert_send(engine.register("t", &data.path("t.parquet"))).await.unwrap();
    let query = assert_send(engine.sql("SELECT k FROM t")).await.unwrap();
    let stream = assert_send(assert_send(query.stream()).await.unwrap());
    let rows = tokio::spawn(stream.fold(0, async |rows, batch| rows + batch.unwrap().num_rows()));
    assert_eq!(rows.await.unwrap() as u64, ROWS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_stream_ends_all_its_tasks() {
    let data = Data::make().await;
    let engine = data.engine().await;
    let sql = "SELECT a.v, count(*) FROM t a, t b, t c WHERE a.k + b.k < c.k * 2 GROUP BY a.v";
    let mut stream = engine.sql(sql).await.unwrap().stream().await.unwrap();
    // The first poll starts the tasks; a billion pairs are far from done after this.
    assert!(tokio::time::timeout(Duration::from_millis(200), stream.next()).await.is_err());
    let metrics = tokio::runtime::Handle::current().metrics();
    assert!(metrics.num_alive_tasks() > 0);
    drop(stream);
    let ended = async {
        while metrics.num_alive_tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
}

#[tokio::test]
async fn profile_tells_plan_operators_and_rows() {
    let data = Data::make().await;
    let engine = data.engine().await;
    engine.set("nearscan.scan", "datafusion").await.unwrap();
    let query = engine.sql("SELECT v, count(*) FROM t WHERE k <= 500 GROUP BY v").await.unwrap();
    let profile = query.collect().await.unwrap().profile;
    assert_eq!(profile.rows, 10);
    assert!(profile.plan.contains("output_rows=10"), "{}", profile.plan);
    let mut filtered = None;
    profile.root.visit(&mut |operator| {
        if operator.name == "FilterExec" {
            filtered = operator.metrics.get("output_rows").map(|metric| metric.value);
            assert!(operator.line.starts_with("FilterExec: k@0 <= 500"), "{}", operator.line);
        }
    });
    assert_eq!(filtered, Some(500));
    assert!(profile.total("bytes_scanned").unwrap() > 0);
    assert_eq!(profile.total("no_such_counter"), None);
    assert!(profile.elapsed > Duration::ZERO && profile.planning > Duration::ZERO);
    assert_eq!(profile.pushdown(), nearscan::PushdownProfile::default());
}

#[tokio::test]
async fn one_query_can_run_twice() {
    let engine = engine().await;
    let query = engine.sql("SELECT * FROM generate_series(1, 3)").await.unwrap();
    for _ in 0..2 {
        assert_eq!(query.collect().await.unwrap().profile.rows, 3);
    }
}

#[tokio::test]
async fn explain_shows_both_plans_and_runs_nothing() {
    let data = Data::make().await;
    let engine = data.engine().await;
    let plans = engine.sql("SELECT k FROM t WHERE v = 1").await.unwrap().explain().await.unwrap();
    assert!(plans.starts_with("logical_plan:\nProjection: t.k\n  Filter: t.v ="), "{plans}");
    assert!(plans.contains("\nphysical_plan:\nFilterExec: v@1 = 1"), "{plans}");
    let nested = engine.sql("EXPLAIN SELECT 1").await.unwrap().explain().await;
    assert!(nested.is_err());
}

#[tokio::test]
async fn one_statement_is_wanted_and_a_script_has_many() {
    let engine = engine().await;
    for (sql, found) in [("", 0), ("-- nothing", 0), ("SELECT 1; SELECT 2", 2)] {
        let error = engine.sql(sql).await.unwrap_err();
        assert!(matches!(error, Error::StatementCount { found: n } if n == found), "{error:?}");
    }
    let script = "CREATE TABLE a AS SELECT 1 AS x; INSERT INTO a VALUES (2); SELECT sum(x) FROM a;";
    let mut rows = 0;
    for statement in engine.statements(script) {
        let query = engine.plan(statement.unwrap()).await.unwrap();
        rows += query.collect().await.unwrap().profile.rows;
    }
    // INSERT delivers its count, SELECT its sum.
    assert_eq!(rows, 2);
    assert_eq!(engine.ending("SELECT ';"), Ending::Open);
}

#[tokio::test]
async fn dialect_of_the_session_cuts_its_statements() {
    let engine = engine().await;
    engine.sql("SET datafusion.sql_parser.dialect = 'mysql'").await.unwrap();
    // In MySQL a backslash keeps the quote from ending the string.
    assert_eq!(engine.statements("SELECT 'a\\';'; SELECT 2").len(), 2);
}

#[tokio::test]
async fn memory_limit_is_named_with_the_way_to_raise_it() {
    let engine = Engine::builder().memory_limit(1 << 20).threads(1).build().await.unwrap();
    let sql = "SELECT count(DISTINCT value::text || 'x') FROM generate_series(1, 500000)";
    let error = failure(&engine, sql).await;
    assert!(error.starts_with("error: memory limit reached\n  detail: "), "{error}");
    assert!(error.contains("SET datafusion.runtime.memory_limit"), "{error}");
}

#[tokio::test]
async fn temporary_files_go_where_they_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("spill");
    let builder = Engine::builder().memory_limit(16 << 20).threads(1).temp_directory(&place);
    let engine = builder.build().await.unwrap();
    // Twenty megabytes of text do not fit, so the sort has to write some of it to files.
    let sql = "SELECT lpad(value::text, 100) AS p FROM generate_series(1, 200000) \
               ORDER BY value % 997";
    let profile = engine.sql(sql).await.unwrap().collect().await.unwrap().profile;
    assert_eq!(profile.rows, 200_000);
    assert!(profile.total("spill_count").unwrap() > 0);
    assert!(place.is_dir());
}

#[tokio::test]
async fn errors_name_tables_and_columns_of_this_session() {
    let data = Data::make().await;
    let engine = data.engine().await;
    engine.sql("CREATE SCHEMA s").await.unwrap();
    engine.sql("CREATE TABLE s.u AS SELECT 1 AS a").await.unwrap();
    let expected =
        "error: table 'tt' not found\n  detail: tables: t, s.u\n  hint: did you mean 't'?";
    assert_eq!(failure(&engine, "SELECT * FROM tt").await, expected);
    let expected =
        "error: column 'kk' not found\n  detail: columns: k, v\n  hint: did you mean 'k'?";
    assert_eq!(failure(&engine, "SELECT kk FROM t").await, expected);
}

#[tokio::test]
async fn limit_keeps_the_order_of_the_query() {
    let engine = engine().await;
    let query = engine.sql("SELECT value FROM range(0, 1000) ORDER BY value DESC").await.unwrap();
    let limited = query.limit(1, Some(3)).unwrap();
    assert_eq!(shown(limited.collect().await.unwrap()).trim(), "998\n997\n996");
    assert_eq!(limited.limit(2, None).unwrap().collect().await.unwrap().profile.rows, 1);
    assert_eq!(query.collect().await.unwrap().profile.rows, 1000);
}

#[tokio::test]
async fn unknown_tables_are_those_that_a_statement_needs_and_the_session_lacks() {
    let data = Data::make().await;
    let engine = data.engine().await;
    let unknown = |text: &str| {
        let statement = engine.statement(text).unwrap();
        engine.unknown_tables(&statement)
    };
    assert!(unknown("SELECT * FROM t").is_empty());
    assert_eq!(
        unknown(
            "WITH c AS (SELECT * FROM u) SELECT (SELECT max(k) FROM \"W x\") FROM c, t, s.other"
        ),
        ["W x", "u"]
    );
    let path = data.path("t.parquet");
    assert_eq!(unknown(&format!("SELECT * FROM '{path}'")), [path]);
    assert_eq!(unknown("CREATE TABLE n AS SELECT * FROM u"), ["n", "u"]);
}

#[tokio::test]
async fn table_of_one_statement_hides_that_of_the_session_from_it_alone() {
    let engine = engine().await;
    for statement in ["CREATE TABLE t AS SELECT 1 AS a", "CREATE TABLE u AS SELECT 2 AS a"] {
        engine.sql(statement).await.unwrap();
    }
    let rows = async |sql: &str, names: &[&str]| {
        let table = engine.uncorrected_context().table_provider("u").await.unwrap();
        let tables = names.iter().map(|name| ((*name).to_owned(), Arc::clone(&table)));
        let statement = engine.statement(sql).unwrap();
        let query = engine.plan_with(statement, tables.collect()).await.unwrap();
        shown(query.collect().await.unwrap())
    };
    assert_eq!(rows("SELECT t.a, u.a, v.a FROM t, u, v", &["t", "v"]).await, "2 2 2");
    assert_eq!(rows("SELECT a FROM t", &[]).await, "1");
    // What the statement makes is the session's, even by the name of a table that only it sees.
    rows("CREATE TABLE v AS SELECT a + 1 AS a FROM v", &["v"]).await;
    rows("CREATE VIEW w AS SELECT a * 10 AS a FROM x", &["x"]).await;
    rows("INSERT INTO v SELECT a FROM x", &["x"]).await;
    rows("SET nearscan.scan = 'datafusion'", &["x"]).await;
    assert_eq!(rows_of(&engine, "SELECT a FROM v ORDER BY a").await, ["2", "3"]);
    assert_eq!(rows_of(&engine, "SELECT a FROM w").await, ["20"]);
    assert_eq!(engine.options().scan, nearscan::settings::ScanReader::DataFusion);
    let several = engine.statement("SELECT 1; SELECT 2").unwrap_err();
    assert!(matches!(several, Error::StatementCount { found: 2 }));
}
